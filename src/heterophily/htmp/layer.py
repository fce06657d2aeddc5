"""One round of message passing: Z_r = (A_r ⊙ B_r) Z^(l-1) W_r, then Z^l = COMBINE(Z_1, .., Z_R)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from heterophily.core.graph import Graph
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.channel import Channel, apply_operators
from heterophily.htmp.combine import Combine
from heterophily.htmp.guidance import ChannelInput
from heterophily.htmp.method import Method
from heterophily.htmp.neighborhoods import adjacency_of, structure_adjacency
from heterophily.htmp.part import Context, Dense, Sizes, Weights, activate, apply_dropout

NORMS = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}


class Layer(nn.Module):
    """One round of message passing over some channels."""

    def __init__(
        self,
        method: Method,
        architecture: Architecture,
        size: Sizes,
        channels: Sequence[Channel],
        combine: Combine,
    ) -> None:
        super().__init__()
        self.architecture, self.channels, self.combine_part = architecture, channels, combine
        self.size = dataclasses.replace(
            size, graph=None
        )  # a layer outlives the graph it was built for
        sized = dataclasses.replace(size, heads=max(architecture.transform.heads(size), 1))
        self.transform = Weights(architecture.transform.weights(sized, channels))
        self.guidance = nn.ModuleList(
            Weights(
                c.guidance.weights(dataclasses.replace(sized, adjacency=_adjacency(c, size.graph)))
            )
            for c in channels
        )
        joint = dataclasses.replace(size, d_out=architecture.transform.width(size))
        self.combine = Weights(combine.weights(joint))
        self.width = combine.width(joint)
        self.active = not size.is_last or architecture.activate_last
        norm = method.norm if self.active else "none"
        self.norm = NORMS[norm](self.width) if norm != "none" else None
        self.residual = Dense(size.d_in, self.width) if method.residual else None

    def forward(self, heard: dict[str, Any], context: Context) -> Tensor:
        """Z^l from the states that the channels hear."""
        states = self.states(heard)
        return self.update(self.messages(states, context), states[0], heard["previous"], context)

    def states(self, heard: dict[str, Any]) -> list[Any]:
        """The state that each channel hears."""
        return [heard[channel.input] for channel in self.channels]

    def transform_inputs(self, states: Sequence[Any], context: Context) -> list[Tensor]:
        """U_r = Z W_r for every channel, node by node."""
        spread = self.architecture.transform.forward(states, self.transform, self.size)
        spread = [
            apply_dropout(u, self.architecture.dropout.message, training=context.training)
            for u in spread
        ]
        return [torch.relu(u) if self._relu(c, "before") else u for c, u in self._pairs(spread)]

    def messages(self, states: Sequence[Any], context: Context) -> list[Tensor]:
        """(A_r ⊙ B_r) Z W_r for every channel."""
        return self.aggregate(states, self.transform_inputs(states, context), context)

    def aggregate(
        self,
        states: Sequence[Any],
        spread: Sequence[Tensor],
        context: Context,
        *,
        rows: Tensor | None = None,
    ) -> list[Tensor]:
        """(A_r ⊙ B_r) U_r for every channel, or some of its rows."""
        operators = [
            self._operator(r, channel, states[r], spread[r], context)
            for r, channel in enumerate(self.channels)
        ]
        messages = apply_operators(operators, spread)
        messages = messages if rows is None else [m.index_select(0, rows) for m in messages]
        settled = self.architecture.transform.after_aggregation(messages, self.transform, self.size)
        return [torch.relu(m) if self._relu(c, "after") else m for c, m in self._pairs(settled)]

    def update(
        self, messages: Sequence[Tensor], first: Any, previous: Any, context: Context
    ) -> Tensor:
        """Z^l from the messages of all channels and what the first one heard, node by node."""
        z = self.combine_part(messages, first, self.combine, context)
        z = self.architecture.transform.after_combine(z, messages, self.transform, context.layer)
        z = z if self.residual is None else z + self.residual(previous)
        z = z if self.norm is None else self.norm(z)
        return activate(z, str(self.architecture.activation)) if self.active else z

    def _pairs(self, items: Sequence[Any]) -> list[tuple[Channel, Any]]:
        return list(zip(self.channels, items, strict=True))

    def has_message_relu(self, channel: Channel) -> bool:
        """Whether a ReLU stands within a message."""
        return self._relu(channel, "before") or self._relu(channel, "after")

    def _relu(self, channel: Channel, where: str) -> bool:
        if self.architecture.linear_last_layer and self.size.is_last:
            return False
        place = channel.activation or self.architecture.message_activation
        return bool(place == where)

    def _operator(
        self, r: int, channel: Channel, heard: Any, message: Any, context: Context
    ) -> Any:
        seen = ChannelInput(channel, _adjacency(channel, context.graph), heard, message, context)
        operator = channel.guidance.operator(seen, self.guidance[r])
        rate = self.architecture.dropout.edge
        drops = context.training and rate and hasattr(operator, "dropout")
        return operator.dropout(rate) if drops else operator


def _adjacency(channel: Channel, graph: Graph) -> Any:
    find = structure_adjacency if channel.input == "nodes" else adjacency_of
    return find(channel.neighborhood, graph)
