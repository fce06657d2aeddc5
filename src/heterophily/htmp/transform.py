"""W_r: what happens to a state on its way through a channel: own, shared, near-identity, none.

The transform comes before aggregation, T(ZW) = (TZ)W, because then messages are as narrow as the output.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.dense import product
from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix
from heterophily.htmp.channel import Channel
from heterophily.htmp.parts import Dense, DenseBlock, Init, Sizes, W, Weights, apply_dropout, norm_reason

Inputs = Sequence[Features | None]


@dataclass(frozen=True)
class Transform(Generic[W]):
    """The base, and the identity: messages are the states themselves."""

    keeps_width: ClassVar[bool] = True  # whether messages are as wide as the input of the layer
    keeps_width_after_combine: ClassVar[bool] = False  # whether COMBINE must not change the width
    joins_messages: ClassVar[bool] = False  # whether it maps the concatenation of all messages
    full_graph_reason = ""  # why it needs the full graph; empty if mini-batches work

    @property
    def concatenates_heads(self) -> bool:
        """Whether messages are wider than the width of a layer."""
        return False

    @property
    def aggregates_inputs(self) -> bool:
        """Whether the messages of all channels are Z itself, which may be sparse."""
        return False

    def weights(self, size: Sizes, channels: Sequence[Channel]) -> W:
        """Weights of one layer."""
        return cast("W", Weights())

    def n_heads(self, size: Sizes) -> int:
        """Number H of heads that messages have, 0 for messages without heads."""
        return 0

    def forward(self, inputs: Inputs, w: W, size: Sizes) -> list[Tensor]:
        """U_r = Z W_r for each channel, before aggregation."""
        return list(cast("Sequence[Tensor]", inputs))

    def after_aggregation(self, messages: Sequence[Tensor], w: W, size: Sizes) -> list[Tensor]:
        """What is left to do after aggregation: join heads, add biases."""
        return list(messages)

    def after_combine(self, state: Tensor, messages: Sequence[Tensor], w: W, layer: int) -> Tensor:
        """What is left to do after COMBINE."""
        return state

    def width(self, size: Sizes) -> int:
        """Width of a message after `after_aggregation`."""
        return size.d_in

    def output_width(self, size: Sizes, combined: int) -> int:
        """Width of the state after `after_combine`, given the width of the result of COMBINE."""
        return combined


@dataclass(frozen=True)
class NoTransform(Transform):
    """Messages are the inputs of the channels.

    U_r = Z

    Examples
    --------
    >>> NoTransform() == NoTransform()
    True
    """


@dataclass(frozen=True)
class Heads:
    """Attention heads of a `Linear` transform. The last layer always uses their mean.

    Examples
    --------
    >>> Heads(8).merge
    'concat'
    """

    n: int
    merge: Literal["concat", "mean"] = "concat"
    n_last_layer: int | None = None  # None: n
    init_separately: bool = False  # whether each head is initialized separately


@dataclass(frozen=True)
class Linear(Transform):
    """One linear map per channel.

    U_r = Z W_r (+ b_r)

    Parameters
    ----------
    bias
        `after` or `before` aggregation, `hidden` for before aggregation except in the last layer,
        or `none`.
    init
        Initialization of W_r and b_r, an `Init` or the name of one for W_r; a tuple has one entry per
        channel, and the last one repeats.
    bias_channels
        Channels with a bias; all by default.
    heads
        Attention heads; messages have none by default.

    Examples
    --------
    >>> Linear(bias="none").bias
    'none'
    """

    bias: str = "after"
    init: str | Init | tuple[str | Init, ...] = "glorot"
    bias_channels: tuple[int, ...] | None = None
    heads: Heads | None = None
    keeps_width = False

    @property
    @override
    def concatenates_heads(self) -> bool:
        return self.heads is not None and self.heads.n > 1 and self.heads.merge == "concat"

    @override
    def n_heads(self, size: Sizes) -> int:
        if self.heads is None:
            return 0
        return self.heads.n_last_layer or self.heads.n if size.is_last else self.heads.n

    @override
    def weights(self, size: Sizes, channels: Sequence[Channel]) -> Weights:
        weights = {}
        for r, channel in enumerate(channels):
            init = self._init(r)
            rows = size.n_nodes if channel.input == "nodes" else size.d_in
            columns = self._columns(size, r)
            blocks = max(self.n_heads(size), 1) if self.heads is not None and self.heads.init_separately else 1
            parts = [init.new_matrix(rows, columns // blocks) for _ in range(blocks)]
            weights[f"W{r}"] = nn.Parameter(torch.cat([block.detach() for block in parts], dim=1))
            if self.bias != "none" and (self.bias_channels is None or r in self.bias_channels):
                width = size.d_out if self._averages(size) else columns
                weights[f"b{r}"] = init.new_bias(rows, width)
        return Weights(**weights)

    def _init(self, r: int) -> Init:
        init = self.init[min(r, len(self.init) - 1)] if isinstance(self.init, tuple) else self.init
        return Init(init) if isinstance(init, str) else init

    def _columns(self, size: Sizes, r: int) -> int:
        return size.d_out * max(self.n_heads(size), 1)

    def _averages(self, size: Sizes) -> bool:
        return self.heads is not None and (size.is_last or self.heads.merge == "mean")

    def _early(self, size: Sizes) -> bool:
        return self.bias == "before" or (self.bias == "hidden" and not size.is_last)

    @override
    def forward(self, inputs: Inputs, w: Weights, size: Sizes) -> list[Tensor]:
        messages = []
        for r, state in enumerate(inputs):
            weight, bias = getattr(w, f"W{r}"), getattr(w, f"b{r}", None)
            message = weight if state is None else product(state, weight)
            if bias is not None and self._early(size):
                message = message + bias
            heads = self.n_heads(size)
            messages.append(message.view(len(message), heads, -1) if heads else message)
        return messages

    @override
    def after_aggregation(self, messages: Sequence[Tensor], w: Weights, size: Sizes) -> list[Tensor]:
        merged = []
        for r, message in enumerate(messages):
            result = message
            if message.dim() == 3:
                result = message.mean(dim=1) if self._averages(size) else message.flatten(1)
            bias = None if self._early(size) else getattr(w, f"b{r}", None)
            merged.append(result if bias is None else result + bias)
        return merged

    @override
    def width(self, size: Sizes) -> int:
        return size.d_out if self._averages(size) else size.d_out * max(self.n_heads(size), 1)


@dataclass(frozen=True)
class SharedLinear(Linear):
    """One linear map for all channels.

    U_r = Z W (+ b)

    Examples
    --------
    >>> SharedLinear().bias
    'after'
    """

    @override
    def weights(self, size: Sizes, channels: Sequence[Channel]) -> Weights:
        return super().weights(size, channels[:1])

    @override
    def forward(self, inputs: Inputs, w: Weights, size: Sizes) -> list[Tensor]:
        by_input: dict[int, Tensor] = {}
        for state in inputs:
            if id(state) not in by_input:
                by_input[id(state)] = super().forward([state], w, size)[0]
        return [by_input[id(state)] for state in inputs]

    @override
    def after_aggregation(self, messages: Sequence[Tensor], w: Weights, size: Sizes) -> list[Tensor]:
        return [super(SharedLinear, self).after_aggregation([message], w, size)[0] for message in messages]


@dataclass(frozen=True)
class JointLinear(Transform[Dense]):
    """One linear map of all messages, which are aggregated first.

    Z^l = drop([Z_1 ‖ .. ‖ Z_R]) W + b, Z_r = (A_r ⊙ B_r) Z^(l-1)

    Parameters
    ----------
    dropout
        Dropout rate after aggregation. `Dropout(layer=...)` applies dropout before aggregation.

    Examples
    --------
    >>> JointLinear(dropout=0.5).dropout
    0.5
    """

    dropout: float = 0.0
    joins_messages = True

    @override
    def weights(self, size: Sizes, channels: Sequence[Channel]) -> Dense:
        return Dense(len(channels) * size.d_in, size.d_out)

    @override
    def after_combine(self, state: Tensor, messages: Sequence[Tensor], w: Dense, layer: int) -> Tensor:
        joined: Tensor = w(apply_dropout(state, self.dropout, training=w.training))
        return joined

    @override
    def output_width(self, size: Sizes, combined: int) -> int:
        return size.d_out


class DensePerChannelWeights(Weights):
    """Weights of `DensePerChannel`."""

    before: DenseBlock  # if `embed`
    after: nn.ModuleList  # one `DenseBlock` per channel


@dataclass(frozen=True)
class DensePerChannel(Transform[DensePerChannelWeights]):
    """One dense layer per channel after aggregation, with a norm and an activation.

    Z_r = f( norm( drop_q((A_r ⊙ B_r) H) W_r + b_r ) ), H = f( norm( drop_p(Z) W + b ) ) or H = Z

    Parameters
    ----------
    dropout
        Dropout rate q after aggregation.
    norm
        `layer`, `batch`, or `none`.
    activation
        Activation f.
    embed
        Whether another dense layer precedes the aggregation.
    embed_dropout
        Dropout rate p.

    Notes
    -----
    Sums of the features X are computed once per graph. Without `embed`, they need a dense matrix (N, F) per channel.

    Examples
    --------
    >>> DensePerChannel(dropout=0.5).norm
    'none'
    """

    dropout: float = 0.0
    norm: str = "none"
    activation: str = "relu"
    embed: bool = False
    embed_dropout: float = 0.0
    keeps_width = False

    @property
    @override
    def aggregates_inputs(self) -> bool:
        return not self.embed

    @property
    def full_graph_reason(self) -> str:  # type: ignore[override]
        """Why it needs the full graph; empty if mini-batches work."""
        return norm_reason(self.norm)

    @override
    def weights(self, size: Sizes, channels: Sequence[Channel]) -> DensePerChannelWeights:
        first: dict[str, nn.Module] = {}
        d_in, style = size.d_in, {"norm": self.norm, "activation": self.activation}
        if self.embed:
            first["before"] = DenseBlock(d_in, size.d_out, dropout=self.embed_dropout, **style)
            d_in = size.d_out
        blocks = (DenseBlock(d_in, size.d_out, dropout=self.dropout, **style) for _ in channels)
        return DensePerChannelWeights(after=nn.ModuleList(blocks), **first)

    @override
    def forward(self, inputs: Inputs, w: DensePerChannelWeights, size: Sizes) -> list[Tensor]:
        by_input: dict[int, Tensor] = {}
        for state in inputs:
            if id(state) not in by_input:
                by_input[id(state)] = w.before(state) if self.embed else dense_features(cast("Features", state))
        return [by_input[id(state)] for state in inputs]

    @override
    def after_aggregation(self, messages: Sequence[Tensor], w: DensePerChannelWeights, size: Sizes) -> list[Tensor]:
        return [block(message) for block, message in zip(w.after, messages, strict=True)]

    @override
    def width(self, size: Sizes) -> int:
        return size.d_out


def dense_features(x: Features) -> Tensor:
    """Return a dense matrix."""
    return x.to_dense() if isinstance(x, Matrix) else x
