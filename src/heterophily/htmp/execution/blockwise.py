"""The forward pass of evaluation, layer by layer and block by block: exact, in bounded memory.

What is kept for all nodes is one state, the messages before aggregation and, where FUSE wants them, the
states of earlier layers. Everything else exists for one block of rows and the nodes that they hear. Each node
is transformed once, U = Z W; then each block gathers. Several processes share the blocks.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from heterophily.core import processes
from heterophily.core.graph import Graph
from heterophily.htmp.algorithms.hops import row_blocks
from heterophily.htmp.encoder import RawFeatures
from heterophily.htmp.execution.batch import Batch
from heterophily.htmp.execution.sampling import Sampler
from heterophily.htmp.layer import Layer
from heterophily.htmp.network import Network
from heterophily.htmp.part import Context

BLOCK = 2**19  # entries that a block gathers, or nodes where nothing is gathered


def evaluate(network: Network, graph: Graph, *, block: int = BLOCK, head: bool = True) -> Tensor:
    """Logits (N, K) of all nodes of a graph on the CPU, or Z with `head = False`."""
    network.check(graph)
    with torch.no_grad():
        return _BlockwiseForward(network, graph, block).run(head=head)


def predict(network: Network, graph: Graph, *, block: int = BLOCK) -> Tensor:
    """Logits of any graph; soft labels of nodes that training never saw are found on the way."""
    if network.mind is None or graph.n_nodes == network.n_nodes:
        return evaluate(network, graph, block=block)
    k = network.n_classes
    soft = torch.full((graph.n_nodes, k), 1 / k)
    for _ in range(2):
        with network.mind.visiting(soft.to(network.mind.heard.device)):
            logits = evaluate(network, graph, block=block)
        soft = logits.softmax(dim=1)
    return logits


@dataclass
class _StackProgress:
    """How far one stack of layers has come: the states of all nodes and prototypes, None for X as it is."""

    first: Tensor | None
    previous: Tensor | None
    carried: dict[str, Tensor] = field(default_factory=dict)

    @property
    def reads(self) -> bool:
        """Whether channels may hear X itself."""
        return self.first is None or self.previous is None


class _BlockwiseForward:
    """One pass over a graph, which stays on the CPU; blocks go where the network is."""

    def __init__(self, network: Network, graph: Graph, block: int) -> None:
        self.network, self.architecture, self.graph, self.block = (
            network,
            network.architecture,
            graph,
            block,
        )
        self.n_virtual = 0 if network.mind is None else network.n_classes
        self.device = next(network.parameters()).device
        self.alone = Sampler(graph, ())
        self.nodes = torch.arange(graph.n_nodes).split(block)

    def run(self, *, head: bool) -> Tensor:
        """Logits or Z of all nodes."""
        architecture, network = self.architecture, self.network
        stacks = [self._stack(cast("nn.ModuleList", layers)) for layers in network.stacks]

        def finish(nodes: Tensor) -> list[Tensor]:
            context = self._open(self.alone, nodes, reads=any(s[0] is None for s in stacks))
            fused = [
                architecture.fuse([self._at(z, nodes, context) for z in s], network.fuse)
                for s in stacks
            ]
            whole = fused[0] if network.combine is None else None
            z = (
                architecture.combine(fused, None, network.combine, context)
                if whole is None
                else whole
            )
            return [network.classify(z) if head else z]

        return self._everywhere(self.nodes, finish)[0][: self.graph.n_nodes]

    def _stack(self, layers: nn.ModuleList) -> list[Tensor | None]:
        """The states that FUSE reads."""
        first = None if isinstance(self.network.encoder_part, RawFeatures) else self._encoded()
        course, states = _StackProgress(first, first), [first]
        sampler = Sampler(self.graph, cast("Layer", layers[0]).channels)
        for number, layer in enumerate(layers, start=1):
            self._advance(course, cast("Layer", layer), number, sampler)
            states = (
                [*states, course.previous]
                if self.architecture.fuse.uses_all_layers
                else [course.previous]
            )
        return states

    def _encoded(self) -> Tensor:
        sampler = Sampler(self.graph, (), self.network.encoder_part.structure)

        def encode(nodes: Tensor) -> list[Tensor]:
            context = self._open(sampler, nodes)
            return [self.network.encoder_part(context.x, self.network.encoder, context)]

        return self._everywhere(self.nodes, encode)[0]

    def _advance(self, course: _StackProgress, layer: Layer, number: int, sampler: Sampler) -> None:
        """Go from Z^(l-1) to Z^l."""
        spread = self._spread(course, layer, number)
        looks = any(channel.guidance.depends_on == "inputs" for channel in layer.channels)
        carried_keys: list[str] = []

        def gather(nodes: Tensor) -> list[Tensor]:
            near = self._open(sampler, nodes, number, reads=looks and course.reads)
            every = cast("Batch", near.graph).nodes
            heard = (
                layer.states(self._heard(course, every, near)) if looks else [None] * len(spread)
            )
            rows = self._rows(every)
            ends = torch.cat([torch.arange(len(nodes)), len(every) + torch.arange(self.n_virtual)])
            messages = layer.aggregate(
                heard, [u(rows) for u in spread], near, rows=ends.to(self.device)
            )
            own = self._open(self.alone, nodes, number, reads=course.reads)
            heard_here = self._heard(course, nodes, own)
            first = layer.states(heard_here)[0]
            z = layer.update(messages, first, heard_here["previous"], own)
            carried_keys[:] = [key for key in self.architecture.carried_keys if key in own.carry]
            return [z, *(own.carry[key] for key in carried_keys)]

        found = self._everywhere(self._row_blocks(sampler), gather)
        course.previous, course.carried = found[0], dict(zip(carried_keys, found[1:], strict=True))

    def _spread(
        self, course: _StackProgress, layer: Layer, number: int
    ) -> list[Callable[[Tensor], Tensor]]:
        """U_r of each channel as a function of rows; those that do not belong to nodes are constant."""
        fixed: dict[int, Tensor] = {}
        slots: list[int] = []

        def spread(nodes: Tensor) -> list[Tensor]:
            context = self._open(self.alone, nodes, number, reads=course.reads)
            found = layer.transform_inputs(
                layer.states(self._heard(course, nodes, context)), context
            )
            ids = [id(u) for u in found]
            slots[:] = [ids.index(i) for i in ids]
            pairs = enumerate(zip(layer.channels, found, strict=True))
            fixed.update({r: u for r, (c, u) in pairs if c.input in ("nodes", "prototypes")})
            return [found[r] for r in sorted(set(slots) - fixed.keys())]

        whole = self._everywhere(self.nodes, spread)
        stored = dict(zip(sorted(set(slots) - fixed.keys()), whole, strict=True))

        def rows_of(r: int) -> Callable[[Tensor], Tensor]:
            if r in fixed:
                return lambda rows: fixed[r]
            return lambda rows: stored[r][rows].to(self.device)

        return [rows_of(r if r in fixed else slots[r]) for r in range(len(slots))]

    def _open(
        self, sampler: Sampler, nodes: Tensor, number: int = 0, *, reads: bool = True
    ) -> Context:
        """The scene of a block with all neighbors of its nodes."""
        fanouts = [None] * sampler.power
        sample = sampler.draw(nodes, fanouts, n_inputs=len(nodes)).to(self.device)
        context = self.network.open(sample, reads=reads)
        context.layer = number
        return context

    def _heard(self, course: _StackProgress, nodes: Tensor, context: Context) -> dict[str, Any]:
        """The states that channels may listen to, at some nodes."""
        context.initial = self._at(course.first, nodes, context)
        context.carry |= {key: self._at(z, nodes, context) for key, z in course.carried.items()}
        return self.network.hear([self._at(course.previous, nodes, context)], context)

    def _at(self, state: Tensor | None, nodes: Tensor, context: Context) -> Any:
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

    def _everywhere(
        self, blocks: Iterable[Tensor], compute: Callable[[Tensor], Sequence[Tensor]]
    ) -> list[Tensor]:
        """What `compute` gives for blocks of nodes, for all nodes and behind them for the prototypes."""
        n = self.graph.n_nodes
        whole: list[Tensor] = []
        for number, nodes in enumerate(blocks):
            if number % processes.world_size() != processes.rank() and number:
                continue
            parts = [part.cpu() for part in compute(nodes)]
            if not whole:
                whole = [part.new_zeros(n + self.n_virtual, *part.shape[1:]) for part in parts]
            if number % processes.world_size() != processes.rank():
                continue
            for total, part in zip(whole, parts, strict=True):
                total[nodes] = part[: len(nodes)]
                if not number:
                    total[n:] = part[len(nodes) :]
        processes.all_reduce_sum(whole)
        return whole
