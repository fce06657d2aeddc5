"""Run the tasks of a race one after another in this process, or side by side in worker processes.

Workers are separate Python processes with one thread each. The graph is written once and mapped into memory by all
of them. The main module of the user is not imported again, so scripts and notebooks need no guard.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Protocol, cast

import torch

from heterophily.core.graph import Graph
from heterophily.core.machine import choose_device, n_cores
from heterophily.core.types import JsonObject
from heterophily.training.auto.task import Outcome, Task, TrainingOptions, run_task
from heterophily.training.auto.worker import GRAPH, OPTIONS, encode_options, encode_task

SMALL = 30_000  # nodes and edges up to which starting processes takes longer than it saves
GRACE_SECONDS = 10.0  # for a task to end by itself after its time is up
POLL_SECONDS = 0.2

# Called with the index of a candidate, the epoch, and the validation score.
ProgressCallback = Callable[[int, int, float], None]
Message = tuple["_Worker", JsonObject | None]  # None after the end of the process


class Runner(Protocol):
    """Runs tasks in any order. It asks for the next task when it can start it."""

    def run(self, tasks: Iterator[Task], on_progress: ProgressCallback) -> Iterator[Outcome]:
        """Yield the outcome of each task when it ends."""
        ...


def choose_workers(workers: int | None, graph: Graph, options: TrainingOptions, n_candidates: int) -> int:
    """Return the number of worker processes; 0 runs all tasks in this process."""
    is_local = encode_options(options) is None or choose_device(options.device).type != "cpu"
    if is_local or workers == 1 or n_candidates == 1:
        return 0
    if workers is None and graph.n_nodes + graph.n_edges <= SMALL:
        return 0
    return min(workers or n_cores(), n_candidates) if (workers or n_cores()) > 1 else 0


@contextmanager
def open_runner(graph: Graph, options: TrainingOptions, folder: Path, *, workers: int) -> Iterator[Runner]:
    """Open a runner with this number of worker processes, which end with it."""
    if not workers:
        yield LocalRunner(graph, options, folder)
        return
    graph.save(folder / GRAPH)
    (folder / OPTIONS).write_text(json.dumps(encode_options(options)))
    runner = ProcessRunner(folder, workers)
    try:
        yield runner
    finally:
        runner.close()


class LocalRunner:
    """Runs one task after another in this process, with one thread, as a worker does."""

    def __init__(self, graph: Graph, options: TrainingOptions, folder: Path) -> None:
        self.graph, self.options, self.folder = graph, options, folder

    def run(self, tasks: Iterator[Task], on_progress: ProgressCallback) -> Iterator[Outcome]:
        """Yield the outcome of each task."""
        for task in tasks:
            threads = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                outcome = run_task(task, self.graph, self.options, self.folder, partial(on_progress, task.index))
            finally:
                torch.set_num_threads(threads)
            yield outcome


class _Worker:
    """A worker process with its current task."""

    def __init__(self, folder: Path, messages: "queue.Queue[Message]") -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "heterophily.training.auto.worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            text=True,
            encoding="utf-8",
        )
        self.task: Task | None = None
        self.end = float("inf")
        threading.Thread(target=self._read, args=(messages,), daemon=True).start()

    def _read(self, messages: "queue.Queue[Message]") -> None:
        with contextlib.suppress(ValueError, OSError):  # the output is closed
            for line in cast("IO[str]", self.process.stdout):
                messages.put((self, json.loads(line)))
        messages.put((self, None))

    def start(self, task: Task) -> None:
        self.task, self.end = task, time.monotonic() + max(0.0, task.seconds) + GRACE_SECONDS
        with contextlib.suppress(OSError):  # a process that ended sends its last message
            stdin = cast("IO[str]", self.process.stdin)
            stdin.write(json.dumps(encode_task(task)) + "\n")
            stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                cast("IO[str]", stream).close()


class ProcessRunner:
    """Runs tasks side by side in worker processes, and replaces processes that end unexpectedly."""

    def __init__(self, folder: Path, n_workers: int) -> None:
        self.folder, self.n_workers = folder, n_workers
        self.workers: list[_Worker] = []
        self.messages: queue.Queue[Message] = queue.Queue()

    def run(self, tasks: Iterator[Task], on_progress: ProgressCallback) -> Iterator[Outcome]:
        """Yield the outcome of each task when it ends."""
        self._start_tasks(tasks)
        while any(worker.task for worker in self.workers):
            try:
                worker, message = self.messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                yield from self._stop_overdue()
                self._start_tasks(tasks)
                continue
            if worker.task is None:
                self._forget(worker, message)
            elif message is None:
                yield self._failed(worker, _describe_exit(worker.process.wait()))
            elif "outcome" in message:
                worker.task = None
                yield Outcome(**cast("JsonObject", message["outcome"]))  # type: ignore[arg-type]
            else:
                on_progress(*(message[key] for key in ("index", "epoch", "score")))  # type: ignore[arg-type]
            self._start_tasks(tasks)

    def _start_tasks(self, tasks: Iterator[Task]) -> None:
        """Give every free worker a task. Start more workers as long as there are tasks."""
        while (free := next((each for each in self.workers if not each.task), None)) or self._has_room:
            task = next(tasks, None)
            if task is None:
                return
            if free is None:
                free = _Worker(self.folder, self.messages)
                self.workers.append(free)
            free.start(task)

    @property
    def _has_room(self) -> bool:
        return len(self.workers) < self.n_workers

    def _stop_overdue(self) -> Iterator[Outcome]:
        for worker in [each for each in self.workers if each.task and time.monotonic() > each.end]:
            yield self._failed(worker, "out of time")

    def _failed(self, worker: _Worker, reason: str) -> Outcome:
        index = cast("Task", worker.task).index
        self._forget(worker, None)
        return Outcome(index, "failed", reason=reason)

    def _forget(self, worker: _Worker, message: JsonObject | None) -> None:
        if message is None and worker in self.workers:
            self.workers.remove(worker)
            worker.close()

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.close()


def _describe_exit(code: int) -> str:
    if code == -9:
        return "the process was killed, probably because the memory was full"
    return f"the process ended with exit code {code}"
