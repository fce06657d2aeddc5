"""Checkpoints: everything that a run needs to go on to the same result.

A file holds tensors and plain values only and is read with PyTorch's restricted loader.
"""

import dataclasses
import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.optim import Optimizer

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.htmp.network import Network
from heterophily.training.stopping import EarlyStopping


def save_checkpoint(
    path: Path,
    *,
    key: str,
    epoch: int,
    network: Network,
    optimizers: Sequence[Optimizer],
    best: EarlyStopping,
    curve: Any,
) -> None:
    """Write the state after `epoch`, atomically; an OSError where it cannot be."""
    content = {
        "key": key,
        "epoch": epoch,
        "network": network.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "best": dataclasses.asdict(best),
        "curve": curve,
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all(),
    }
    try:
        write_atomically(path, lambda p: torch.save(content, p))
    except RuntimeError as error:
        if "inline_container" not in str(error):  # PyTorch's word for a full disk
            raise
        raise OSError(errno.ENOSPC, "a checkpoint could not be written") from error


def load_checkpoint(path: Path, *, key: str) -> dict[str, Any] | None:
    """Read the state of the run with this key; None if there is none."""
    if not path.exists():
        return None
    try:
        content: Any = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:
        raise HeterophilyError(
            f"{path} is not a readable checkpoint; delete it to start anew"
        ) from error
    if not isinstance(content, dict) or content.get("key") != key:
        raise HeterophilyError(
            f"{path} belongs to another run (other model, settings, data, split or seed); "
            "delete it or choose another file"
        )
    return content


def restore(
    content: dict[str, Any], network: Network, optimizers: Sequence[Optimizer], best: EarlyStopping
) -> None:
    """Put everything back as it was."""
    network.load_state_dict(content["network"])
    for optimizer, state in zip(optimizers, content["optimizers"], strict=True):
        optimizer.load_state_dict(state)
    for name, value in content["best"].items():
        setattr(best, name, value)
    torch.set_rng_state(content["random"])
    torch.cuda.set_rng_state_all(content["random_cuda"])
