"""The environment of a run: the same settings can differ by percentage points between machines."""

import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch

from heterophily.core.types import JsonObject

LIBRARIES = ("heterophily", "torch", "numpy", "scipy", "scikit-learn")


def describe_environment(threads: int | None = None) -> JsonObject:
    """Return versions, processor, GPU, and number of threads, by default of this process."""
    return {**_static_facts(), "threads": threads or torch.get_num_threads()}


@cache
def _static_facts() -> JsonObject:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        **{name: version(name) for name in LIBRARIES},
    }


def processor() -> str:
    """Return the name of the processor as reported by the system."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
