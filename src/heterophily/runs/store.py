"""A folder of records: find the record of a job, whatever its key, and write records.

Checkpoints and locks of running jobs are in the folder `.work`.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from heterophily.runs.job import Job, RunOptions, now
from heterophily.runs.record import Details, Record, find_record, path_of, read_records, write_record

KEY_LENGTH = 24  # characters of the key of a job in the names of its work files


@dataclass(frozen=True)
class Store:
    """The records in a folder."""

    folder: Path

    def find(self, job: Job) -> Record | None:
        """Return the record of a job, preferring a finished one and then the newest, or None."""
        records, latest = [record for _, record in self._candidates(job)], now()
        return max(records, key=lambda r: (r.done, r.finished <= latest, r.finished), default=None)

    def find_finished(self, job: Job, options: RunOptions) -> Record | None:
        """Return the record of a job unless the job has to run.

        A run that was killed runs again with the next command, and a run that failed otherwise with a
        command that retries failed runs. A run that failed since the command started does not run again.
        """
        record = self.find(job)
        if record is None or record.done:
            return record
        again = options.retry or record.status == "killed"
        is_old = record.finished < options.since or record.finished > now()  # the clock was wrong
        return None if again and is_old else record

    def write(self, job: Job, record: Record) -> Path:
        """Write the record of a job atomically, and remove records of the job that have older keys.

        Measurements of an existing record that the new one does not contain are retained.
        """
        existing = find_record(path_of(self.folder, record))
        if existing is not None and existing.done and record.done:
            details: Details = {**existing.details, **record.details}
            record = replace(record, details=details)
        path = write_record(self.folder, record)
        for other, _ in self._candidates(job):
            if other != path:
                other.unlink(missing_ok=True)
        return path

    def add(self, records: Iterable[Record]) -> int:
        """Write the records that are missing, or that failed here but are finished. Return their number."""
        new = [record for record in records if not self._has(record)]
        for record in new:
            write_record(self.folder, record)
        return len(new)

    def read(self) -> list[Record]:
        """Return all records, sorted by dataset, model, split, and seed."""
        return read_records(self.folder)

    def lock(self, job: Job) -> FileLock:
        """Return the lock of a job. Acquiring it raises Timeout if another process holds it."""
        path = self.work_path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(f"{path}.lock", timeout=0)

    def work_path(self, job: Job) -> Path:
        """Return the path of the checkpoint and the lock of a job, without their extensions."""
        return self.folder / ".work" / job.key[:KEY_LENGTH]

    def remove_work_files(self, job: Job) -> None:
        """Remove the checkpoint and the lock of a job, and partial files of killed processes."""
        path, work = path_of(self.folder, job.empty_record), self.work_path(job)
        partial = [*work.parent.glob(f".{work.name}*"), *path.parent.glob(f".{path.name}.*")]
        for file in (*partial, *work.parent.glob(f"{work.name}.*")):
            file.unlink(missing_ok=True)

    def remove_leftovers(self, jobs: Iterable[Job]) -> None:
        """Remove the work files of finished jobs whose process was killed after it wrote the record."""
        names = {path.name.lstrip(".")[:KEY_LENGTH] for path in (self.folder / ".work").glob("*")}
        for job in jobs:
            if job.key[:KEY_LENGTH] in names:
                with suppress(Timeout), self.lock(job):
                    self.remove_work_files(job)

    def _has(self, record: Record) -> bool:
        existing = find_record(path_of(self.folder, record))
        return existing is not None and (existing.done or not record.done)

    def _candidates(self, job: Job) -> list[tuple[Path, Record]]:
        current = path_of(self.folder, job.empty_record)
        prefix = current.name.removesuffix(f"{job.key[:12]}.json")
        paths = {current, *current.parent.glob(f"{prefix}*.json")}
        records = [(path, find_record(path)) for path in sorted(paths)]
        return [(path, record) for path, record in records if record and job.has_result(record)]
