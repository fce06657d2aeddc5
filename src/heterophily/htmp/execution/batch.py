"""Batches: some nodes of a graph with sampled rows of its neighborhoods.

A row of A_r has d entries in addition to the node itself. A batch samples k of them with weight d/k, so that the
sampled row is an unbiased estimate: E[A'] = A_r. If all entries are retained, A' = A_r. Degrees come from the
full graph. Parts process a batch like any graph.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix, Pattern, segment_sum
from heterophily.htmp.parts import GraphLike

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class SampledMatrix(Matrix):
    """A': sampled rows of a neighborhood, with the sums of the full rows; values = weights · sampling_weight."""

    sums: Tensor  # row sums of A_r at the receivers, (n,)
    sender_sums: Tensor  # the same at the senders, or column sums if A_r is directed, one per column
    degrees: Tensor  # entries of the full rows, (n,)
    weights: Tensor | None = None  # of A_r at the sampled entries, if it has any, (m,)
    sampling_weight: Tensor | None = None  # d/k, (m,); None if all entries were retained
    columns_are_batch_nodes: bool = True  # False if the columns are the nodes of the full graph

    def with_empty_rows(self, count: int) -> "SampledMatrix":
        """Return the matrix with `count` more nodes without neighbors."""
        columns_are_batch_nodes = self.columns_are_batch_nodes
        sums, degrees = (pad(t, count) for t in (self.sums, self.degrees))
        senders = pad(self.sender_sums, count) if columns_are_batch_nodes else self.sender_sums
        pattern = pad_pattern(self.pattern, count, columns_are_batch_nodes=columns_are_batch_nodes)
        return replace(self, pattern=pattern, sums=sums, sender_sums=senders, degrees=degrees)


@dataclass(frozen=True, eq=False)
class RowSource:
    """A neighborhood of the full graph, from which rows are sampled."""

    pattern: Pattern
    weights: Tensor | None
    sums: Tensor  # (N,)
    sender_sums: Tensor  # of columns if the neighborhood is directed, or else of rows, (N,)

    @classmethod
    def of(cls, adjacency: Pattern | Matrix, *, is_directed: bool = False) -> "RowSource":
        """Return the rows of an adjacency matrix, with or without weights."""
        sums = _row_sums(adjacency)
        senders = _row_sums(adjacency.T) if is_directed else sums
        if isinstance(adjacency, Matrix):
            return cls(adjacency.pattern, adjacency.values, sums, senders)
        return cls(adjacency, None, sums, senders)

    def all_of(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return all entries of the rows, one row after the other, and their number per row."""
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
        """Return the entries as a matrix whose columns are the `senders`, or all nodes."""
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
            sender_sums=self.sender_sums if senders is None else self.sender_sums.index_select(0, senders),
            degrees=self.pattern.degrees.index_select(0, nodes),
            weights=weights,
            sampling_weight=sampling_weight,
            columns_are_batch_nodes=senders is not None,
        )


def _row_sums(adjacency: Pattern | Matrix) -> Tensor:
    if isinstance(adjacency, Matrix):
        return segment_sum(adjacency.pattern, adjacency.values)
    return adjacency.degrees.to(torch.get_default_dtype())


class Batch:
    """Some nodes of a full graph, seeds first, then `n_virtual` virtual nodes, as a `GraphLike`.

    Features are gathered when a part reads them. Nothing is validated, because the full graph was.
    """

    def __init__(
        self,
        full_graph: Graph,
        nodes: Tensor,  # (n,)
        sampled: Mapping[Hashable, SampledMatrix],  # by neighborhood
        *,
        labels: Tensor | None = None,
        n_virtual: int = 0,
        gather: Callable[[], Features] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.full_graph, self.nodes, self.sampled, self.n_virtual = full_graph, nodes, sampled, n_virtual
        self.name, self.n_nodes = full_graph.name, len(nodes) + n_virtual
        self.n_features, self.n_classes = full_graph.n_features, full_graph.n_classes
        self.labels = full_graph.labels[nodes].to(device) if labels is None else labels
        self._gather = gather or (lambda: rows_of(full_graph.features, nodes).to(device))
        self._cache: dict[Hashable, object] = dict(sampled)

    @cached_property
    def features(self) -> Features:
        """X of the nodes, then of the virtual nodes."""
        return self._gather()

    @property
    def symmetric(self) -> Pattern:
        """Raise an error, because the batch has only sampled rows."""
        raise HeterophilyError(
            "a batch has no full adjacency matrix; use adjacency_of(neighborhood, graph) in the part"
        )

    @property
    def degrees(self) -> Tensor:
        """Number of neighbors of each node in the full graph, (n,), and 0 for virtual nodes."""
        degrees = self.full_graph.degrees.index_select(0, self.nodes)
        return pad(degrees.to(self.labels.device), self.n_virtual)

    symmetric_weights = symmetric

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return a sampled neighborhood, or a value of this batch that is computed once."""
        if key not in self._cache:
            self._cache[key] = compute()
        return cast("T", self._cache[key])

    def with_virtual_nodes(self, features: Callable[[], Features], rows: Tensor, labels: Tensor) -> "Batch":
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
        """Return the batch on another device; node ids stay on the device of the full graph."""
        if self.labels.device == torch.device(device):
            return self
        sampled = {key: _moved(rows, device) for key, rows in self.sampled.items()}
        return Batch(self.full_graph, self.nodes, sampled, device=device)


def full_graph_of(graph: GraphLike) -> Graph:
    """Return the graph that a batch is part of, or the graph itself."""
    return graph.full_graph if isinstance(graph, Batch) else cast("Graph", graph)


def global_node_ids(graph: GraphLike) -> Tensor | None:
    """Return the ids of the nodes of a batch or subgraph in the full graph; None for a full graph."""
    nodes: Tensor | None = graph.nodes if isinstance(graph, Batch) else getattr(graph, "n_id", None)
    return None if nodes is None else nodes.to(graph.labels.device)


def with_virtual_nodes(graph: GraphLike, features: Callable[[], Features], rows: Tensor, labels: Tensor) -> GraphLike:
    """Return the graph or the batch with virtual nodes, which have no neighbors, after its nodes."""
    if isinstance(graph, Batch):
        return graph.with_virtual_nodes(features, rows, labels)
    graph = full_graph_of(graph)
    edges = pad_pattern(graph.adjacency, len(rows), columns_are_batch_nodes=True)
    labels = torch.cat([graph.labels, labels])
    x = stack_rows(features(), rows)
    result = Graph(edges, x, labels, len(rows), name=graph.name, weights=graph.weights)
    symmetric = graph.symmetric
    result.__dict__["symmetric"] = (
        edges if symmetric is graph.adjacency else pad_pattern(symmetric, len(rows), columns_are_batch_nodes=True)
    )
    result.__dict__["n_id"] = getattr(graph, "n_id", None)  # of the subgraph of a loader
    return result


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
    """Return starts[i], .., starts[i] + counts[i] - 1 for all i, concatenated."""
    ends = counts.cumsum(0)
    shift = (starts - ends + counts).repeat_interleave(counts)
    return shift.add_(torch.arange(len(shift)))


def without_replacement(sizes: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Sample `count` different numbers below each size with equal probability, (len(sizes), count).

    Floyd's algorithm: for j = size - count, .., size - 1, sample a number up to j; if it was sampled before, use j.
    """
    chosen = torch.empty(len(sizes), count, dtype=torch.long)
    for step in range(count):
        top = sizes - count + step
        uniform = torch.rand(len(sizes), dtype=torch.double, generator=generator)
        number = (uniform * (top + 1)).long()
        taken = (chosen[:, :step] == number.unsqueeze(1)).any(dim=1)
        chosen[:, step] = torch.where(taken, top, number)
    return chosen


def rows_of(features: Features, nodes: Tensor) -> Features:
    """Return some rows of X, sparse if X is."""
    if not isinstance(features, Matrix):
        return features.index_select(0, nodes)
    entries, counts = RowSource(features.pattern, None, features.values, features.values).all_of(nodes)
    indptr = torch.zeros(len(nodes) + 1, dtype=torch.long)
    torch.cumsum(counts, 0, out=indptr[1:])
    columns = features.pattern.indices.index_select(0, entries)
    pattern = Pattern(indptr.to(columns.dtype), columns, features.pattern.n_columns)
    return pattern * features.values.index_select(0, entries)


def pad(values: Tensor, count: int) -> Tensor:
    """Append `count` zeros."""
    return torch.cat([values, values.new_zeros(count)]) if count else values


def pad_pattern(pattern: Pattern, count: int, *, columns_are_batch_nodes: bool) -> Pattern:
    """Append `count` empty rows, and columns if the columns are the nodes of the batch."""
    indptr = torch.cat([pattern.indptr, pattern.indptr[-1:].expand(count)])
    return Pattern(indptr, pattern.indices, pattern.n_columns + (count if columns_are_batch_nodes else 0))


def _moved(matrix: SampledMatrix, device: torch.device | str) -> SampledMatrix:
    names = ("pattern", "values", "sums", "sender_sums", "degrees", "weights", "sampling_weight")
    items: dict[str, Any] = {name: getattr(matrix, name) for name in names}
    items = {name: None if item is None else item.to(device) for name, item in items.items()}
    return replace(matrix, **items)
