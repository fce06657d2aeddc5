"""What depends on the machine: threads, memory, kernels, and the switch that turns tuning off."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import torch

from heterophily import HeterophilyError
from heterophily.core.machine import choose_device, peak_memory


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
from heterophily.core.machine import retain_freed_memory
retained = retain_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(40):
    a, b = np.ones(2**21), np.ones(2**21)  # 16 MB each
    del a, b
print(retained, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def run_python(program, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def faults(**environment):
    """Whether freed memory is retained, and the pages that the system had to provide."""
    retained, count = run_python(FAULTS, **environment)
    return retained == "True", int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="requires glibc")
def test_freed_memory_is_retained_unless_the_environment_configures_malloc():
    retained, few = faults()
    assert retained
    configured, many = faults(MALLOC_TRIM_THRESHOLD_="1048576", MALLOC_MMAP_THRESHOLD_="1048576")
    assert not configured
    assert few < many / 4


UNTUNED = """
import torch
from heterophily.core import dense, fused, kernels, machine
dense.product(torch.ones(2000, 600), torch.ones(600, 3))
fused.blend(torch.ones(3, 1), torch.ones(3, 2), torch.ones(3, 2))
limits = kernels.MAX_CACHED_NUMBERS, fused.ROWS
print(machine.retain_freed_memory(), dense.onednn_is_faster(), *(limit > 2**60 for limit in limits))
"""


def test_tuning_can_be_turned_off():
    assert run_python(UNTUNED, HETEROPHILY_TUNING="off") == ["False", "False", "True", "True"]


USER = """
from heterophily import NodeClassifier, load
from heterophily.core import machine
calls = []
machine._libc = lambda: calls.append(1)
NodeClassifier("mlp", max_epochs=1).fit(load("digits"), split="0")
print(len(calls))
"""


def test_training_in_a_users_process_does_not_configure_malloc():
    assert run_python(USER) == ["0"]


def test_a_device_is_chosen_by_name():
    assert choose_device("cpu") == torch.device("cpu")
    best = "cuda" if torch.cuda.is_available() else "mps"
    if not torch.cuda.is_available() and not torch.backends.mps.is_available():
        best = "cpu"
    assert choose_device().type == best


@pytest.mark.parametrize("name", ["gpu", "", "cuda:99", "xpu:99"])
def test_a_device_that_is_not_there_is_refused(name):
    with pytest.raises(HeterophilyError, match=f"device '{name}' is not available; use 'auto' or 'cpu'"):
        choose_device(name)
