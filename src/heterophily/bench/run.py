"""Run a plan: what is missing, in parallel, and nothing is lost.

Workers run through joblib: threads of this process, or the workers of a Dask or Ray cluster. A worker only
watches: each run has a process of its own, with few threads, since many small runs side by side are faster
than one after another with all cores. A worker that dies takes no record along: its cell is dealt out again.
"""

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config

from heterophily.bench.display import Display
from heterophily.bench.plan import Cell
from heterophily.bench.records import Record, path_of, read_record, write_record
from heterophily.bench.supervise import Limits, Outcome, stopping, supervise
from heterophily.bench.work import failed, is_settled
from heterophily.errors import HeterophilyError, unknown_name

ENGINES = ("local", "dask", "ray")
ATTEMPTS = 3  # how often a cell may take its worker with it
WAIT = 2.0  # seconds before looking again at cells that another command runs


def bench(
    cells: Sequence[Cell],
    folder: Path,
    *,
    workers: int | None = None,
    limits: Limits | None = None,
    retry: bool = False,
    engine: str = "local",
    address: str | None = None,
    quiet: bool = False,
) -> list[Record]:
    """Run the cells that have no record in `folder`; the records of all cells that have one then."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cores = _cores()
    workers = min(workers or cores, max(len(cells), 1))
    options = {"threads": max(1, cores // workers), "limits": limits or Limits()}
    missing = [c for c in cells if not is_settled(path_of(folder, c.blank), retry=retry)]
    display = Display(len(cells), [c.cost for c in missing], workers=workers, quiet=quiet)
    tries = dict.fromkeys((cell.blank.key for cell in missing), 0)
    unwritten: set[str] = set()
    with display, _interruptible(), _engine(engine, workers, address):
        while missing:
            jobs = [delayed(supervise)(c, folder, retry=retry, **options) for c in missing]
            for outcome in _outcomes(jobs, workers):
                _keep(outcome, folder)
                display.show(outcome)
                if outcome.word == "unwritten":
                    unwritten.add(outcome.cell.blank.key)
            retry = False
            missing = _left(missing, folder, tries, unwritten)
            time.sleep(WAIT if missing else 0)
    if unwritten:
        raise HeterophilyError(
            f"{len(unwritten)} records could not be written to {folder}; make room on the disk and run "
            "the same command again: what is there stays, only these run anew"
        )
    paths = (path_of(folder, cell.blank) for cell in cells)
    return [read_record(path) for path in paths if path.exists()]


def _outcomes(jobs: Iterable[Any], workers: int) -> Iterator[Outcome]:
    """Outcomes as they come."""
    yield from Parallel(
        n_jobs=workers, batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered"
    )(jobs)


def _keep(outcome: Outcome, folder: Path) -> None:
    """Records of other machines come back with the outcome; write those that are not here."""
    if outcome.record is not None and not outcome.word:
        path = path_of(folder, outcome.record)
        if not path.exists():
            write_record(folder, outcome.record)


def _left(
    cells: Sequence[Cell], folder: Path, tries: dict[str, int], unwritten: set[str]
) -> list[Cell]:
    """The cells that still have no record; one that broke too many workers gets one that says so."""
    left = []
    for cell in cells:
        path, key = path_of(folder, cell.blank), cell.blank.key
        if path.exists() or key in unwritten:
            continue
        if not _is_busy(folder, cell):
            tries[key] += 1
        if tries[key] >= ATTEMPTS:
            write_record(folder, failed(cell, "killed", f"its worker died {ATTEMPTS} times"))
        else:
            left.append(cell)
    return left


def _is_busy(folder: Path, cell: Cell) -> bool:
    """Whether another command may be running a cell."""
    return (folder / ".work" / f"{cell.blank.key[:24]}.lock").exists()


@contextmanager
def _interruptible() -> Iterator[None]:
    """On Ctrl-C, end the runs first: what they had is in their checkpoints."""
    stopping.clear()
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: Any) -> None:
        stopping.set()
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _engine(name: str, workers: int, address: str | None) -> Iterator[None]:
    """The backend of joblib: threads here, or the workers of a cluster."""
    if name == "local":
        with parallel_config(backend="threading"):
            yield
    elif name == "dask":
        client = _imported("distributed", "dask").Client(address)
        with client, parallel_config(backend="dask", wait_for_workers_timeout=60):
            yield
    else:
        ray = _imported("ray", "ray")
        ray.init(address=address, ignore_reinit_error=True)
        _imported("ray.util.joblib", "ray").register_ray()
        with parallel_config(backend="ray"):
            yield


def _imported(module: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise HeterophilyError(
            f"--engine {extra} needs {module}; pip install 'heterophily[{extra}]'"
        ) from error


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
