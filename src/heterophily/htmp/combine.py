"""COMBINE: one state from the messages of all channels (paper, Section 3).

`symbol` is the notation of the paper's table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.fused import gated_sum
from heterophily.core.graph import Features
from heterophily.htmp.parts import Context, DenseBlock, Sizes, W, Weights, init_uniform, norm_reason

Messages = Sequence[Tensor]


@dataclass(frozen=True)
class Combine(Generic[W]):
    """Base class of all COMBINE. Subclasses combine messages in `__call__`."""

    symbol = "/"
    # Keys of the values per node that it carries from layer to layer in the context.
    carried_keys: ClassVar[tuple[str, ...]] = ()
    # Smallest and largest number of channels; None for no limit.
    arity: ClassVar[tuple[int, int | None]] = (1, None)
    keeps_width: ClassVar[bool] = True  # whether Z is as wide as each message
    is_linear: ClassVar[bool] = False  # whether Z is linear in the messages; not inherited
    full_graph_reason = ""  # why it needs the full graph; empty if mini-batches work

    @property
    def requires_equal_widths(self) -> bool:
        """Whether the messages of all layers must have the width of Z⁰."""
        return False

    @property
    def keeps_width_in_last_layer(self) -> bool:
        """Whether Z^L is as wide as each message."""
        return self.keeps_width

    def weights(self, size: Sizes) -> W:
        """Weights of one layer; d_out is the width of a message."""
        return cast("W", Weights())

    def shared_weights(self, size: Sizes) -> Mapping[str, nn.Module | nn.Parameter]:
        """Weights that all layers share."""
        return {}

    def width(self, size: Sizes) -> int:
        """Width of the combined state; d_out is the width of a message."""
        return size.d_out

    def __call__(self, messages: Messages, inputs: Features | None, w: W, context: Context) -> Tensor:
        """Z from Z_1, .., Z_R; `inputs` is the input of the first channel."""
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
    is_linear = True

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: Weights, context: Context) -> Tensor:
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
    is_linear = True

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: Weights, context: Context) -> Tensor:
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
    is_linear = True
    arity = (2, 2)

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: Weights, context: Context) -> Tensor:
        one, two = self.first, 1 - self.first if self.second is None else self.second
        return torch.add(two * messages[1] if two != 1 else messages[1], messages[0], alpha=one)


@dataclass(frozen=True)
class Concat(Combine):
    """Concatenation of all messages.

    Z = [Z_1 ‖ .. ‖ Z_R]

    Examples
    --------
    >>> Concat().symbol
    'Cat'
    """

    symbol = "Cat"
    keeps_width = False

    @override
    def width(self, size: Sizes) -> int:
        return size.d_out * size.n_channels

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: Weights, context: Context) -> Tensor:
        return torch.cat(list(messages), dim=1)


@dataclass(frozen=True)
class ConcatDense(Combine[DenseBlock]):
    """One dense layer of the concatenation of all messages, with a norm and an activation.

    Z = f( norm( drop([Z_1 ‖ .. ‖ Z_R]) W + b ) )

    Parameters
    ----------
    dropout
        Dropout rate.
    norm
        `layer`, `batch`, or `none`.
    activation
        Activation f.

    Examples
    --------
    >>> ConcatDense(0.5).symbol
    'Cat'
    """

    dropout: float = 0.0
    norm: str = "none"
    activation: str = "relu"
    symbol = "Cat"

    @property
    def full_graph_reason(self) -> str:  # type: ignore[override]
        """Why it needs the full graph; empty if mini-batches work."""
        return norm_reason(self.norm)

    @override
    def weights(self, size: Sizes) -> DenseBlock:
        d, options = size.d_out, {"norm": self.norm, "activation": self.activation}
        return DenseBlock(d * size.n_channels, d, dropout=self.dropout, **options)

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: DenseBlock, context: Context) -> Tensor:
        return w(torch.cat(list(messages), dim=1))


class AdaptiveSumWeights(Weights):
    """Weights of `AdaptiveSum`."""

    a: nn.Parameter  # (R, d)
    V: nn.Parameter  # (R, R)
    norms: nn.ModuleList


@dataclass(frozen=True)
class AdaptiveSum(Combine[AdaptiveSumWeights]):
    """Sum with one learned weight per node and channel.

    Z = κ Σ_r α_r ⊙ Z_r, α = softmax( [sig(Z_1 a_1) ‖ .. ‖ sig(Z_R a_R)] V / R ), κ = 3 if R = 3,
    else 1

    Parameters
    ----------
    norm
        Whether to apply a layer norm to the messages when computing α.

    Examples
    --------
    >>> AdaptiveSum().symbol
    'AdaAdd'
    """

    norm: bool = False
    symbol = "AdaAdd"

    @override
    def weights(self, size: Sizes) -> AdaptiveSumWeights:
        r, d = size.n_channels, size.d_out
        w = AdaptiveSumWeights(a=init_uniform(1.0, r, d), V=init_uniform(r**-0.5, r, r))
        if self.norm:
            w.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(r))
        return w

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: AdaptiveSumWeights, context: Context) -> Tensor:
        count = len(messages)
        scale = 3.0 if count == 3 else 1.0
        if not self.norm:
            attend = torch.block_diag(*w.a.unsqueeze(2))
            state, alpha = gated_sum(messages, attend, w.V / count, scale=scale)
        else:
            states = [norm(m) for norm, m in zip(w.norms, messages, strict=True)]
            scores = torch.stack([m @ a for m, a in zip(states, w.a, strict=True)], dim=1)
            alpha = (torch.sigmoid(scores) @ w.V / count).softmax(dim=1)
            state = weigh(messages, alpha * scale)
        context.add_aux_output("alpha", alpha)
        return state


def weigh(messages: Messages, weights: Tensor) -> Tensor:
    """Σ_r weights[:, r] ⊙ Z_r."""
    total = weights[:, 0:1] * messages[0]
    for r, message in enumerate(messages[1:], start=1):
        total = torch.addcmul(total, weights[:, r : r + 1], message)
    return total
