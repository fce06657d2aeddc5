"""What the server imports from which runs are forked, so that no run waits for it.

PyTorch's optimisers import its compiler at their first step, which alone takes seconds.
"""

import rich.progress  # noqa: F401
import sklearn.datasets  # noqa: F401
import torch._dynamo  # noqa: F401

import heterophily.runs.worker  # noqa: F401
