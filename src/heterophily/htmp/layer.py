"""One round of message passing: Z_r = (A_r ⊙ B_r) Z^(l-1) W_r, then Z^l = COMBINE(Z_1, .., Z_R)."""

import dataclasses
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from heterophily.core.graph import Features
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.channel import Channel, Operator
from heterophily.htmp.combine import Combine
from heterophily.htmp.execution.bind import apply_operators
from heterophily.htmp.guidance import ChannelInput
from heterophily.htmp.method import Method
from heterophily.htmp.neighborhoods import Adjacency, adjacency_of, structure_adjacency
from heterophily.htmp.parts import ACTIVATIONS, NORMS, Context, Dense, GraphLike, Sizes, apply_dropout
from heterophily.htmp.transform import Transform, dense_features


class Layer(nn.Module):
    """One round of message passing over some channels."""

    def __init__(
        self, method: Method, architecture: Architecture, size: Sizes, channels: Sequence[Channel], combine: Combine
    ) -> None:
        super().__init__()
        self.architecture, self.channels, self.combine_part = architecture, channels, combine
        self.size = dataclasses.replace(size, adjacency_of=None)  # a layer outlives the graph it was built for
        sized = dataclasses.replace(size, heads=max(architecture.transform.n_heads(size), 1))
        self.transform = architecture.transform.weights(sized, channels)
        self.guidance = nn.ModuleList(
            c.guidance.weights(dataclasses.replace(sized, neighborhood=c.neighborhood)) for c in channels
        )
        joint = dataclasses.replace(size, d_out=architecture.transform.width(size))
        self.combine = combine.weights(joint)
        self.width = architecture.transform.output_width(size, combine.width(joint))
        self.relu_places = [_relu_place(architecture, c, is_last=size.is_last) for c in channels]
        self.active = not size.is_last or architecture.activate_last
        self.activation = str(architecture.activation) if self.active else "none"
        kind = type(architecture.transform)
        self.has_after_combine = kind.after_combine is not Transform.after_combine
        norm = method.norm if self.active else "none"
        self.norm = NORMS[norm](self.width) if norm != "none" else None
        self.residual = Dense(size.d_in, self.width) if method.residual else None
        # Whether sums of X are the same in every epoch.
        self.can_reuse_sums = (
            architecture.transform.aggregates_inputs
            and all(channel.guidance.depends_on == "graph" for channel in channels)
            and not (architecture.dropout.message or architecture.dropout.edge)
            and "before" not in self.relu_places
        )

    def forward(self, context: Context) -> Tensor:
        """Return Z^l from the inputs of the channels."""
        inputs = self.channel_inputs(context)
        if self.can_reuse_sums and all(each is context.x for each in inputs):
            messages = self._after_aggregation(self._feature_sums(context))
        else:
            messages = self.transform_inputs(inputs, context)  # U_r = Z W_r
            messages = self.aggregate(inputs, messages, context)  # (A_r ⊙ B_r) U_r
        return self.update(messages, inputs[0], context)  # COMBINE, residual, norm, activation

    def channel_inputs(self, context: Context) -> list[Features | None]:
        """Return the input of each channel."""
        return [context.inputs[channel.input] for channel in self.channels]

    def transform_inputs(self, inputs: Sequence[Features | None], context: Context) -> list[Tensor]:
        """Return U_r = Z W_r for every channel."""
        messages = self.architecture.transform.forward(inputs, self.transform, self.size)
        rate = self.architecture.dropout.message
        if rate and context.training:
            messages = [apply_dropout(u, rate, training=True) for u in messages]
        return self._apply_relu(messages, "before")

    def aggregate(
        self,
        inputs: Sequence[Features | None],
        messages: Sequence[Tensor],
        context: Context,
        *,
        rows: Tensor | None = None,
    ) -> list[Tensor]:
        """Return (A_r ⊙ B_r) U_r for every channel, or some of its rows."""
        sums = apply_operators(self.operators(inputs, messages, context), messages)
        return self._after_aggregation(sums if rows is None else [m.index_select(0, rows) for m in sums])

    def _after_aggregation(self, sums: Sequence[Tensor]) -> list[Tensor]:
        sums = self.architecture.transform.after_aggregation(sums, self.transform, self.size)
        return self._apply_relu(sums, "after")

    def _feature_sums(self, context: Context) -> list[Tensor]:
        """Return (A_r ⊙ B_r) X for every channel, computed once per graph."""

        def compute() -> list[Tensor]:
            x = dense_features(context.x)
            messages = [x] * len(self.channels)
            return apply_operators(self.operators([context.x] * len(messages), messages, context), messages)

        return context.graph.cached(("features", self.architecture.feature_norm, "sums", self.channels), compute)

    def operators(
        self, inputs: Sequence[Features | None], messages: Sequence[Tensor], context: Context
    ) -> list[Operator]:
        """Return A_r ⊙ B_r of every channel."""
        return [self._operator(r, inputs[r], messages[r], context) for r in range(len(self.channels))]

    def update(self, messages: Sequence[Tensor], first_input: Features | None, context: Context) -> Tensor:
        """Return Z^l from the messages of all channels and the input of the first one."""
        z = self.combine_part(messages, first_input, self.combine, context)
        if self.has_after_combine:
            z = self.architecture.transform.after_combine(z, messages, self.transform, context.layer)
        z = z if self.residual is None else z + self.residual(context.inputs["previous"])
        z = z if self.norm is None else self.norm(z)
        return z if self.activation == "none" else ACTIVATIONS[self.activation](z)

    def _apply_relu(self, messages: list[Tensor], place: str) -> list[Tensor]:
        return [torch.relu(m) if relu == place else m for relu, m in zip(self.relu_places, messages, strict=True)]

    def _operator(self, r: int, inputs: Features | None, messages: Tensor, context: Context) -> Operator:
        channel = self.channels[r]
        operator = context.bound.get(channel)
        if operator is None:
            adjacency = _adjacency(channel, context.graph) if channel.input != "prototypes" else None
            seen = ChannelInput(channel, cast("Adjacency", adjacency), cast("Features", inputs), messages, context)
            operator = channel.guidance.operator(seen, self.guidance[r])
            if channel.guidance.depends_on == "graph":
                context.bound[channel] = operator
        rate = self.architecture.dropout.edge
        if context.training and rate and hasattr(operator, "dropout"):
            operator = operator.dropout(rate)
        return cast("Operator", operator)


def _relu_place(architecture: Architecture, channel: Channel, *, is_last: bool) -> str:
    """Return where a message passes through a ReLU: `none`, or `before` or `after` aggregation."""
    if architecture.linear_last_layer and is_last:
        return "none"
    return channel.activation or architecture.message_activation


def _adjacency(channel: Channel, graph: GraphLike) -> Adjacency:
    find = structure_adjacency if channel.input == "nodes" else adjacency_of
    return find(channel.neighborhood, graph)
