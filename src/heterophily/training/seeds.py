"""Seeds: the same seed on the same machine gives the same run, bit for bit."""

import hashlib
import random

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy, and PyTorch on all devices."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002, some libraries use the global generator
    torch.manual_seed(seed)


def derived_seed(*numbers: int) -> int:
    """Return an independent seed for each combination of numbers, such as seed, epoch, and batch."""
    digest = hashlib.sha256(repr(numbers).encode()).digest()
    return int.from_bytes(digest[:7], "little")
