"""Watch one run: its time, its memory, and whether it is still there."""

import contextlib
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import psutil
from filelock import Timeout

from heterophily.runs.job import Job
from heterophily.runs.record import Record, write_record
from heterophily.runs.store import remove_superseded
from heterophily.runs.worker import (
    BUSY,
    UNWRITTEN,
    Limits,
    RunOptions,
    failed,
    find_finished_record,
    locked,
    work,
)

POLL = 0.1  # seconds between two looks
LAST_BREATH = 20.0  # seconds that a process may need to end after its watcher let go of it
stopping = threading.Event()  # set when the command is interrupted: runs end at once, unrecorded
_asking = threading.Lock()  # whoever starts a process or asks whether one has ended


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: its record, or a word on why there is none."""

    cell: Job
    record: Record | None
    word: str = ""  # busy, unwritten, stopped
    reason: str = ""  # why it is unwritten


def supervise(cell: Job, folder: Path, terms: RunOptions) -> Outcome:
    """Run a cell in a process of its own and see it through."""
    record = find_finished_record(folder, cell, terms)
    if record is not None or stopping.is_set():
        return Outcome(cell, record, "" if record else "stopped")
    ours, theirs = _context().Pipe()
    with ours:  # the process ends when this end closes
        child = _context().Process(target=work, args=(cell, folder, terms, theirs), daemon=True)
        try:
            _start(child)
        except (OSError, EOFError) as error:
            return _failed(cell, folder, terms, "killed", f"its process did not start: {error!r}")
        finally:
            theirs.close()
        kind, reason = _watch(child, terms.limits)
        told = _heard(ours)
    record = find_finished_record(folder, cell, terms)  # also if it was killed right after writing
    if record is not None:
        return Outcome(cell, record)
    if kind == "interrupted" or child.exitcode == BUSY:
        return Outcome(cell, None, "busy" if child.exitcode == BUSY else "stopped")
    if child.exitcode == UNWRITTEN:
        return Outcome(cell, None, "unwritten", told or "no reason was told")
    if not kind:
        kind, reason = "killed", f"the process ended with {_ending(child.exitcode)}"
    return _failed(cell, folder, terms, kind, reason)


def _failed(cell: Job, folder: Path, terms: RunOptions, kind: str, reason: str) -> Outcome:
    """Record a failure, unless another command runs the cell by now or has finished it."""
    record = failed(cell, kind, reason, threads=terms.threads)
    try:
        with locked(cell, folder).acquire(timeout=LAST_BREATH):
            other = find_finished_record(folder, cell, terms)
            if other is None:
                write_record(folder, record)
                remove_superseded(folder, cell)
    except Timeout:
        return Outcome(cell, None, "busy")
    except OSError as error:
        return Outcome(cell, record, "unwritten", str(error))
    return Outcome(cell, other or record)


def _watch(child: Any, limits: Limits) -> tuple[str, str]:
    """Wait for the process to end; end it, with a reason, where it passes a limit."""
    start = time.monotonic()
    while not _ended(child):
        wait([child.sentinel], POLL)
        if stopping.is_set():
            return _end(child, "interrupted", "the command was interrupted")
        spent = (time.monotonic() - start) / 60
        if limits.minutes and spent > limits.minutes:
            return _end(child, "time", f"took more than {limits.minutes:g} minutes")
        if limits.memory and _gigabytes(child.pid) > limits.memory:
            return _end(child, "memory", f"needed more than {limits.memory:g} GB")
    return "", ""


def _end(child: Any, kind: str, reason: str) -> tuple[str, str]:
    child.kill()
    wait([child.sentinel])
    _ended(child)
    return kind, reason


def _ended(child: Any) -> bool:
    """Starting a process asks after all others too, and an exit code can be read once: one at a time."""
    with _asking:
        return not child.is_alive()


def _heard(connection: Any) -> str:
    """What a process that could not write said last."""
    with contextlib.suppress(EOFError, OSError):
        if connection.poll():
            return str(connection.recv())
    return ""


def _gigabytes(process: int) -> float:
    try:
        return float(psutil.Process(process).memory_info().rss) / 1e9
    except psutil.NoSuchProcess:
        return 0.0


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    hint = ", perhaps for want of memory" if -code == signal.SIGKILL else ""
    return f"signal {signal.Signals(-code).name}{hint}"


def _start(child: Any) -> None:
    with _asking, _allowed_children():
        child.start()


@contextmanager
def _allowed_children() -> Iterator[None]:
    """Let a daemonic worker, as Dask's are, start a process; ours ends with it in any case."""
    config: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    before = config.get("daemon", False)
    config["daemon"] = False
    try:
        yield
    finally:
        config["daemon"] = before


def _context() -> Any:
    """Processes are forked from a clean server that has imported the library once, where there is one."""
    if sys.platform in ("win32", "darwin"):
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["heterophily.runs.preload"])
    return context
