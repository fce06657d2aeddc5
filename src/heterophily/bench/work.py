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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from heterophily.bench.environment import fingerprint
from heterophily.bench.plan import Cell
from heterophily.bench.records import Record, path_of, read_record, write_record
from heterophily.compatibility import observed_compatibility
from heterophily.data.loading import open_graph
from heterophily.errors import HeterophilyError
from heterophily.graph import Graph
from heterophily.htmp.network import Network
from heterophily.training.trainer import train

BUSY = 3  # exit code: another process runs this cell
UNWRITTEN = 4  # exit code: the record could not be written
PATIENCE = 60.0  # seconds for which a full disk may recover


def work(cell: Cell, folder: Path, threads: int, alive: Any) -> None:
    """Run a cell and write its record; the exit code tells what else may have happened."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides what Ctrl-C means
    threading.Thread(target=_follow, args=(alive,), daemon=True).start()
    torch.set_num_threads(threads)
    aside = folder / ".work" / cell.blank.key[:24]
    aside.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(f"{aside}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        os._exit(BUSY)
    checkpoint = aside.with_suffix(".pt")
    if not is_settled(path_of(folder, cell.blank)):
        record = run(cell, checkpoint)
        if not _written(folder, record):
            os._exit(UNWRITTEN)
    checkpoint.unlink(missing_ok=True)
    # The record is there: whoever takes the lock from now on finds nothing to do.
    Path(lock.lock_file).unlink(missing_ok=True)


def run(cell: Cell, checkpoint: Path | None = None) -> Record:
    """Train a cell; a failure becomes a record too, with its reason."""
    try:
        graph = open_graph(cell.source)
        if graph.checksum != cell.blank.checksum:
            raise HeterophilyError(f"{cell.source} changed since the benchmark was planned")
        network, found = train(
            cell.model,
            graph,
            split=graph.split(cell.split),
            seed=cell.blank.seed,
            checkpoint=checkpoint,
            progress=False,
            **cell.values,
        )
    except MemoryError as error:
        return failed(cell, "memory", str(error) or "out of memory")
    except Exception as error:  # whatever it is, the rest goes on
        full = "allocate" in str(error) and "memory" in str(error)
        kind = "memory" if full or isinstance(error, torch.OutOfMemoryError) else "error"
        expected = isinstance(error, HeterophilyError)
        reason = str(error) if expected else traceback.format_exc(limit=-3)
        return failed(cell, kind, reason)
    return dataclasses.replace(
        cell.blank,
        run=found.to_dict(),
        parameters=sum(p.numel() for p in network.parameters()),
        details=details_of(network, graph, cell.split),
        environment=fingerprint(),
        finished=now(),
    )


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


def failed(cell: Cell, kind: str, reason: str) -> Record:
    """The record of a run that did not end well."""
    return dataclasses.replace(
        cell.blank, status=kind, reason=reason, environment=fingerprint(), finished=now()
    )


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def is_settled(path: Path, *, retry: bool = False) -> bool:
    """Whether a record says all there is to say: done, or failed for a reason of the run itself.

    A run that was killed from outside is tried again; with `retry` every failed one is.
    """
    if not path.exists():
        return False
    status = read_record(path).status
    return status == "done" or (not retry and status not in ("killed", "interrupted"))


def _written(folder: Path, record: Record) -> bool:
    """Write the record, waiting a while for room on a full disk."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            write_record(folder, record)
        except OSError:
            if time.monotonic() > end:
                return False
            time.sleep(1)
        else:
            return True


def _follow(alive: Any) -> None:
    """End with the process that watches: nothing is ever sent, so anything read means it is gone."""
    with contextlib.suppress(EOFError, OSError):
        alive.recv_bytes()
    os._exit(1)
