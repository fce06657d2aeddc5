"""Seeds: the same seed gives the same run on the same machine, bit for bit."""

import hashlib
import random

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and PyTorch, on all devices."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002, some libraries draw from the global generator
    torch.manual_seed(seed)


def derived_seed(*numbers: int) -> int:
    """A seed for one of many draws, such as the third batch of an epoch, unrelated to all others."""
    digest = hashlib.sha256(repr(numbers).encode()).digest()
    return int.from_bytes(digest[:7], "little")
