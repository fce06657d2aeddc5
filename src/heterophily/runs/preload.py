"""Imports of the server from which runs are forked, so that runs do not have to wait for them.

The optimizers of PyTorch import its compiler in their first step, which alone takes seconds.
"""

import rich.progress  # noqa: F401
import sklearn.datasets  # noqa: F401
import torch._dynamo  # noqa: F401

import heterophily.runs.worker  # noqa: F401
