"""A folder of records: find the record of a job, whatever its key."""

from pathlib import Path

from heterophily.runs.job import Job
from heterophily.runs.record import Record, find_record, path_of


def find_stored(folder: Path, job: Job) -> Record | None:
    """Return the stored record of a job: a finished one if there is one, or the newest."""
    records = [record for _, record in _candidates(folder, job)]
    return max(records, key=lambda record: (record.done, record.finished), default=None)


def remove_superseded(folder: Path, job: Job) -> None:
    """Remove records of a job that have older keys, once it has a record with the current key."""
    current = path_of(folder, job.blank)
    for path, _ in _candidates(folder, job):
        if path != current and current.exists():
            path.unlink(missing_ok=True)


def _candidates(folder: Path, job: Job) -> list[tuple[Path, Record]]:
    current = path_of(folder, job.blank)
    prefix = current.name.removesuffix(f"{job.key[:12]}.json")
    paths = {current, *current.parent.glob(f"{prefix}*.json")}
    records = [(path, find_record(path)) for path in sorted(paths)]
    return [(path, record) for path, record in records if record and job.has_result(record)]
