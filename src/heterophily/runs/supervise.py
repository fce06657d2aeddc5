"""Supervise one run in its own process: limits, interruptions, and whether the process still exists."""

import atexit
import contextlib
import multiprocessing
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

import psutil
from filelock import Timeout

from heterophily.core.files import explain_unwritten
from heterophily.core.leftovers import temporary_folder
from heterophily.runs.job import Job, Limits, RunOptions
from heterophily.runs.store import Store
from heterophily.runs.worker import BUSY, UNWRITTEN, Outcome, failure_record, work

POLL_SECONDS = 0.1  # between two checks of a process
MAX_SOCKET_FOLDER = 50  # characters of the path of the folder for temporary files
START_ATTEMPTS = 5
RESTART_SECONDS = 0.5  # before the next attempt
SHUTDOWN_SECONDS = 20.0  # for a process to end after its supervisor closed the connection
# Imports of the server from which runs are forked, so that runs do not have to wait for them. The optimizers
# of PyTorch import its compiler in their first step, which alone takes seconds.
PRELOADED = ["rich.progress", "sklearn.datasets", "torch._dynamo", "heterophily.runs.worker"]
stopping = threading.Event()  # set if the command is interrupted: runs end immediately, unrecorded
_exit_code_lock = threading.Lock()  # held to start a process or to read an exit code


def supervise(job: Job, store: Store, options: RunOptions) -> Outcome:
    """Run a job in its own process, and record why it failed if it does."""
    kind, reason = "", ""
    for _ in range(options.attempts):
        record = store.find_finished(job, options)
        if record is not None or stopping.is_set():
            return Outcome(job, record, "" if record else "stopped")
        kind, reason = _run_in_process(job, store, options)
        record = store.find_finished(job, options)  # also if it was killed right after writing
        if record is not None:
            return Outcome(job, record)
        if kind in ("busy", "stopped", "unwritten"):
            return Outcome(job, None, kind, reason)
        if kind != "killed":
            break
    return _record_failure(job, store, options, kind, reason)


def _run_in_process(job: Job, store: Store, options: RunOptions) -> tuple[str, str]:
    """Start a process for a job and wait for its end. Return what happened and the reason."""
    ours, theirs = multiprocessing.Pipe()
    with ours:  # the process ends when this end is closed
        child = _new_process(job, store, options, theirs)
        try:
            _start(child)
        except (OSError, EOFError) as error:
            return "killed", f"the process did not start: {error!r}"
        finally:
            theirs.close()
        kind, reason = _watch(child, options.limits)
        message = _last_message(ours)
    if kind:
        return kind, reason
    if child.exitcode == BUSY:
        return "busy", ""
    if child.exitcode == UNWRITTEN:
        return "unwritten", message or "(no reason was reported); check the disk"
    return "killed", f"the process ended with {_describe_exit(child.exitcode or 0)}"


def _record_failure(job: Job, store: Store, options: RunOptions, kind: str, reason: str) -> Outcome:
    """Record a failure unless another command runs or has finished the job."""
    record = failure_record(job, kind, reason, threads=options.threads)
    try:
        with store.lock(job).acquire(timeout=SHUTDOWN_SECONDS):
            other = store.find_finished(job, options)
            if other is None:
                store.write(job, record)
    except Timeout:
        return Outcome(job, None, "busy")
    except OSError as error:
        return Outcome(job, record, "unwritten", explain_unwritten(error))
    return Outcome(job, other or record)


def _watch(child: BaseProcess, limits: Limits) -> tuple[str, str]:
    """Wait for a process to end. Kill it, and return the reason, if it exceeds a limit."""
    start = time.monotonic()
    while not _has_ended(child):
        wait([child.sentinel], POLL_SECONDS)
        if stopping.is_set():
            return _kill(child, "stopped", "the command was interrupted")
        spent = (time.monotonic() - start) / 60
        if limits.minutes and spent > limits.minutes:
            return _kill(child, "time", f"took more than {limits.minutes:g} minutes")
        if limits.memory and _gigabytes(child.pid) > limits.memory:
            return _kill(child, "memory", f"needed more than {limits.memory:g} GB")
    return "", ""


def _kill(child: BaseProcess, kind: str, reason: str) -> tuple[str, str]:
    child.kill()
    wait([child.sentinel])
    _has_ended(child)
    return kind, reason


def _has_ended(child: BaseProcess) -> bool:
    """Check a process. Starting one polls all others, and an exit code can be read only once."""
    with _exit_code_lock:
        return not child.is_alive()


def _last_message(connection: Connection) -> str:
    """Return the message of a process that could not write its record."""
    with contextlib.suppress(EOFError, OSError):
        if connection.poll():
            return str(connection.recv())
    return ""


def _gigabytes(process: int | None) -> float:
    try:
        return float(psutil.Process(process).memory_info().rss) / 1e9
    except psutil.NoSuchProcess:
        return 0.0


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    hint = ", perhaps because the system ran out of memory" if -code == signal.SIGKILL else ""
    return f"signal {signal.Signals(-code).name}{hint}"


def _start(child: BaseProcess) -> None:
    """Start a process. If the server is killed meanwhile, the next attempt starts another one."""
    for attempt in range(START_ATTEMPTS):
        try:
            with _exit_code_lock, _children_allowed(), _interrupts_blocked():
                child.start()
        except (OSError, EOFError):
            if attempt + 1 == START_ATTEMPTS or stopping.wait(RESTART_SECONDS):
                raise
        else:
            return


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: it would end the imports of the server with a traceback."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # it unblocks the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _children_allowed() -> Iterator[None]:
    """Let a daemonic worker, such as Dask's, start a process, which ends with the worker in any case."""
    config = _config()
    before = config.get("daemon", False)
    config["daemon"] = False
    try:
        yield
    finally:
        config["daemon"] = before


def _config() -> dict[str, object]:
    config: dict[str, object] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    return config


@cache
def _socket_folder() -> str:
    """Return a folder for the socket of the server, whose path is limited to about 100 characters."""
    folder = temporary_folder(Path("/tmp") if len(tempfile.gettempdir()) > MAX_SOCKET_FOLDER else None)  # noqa: S108
    atexit.register(folder.cleanup)
    return folder.name


def _new_process(job: Job, store: Store, options: RunOptions, connection: Connection) -> BaseProcess:
    arguments = (job, store, options, connection)
    process = _context().Process(target=work, args=arguments, daemon=True)  # type: ignore[attr-defined]
    return cast("BaseProcess", process)


def _context() -> BaseContext:
    """Return a context that forks processes from a server with the library imported, if possible."""
    if sys.platform in ("win32", "darwin"):
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    # By default, the folder with the socket of the server remains if this process is killed.
    _config().setdefault("tempdir", _socket_folder())
    return context
