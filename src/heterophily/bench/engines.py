"""Where workers are: threads of this process, or the workers of a Dask or Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from joblib import parallel_config, register_parallel_backend

from heterophily.bench.supervise import Outcome
from heterophily.bench.work import failed
from heterophily.errors import HeterophilyError

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
        ray = _imported("ray", "ray")
        ray.init(address=address, ignore_reinit_error=True)
        _imported("ray.util.joblib", "ray").register_ray()
        with parallel_config(backend="ray"):
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
            cell = func.items[0][1][0]

            def give_up(future: Any) -> None:
                error = future.exception()
                if error is not None:
                    callback([Outcome(cell, failed(cell, "killed", f"Dask gave up: {error}"))])

            future = super().submit(func, callback)
            future.add_done_callback(give_up)
            return future

    register_parallel_backend("heterophily-dask", Backend)
    return "heterophily-dask"


def _imported(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise HeterophilyError(
            f"--engine {extra} needs {module}; pip install 'heterophily[{extra}]'"
        ) from error
