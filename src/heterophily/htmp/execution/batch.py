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
    importance: Tensor | None = None  # d/k, (m,); none where all entries were kept
    square: bool = (
        True  # whether the columns are the nodes of the sample, not those of the whole graph
    )

    def padded(self, count: int) -> "SampledMatrix":
        """With `count` more nodes that hear nobody and are heard by nobody."""
        square = self.square
        sums, degrees = (pad(t, count) for t in (self.sums, self.degrees))
        senders = pad(self.sender_sums, count) if square else self.sender_sums
        pattern = padded(self.pattern, count, square=square)
        return replace(self, pattern=pattern, sums=sums, sender_sums=senders, degrees=degrees)


@dataclass(frozen=True, eq=False)
class Rows:
    """A neighborhood of the whole graph, from which rows are taken."""

    pattern: Pattern
    weights: Tensor | None
    sums: Tensor  # (N,)

    @classmethod
    def of(cls, indicator: Pattern | Matrix) -> "Rows":
        """The rows of an indicator, with or without weights."""
        if isinstance(indicator, Matrix):
            sums = segment_sum(indicator.pattern, indicator.values)
            return cls(indicator.pattern, indicator.values, sums)
        return cls(indicator, None, indicator.degrees.to(torch.get_default_dtype()))

    def all_of(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """All entries of the rows, one row after the other, and how many each has."""
        starts = self.pattern.indptr.index_select(0, nodes).long()
        counts = self.pattern.indptr.index_select(0, nodes + 1).long() - starts
        return ranges(starts, counts), counts

    def drawn(
        self,
        nodes: Tensor,
        entries: Tensor,
        counts: Tensor,
        *,
        columns: Tensor,
        senders: Tensor | None = None,
        importance: Tensor | None = None,
    ) -> SampledMatrix:
        """The entries as a matrix with `columns` for senders, which are all nodes if not named."""
        indptr = torch.zeros(len(counts) + 1, dtype=torch.long)
        torch.cumsum(counts, 0, out=indptr[1:])
        width = self.pattern.n_columns if senders is None else len(senders)
        pattern = Pattern(indptr.int(), columns.int(), width)
        weights = None if self.weights is None else self.weights.index_select(0, entries)
        parts = [part for part in (weights, importance) if part is not None]
        sums = self.sums.index_select(0, nodes)
        values = parts[0] if parts else sums.new_ones(len(entries))
        return SampledMatrix(
            pattern,
            values * parts[1] if len(parts) == 2 else values,
            sums=sums,
            sender_sums=self.sums if senders is None else self.sums.index_select(0, senders),
            degrees=self.pattern.degrees.index_select(0, nodes),
            weights=weights,
            importance=importance,
            square=senders is not None,
        )


class Batch(Graph):
    """A graph of n of the nodes of a whole one, seeds first; `extra` more are not nodes but prototypes.

    Features are gathered when a part asks for them. Nothing is validated: the whole graph was.
    """

    nodes: Tensor  # (n,)
    whole: Graph
    drawn: Mapping[Hashable, SampledMatrix]  # by neighborhood
    extra: int

    def __init__(
        self,
        whole: Graph,
        nodes: Tensor,
        drawn: Mapping[Hashable, SampledMatrix],
        *,
        labels: Tensor | None = None,
        extra: int = 0,
        gather: Callable[[], Features] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        facts = {
            "adjacency": _empty(len(nodes) + extra),
            "labels": whole.labels[nodes].to(device) if labels is None else labels,
            "n_classes": whole.n_classes,
            "splits": {},
            "name": whole.name,
            "node_ids": None,
            "class_names": whole.class_names,
            "nodes": nodes,
            "whole": whole,
            "drawn": drawn,
            "extra": extra,
            "_gather": gather or (lambda: rows_of(whole.features, nodes).to(device)),
        }
        self.__setstate__(facts)

    @cached_property
    def features(self) -> Features:
        """X of the nodes, then of the prototypes."""
        return self.__dict__["_gather"]()

    @property
    def n_features(self) -> int:
        """Number F of features."""
        return self.whole.n_features

    @property
    def symmetric(self) -> Pattern:
        """Refused: a part that wants it would take the sample for the graph."""
        raise HeterophilyError(
            "a batch has no whole adjacency; a part must ask for neighborhoods with indicator_of"
        )

    @property
    def degrees(self) -> Tensor:
        """Number of neighbors of each node in the whole graph, (n,), and 0 for what is no node."""
        found = self.whole.degrees.index_select(0, self.nodes)
        return pad(found.to(self.labels.device), self.extra)

    def cached(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """A drawn neighborhood, or what depends on this sample alone, computed once."""
        return self.drawn[key] if key in self.drawn else super().cached(key, compute)

    def extended(self, gather: Callable[[], Features], count: int) -> "Batch":
        """With `count` prototypes behind the nodes; `gather` gives the features of all of them."""
        classes = torch.arange(count, device=self.labels.device)
        drawn = {key: rows.padded(count) for key, rows in self.drawn.items()}
        labels = torch.cat([self.labels, classes])
        return Batch(self.whole, self.nodes, drawn, labels=labels, extra=count, gather=gather)

    def to(self, device: torch.device | str) -> "Batch":
        """The same sample on another device; node numbers stay where the whole graph is."""
        if self.labels.device == torch.device(device):
            return self
        drawn = {key: _moved(rows, device) for key, rows in self.drawn.items()}
        return Batch(self.whole, self.nodes, drawn, device=device)


def origin(graph: Graph) -> Tensor | None:
    """The numbers that the nodes of a sample have in the whole graph; None for a whole graph."""
    return graph.nodes.to(graph.labels.device) if isinstance(graph, Batch) else None


def ranges(starts: Tensor, counts: Tensor) -> Tensor:
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
    entries, counts = Rows(features.pattern, None, features.values).all_of(nodes)
    indptr = torch.zeros(len(nodes) + 1, dtype=torch.long)
    torch.cumsum(counts, 0, out=indptr[1:])
    columns = features.pattern.indices.index_select(0, entries)
    pattern = Pattern(indptr.to(columns.dtype), columns, features.pattern.n_columns)
    return pattern * features.values.index_select(0, entries)


def pad(values: Tensor, count: int) -> Tensor:
    """The values and `count` zeros."""
    return torch.cat([values, values.new_zeros(count)]) if count else values


def padded(pattern: Pattern, count: int, *, square: bool) -> Pattern:
    """The pattern with `count` empty rows, and columns if it is square."""
    indptr = torch.cat([pattern.indptr, pattern.indptr[-1:].expand(count)])
    return Pattern(indptr, pattern.indices, pattern.n_columns + (count if square else 0))


def _empty(n: int) -> Pattern:
    return Pattern(torch.zeros(n + 1, dtype=torch.int), torch.zeros(0, dtype=torch.int), n)


def _moved(drawn: SampledMatrix, device: torch.device | str) -> SampledMatrix:
    names = ("pattern", "values", "sums", "sender_sums", "degrees", "weights", "importance")
    items: dict[str, Any] = {name: getattr(drawn, name) for name in names}
    items = {name: None if item is None else item.to(device) for name, item in items.items()}
    return replace(drawn, **items)
