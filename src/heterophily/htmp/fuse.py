"""FUSE: one representation from the states of all layers Z⁰, .., Z^L (paper, Section 3), and skip connections."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, cast

import torch
from torch import Tensor
from typing_extensions import override

from heterophily.core.graph import Features
from heterophily.htmp.parts import Context, Sizes, W, Weights


@dataclass(frozen=True)
class Fuse(Generic[W]):
    """The representation of a node from the states of all layers. Subclasses implement `__call__`."""

    symbol: ClassVar[str]
    uses_all_layers: ClassVar[bool] = True
    uses_initial: ClassVar[bool] = True  # whether Z depends on Z⁰
    concatenates: ClassVar[bool] = False  # whether Z is wider than each layer
    full_graph_reason = ""  # why it needs the full graph; empty if mini-batches work

    def weights(self, size: Sizes) -> W:
        """Return the learnable weights; d_in is the width of Z^L."""
        return cast("W", Weights())

    def width(self, widths: Sequence[int]) -> int:
        """Return the width of Z from those of Z⁰, .., Z^L."""
        return widths[-1]

    def __call__(self, states: Sequence[Tensor], w: W) -> Tensor:
        """Return Z from Z⁰, .., Z^L."""
        raise NotImplementedError


@dataclass(frozen=True)
class LastLayer(Fuse):
    """The state of the last layer.

    Z = Z^L

    Examples
    --------
    >>> LastLayer().symbol
    'Z^L'
    """

    symbol = "Z^L"
    uses_all_layers = False

    @override
    def __call__(self, states: Sequence[Tensor], w: Weights) -> Tensor:
        return states[-1]


@dataclass(frozen=True)
class ConcatLayers(Fuse):
    """Concatenation of the states of all layers.

    Z = [Z⁰ ‖ .. ‖ Z^L]

    Examples
    --------
    >>> ConcatLayers().symbol
    'Cat'
    """

    symbol = "Cat"
    concatenates = True

    @override
    def width(self, widths: Sequence[int]) -> int:
        return sum(widths)

    @override
    def __call__(self, states: Sequence[Tensor], w: Weights) -> Tensor:
        return torch.cat(list(states), dim=1)


@dataclass(frozen=True)
class Skip(Generic[W]):
    """Connection between layers. Subclasses implement `__call__`."""

    min_layers: ClassVar[int] = 1
    carried_keys: ClassVar[tuple[str, ...]] = ()  # values per node in `Context.carry`

    def weights(self, size: Sizes) -> W:
        """Return the weights, which all layers share."""
        return cast("W", Weights())

    def __call__(self, state: Features, w: W, context: Context) -> Tensor:
        """Return the input of layer l from the output of the layer before."""
        raise NotImplementedError
