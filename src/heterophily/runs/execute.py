"""Run a plan: what is missing, in parallel, and nothing is lost.

Workers run through joblib: threads of this process, or the workers of a Dask or Ray cluster. A worker only
watches: each run has a process of its own, with few threads, since many small runs side by side are faster
than one after another with all cores.
"""

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.runs.engines import ENGINES, engine_of
from heterophily.runs.job import Job
from heterophily.runs.record import Record, write_record
from heterophily.runs.store import find_stored, remove_superseded
from heterophily.runs.supervise import Outcome, stopping, supervise
from heterophily.runs.worker import Limits, RunOptions, find_finished_record, now
from heterophily.views.progress import Display

WAIT = 2.0  # seconds before looking again at cells that another command runs


def bench(
    cells: Sequence[Job],
    folder: Path,
    *,
    workers: int | None = None,
    limits: Limits | None = None,
    retry: bool = False,
    engine: str = "local",
    address: str | None = None,
    quiet: bool = False,
) -> list[Record]:
    """Run the cells that have no record in `folder`; the records of all cells."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cores = _cores()
    workers = min(workers or cores, max(len(cells), 1))
    threads = max(1, cores // workers) if engine == "local" else 1
    terms = RunOptions(now(), threads, limits or Limits(), retry)
    found = [find_finished_record(folder, cell, terms) for cell in cells]
    missing = [cell for cell, record in zip(cells, found, strict=True) if record is None]
    display = Display([r for r in found if r], missing, workers=workers, quiet=quiet)
    unwritten = ""
    with display, _interruptible(), engine_of(engine, address):
        while missing and not unwritten:
            busy = []
            for told in _outcomes(missing, folder, terms, workers):
                outcome = _kept(told, folder, terms)
                unwritten = unwritten or outcome.reason
                if unwritten:
                    stopping.set()
                display.show(outcome)
                busy += [outcome.cell] * (outcome.word == "busy")
            missing = busy
            time.sleep(WAIT if missing else 0)
    if unwritten:
        raise HeterophilyError(
            f"a record could not be written to {folder} ({unwritten}); make room on the disk and run the "
            "same command again: it continues with what is there"
        )
    return _records(cells, folder)


def _records(cells: Sequence[Job], folder: Path) -> list[Record]:
    found = [find_stored(folder, cell) for cell in cells]
    gone = [cell for cell, record in zip(cells, found, strict=True) if record is None]
    if gone:
        raise HeterophilyError(
            f"records were removed or damaged meanwhile, that of {gone[0]} among them; run the same command "
            "again: it makes up for them"
        )
    return [record for record in found if record is not None]


def _outcomes(
    cells: Iterable[Job], folder: Path, terms: RunOptions, workers: int
) -> Iterator[Outcome]:
    """Outcomes as they come."""
    parallel = Parallel(
        n_jobs=workers, batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered"
    )
    jobs = (delayed(supervise)(c, folder, terms) for c in cells if not stopping.is_set())
    yield from parallel(jobs)


def _kept(outcome: Outcome, folder: Path, terms: RunOptions) -> Outcome:
    """The outcome with the record that is here; one of another machine that is not is written."""
    if outcome.record is None or outcome.word:
        return outcome
    try:
        here = find_finished_record(folder, outcome.cell, terms)
        if here is None:
            write_record(folder, outcome.record)
            remove_superseded(folder, outcome.cell)
    except OSError as error:
        return dataclasses.replace(outcome, word="unwritten", reason=str(error) or repr(error))
    return dataclasses.replace(outcome, record=here or outcome.record)


@contextmanager
def _interruptible() -> Iterator[None]:
    """On Ctrl-C, end the runs first: what they had is in their checkpoints."""
    stopping.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        stopping.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
