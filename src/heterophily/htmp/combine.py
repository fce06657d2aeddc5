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
    """The message of the only channel."""

    arity = (1, 1)

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Z_1."""
        return messages[0]


@dataclass(frozen=True)
class Add(Combine):
    """Σ_r Z_r; messages narrower than the first are concatenated before they are added to it."""

    symbol = "Add"

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Z_1 + .. + Z_R."""
        first, rest = messages[0], messages[1:]
        if rest and rest[0].shape[1] < first.shape[1]:
            return first + torch.cat(list(rest), dim=1)
        return torch.stack(list(messages)).sum(dim=0) if len(messages) > 3 else sum(rest, first)


@dataclass(frozen=True)
class WeightedAdd(Combine):
    """ω_1 Z_1 + ω_2 Z_2 with given weights, ω_2 = 1 - ω_1 if left out."""

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
    """Z_1 + ω Z_2 + b with a learned number ω (HOG-GCN)."""

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
    """[Z_1 ‖ .. ‖ Z_R]; `last = mean` averages in the last layer, which must be K wide (Geom-GCN)."""

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
    """G ⊙ z + (1 - G) ⊙ m: a gate orders the dimensions of ego and neighbors (OrderedGNN).

    q = cumsum(softmax([z ‖ m] W_g + b_g)) over c chunks, g^l = g^(l-1) + (1 - g^(l-1)) ⊙ q, and G repeats
    each column of g^l d/c times; a layer norm follows. `gate`: `ordered`; `simple`, a sigmoid; `off`, m.
    """

    n_chunks: int = 64
    shared: bool = True
    gate: str = "ordered"
    symbol = "AdaCat"
    arity = (2, 2)
    carried_keys = ("gate",)

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
