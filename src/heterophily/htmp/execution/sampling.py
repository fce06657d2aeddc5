"""Sample batches of a graph: seeds, some of their neighbors, and so on, for given channels.

All nodes of a hop are sampled together: k of d neighbors without replacement by Floyd's algorithm, in O(k²) per
node for any d, or by the compiled sampler of PyTorch Geometric if it is installed. If a node is its own neighbor,
that entry is always retained.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.sparse import Pattern
from heterophily.htmp.channel import Channel
from heterophily.htmp.execution.batch import (
    Batch,
    RowSource,
    SampledMatrix,
    concatenated_ranges,
    pad,
    without_replacement,
)
from heterophily.htmp.neighborhoods import Adjacency, Neighborhood, adjacency_of, structure_key

Choose = Callable[[Tensor, int], Tensor]  # entries of the rows of nodes
Fanout = int | None  # neighbors to sample in a hop; None for all
Neighbors = Sequence[int] | str  # one number per hop, of which the last is repeated, or `all`
NEIGHBORS = (10, 5, 2, 1)


@dataclass(frozen=True, eq=False)
class Relation:
    """One neighborhood of the full graph, or several with the same entries."""

    keys: tuple[Neighborhood, ...]
    rows: RowSource

    @cached_property
    def self_positions(self) -> Tensor:
        """Position of a node in its own row, or -1, (N,)."""
        pattern = self.rows.pattern
        positions = torch.full((pattern.shape[0],), -1)
        at = (pattern.rows == pattern.indices).nonzero().squeeze(1)
        nodes = pattern.indices.index_select(0, at).long()
        return positions.index_copy_(0, nodes, at - pattern.indptr.index_select(0, nodes))

    @cached_property
    def compiled(self) -> Choose | None:
        """PyTorch Geometric's sampler of this neighborhood; None if it is not installed."""
        return compiled_sampler(self.rows.pattern)

    def draw(self, nodes: Tensor, fanout: Fanout, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Return sampled entries row by row, their number per row, and the weight d/k of each entry."""
        if fanout is None:
            entries, counts = self.rows.all_of(nodes)
            return entries, counts, torch.ones(len(entries))
        starts = self.rows.pattern.indptr.index_select(0, nodes).long()
        degrees = self.rows.pattern.degrees.index_select(0, nodes)
        own = self.self_positions.index_select(0, nodes)
        others = degrees - (own >= 0).long()
        many = others > fanout
        counts = torch.where(many, fanout + (own >= 0).long(), degrees)
        offsets = counts.cumsum(0) - counts
        entries = torch.empty(int(counts.sum()), dtype=torch.long)
        sampling_weight = torch.ones(len(entries))
        entries[concatenated_ranges(offsets[~many], counts[~many])] = concatenated_ranges(starts[~many], counts[~many])
        if bool(many.any()):
            place = offsets[many].unsqueeze(1) + torch.arange(fanout)
            entries[place] = self._choose(nodes, starts, own, others, many, fanout, generator)
            sampling_weight[place] = (others[many] / fanout).unsqueeze(1).expand(-1, fanout)
            retained = many & (own >= 0)
            entries[offsets[retained] + fanout] = starts[retained] + own[retained]
        return entries, counts, sampling_weight

    def _choose(
        self,
        nodes: Tensor,
        starts: Tensor,
        own: Tensor,
        others: Tensor,
        many: Tensor,
        fanout: int,
        generator: torch.Generator,
    ) -> Tensor:
        """Sample `fanout` entries, except that of the node itself, of each row that has more, (rows, fanout)."""
        if self.compiled is not None and not bool((own[many] >= 0).any()):
            return self.compiled(nodes[many], fanout)
        chosen = without_replacement(others[many], fanout, generator)
        place = own[many].unsqueeze(1)
        skipped = (place >= 0) & (chosen >= place)
        return starts[many].unsqueeze(1) + chosen + skipped.long()


class Sampler:
    """Samples batches for an architecture from a graph, which stays on the CPU."""

    def __init__(self, graph: Graph, channels: Sequence[Channel], structure: Neighborhood | None = None) -> None:
        self.graph = graph
        heard = [c.neighborhood for c in channels if c.input != "nodes" and c.neighborhood.sampled]
        hoods = [c.neighborhood for c in channels if c.input == "nodes"]
        self.relations = self._grouped(heard)
        self.structures = self._grouped(hoods + ([structure] if structure else []))
        self.power = max([hood.power for hood in heard], default=0)
        self._place = torch.full((graph.n_nodes,), -1, dtype=torch.int)

    def _grouped(self, hoods: Sequence[Neighborhood]) -> list[Relation]:
        """Group neighborhoods with the same entries, which are sampled together."""
        by_adjacency: dict[int, tuple[Adjacency, list[Neighborhood]]] = {}
        for hood in dict.fromkeys(hoods):
            adjacency = adjacency_of(hood, self.graph)
            by_adjacency.setdefault(id(adjacency), (adjacency, []))[1].append(hood)
        return [
            Relation(tuple(keys), RowSource.of(adjacency, is_directed=keys[0].is_directed))
            for adjacency, keys in by_adjacency.values()
        ]

    def draw(
        self,
        seeds: Tensor,
        fanouts: Sequence[Fanout],
        generator: torch.Generator | None = None,
        *,
        n_inputs: int | None = None,
    ) -> Batch:
        """Sample a batch with the seeds and their neighbors, one hop per fanout.

        Structure is an input of all nodes, or of the first `n_inputs` only.
        """
        generator = generator or torch.Generator()
        hops_of: list[list[tuple[Tensor, Tensor, Tensor]]] = [[] for _ in self.relations]
        nodes, front = [seeds], seeds
        self._place[seeds] = torch.arange(len(seeds), dtype=torch.int)
        for fanout in fanouts if self.relations else ():
            hop = [relation.draw(front, fanout, generator) for relation in self.relations]
            for rows_of_relation, row in zip(hops_of, hop, strict=True):
                rows_of_relation.append(row)
            front = self._new([row[0] for row in hop], sum(map(len, nodes)))
            nodes.append(front)
        every = torch.cat(nodes)
        sampled: dict[Hashable, SampledMatrix] = {}
        for relation, hops in zip(self.relations, hops_of, strict=True):
            matrix = self._matrix(relation, every, hops, whole=all(fanout is None for fanout in fanouts))
            sampled |= dict.fromkeys(relation.keys, matrix)
        self._place[every] = -1
        for relation in self.structures:
            entries, counts = relation.rows.all_of(every[:n_inputs])
            columns = relation.rows.pattern.indices.index_select(0, entries)
            counts = pad(counts, len(every) - len(counts))
            rows = relation.rows.sampled(every, entries, counts, columns=columns)
            sampled |= {structure_key(hood): rows for hood in relation.keys}
        return Batch(self.graph, every, sampled)

    def _new(self, entries: Sequence[Tensor], count: int) -> Tensor:
        """Return the nodes of the entries that were not reached before, numbered from `count`."""
        pairs = zip(self.relations, entries, strict=True)
        columns = torch.cat([r.rows.pattern.indices.index_select(0, e) for r, e in pairs])
        if 16 * len(columns) < len(self._place):
            fresh = columns[self._place.index_select(0, columns) < 0].unique().long()
        else:  # checking all nodes is cheaper than sorting
            reached = torch.zeros(len(self._place), dtype=torch.bool)
            reached[columns.long()] = True
            fresh = (reached & (self._place < 0)).nonzero().squeeze(1)
        self._place[fresh] = torch.arange(count, count + len(fresh), dtype=torch.int)
        return fresh

    def _matrix(
        self, relation: Relation, nodes: Tensor, hops: Sequence[tuple[Tensor, Tensor, Tensor]], *, whole: bool
    ) -> SampledMatrix:
        """Return A' on all nodes; nodes of the last hop have no neighbors."""
        none = torch.zeros(0, dtype=torch.long)
        parts = zip((none, none, torch.zeros(0)), *hops, strict=True)
        entries, counts, sampling_weight = (torch.cat(part) for part in parts)
        columns = relation.rows.pattern.indices.index_select(0, entries)
        return relation.rows.sampled(
            nodes,
            entries,
            pad(counts, len(nodes) - len(counts)),
            columns=self._place.index_select(0, columns),
            senders=nodes,
            sampling_weight=None if whole else sampling_weight.to(relation.rows.sums.dtype),
        )


def compiled_sampler(pattern: Pattern) -> Choose | None:
    """Return PyTorch Geometric's sampler of a pattern, if pyg-lib or torch-sparse is installed."""
    try:
        from torch_geometric.data import Data
        from torch_geometric.sampler import NeighborSampler, NodeSamplerInput
        from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE
    except ImportError:
        return None
    if not (WITH_PYG_LIB or WITH_TORCH_SPARSE):
        return None
    edges = torch.stack([pattern.indices.long(), pattern.rows.long()])
    data = Data(edge_index=edges, num_nodes=pattern.shape[0])
    samplers: dict[int, Any] = {}

    def choose(nodes: Tensor, fanout: int) -> Tensor:
        if fanout not in samplers:
            samplers[fanout] = NeighborSampler(data, [fanout], is_sorted=True, share_memory=False)
        result = samplers[fanout].sample_from_nodes(NodeSamplerInput(None, nodes))
        order = result.col.argsort(stable=True)  # rows in the order of the nodes
        return result.edge.index_select(0, order).view(len(nodes), fanout)

    return choose


def fanouts_per_hop(neighbors: Neighbors, hops: int) -> list[Fanout]:
    """Return the number of neighbors to sample in each hop."""
    if neighbors == "all":
        return [None] * hops
    if isinstance(neighbors, str) or not neighbors or any(int(n) < 1 for n in neighbors):
        raise HeterophilyError(
            f"neighbors must be positive integers, one per hop, for example 10,5, or all, got {neighbors!r}"
        )
    fanouts = [int(n) for n in neighbors]
    return [fanouts[min(hop, len(fanouts) - 1)] for hop in range(hops)]
