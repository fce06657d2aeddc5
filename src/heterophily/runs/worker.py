"""Run one job: train, score, measure, and write the record.

A supervised run has its own process, which holds a lock on its job so that no other command runs it too. The
system releases the lock when the process ends, however it ends. The process also ends when the process that
supervises it is gone.
"""

import contextlib
import dataclasses
import errno
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import torch
from filelock import Timeout
from torch import nn

from heterophily.core.compatibility import observed_compatibility
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.files import FULL, READ_ONLY, explain_unwritten
from heterophily.core.graph import Graph
from heterophily.core.machine import prepare_process
from heterophily.data.loading import open_graph
from heterophily.htmp.method import make_method
from heterophily.htmp.network import Network
from heterophily.models import find_method
from heterophily.runs.job import Job, RunOptions, make_job, now, resolve_nodes
from heterophily.runs.measures import Trained, make_measures, notify
from heterophily.runs.record import Details, Record, RunData, describe_environment
from heterophily.runs.store import Store
from heterophily.training.trainer import train

BUSY = 3  # exit code: another process runs this job
UNWRITTEN = 4  # exit code: the record could not be written


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The record of a job, or the reason why there is none."""

    job: Job
    record: Record | None
    status: str = ""  # busy, unwritten, or stopped
    reason: str = ""  # why the record is unwritten


def work(job: Job, store: Store, options: RunOptions, connection: Connection) -> None:
    """Run a job in this process and write its record. The exit code reports other outcomes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command handles Ctrl-C
    threading.Thread(target=_exit_with_supervisor, args=(connection,), daemon=True).start()
    prepare_process(options.threads)
    warnings.simplefilter("ignore", HeterophilyWarning)  # the command prints to the terminal
    outcome = run_here(job, store, options, is_abandoned=connection.poll)
    if outcome.status == "busy":
        os._exit(BUSY)
    if outcome.status == "unwritten":
        connection.send(outcome.reason)
        os._exit(UNWRITTEN)


def run_here(
    job: Job, store: Store, options: RunOptions, *, is_abandoned: Callable[[], bool] = lambda: False
) -> Outcome:
    """Run a job in this process unless its record exists, and write the record.

    A failure after the supervisor is gone is not recorded: another command may have removed the graph.
    """
    try:
        with store.lock(job):
            record = store.find_finished(job, options)
            if record is None:
                record = resume_job(job, store.work_path(job).with_suffix(".pt"))
                if not record.done and is_abandoned():
                    return Outcome(job, None, "stopped")
                _write(store, job, record, options.limits.patience)
            # The record exists: a process that acquires the lock from now on has nothing to do.
            store.remove_work_files(job)
    except Timeout:
        return Outcome(job, None, "busy")
    except OSError as error:
        return Outcome(job, None, "unwritten", explain_unwritten(error))
    return Outcome(job, record)


def resume_job(job: Job, checkpoint: Path) -> Record:
    """Continue from a checkpoint, or start from scratch if it is damaged or written by other code."""
    resumed = checkpoint.exists()
    record = run_job(job, checkpoint)
    if not resumed or record.status != "error":
        return record
    checkpoint.unlink(missing_ok=True)
    return run_job(job, checkpoint)


def run_job(job: Job, checkpoint: Path | None = None) -> Record:
    """Run a job. A failure is a record too, with its reason, unless the disk is full."""
    try:
        return _train(job, checkpoint)
    except Exception as error:  # any failure is recorded, and other jobs continue
        return failure_record(job, *_describe_error(error))


def _train(job: Job, checkpoint: Path | None) -> Record:
    graph = _open_graph(job)
    split = resolve_nodes(graph, job.split, seed=job.seed, hide_test_labels=job.hide_test_labels)
    if job.hide_test_labels:
        graph = graph.with_labels_only(torch.cat([split.train, split.val]))
    measures = make_measures(job, graph, split)
    network, run = train(
        make_method(find_method(job.model), job.settings),
        graph,
        split=split,
        seed=job.seed,
        device=job.device,
        checkpoint=checkpoint,
        progress=False,
        on_improvement=notify(tuple(measures.values())),
        scoring=job.scoring,
    )
    if run.stopped == "interrupted":
        raise KeyboardInterrupt
    trained = Trained(cast("Network", network), run, graph, split)  # measures of networks only
    sizes = {part: len(nodes) for part, nodes in split.parts.items()}
    rows = {name: measure.rows(trained) for name, measure in measures.items()}
    return dataclasses.replace(
        job.empty_record,
        run=cast("RunData", run.to_dict()),
        parameters=sum(p.numel() for p in network.parameters()),
        details=cast("Details", {"split": sizes, **compatibility_details(network, graph), **rows}),
        environment=describe_environment(),
        finished=now(),
    )


def _open_graph(job: Job) -> Graph:
    """Return the graph of a job, which must be the one for which the job was created."""
    graph = open_graph(job.source) if isinstance(job.source, str) else job.source
    current = make_job(
        job.model,
        graph,
        job.split,
        seed=job.seed,
        settings=job.settings,
        hide_test_labels=job.hide_test_labels,
        scoring=job.scoring,
        trials=job.empty_record.trials,
    )
    if current.key != job.key:
        raise HeterophilyError(f"{job} changed after the run was planned; start the command again")
    return graph


def _describe_error(error: Exception) -> tuple[str, str]:
    """Return the kind of a failure and its reason."""
    text = str(error)
    if isinstance(error, OSError) and error.errno in (*FULL, errno.EROFS):
        raise error
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return "memory", text or "out of memory"
    kind = "memory" if "allocate" in text and "memory" in text else "error"
    return kind, text if isinstance(error, HeterophilyError) else traceback.format_exc(limit=-3)


def compatibility_details(network: nn.Module, graph: Graph) -> Details:
    """Return the compatibility matrix that the network estimates and its error, if it estimates one."""
    estimated = network.state_summary().get("compatibility") if isinstance(network, Network) else None
    if estimated is None:
        return {}
    estimated = estimated.cpu()
    observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
    return {
        "compatibility": [[round(v, 4) for v in row] for row in estimated.tolist()],
        "compatibility_error": float((estimated - observed).abs().mean()),
    }


def failure_record(job: Job, kind: str, reason: str, *, threads: int | None = None) -> Record:
    """Return the record of a failed run."""
    return dataclasses.replace(
        job.empty_record, status=kind, reason=reason, environment=describe_environment(threads), finished=now()
    )


def _write(store: Store, job: Job, record: Record, patience: float) -> None:
    """Write a record. If the disk is full, wait for free space for a while."""
    end = time.monotonic() + patience
    while True:
        try:
            store.write(job, record)
        except OSError as error:
            if time.monotonic() > end or error.errno in READ_ONLY:
                raise
            time.sleep(min(1.0, patience / 10))
        else:
            return


def _exit_with_supervisor(connection: Connection) -> None:
    """End this process when the supervising process is gone, which closes the connection."""
    with contextlib.suppress(EOFError, OSError):
        connection.recv_bytes()
    os._exit(1)
