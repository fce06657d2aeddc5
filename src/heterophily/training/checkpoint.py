"""Checkpoints: everything that an interrupted run needs to continue to the same result.

A file contains only tensors and plain values and is read with PyTorch's restricted loader.
"""

import dataclasses
import errno
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import torch
from torch import Tensor
from torch.optim import Optimizer

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.types import Json
from heterophily.htmp.network import Network
from heterophily.training.result import History
from heterophily.training.stopping import EarlyStopping


class Checkpoint(TypedDict):
    """The content of a checkpoint file."""

    key: str
    epoch: int
    network: dict[str, Tensor]
    optimizers: list[dict[str, Json]]
    stopping: dict[str, object]
    history: dict[str, list[float]]
    random: Tensor
    random_cuda: list[Tensor]


def save_checkpoint(
    path: Path,
    network: Network,
    optimizers: Sequence[Optimizer],
    stopping: EarlyStopping,
    history: History,
    *,
    key: str,
    epoch: int,
) -> None:
    """Write the state after `epoch` atomically. Raise OSError if that is not possible."""
    content = Checkpoint(
        key=key,
        epoch=epoch,
        network=network.state_dict(),
        optimizers=[optimizer.state_dict() for optimizer in optimizers],
        stopping=dataclasses.asdict(stopping),
        history=history.to_dict(),
        random=torch.get_rng_state(),
        random_cuda=torch.cuda.get_rng_state_all(),
    )
    try:
        write_atomically(path, lambda p: torch.save(content, p))
    except RuntimeError as error:
        if "inline_container" not in str(error):  # PyTorch's message for a full disk
            raise
        raise OSError(errno.ENOSPC, "a checkpoint could not be written") from error


def load_checkpoint(path: Path, *, key: str) -> Checkpoint | None:
    """Read the checkpoint of the run with this key. Return None if there is no file."""
    if not path.exists():
        return None
    try:
        content = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:
        raise HeterophilyError(f"{path} is not a readable checkpoint; delete it to start from the beginning") from error
    if not isinstance(content, dict) or content.get("key") != key:
        raise HeterophilyError(
            f"{path} belongs to another run (other model, settings, data, split or seed); "
            "delete it or choose another file"
        )
    return Checkpoint(**content)  # type: ignore[typeddict-item]


def restore(content: Checkpoint, network: Network, optimizers: Sequence[Optimizer], stopping: EarlyStopping) -> History:
    """Restore everything in place, including the random generators. Return the history."""
    network.load_state_dict(content["network"])
    for optimizer, state in zip(optimizers, content["optimizers"], strict=True):
        optimizer.load_state_dict(state)
    for name, value in content["stopping"].items():
        setattr(stopping, name, value)
    torch.set_rng_state(content["random"])
    torch.cuda.set_rng_state_all(content["random_cuda"])
    return History.from_dict(content["history"])
