"""The forward pass of evaluation in blocks of rows: exact, in bounded memory.

For all nodes, it stores the output of one layer, the messages U = Z W before aggregation, and the outputs of
earlier layers if FUSE uses them. Everything else exists for one block of rows and its neighbors. Several
processes share the blocks.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor, nn

from heterophily.core import processes
from heterophily.core.graph import Features, Graph
from heterophily.htmp.algorithms.hops import row_blocks
from heterophily.htmp.encoder import RawFeatures
from heterophily.htmp.execution.batch import Batch
from heterophily.htmp.execution.sampling import Sampler
from heterophily.htmp.layer import Layer
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context

BLOCK = 2**19  # entries per block, or nodes per block without aggregation


def evaluate(network: Network, graph: Graph, *, block: int = BLOCK, head: bool = True) -> Tensor:
    """Return the logits (N, K) of all nodes of a graph on the CPU, or Z with `head=False`.

    Networks whose parts need all nodes at the same time are evaluated in one pass.
    """
    network.check(graph)
    if network.architecture.mixing_reason:
        with torch.no_grad():
            moved = graph.to(next(network.parameters()).device)
            return (network(moved) if head else network.embed(moved)).cpu()
    forward = _BlockwiseForward(network, graph, block)
    adapted = [state for state in network.states if state.needs_adaptation(graph)]
    try:
        with torch.no_grad():
            for state in adapted:
                state.adapt(graph, lambda: forward.run(head=True))
            return forward.run(head=head)
    finally:
        for state in adapted:
            state.end_adaptation()


@dataclass
class _StackProgress:
    """The outputs of one stack of layers so far, for all real and virtual nodes; None for X."""

    initial: Tensor | None
    previous: Tensor | None
    carried: dict[str, Tensor] = field(default_factory=dict)

    @property
    def uses_x(self) -> bool:
        """Whether X is an input of a channel."""
        return self.initial is None or self.previous is None


class _BlockwiseForward:
    """One pass over a graph on the CPU; blocks are moved to the device of the network."""

    def __init__(self, network: Network, graph: Graph, block: int) -> None:
        self.network, self.architecture, self.graph, self.block = (network, network.architecture, graph, block)
        self.n_virtual = sum(state.n_virtual for state in network.states)
        self.device = next(network.parameters()).device
        self.alone = Sampler(graph, ())
        self.nodes = torch.arange(graph.n_nodes).split(block)

    def run(self, *, head: bool) -> Tensor:
        """Return the logits or Z of all nodes."""
        architecture, network = self.architecture, self.network
        stacks = [self._stack(cast("nn.ModuleList", layers)) for layers in network.stacks]

        def finish(nodes: Tensor) -> list[Tensor]:
            context = self._open(self.alone, nodes, with_features=any(s[0] is None for s in stacks))
            fused = [
                architecture.fuse([cast("Tensor", self._at(z, nodes, context)) for z in s], network.fuse)
                for s in stacks
            ]
            z = fused[0]
            if network.combine is not None:
                z = architecture.combine(fused, None, network.combine, context)
            return [network.logits(z) if head else z]

        return self._everywhere(self.nodes, finish)[0][: self.graph.n_nodes]

    def _stack(self, layers: nn.ModuleList) -> list[Tensor | None]:
        """Return the outputs that FUSE uses."""
        initial = None if isinstance(self.network.encoder_part, RawFeatures) else self._encoded()
        progress, outputs = _StackProgress(initial, initial), [initial]
        sampler = Sampler(self.graph, cast("Layer", layers[0]).channels)
        for number, layer in enumerate(layers, start=1):
            self._advance(progress, cast("Layer", layer), number, sampler)
            outputs = outputs if self.architecture.fuse.uses_all_layers else []
            outputs = [*outputs, progress.previous]
        return outputs

    def _encoded(self) -> Tensor:
        sampler = Sampler(self.graph, (), self.network.encoder_part.structure)

        def encode(nodes: Tensor) -> list[Tensor]:
            context = self._open(sampler, nodes)
            z = self.network.encoder_part(context.x, self.network.encoder, context)
            return [cast("Tensor", z)]

        return self._everywhere(self.nodes, encode)[0]

    def _advance(self, progress: _StackProgress, layer: Layer, number: int, sampler: Sampler) -> None:
        """Compute Z^l from Z^(l-1)."""
        messages = self._messages(progress, layer, number)
        uses_inputs = any(channel.guidance.depends_on == "inputs" for channel in layer.channels)
        carried_keys: list[str] = []

        def aggregate(nodes: Tensor) -> list[Tensor]:
            near = self._open(sampler, nodes, number, with_features=uses_inputs and progress.uses_x)
            senders = cast("Batch", near.graph).nodes
            inputs: list[Features | None] = [None] * len(messages)
            if uses_inputs:
                inputs = self._inputs(progress, senders, near, layer)
            rows = self._rows(senders)
            ends = torch.cat([torch.arange(len(nodes)), len(senders) + torch.arange(self.n_virtual)])
            sums = layer.aggregate(inputs, [u(rows) for u in messages], near, rows=ends.to(self.device))
            context = self._open(self.alone, nodes, number, with_features=progress.uses_x)
            first_input = self._inputs(progress, nodes, context, layer)[0]
            z = layer.update(sums, first_input, context)
            carried_keys[:] = [key for key in self.architecture.carried_keys if key in context.carry]
            return [z, *(context.carry[key] for key in carried_keys)]

        values = self._everywhere(self._row_blocks(sampler), aggregate)
        progress.previous = values[0]
        progress.carried = dict(zip(carried_keys, values[1:], strict=True))

    def _messages(self, progress: _StackProgress, layer: Layer, number: int) -> list[Callable[[Tensor], Tensor]]:
        """Return U_r of each channel as a function of rows; constant if the rows are not nodes."""
        constant: dict[int, Tensor] = {}
        slots: list[int] = []

        def transform(nodes: Tensor) -> list[Tensor]:
            context = self._open(self.alone, nodes, number, with_features=progress.uses_x)
            inputs = self._inputs(progress, nodes, context, layer)
            messages = layer.transform_inputs(inputs, context)
            ids = [id(u) for u in messages]
            slots[:] = [ids.index(i) for i in ids]
            pairs = enumerate(zip(layer.channels, messages, strict=True))
            constant.update({r: u for r, (c, u) in pairs if c.input in ("nodes", "prototypes")})
            return [messages[r] for r in sorted(set(slots) - constant.keys())]

        values = self._everywhere(self.nodes, transform)
        stored = dict(zip(sorted(set(slots) - constant.keys()), values, strict=True))

        def rows_of(r: int) -> Callable[[Tensor], Tensor]:
            if r in constant:
                return lambda rows: constant[r]
            return lambda rows: stored[r][rows].to(self.device)

        return [rows_of(r if r in constant else slots[r]) for r in range(len(slots))]

    def _open(self, sampler: Sampler, nodes: Tensor, number: int = 0, *, with_features: bool = True) -> Context:
        """Return the context of a block with all neighbors of its nodes."""
        fanouts = [None] * sampler.power
        sample = sampler.draw(nodes, fanouts, n_inputs=len(nodes)).to(self.device)
        context = self.network.open(sample, with_features=with_features)
        context.layer = number
        return context

    def _inputs(self, progress: _StackProgress, nodes: Tensor, context: Context, layer: Layer) -> list[Features | None]:
        """Return the inputs of the channels of a layer at some nodes."""
        context.initial = self._at(progress.initial, nodes, context)
        context.carry |= {key: self._at(z, nodes, context) for key, z in progress.carried.items()}
        self.network.set_inputs(self._at(progress.previous, nodes, context), context)
        return layer.channel_inputs(context)

    def _at(self, state: Tensor | None, nodes: Tensor, context: Context) -> Features:
        return context.x if state is None else state[self._rows(nodes)].to(self.device)

    def _rows(self, nodes: Tensor) -> Tensor:
        return torch.cat([nodes, self.graph.n_nodes + torch.arange(self.n_virtual)])

    def _row_blocks(self, sampler: Sampler) -> list[Tensor]:
        sizes = torch.ones(self.graph.n_nodes)
        for relation in sampler.relations:
            reached = torch.ones(self.graph.n_nodes, 1)
            for _ in range(sampler.power):
                reached = (relation.rows.pattern @ reached).clamp_max(self.graph.n_nodes)
            sizes += reached.squeeze(1)
        blocks = row_blocks(sizes.numpy(), self.block)
        return [torch.arange(rows.start, rows.stop) for rows in blocks]

    def _everywhere(self, blocks: Iterable[Tensor], compute: Callable[[Tensor], Sequence[Tensor]]) -> list[Tensor]:
        """Return the results of `compute` for all real nodes, followed by the virtual nodes."""
        n = self.graph.n_nodes
        values: list[Tensor] = []
        for number, nodes in enumerate(blocks):
            if number % processes.world_size() != processes.rank() and number:
                continue
            parts = [part.cpu() for part in compute(nodes)]
            if not values:
                values = [part.new_zeros(n + self.n_virtual, *part.shape[1:]) for part in parts]
            if number % processes.world_size() != processes.rank():
                continue
            for total, part in zip(values, parts, strict=True):
                total[nodes] = part[: len(nodes)]
                if not number:
                    total[n:] = part[len(nodes) :]
        processes.all_reduce_sum(values)
        return values
