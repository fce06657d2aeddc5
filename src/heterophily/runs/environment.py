"""Where a run took place: the same settings may differ by points between machines."""

import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

LIBRARIES = ("heterophily", "torch", "numpy", "scipy", "scikit-learn")


def describe_environment(threads: int | None = None) -> dict[str, Any]:
    """Versions, processor, graphics card and number of threads, by default of this process."""
    return {**_fixed(), "threads": threads or torch.get_num_threads()}


@cache
def _fixed() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        **{name: version(name) for name in LIBRARIES},
    }


def processor() -> str:
    """The name of the processor as the system tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
