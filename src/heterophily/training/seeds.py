"""Seeds: the same seed gives the same run on the same machine, bit for bit."""

import random

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and PyTorch, on all devices."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002, some libraries draw from the global generator
    torch.manual_seed(seed)
