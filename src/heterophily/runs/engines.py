"""Where jobs run: in this process, in local processes, or on a Dask or Ray cluster."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.extras import require
from heterophily.runs.job import Job, RunOptions
from heterophily.runs.store import Store
from heterophily.runs.worker import Outcome, run_here

ENGINES = ("local", "dask", "ray")
RunFunction = Callable[[Job, Store, RunOptions], Outcome]
WORKERS_SECONDS = 60  # to wait for the first worker of a cluster


@dataclass(frozen=True)
class Engine:
    """A place that executes jobs."""

    name: str
    n_workers: int
    submit: Callable[[RunFunction, Job, Store, RunOptions], "Future[Outcome]"]


@contextmanager
def open_engine(name: str, address: str | None, workers: int) -> Iterator[Engine]:
    """Open an engine: `inline` for this process, or one of ENGINES. A cluster determines its workers."""
    if name not in ("inline", *ENGINES):
        raise unknown_name("engine", name, ENGINES)
    if name in ("inline", "local") and address is not None:
        raise HeterophilyError(f"--address {address} needs --engine dask or --engine ray")
    if name in ("dask", "ray") and address is None:
        raise HeterophilyError(f"--engine {name} needs the --address of a cluster; on one machine, use --workers")
    if name == "inline":
        yield Engine(name, 1, _run_inline)
    elif name == "local":
        with ThreadPoolExecutor(workers) as pool:
            yield Engine(name, workers, pool.submit)
    elif name == "dask":
        with _dask(str(address)) as engine:
            yield engine
    else:
        with _ray(str(address)) as engine:
            yield engine


def _run_inline(_: RunFunction, job: Job, store: Store, options: RunOptions) -> "Future[Outcome]":
    future: Future[Outcome] = Future()
    before = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        future.set_result(run_here(job, store, options))
    finally:
        torch.set_num_threads(before)
    return future


@contextmanager
def _dask(address: str) -> Iterator[Engine]:
    distributed = require("--engine dask", "distributed")
    try:
        client = distributed.Client(address)
    except (OSError, ValueError) as error:
        raise HeterophilyError(f"no Dask scheduler at {address} ({error}); start one") from error
    with client:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        executor = client.get_executor(pure=False)
        try:
            yield Engine("dask", sum(client.ncores().values()), executor.submit)
        finally:
            executor.shutdown(wait=False)


@contextmanager
def _ray(address: str) -> Iterator[Engine]:
    ray = require("--engine ray", "ray")
    try:
        if address != "auto":
            _check_reachable(address.removeprefix("ray://"))
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise HeterophilyError(f"no Ray cluster at {address} ({error}); start one") from error
    try:
        call = ray.remote(lambda function, *arguments: function(*arguments))
        n_workers = int(ray.cluster_resources().get("CPU", 1))
        yield Engine("ray", n_workers, lambda *arguments: call.remote(*arguments).future())
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise an error if nothing answers at host:port. Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        raise ValueError("an address is host:port or auto")
    socket.create_connection((host, int(port)), timeout=10).close()
