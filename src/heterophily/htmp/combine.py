"""COMBINE: one state from the messages of all channels (paper, Section 3).

Add, weighted add, concatenation, and concatenation with learned dimensions; the adaptive sums are in
`adaptive.py`. `symbol` is how the paper's table writes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from heterophily.core.dense import product
from heterophily.core.errors import HeterophilyError, check_option
from heterophily.core.fused import blend
from heterophily.htmp.part import Context, Dense, Sizes

Messages = Sequence[Tensor]


@dataclass(frozen=True)
class Combine:
    """The base of all COMBINE: calling it is the verb."""

    symbol = "/"
    # What it keeps in the memory of a scene from layer to layer, per node.
    carried_keys: ClassVar[tuple[str, ...]] = ()
    # Smallest and largest number of channels; None for no limit.
    arity: ClassVar[tuple[int, int | None]] = (1, None)
    keeps_width: ClassVar[bool] = True  # whether Z is as wide as each message

    @property
    def requires_equal_widths(self) -> bool:
        """Whether the messages of all layers must have the width of Z⁰."""
        return False

    @property
    def keeps_width_in_last_layer(self) -> bool:
        """Whether Z^L is as wide as each message."""
        return self.keeps_width

    def weights(self, size: Sizes) -> Mapping[str, nn.Module | nn.Parameter]:
        """Weights of one layer; d_out is the width of a message."""
        return {}

    def shared_weights(self, size: Sizes) -> Mapping[str, nn.Module | nn.Parameter]:
        """Weights that all layers share."""
        return {}

    def width(self, size: Sizes) -> int:
        """Width of the combined state; d_out is the width of a message."""
        return size.d_out

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Z from Z_1, .., Z_R; `heard` is the state that the first channel heard."""
        raise NotImplementedError


@dataclass(frozen=True)
class SingleChannel(Combine):
    """The messages of a single channel.

    Z = Z_1

    Examples
    --------
    >>> SingleChannel().symbol
    '/'
    """

    arity = (1, 1)

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Z_1."""
        return messages[0]


@dataclass(frozen=True)
class Add(Combine):
    """Sum of all messages.

    Z = Σ_r Z_r

    Notes
    -----
    Messages that are narrower than the first one are concatenated before they are added to it.

    Examples
    --------
    >>> Add().symbol
    'Add'
    """

    symbol = "Add"

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Z_1 + .. + Z_R."""
        first, rest = messages[0], messages[1:]
        if rest and rest[0].shape[1] < first.shape[1]:
            return first + torch.cat(list(rest), dim=1)
        return torch.stack(list(messages)).sum(dim=0) if len(messages) > 3 else sum(rest, first)


@dataclass(frozen=True)
class WeightedAdd(Combine):
    """Weighted sum of two messages.

    Z = ω_1 Z_1 + ω_2 Z_2

    Parameters
    ----------
    first
        ω_1.
    second
        ω_2; by default 1 - ω_1.

    Examples
    --------
    >>> WeightedAdd(0.1).symbol
    'WeightedAdd'
    """

    first: float
    second: float | None = None
    symbol = "WeightedAdd"
    arity = (2, 2)

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """ω_1 Z_1 + ω_2 Z_2."""
        one, two = self.first, 1 - self.first if self.second is None else self.second
        return torch.add(two * messages[1] if two != 1 else messages[1], messages[0], alpha=one)


@dataclass(frozen=True)
class LearnedAdd(Combine):
    """Sum of two messages with a learned weight.

    Z = Z_1 + ω Z_2 + b

    Examples
    --------
    >>> LearnedAdd().symbol
    'WeightedAdd'
    """

    symbol = "WeightedAdd"
    arity = (2, 2)

    def weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        """ω, uniform in (½, 1), and b."""
        spread = size.d_out**-0.5
        return {
            "weight": nn.Parameter(torch.empty(()).uniform_(0.5, 1)),
            "b": nn.Parameter(torch.empty(size.d_out).uniform_(-spread, spread)),
        }

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Z_1 + ω Z_2 + b."""
        return messages[0] + w.weight * messages[1] + w.b


@dataclass(frozen=True)
class Concat(Combine):
    """Concatenation of all messages.

    Z = [Z_1 ‖ .. ‖ Z_R]

    Parameters
    ----------
    last
        `concat`, or `mean` for the mean of all messages in the last layer.

    Examples
    --------
    >>> Concat().symbol
    'Cat'
    """

    last: str = "concat"
    symbol = "Cat"
    keeps_width = False

    @property
    def keeps_width_in_last_layer(self) -> bool:
        """Whether the last layer averages."""
        return self.last == "mean"

    def _averages(self, layer: int, n_layers: int) -> bool:
        return self.last == "mean" and layer == n_layers

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """Remembers nothing but whether this is the last layer."""
        return {"mean": nn.Identity()} if self._averages(size.layer, size.n_layers) else {}

    def width(self, size: Sizes) -> int:
        """R d, or d for a mean."""
        wide = 1 if self._averages(size.layer, size.n_layers) else size.n_channels
        return size.d_out * wide

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """[Z_1 ‖ .. ‖ Z_R], or their mean."""
        if hasattr(w, "mean"):
            return torch.stack(list(messages)).mean(dim=0)
        return torch.cat(list(messages), dim=1)


@dataclass(frozen=True)
class OrderedGate(Combine):
    """Gate that assigns the first dimensions to the node and the others to its neighbors.

    Z = LN(G ⊙ Z_1 + (1 - G) ⊙ Z_2),
    g^l = g^(l-1) + (1 - g^(l-1)) ⊙ cumsum(softmax([Z_1 ‖ Z_2] W_g + b_g))

    Parameters
    ----------
    n_chunks
        Number of columns of g^l. G repeats each column, so this number must divide the width.
    shared
        Whether all layers share the gate.
    gate
        `ordered`, `simple` for a sigmoid, or `off` for Z = LN(Z_2).

    Examples
    --------
    >>> OrderedGate(16).symbol
    'AdaCat'
    """

    n_chunks: int = 64
    shared: bool = True
    gate: str = "ordered"
    symbol = "AdaCat"
    arity = (2, 2)
    carried_keys = ("gate",)

    @property
    def requires_equal_widths(self) -> bool:
        """Whether all layers share the gate."""
        return self.shared and self.gate != "off"

    def __post_init__(self) -> None:
        check_option("gate", self.gate, ("ordered", "simple", "off"))

    def _gate(self, size: Sizes) -> dict[str, nn.Module]:
        if self.gate == "off":
            return {}
        width, chunks = size.d_out, self.n_chunks
        if width % chunks:
            raise HeterophilyError(f"n_chunks must divide the width {width}, got {chunks}")
        return {"gate": Dense(2 * width, chunks)}

    def shared_weights(self, size: Sizes) -> dict[str, nn.Module]:
        """The gate, if all layers share it."""
        return self._gate(size) if self.shared else {}

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """The layer norm, and the gate if each layer has its own."""
        own = {} if self.shared else self._gate(size)
        return {"norm": nn.LayerNorm(size.d_out), **own}

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """LN(G ⊙ z + (1 - G) ⊙ m)."""
        ego, mean = messages
        if self.gate == "off":
            return w.norm(mean)
        return w.norm(blend(self.gate_values(messages, w, context), ego, mean))

    def gate_values(self, messages: Messages, w: Any, context: Context) -> Tensor:
        """g^l (N, c), non-decreasing along chunks and along layers."""
        dense = (context.shared_weights if self.shared else w).gate
        ego, mean = messages
        upper, lower = dense.weight.split(ego.shape[1])
        raw = product(ego, upper, dense.bias).add_(product(mean, lower))
        if self.gate == "simple":
            return torch.sigmoid(raw)
        opened = raw.softmax(dim=1).cumsum(dim=1)
        before = context.carry.get("gate")
        gate = opened if before is None else before + (1 - before) * opened
        context.carry["gate"] = gate
        return gate
