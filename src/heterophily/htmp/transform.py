"""W_r: what happens to a state on its way through a channel: own, shared, near-identity, none.

The transform comes before aggregation, T(ZW) = (TZ)W, because then messages are as narrow as the output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from heterophily.core.dense import product
from heterophily.core.errors import check_option
from heterophily.htmp.channel import Channel
from heterophily.htmp.part import Sizes, init_bias, init_matrix

Heard = Sequence[Any]


@dataclass(frozen=True)
class Transform:
    """The base, and the identity: messages are the states themselves."""

    keeps_width: ClassVar[bool] = True  # whether messages are as wide as the input of the layer
    keeps_width_after_combine: ClassVar[bool] = False  # whether COMBINE must not change the width

    @property
    def concatenates_heads(self) -> bool:
        """Whether messages are wider than the width of a layer."""
        return False

    def weights(self, size: Sizes, channels: Sequence[Channel]) -> Mapping[str, nn.Parameter]:
        """Weights of one layer."""
        return {}

    def heads(self, size: Sizes) -> int:
        """Number H of heads that messages have, 0 for messages without heads."""
        return 0

    def forward(self, heard: Heard, w: Any, size: Sizes) -> list[Any]:
        """U_r = Z W_r for each channel, before aggregation."""
        return list(heard)

    def after_aggregation(self, messages: Sequence[Tensor], w: Any, size: Sizes) -> list[Tensor]:
        """What is left to do after aggregation: join heads, add biases."""
        return list(messages)

    def after_combine(
        self, state: Tensor, messages: Sequence[Tensor], w: Any, layer: int
    ) -> Tensor:
        """What is left to do after COMBINE."""
        return state

    def width(self, size: Sizes) -> int:
        """Width of a settled message."""
        return size.d_in


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
class Linear(Transform):
    """One linear map per channel.

    U_r = Z W_r (+ b_r)

    Parameters
    ----------
    bias
        `after` or `before` aggregation, `hidden` for before aggregation except in the last layer,
        or `none`.
    init
        Initialization of W_r; a tuple has one entry per channel, and the last one repeats.
    bias_init
        Initialization of b_r; by default that of W_r.
    bias_channels
        Channels with a bias; all by default.
    n_heads
        Number of attention heads; 0 for messages without heads.
    n_heads_last_layer
        Number of heads in the last layer; by default `n_heads`.
    merge
        How to merge heads: `concat` or `mean`. The last layer always uses the mean.
    init_per_head
        Whether to initialize each head separately.
    kernel_merge
        `add`, or `parity` for half the width in all channels but the first if the width is even.
    gain
        Factor for the initialization.

    Examples
    --------
    >>> Linear(bias="none").bias
    'none'
    """

    bias: str = "after"
    init: str | tuple[str, ...] = "glorot"
    bias_init: str = ""
    bias_channels: tuple[int, ...] | None = None
    n_heads: int = 0
    n_heads_last_layer: int | None = None
    merge: str = "concat"
    init_per_head: bool = False
    kernel_merge: str = "add"
    gain: float = 1.0
    keeps_width = False

    def __post_init__(self) -> None:
        check_option("head_merge", self.merge, ("concat", "mean"))
        check_option("kernel_merge", self.kernel_merge, ("add", "parity"))

    @property
    def concatenates_heads(self) -> bool:
        """Whether hidden layers have n_heads times the width."""
        return self.n_heads > 1 and self.merge == "concat"

    def heads(self, size: Sizes) -> int:
        """H of this layer."""
        if size.is_last and self.n_heads_last_layer is not None:
            return self.n_heads_last_layer
        return self.n_heads

    def weights(self, size: Sizes, channels: Sequence[Channel]) -> dict[str, nn.Parameter]:
        """W_r (d_in, d_out) and b_r (d_out), with one column block per head."""
        found = {}
        for r, channel in enumerate(channels):
            init = (
                self.init if isinstance(self.init, str) else self.init[min(r, len(self.init) - 1)]
            )
            rows = size.graph.n_nodes if channel.input == "nodes" else size.d_in
            columns = self._columns(size, r)
            blocks = max(self.heads(size), 1) if self.init_per_head else 1
            drawn = [
                init_matrix(rows, columns // blocks, init, gain=self.gain) for _ in range(blocks)
            ]
            found[f"W{r}"] = nn.Parameter(torch.cat([block.detach() for block in drawn], dim=1))
            if self.bias != "none" and (self.bias_channels is None or r in self.bias_channels):
                width = size.d_out if self._averages(size) else columns
                found[f"b{r}"] = init_bias(rows, width, self.bias_init or init)
        return found

    def _columns(self, size: Sizes, r: int) -> int:
        halves = self.kernel_merge == "parity" and r > 0 and size.d_out % 2 == 0
        return size.d_out // 2 if halves else size.d_out * max(self.heads(size), 1)

    def _averages(self, size: Sizes) -> bool:
        return self.heads(size) > 0 and (size.is_last or self.merge == "mean")

    def _early(self, size: Sizes) -> bool:
        return self.bias == "before" or (self.bias == "hidden" and not size.is_last)

    def forward(self, heard: Heard, w: Any, size: Sizes) -> list[Any]:
        """Z W_r, shaped (N, H, d) if there are heads."""
        found = []
        for r, state in enumerate(heard):
            weight, bias = getattr(w, f"W{r}"), getattr(w, f"b{r}", None)
            message = weight if state is None else product(state, weight)
            if bias is not None and self._early(size):
                message = message + bias
            heads = self.heads(size)
            found.append(message.view(len(message), heads, -1) if heads else message)
        return found

    def after_aggregation(self, messages: Sequence[Tensor], w: Any, size: Sizes) -> list[Tensor]:
        """Join the heads and add b_r."""
        found = []
        for r, message in enumerate(messages):
            settled = message
            if message.dim() == 3:
                settled = message.mean(dim=1) if self._averages(size) else message.flatten(1)
            bias = None if self._early(size) else getattr(w, f"b{r}", None)
            found.append(settled if bias is None else settled + bias)
        return found

    def width(self, size: Sizes) -> int:
        """d_out, times the number of heads where they are concatenated."""
        return size.d_out if self._averages(size) else size.d_out * max(self.heads(size), 1)


@dataclass(frozen=True)
class SharedLinear(Linear):
    """One linear map for all channels.

    U_r = Z W (+ b)

    Examples
    --------
    >>> SharedLinear().bias
    'after'
    """

    def weights(self, size: Sizes, channels: Sequence[Channel]) -> dict[str, nn.Parameter]:
        """W0 and b0."""
        return super().weights(size, channels[:1])

    def forward(self, heard: Heard, w: Any, size: Sizes) -> list[Any]:
        """Z W, computed once for channels that hear the same state."""
        found: dict[int, Any] = {}
        for state in heard:
            if id(state) not in found:
                found[id(state)] = super().forward([state], w, size)[0]
        return [found[id(state)] for state in heard]

    def after_aggregation(self, messages: Sequence[Tensor], w: Any, size: Sizes) -> list[Tensor]:
        """Add b to every message."""
        return [
            super(SharedLinear, self).after_aggregation([message], w, size)[0]
            for message in messages
        ]
