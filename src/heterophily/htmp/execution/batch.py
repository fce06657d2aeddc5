"""Some nodes of a graph with drawn rows of its neighborhoods: what a batch of message passing sees.

A row of A_r has d entries beside the node itself; k of them are drawn and count (d/k)-fold, so that the drawn
row estimates the whole one without bias: E[A'] = A_r. Where all are kept, A' = A_r. Normalisers come from the
whole graph. Parts run on a sample as on any graph.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix, Pattern, segment_sum


@dataclass(frozen=True, eq=False, repr=False)
class SampledMatrix(Matrix):
    """A': drawn rows of a neighborhood, with the sums of the whole rows; values = weights · importance."""

    sums: Tensor  # row sums of A_r at the receivers, (n,)
    sender_sums: Tensor  # the same at the senders, one per column
    degrees: Tensor  # entries of the whole rows, (n,)
    weights: Tensor | None = None  # of A_r at the drawn entries, if it has any, (m,)
    sampling_weight: Tensor | None = None  # d/k, (m,); none where all entries were kept
    columns_are_batch_nodes: bool = (
        True  # whether the columns are the nodes of the sample, not those of the whole graph
    )

    def with_empty_rows(self, count: int) -> "SampledMatrix":
        """With `count` more nodes that hear nobody and are heard by nobody."""
        columns_are_batch_nodes = self.columns_are_batch_nodes
        sums, degrees = (pad(t, count) for t in (self.sums, self.degrees))
        senders = pad(self.sender_sums, count) if columns_are_batch_nodes else self.sender_sums
        pattern = pad_pattern(self.pattern, count, columns_are_batch_nodes=columns_are_batch_nodes)
        return replace(self, pattern=pattern, sums=sums, sender_sums=senders, degrees=degrees)


@dataclass(frozen=True, eq=False)
class RowSource:
    """A neighborhood of the whole graph, from which rows are taken."""

    pattern: Pattern
    weights: Tensor | None
    sums: Tensor  # (N,)

    @classmethod
    def of(cls, adjacency: Pattern | Matrix) -> "RowSource":
        """The rows of an indicator, with or without weights."""
        if isinstance(adjacency, Matrix):
            sums = segment_sum(adjacency.pattern, adjacency.values)
            return cls(adjacency.pattern, adjacency.values, sums)
        return cls(adjacency, None, adjacency.degrees.to(torch.get_default_dtype()))

    def all_of(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """All entries of the rows, one row after the other, and how many each has."""
        starts = self.pattern.indptr.index_select(0, nodes).long()
        counts = self.pattern.indptr.index_select(0, nodes + 1).long() - starts
        return concatenated_ranges(starts, counts), counts

    def sampled(
        self,
        nodes: Tensor,
        entries: Tensor,
        counts: Tensor,
        *,
        columns: Tensor,
        senders: Tensor | None = None,
        sampling_weight: Tensor | None = None,
    ) -> SampledMatrix:
        """The entries as a matrix with `columns` for senders, which are all nodes if not named."""
        indptr = torch.zeros(len(counts) + 1, dtype=torch.long)
        torch.cumsum(counts, 0, out=indptr[1:])
        width = self.pattern.n_columns if senders is None else len(senders)
        pattern = Pattern(indptr.int(), columns.int(), width)
        weights = None if self.weights is None else self.weights.index_select(0, entries)
        parts = [part for part in (weights, sampling_weight) if part is not None]
        sums = self.sums.index_select(0, nodes)
        values = parts[0] if parts else sums.new_ones(len(entries))
        return SampledMatrix(
            pattern,
            values * parts[1] if len(parts) == 2 else values,
            sums=sums,
            sender_sums=self.sums if senders is None else self.sums.index_select(0, senders),
            degrees=self.pattern.degrees.index_select(0, nodes),
            weights=weights,
            sampling_weight=sampling_weight,
            columns_are_batch_nodes=senders is not None,
        )


class Batch(Graph):
    """A graph of n of the nodes of a whole one, seeds first; `extra` more are not nodes but prototypes.

    Features are gathered when a part asks for them. Nothing is validated: the whole graph was.
    """

    nodes: Tensor  # (n,)
    full_graph: Graph
    sampled: Mapping[Hashable, SampledMatrix]  # by neighborhood
    n_virtual: int

    def __init__(
        self,
        full_graph: Graph,
        nodes: Tensor,
        drawn: Mapping[Hashable, SampledMatrix],
        *,
        labels: Tensor | None = None,
        n_virtual: int = 0,
        gather: Callable[[], Features] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        facts = {
            "adjacency": _empty(len(nodes) + n_virtual),
            "labels": full_graph.labels[nodes].to(device) if labels is None else labels,
            "n_classes": full_graph.n_classes,
            "splits": {},
            "name": full_graph.name,
            "node_ids": None,
            "class_names": full_graph.class_names,
            "nodes": nodes,
            "full_graph": full_graph,
            "sampled": drawn,
            "n_virtual": n_virtual,
            "_gather": gather or (lambda: rows_of(full_graph.features, nodes).to(device)),
        }
        self.__setstate__(facts)

    @cached_property
    def features(self) -> Features:
        """X of the nodes, then of the prototypes."""
        return self.__dict__["_gather"]()

    @cached_property
    def n_features(self) -> int:
        """Number F of features."""
        return self.full_graph.n_features

    @property
    def symmetric(self) -> Pattern:
        """Refused: a part that wants it would take the sample for the graph."""
        raise HeterophilyError(
            "a batch has no whole adjacency; a part must ask for neighborhoods with adjacency_of"
        )

    @property
    def degrees(self) -> Tensor:
        """Number of neighbors of each node in the whole graph, (n,), and 0 for what is no node."""
        found = self.full_graph.degrees.index_select(0, self.nodes)
        return pad(found.to(self.labels.device), self.n_virtual)

    def cached(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """A drawn neighborhood, or what depends on this sample alone, computed once."""
        return self.sampled[key] if key in self.sampled else super().cached(key, compute)

    def with_virtual_nodes(
        self, features: Callable[[], Features], rows: Tensor, labels: Tensor
    ) -> "Batch":
        """Return the batch with virtual nodes, with features `rows`, after its nodes."""
        sampled = {key: matrix.with_empty_rows(len(rows)) for key, matrix in self.sampled.items()}
        return Batch(
            self.full_graph,
            self.nodes,
            sampled,
            labels=torch.cat([self.labels, labels]),
            n_virtual=len(rows),
            gather=lambda: stack_rows(features(), rows),
        )

    def to(self, device: torch.device | str) -> "Batch":
        """The same sample on another device; node numbers stay where the whole graph is."""
        if self.labels.device == torch.device(device):
            return self
        drawn = {key: _moved(rows, device) for key, rows in self.sampled.items()}
        return Batch(self.full_graph, self.nodes, drawn, device=device)


def full_graph_of(graph: Graph) -> Graph:
    """Return the graph that a batch is part of, or the graph itself."""
    return graph.full_graph if isinstance(graph, Batch) else graph


def global_node_ids(graph: Graph) -> Tensor | None:
    """The numbers that the nodes of a sample have in the whole graph; None for a whole graph."""
    return graph.nodes.to(graph.labels.device) if isinstance(graph, Batch) else None


def with_virtual_nodes(
    graph: Graph, features: Callable[[], Features], rows: Tensor, labels: Tensor
) -> Graph:
    """Return the symmetrized graph with virtual nodes, which have no neighbors, after its nodes."""
    edges = graph.symmetric
    tail = edges.indptr[-1:].expand(len(rows))
    pattern = Pattern(torch.cat([edges.indptr, tail]), edges.indices, graph.n_nodes + len(rows))
    labels = torch.cat([graph.labels, labels])
    return Graph(pattern, stack_rows(features(), rows), labels, len(rows), name=graph.name)


def stack_rows(x: Features, rows: Tensor) -> Features:
    """Return [X; rows], sparse if X is."""
    if not isinstance(x, Matrix):
        return torch.cat([x, rows.to(x.dtype)])
    at = rows.nonzero(as_tuple=True)
    extra = Pattern.from_edges(*at, shape=(len(rows), rows.shape[1])).to(rows.device)
    indptr = torch.cat([x.pattern.indptr, extra.indptr[1:] + x.pattern.indptr[-1]])
    indices = torch.cat([x.pattern.indices, extra.indices])
    both = Pattern(indptr, indices, x.pattern.n_columns)
    return both * torch.cat([x.values, rows[at].to(x.values.dtype)])


def concatenated_ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """starts[0], starts[0] + 1, .. counts[0] numbers, then those of the next, and so on."""
    ends = counts.cumsum(0)
    shift = (starts - ends + counts).repeat_interleave(counts)
    return shift.add_(torch.arange(len(shift)))


def without_replacement(sizes: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """`count` different numbers below each of the sizes, all equally likely, (len(sizes), count).

    Floyd: for j = size - count, .., size - 1 take a number up to j, or j itself if that was taken before.
    """
    chosen = torch.empty(len(sizes), count, dtype=torch.long)
    for step in range(count):
        top = sizes - count + step
        drawn = torch.rand(len(sizes), dtype=torch.double, generator=generator)
        number = (drawn * (top + 1)).long()
        taken = (chosen[:, :step] == number.unsqueeze(1)).any(dim=1)
        chosen[:, step] = torch.where(taken, top, number)
    return chosen


def rows_of(features: Features, nodes: Tensor) -> Features:
    """Some rows of X, sparse if X is."""
    if not isinstance(features, Matrix):
        return features.index_select(0, nodes)
    entries, counts = RowSource(features.pattern, None, features.values).all_of(nodes)
    indptr = torch.zeros(len(nodes) + 1, dtype=torch.long)
    torch.cumsum(counts, 0, out=indptr[1:])
    columns = features.pattern.indices.index_select(0, entries)
    pattern = Pattern(indptr.to(columns.dtype), columns, features.pattern.n_columns)
    return pattern * features.values.index_select(0, entries)


def pad(values: Tensor, count: int) -> Tensor:
    """The values and `count` zeros."""
    return torch.cat([values, values.new_zeros(count)]) if count else values


def pad_pattern(pattern: Pattern, count: int, *, columns_are_batch_nodes: bool) -> Pattern:
    """The pattern with `count` empty rows, and columns if it is square."""
    indptr = torch.cat([pattern.indptr, pattern.indptr[-1:].expand(count)])
    return Pattern(
        indptr, pattern.indices, pattern.n_columns + (count if columns_are_batch_nodes else 0)
    )


def _empty(n: int) -> Pattern:
    return Pattern(torch.zeros(n + 1, dtype=torch.int), torch.zeros(0, dtype=torch.int), n)


def _moved(drawn: SampledMatrix, device: torch.device | str) -> SampledMatrix:
    names = ("pattern", "values", "sums", "sender_sums", "degrees", "weights", "sampling_weight")
    items: dict[str, Any] = {name: getattr(drawn, name) for name in names}
    items = {name: None if item is None else item.to(device) for name, item in items.items()}
    return replace(drawn, **items)
