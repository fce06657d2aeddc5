"""One run in a process of its own: train, score, and write the record.

The process holds a lock on its cell, so that no other command runs it too; the system lets go of the lock
when the process ends, however it ends. It stops by itself when the process that watches it is gone.
"""

import contextlib
import dataclasses
import os
import signal
import threading
import time
import traceback
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from heterophily.core.compatibility import observed_compatibility
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.files import NO_ROOM
from heterophily.core.graph import Graph
from heterophily.core.machine import prepare_process
from heterophily.data.loading import open_graph
from heterophily.htmp.network import Network
from heterophily.runs.environment import describe_environment
from heterophily.runs.job import Job, decide, job_key
from heterophily.runs.record import Record, path_of, write_record
from heterophily.runs.store import find_stored, remove_superseded
from heterophily.training.trainer import train

BUSY = 3  # exit code: another process runs this cell
UNWRITTEN = 4  # exit code: the record could not be written


@dataclass(frozen=True)
class Limits:
    """What one run may take, 0 for no limit, and how long it waits for room on a full disk."""

    memory: float = 0.0  # GB
    minutes: float = 0.0
    patience: float = 60.0  # seconds


@dataclass(frozen=True)
class RunOptions:
    """On which terms a command runs its cells."""

    since: str  # when the command began
    threads: int = 1
    limits: Limits = Limits()
    retry: bool = False  # whether cells that failed before run again


def work(cell: Job, folder: Path, terms: RunOptions, alive: Any) -> None:
    """Run a cell and write its record; the exit code tells what else may have happened."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides what Ctrl-C means
    threading.Thread(target=_follow, args=(alive,), daemon=True).start()
    prepare_process(terms.threads)
    warnings.simplefilter("ignore", HeterophilyWarning)  # the command has the terminal
    path, aside = path_of(folder, cell.blank), _aside(cell, folder)
    try:
        with locked(cell, folder):
            if find_finished_record(folder, cell, terms) is None:
                record = resume(cell, aside.with_suffix(".pt"))
                _write(folder, record, terms.limits.patience)
                remove_superseded(folder, cell)
            # The record is there: whoever takes the lock from now on finds nothing to do.
            _tidy(path, aside)
    except Timeout:
        os._exit(BUSY)
    except OSError as error:
        alive.send(str(error) or repr(error))
        os._exit(UNWRITTEN)


def locked(cell: Job, folder: Path) -> FileLock:
    """The lock on a cell; entering it raises Timeout where another process holds it."""
    aside = _aside(cell, folder)
    aside.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(f"{aside}.lock", timeout=0)


def _aside(cell: Job, folder: Path) -> Path:
    """What the checkpoint and the lock of a cell are called, without their endings."""
    return folder / ".work" / cell.blank.key[:24]


def resume(cell: Job, checkpoint: Path) -> Record:
    """Continue from a checkpoint; from the beginning where it is damaged or of older code."""
    begun = checkpoint.exists()
    record = run(cell, checkpoint)
    if not begun or record.status != "error":
        return record
    checkpoint.unlink(missing_ok=True)
    return run(cell, checkpoint)


def run(cell: Job, checkpoint: Path | None = None) -> Record:
    """Train a cell; a failure becomes a record too, with its reason, unless it is a full disk's."""
    try:
        graph = open_graph(cell.source)
        if job_key(decide(cell.model, cell.values), graph, cell.split, cell.blank.seed) != cell.key:
            raise HeterophilyError(f"{cell} changed since the benchmark was planned; run it again")
        network, found = train(
            cell.model,
            graph,
            split=graph.split(cell.split),
            seed=cell.blank.seed,
            checkpoint=checkpoint,
            progress=False,
            **cell.values,
        )
    except Exception as error:  # whatever it is, the rest goes on
        return failed(cell, *_told(error))
    return dataclasses.replace(
        cell.blank,
        run=found.to_dict(),
        parameters=sum(p.numel() for p in network.parameters()),
        details=details_of(network, graph, cell.split),
        environment=describe_environment(),
        finished=now(),
    )


def _told(error: Exception) -> tuple[str, str]:
    """The kind of a failure and its reason."""
    text = str(error)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        raise error
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return "memory", text or "out of memory"
    kind = "memory" if "allocate" in text and "memory" in text else "error"
    return kind, text if isinstance(error, HeterophilyError) else traceback.format_exc(limit=-3)


def details_of(network: Network, graph: Graph, split: str) -> dict[str, Any]:
    """Sizes of the split, and the compatibility matrix that the network believes in."""
    parts = graph.split(split).parts
    details: dict[str, Any] = {"split": {part: len(nodes) for part, nodes in parts.items()}}
    if network.mind is not None:
        estimated = network.mind.compatibility.cpu()
        observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
        details["compatibility"] = [[round(v, 4) for v in row] for row in estimated.tolist()]
        details["compatibility_error"] = float((estimated - observed).abs().mean())
    return details


def failed(cell: Job, kind: str, reason: str, *, threads: int | None = None) -> Record:
    """The record of a run that did not end well."""
    return dataclasses.replace(
        cell.blank,
        status=kind,
        reason=reason,
        environment=describe_environment(threads),
        finished=now(),
    )


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def find_finished_record(folder: Path, cell: Job, terms: RunOptions) -> Record | None:
    """The record of a cell, unless the cell is to be run.

    A run that was killed from outside is tried again by the next command, and by one that retries every
    failed one; what failed since the command began is not tried again by it.
    """
    record = find_stored(folder, cell)
    if record is None or record.done:
        return record
    again = terms.retry or record.status == "killed"
    return None if again and record.finished < terms.since else record


def _write(folder: Path, record: Record, patience: float) -> None:
    """Write the record, waiting a while for room on a full disk."""
    end = time.monotonic() + patience
    while True:
        try:
            write_record(folder, record)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(min(1.0, patience / 10))
        else:
            return


def _tidy(path: Path, aside: Path) -> None:
    """Remove the checkpoint, the lock, and what writers left that were killed."""
    litter = [*aside.parent.glob(f".{aside.name}*"), *path.parent.glob(f".{path.name}.*")]
    for file in (*litter, *aside.parent.glob(f"{aside.name}.*")):
        file.unlink(missing_ok=True)


def _follow(alive: Any) -> None:
    """End with the process that watches: nothing is ever sent, so anything read means it is gone."""
    with contextlib.suppress(EOFError, OSError):
        alive.recv_bytes()
    os._exit(1)
