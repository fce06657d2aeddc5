"""How much memory a process has needed, and what becomes of memory that is freed."""

import ctypes
import os
import sys
from functools import cache
from typing import Any

import psutil

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's mallopt
MOST = 2**31 - 1  # bytes at the end of its memory that a process keeps; mallopt takes no more


def peak_memory() -> float:
    """The most memory that this process ever had, in MB."""
    if sys.platform == "win32":
        return float(psutil.Process().memory_info().peak_wset) / 2**20
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


@cache
def keep_freed_memory() -> bool:
    """Let the process keep blocks that it frees for the next ones; False where that cannot be chosen.

    By itself glibc gives large tensors back to the system and gets them again as pages of zeros, which takes
    up to two fifths of an epoch on a graph of 20,000 nodes. Its environment variables, if set, stand.
    """
    said = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if said or not hasattr(_libc(), "mallopt"):
        return False
    limits = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: MOST}
    return all(_libc().mallopt(name, value) for name, value in limits.items())


def return_freed_memory() -> None:
    """Give what is kept back to the system."""
    if keep_freed_memory():
        _libc().malloc_trim(0)


def _libc() -> Any:
    return ctypes.CDLL(None) if sys.platform.startswith("linux") else None
