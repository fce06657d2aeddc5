"""Peak memory is in MB and never falls."""

import numpy as np

from heterophily.training.memory import peak_memory


def test_peak_memory_is_in_megabytes_and_never_falls():
    before = peak_memory()
    block = np.ones(100 * 2**17)  # 100 MB
    after = peak_memory()
    del block
    assert 20 < before <= after < 1e5
    assert peak_memory() >= after
