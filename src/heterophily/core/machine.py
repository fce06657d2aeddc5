"""Everything that depends on the processor or on `malloc`: kernels, cache sizes, threads, and memory.

`HETEROPHILY_TUNING=off` turns all tuning off. The results then differ only by rounding. PyTorch is imported
on first use, because the command line calls this module before it knows whether it needs PyTorch.
"""

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    import torch

TUNED = os.environ.get("HETEROPHILY_TUNING", "on").lower() != "off"
CACHED_VALUES = 3 * 2**18 if TUNED else sys.maxsize  # of a factor that fits in the cache: 3 MB
CACHED_ROWS = 1024 if TUNED else sys.maxsize  # of up to 256 columns that fit in the cache: 1 MB

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # parameters of mallopt in glibc
_MAX_THRESHOLD = 2**31 - 1  # the largest value that mallopt accepts, in bytes


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 1


def choose_device(name: str = "auto") -> "torch.device":
    """Return a device by name. `auto` is the GPU if there is one."""
    import torch

    if name != "auto":
        try:
            return torch.empty(0, device=name).device
        except (AssertionError, ImportError, RuntimeError, TypeError, ValueError) as error:
            raise HeterophilyError(f"device {name!r} is not available; use 'auto' or 'cpu'") from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def peak_memory() -> float:
    """Return the largest amount of memory that this process has used so far, in MB."""
    if sys.platform == "win32":
        import psutil

        return float(psutil.Process().memory_info().peak_wset) / 2**20
    import resource

    # macOS reports bytes, other systems kilobytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def prepare_process(threads: int = 0) -> None:
    """Set the number of threads of a process of ours and retain its freed memory. Not for user processes."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    retain_freed_memory()


@cache
def retain_freed_memory() -> bool:
    """Reuse freed blocks for new tensors. Return False if this system does not support it.

    By default, glibc returns large tensors to the system and receives them again as pages of zeros, which
    takes up to 40 % of an epoch on a graph with 20,000 nodes. Environment variables of malloc have priority.
    """
    configured = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    linux = sys.platform.startswith("linux")
    if configured or not (TUNED and linux and hasattr(_libc(), "mallopt")):
        return False
    limits = {_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: _MAX_THRESHOLD}
    return all(_libc().mallopt(name, value) for name, value in limits.items())


def return_freed_memory() -> None:
    """Return freed blocks to the system if `retain_freed_memory` was called in this process."""
    if retain_freed_memory.cache_info().currsize and retain_freed_memory():
        _libc().malloc_trim(0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@cache
def mkl_uses_narrow_registers() -> bool:
    """Return whether MKL leaves the widest registers unused: on AMD processors with AVX-512."""
    import torch

    path = Path("/proc/cpuinfo")
    amd = TUNED and path.exists() and "AuthenticAMD" in path.read_text()
    return amd and torch.backends.cpu.get_cpu_capability() == "AVX512"
