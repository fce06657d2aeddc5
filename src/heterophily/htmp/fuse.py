"""FUSE: one representation from the states of all layers Z⁰, .., Z^L (paper, Section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class LastLayer:
    """The state of the last layer.

    Z = Z^L

    Examples
    --------
    >>> LastLayer().symbol
    'Z^L'
    """

    symbol = "Z^L"
    uses_all_layers = False  # whether states of earlier layers matter
    concatenates = False  # whether Z is wider than each layer

    def weights(self, n_layers: int) -> dict[str, nn.Parameter]:
        """None."""
        return {}

    def width(self, widths: Sequence[int]) -> int:
        """The width of the last state."""
        return widths[-1]

    def __call__(self, states: Sequence[Any], w: Any) -> Any:
        """Z^L."""
        return states[-1]


@dataclass(frozen=True)
class ConcatLayers(LastLayer):
    """Concatenation of the states of all layers.

    Z = [Z⁰ ‖ .. ‖ Z^L]

    Examples
    --------
    >>> ConcatLayers().symbol
    'Cat'
    """

    symbol = "Cat"
    uses_all_layers = concatenates = True

    def width(self, widths: Sequence[int]) -> int:
        """The sum of all widths."""
        return sum(widths)

    def __call__(self, states: Sequence[Any], w: Any) -> Tensor:
        """[Z⁰ ‖ .. ‖ Z^L]."""
        return torch.cat(list(states), dim=1)
