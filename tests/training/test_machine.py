"""Peak memory is in MB and never falls; freed memory is kept while training."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from heterophily.core.machine import peak_memory
from heterophily.training import trainer
from heterophily.training.trainer import train


def test_peak_memory_is_in_megabytes_and_never_falls():
    before = peak_memory()
    block = np.ones(100 * 2**17)  # 100 MB
    after = peak_memory()
    del block
    assert 20 < before <= after < 1e5
    assert peak_memory() >= after


FAULTS = """
import resource
import numpy as np
from heterophily.core.machine import keep_freed_memory
kept = keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(40):
    a, b = np.ones(2**21), np.ones(2**21)  # 16 MB each
    del a, b
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(**environment):
    """Whether freed memory is kept, and the pages that the system had to give."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", FAULTS]
    done = subprocess.run(
        command, env=clean | environment, capture_output=True, text=True, check=True
    )
    kept, count = done.stdout.split()
    return kept == "True", int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc lets one choose")
def test_freed_memory_is_kept_for_the_next_tensors_unless_the_environment_says_otherwise():
    kept, few = faults()
    assert kept
    said, many = faults(MALLOC_TRIM_THRESHOLD_="1048576", MALLOC_MMAP_THRESHOLD_="1048576")
    assert not said
    assert few < many / 4


def test_training_keeps_freed_memory_and_gives_it_back(monkeypatch, graph, split):
    calls = []
    for name in ("keep_freed_memory", "return_freed_memory"):
        monkeypatch.setattr(trainer, name, lambda name=name: calls.append(name))
    train("mlp", graph, split=split, max_epochs=1, progress=False)
    assert calls == ["keep_freed_memory", "return_freed_memory"]
