"""Execute jobs in parallel. A job whose record is in the store does not run again.

Each run has its own process with few threads, because many small runs in parallel are faster than one after
another with all cores. The threads of this process only supervise them.
"""

import dataclasses
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Generic, TypeVar

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import explain_unwritten, unwritten_as_error
from heterophily.core.graph import Graph
from heterophily.core.leftovers import GRAPHS, remove_folders_of_killed, temporary_folder
from heterophily.core.machine import n_cores
from heterophily.runs.engines import Engine, open_engine
from heterophily.runs.job import Job, Limits, RunOptions, now
from heterophily.runs.record import Record
from heterophily.runs.store import Store
from heterophily.runs.supervise import stopping, supervise
from heterophily.runs.worker import Outcome, failure_record

BUSY_SECONDS = 2.0  # before checking jobs again that another command runs
T = TypeVar("T")
Task = Generator[Job, Record, T]  # yields one job after another and receives its record
OnOutcome = Callable[[Outcome], object]
# Opens a display from the finished records, the pending jobs, and the number of workers.
OpenDisplay = Callable[[Sequence[Record], Sequence[Job], int], AbstractContextManager[OnOutcome]]


def no_display(*_: object) -> AbstractContextManager[OnOutcome]:
    """Show nothing."""
    return nullcontext(lambda _: None)


def run_jobs(
    jobs: Sequence[Job],
    folder: Path | str,
    *,
    workers: int | None = None,
    threads: int = 1,
    limits: Limits | None = None,
    retry: bool = False,
    engine: str = "local",
    address: str | None = None,
    display: OpenDisplay = no_display,
) -> list[Record]:
    """Run the jobs that have no record in a folder. Return the records of all jobs.

    `workers` is by default the number of cores. Results do not depend on it, because the number of `threads` per
    run, which changes the last digits, does not.
    """
    store = Store(Path(folder).resolve())
    workers = min(workers or n_cores(), max(len(jobs), 1))
    options = RunOptions(now(), threads or 1, limits or Limits(), retry)
    records = [store.find_finished(job, options) for job in jobs]
    pending = [job for job, record in zip(jobs, records, strict=True) if record is None]
    store.remove_leftovers(job for job, record in zip(jobs, records, strict=True) if record is not None)
    with display([r for r in records if r], pending, workers) as on_outcome:
        results = run_tasks(
            map(_single, pending),
            store,
            workers=workers,
            options=options,
            engine=engine,
            address=address,
            on_outcome=on_outcome,
        )
        deque(results, maxlen=0)
    return _read_results(jobs, store)


def _single(job: Job) -> Task[Record]:
    return (yield job)


def _read_results(jobs: Sequence[Job], store: Store) -> list[Record]:
    records = [store.find(job) for job in jobs]
    missing = [job for job, record in zip(jobs, records, strict=True) if record is None]
    if missing:
        raise HeterophilyError(
            f"records were removed or damaged while jobs were running, for example that of {missing[0]}; "
            "run the same command again to replace them"
        )
    return [record for record in records if record is not None]


def run_tasks(
    tasks: Iterable[Task[T]],
    store: Store,
    *,
    workers: int = 1,
    options: RunOptions,
    engine: str = "local",
    address: str | None = None,
    on_outcome: OnOutcome = lambda _: None,
) -> Iterator[T]:
    """Run tasks in parallel and return their results as they finish.

    A task is a generator that yields one job after another and receives its record. A job whose record is in
    the store does not run again. Jobs that another command runs are checked again after all others.
    """
    with unwritten_as_error(store.folder):
        store.folder.mkdir(parents=True, exist_ok=True)
    remove_folders_of_killed(store.folder)
    with _interruptible(), open_engine(engine, address, workers) as place:
        scheduler = _Scheduler(iter(tasks), store, options, place, on_outcome)
        try:
            yield from scheduler.run()
        except BaseException:
            stopping.set()  # before the engine waits for its workers
            raise
        finally:
            scheduler.close()


class _Scheduler(Generic[T]):
    """Runs tasks: those that are ready to continue, and those whose job runs here or elsewhere."""

    def __init__(
        self, tasks: Iterator[Task[T]], store: Store, options: RunOptions, engine: Engine, on_outcome: OnOutcome
    ) -> None:
        self.tasks, self.store, self.options = tasks, store, options
        self.engine, self.on_outcome = engine, on_outcome
        self.started: set[Task[T]] = set()
        self.ready: deque[tuple[Task[T], Record | None]] = deque()
        self.running: dict[Future[Outcome], tuple[Task[T], Job]] = {}
        self.busy: list[tuple[Task[T], Job]] = []  # jobs that another command runs

    def run(self) -> Iterator[T]:
        """Run all tasks, and return their results as they finish."""
        with _shared_graphs(self.store) as send:
            while True:
                self._start_tasks()
                if self.ready:
                    task, record = self.ready.popleft()
                    try:
                        job = next(task) if record is None else task.send(record)
                    except StopIteration as end:
                        self.started.discard(task)
                        yield end.value
                    else:
                        self._submit(task, job, send)
                elif self.running:
                    self._collect()
                elif self.busy:
                    time.sleep(BUSY_SECONDS)
                    for task, job in self._take_busy():
                        self._submit(task, job, send)
                else:
                    return

    def close(self) -> None:
        """Close the tasks that have not finished."""
        for task in self.started:
            task.close()

    def _start_tasks(self) -> None:
        free = self.engine.n_workers - len(self.running) - len(self.ready)
        for task in islice(self.tasks, max(free, 0)):
            self.started.add(task)
            self.ready.append((task, None))

    def _take_busy(self) -> list[tuple[Task[T], Job]]:
        busy, self.busy = self.busy, []
        return busy

    def _submit(self, task: Task[T], job: Job, send: Callable[[Job], Job]) -> None:
        record = self.store.find_finished(job, self.options)
        if record is not None:
            self.store.remove_leftovers([job])
            self.on_outcome(Outcome(job, record))
            self.ready.append((task, record))
            return
        sent = job if self.engine.name == "inline" else send(job)
        future = self.engine.submit(supervise, sent, self.store, self.options)
        self.running[future] = task, job

    def _collect(self) -> None:
        """Wait until at least one job ends, and handle the outcomes of all that have ended."""
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
        for future in done:
            task, job = self.running.pop(future)
            outcome = self._store_outcome(self._outcome(future, job))
            self.on_outcome(outcome)
            if outcome.status == "busy":
                self.busy.append((task, job))
            elif outcome.status == "unwritten":
                raise HeterophilyError(
                    f"cannot write a record to {self.store.folder} {outcome.reason} and run the same command "
                    "again to continue"
                )
            elif outcome.record is not None:
                self.ready.append((task, outcome.record))

    def _outcome(self, future: "Future[Outcome]", job: Job) -> Outcome:
        error = future.exception()
        if error is None:
            return dataclasses.replace(future.result(), job=job)
        if self.engine.name == "local":
            raise error
        reason = f"{self.engine.name.title()} gave up: {error}"
        return Outcome(job, failure_record(job, "killed", reason))

    def _store_outcome(self, outcome: Outcome) -> Outcome:
        """Write a record of another machine unless this folder has one. Return the outcome with it."""
        if outcome.record is None or outcome.status:
            return outcome
        try:
            record = self.store.find_finished(outcome.job, self.options)
            if record is None:
                self.store.write(outcome.job, outcome.record)
        except OSError as error:
            return dataclasses.replace(outcome, status="unwritten", reason=explain_unwritten(error))
        return dataclasses.replace(outcome, record=record or outcome.record)


@contextmanager
def _shared_graphs(store: Store) -> Iterator[Callable[[Job], Job]]:
    """Return a function that saves the graph of a job to a file, for processes to load."""
    paths: dict[int, str] = {}
    with unwritten_as_error(store.folder):
        temporary = temporary_folder(store.folder, prefix=GRAPHS)
    with temporary as folder:

        def send(job: Job) -> Job:
            graph = job.source
            if not isinstance(graph, Graph):
                return job
            if id(graph) not in paths:
                path = Path(folder) / f"{len(paths)}.safetensors"
                paths[id(graph)] = str(graph.save(path))
            return dataclasses.replace(job, source=paths[id(graph)])

        yield send


@contextmanager
def _interruptible() -> Iterator[None]:
    """On Ctrl-C, end the runs first. Their checkpoints contain what they have computed."""
    stopping.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, __: FrameType | None) -> None:
        stopping.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
