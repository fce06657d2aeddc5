"""Where workers are: threads of this process, or the workers of a Dask or Ray cluster."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from joblib import parallel_config, register_parallel_backend
from joblib.parallel import ParallelBackendBase

from heterophily.core.errors import HeterophilyError
from heterophily.runs.supervise import Outcome
from heterophily.runs.worker import failed

ENGINES = ("local", "dask", "ray")


@contextmanager
def engine_of(name: str, address: str | None) -> Iterator[None]:
    """The backend of joblib by the name of an engine."""
    if name == "local" and address is not None:
        raise HeterophilyError(f"--address {address} needs --engine dask or --engine ray")
    if name != "local" and address is None:
        raise HeterophilyError(
            f"--engine {name} needs the --address of a cluster; on one machine --workers is enough"
        )
    if name == "local":
        with parallel_config(backend="threading"):
            yield
    elif name == "dask":
        with _client(address), parallel_config(backend=_dask(), wait_for_workers_timeout=60):
            yield
    else:
        with _connection(address) as ray, parallel_config(backend=_ray(ray)):
            yield


def _client(address: str | None) -> Any:
    try:
        return _imported("distributed", "dask").Client(address)
    except (OSError, ValueError) as error:
        raise HeterophilyError(f"no Dask scheduler at {address} ({error}); start one") from error


def _dask() -> str:
    """Register joblib's backend with an end for tasks that Dask gives up; its name."""
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        """Joblib's waits for ever for a task under which too many workers died."""

        def submit(self, func: Any, callback: Any = None) -> Any:
            def give_up(future: Any) -> None:
                error = future.exception()
                if error is not None:
                    callback(_given_up("Dask", func, error))

            future = super().submit(func, callback)
            future.add_done_callback(give_up)
            return future

    register_parallel_backend("heterophily-dask", Backend)
    return "heterophily-dask"


@contextmanager
def _connection(address: str | None) -> Iterator[Any]:
    ray = _imported("ray", "ray")
    try:
        if address != "auto":
            _knock(str(address).removeprefix("ray://"))
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise HeterophilyError(f"no Ray cluster at {address} ({error}); start one") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise an error if nobody is at host:port, where Ray itself would ask again for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        raise ValueError("an address is host:port or auto")
    socket.create_connection((host, int(port)), timeout=10).close()


def _ray(ray: Any) -> str:
    """Register a backend of tasks; its name. Ray's own gives results only when all are there."""
    run = ray.remote(lambda func: func())

    class Backend(ParallelBackendBase):  # type: ignore[misc]
        """One task for every run, on whatever node has a free core."""

        supports_retrieve_callback = True

        def effective_n_jobs(self, n_jobs: int) -> int:
            return int(ray.cluster_resources().get("CPU", 1))

        def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
            self.parallel = parallel
            return self.effective_n_jobs(n_jobs)

        def submit(self, func: Any, callback: Any = None) -> Any:
            def finish(future: Any) -> None:
                error = future.exception()
                callback(_given_up("Ray", func, error) if error else future.result())

            future = run.remote(func).future()
            future.add_done_callback(finish)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            return out

    register_parallel_backend("heterophily-ray", Backend)
    return "heterophily-ray"


def _given_up(engine: str, func: Any, error: BaseException) -> list[Outcome]:
    """The outcome of a batch of one run that no worker of the cluster brought to its end."""
    cell = func.items[0][1][0]
    return [Outcome(cell, failed(cell, "killed", f"{engine} gave up: {error}"))]


def _imported(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise HeterophilyError(
            f"--engine {extra} needs {module}; pip install 'heterophily[{extra}]'"
        ) from error
