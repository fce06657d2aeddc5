"""A_r: which nodes send messages to a node (paper, Section 3 and Appendix A).

A neighborhood is a 0/1 pattern whose row i lists the nodes from which i receives messages, or a matrix with
weights or counts. `symbol` is the notation of the paper's table.

If the graph has edge weights, A contains them in `Raw`, `WithSelf`, `WithSelfTwice`, `Power`, `In`, and `Out`, and
the weight of a self-loop is 1. Nodes at a distance of two or more count by existence, and neighborhoods from features
or structure ignore the weights.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.channel import Channel
from heterophily.htmp.parts import GraphLike, X

if TYPE_CHECKING:
    from heterophily.htmp.guidance import Guidance

Adjacency = Pattern | Matrix


@dataclass(frozen=True)
class Neighborhood:
    """Base class of all neighborhoods. `neighborhood * guidance` is a channel."""

    sampled = True  # whether batches sample its rows
    uses_edges = True  # whether A_r depends on the edges of the graph

    @property
    def symbol(self) -> str:
        """How the paper's table writes it."""
        return "A_c"

    @property
    def kind(self) -> str:
        """Raw, ReDef (redefined) or Dis (discriminated)."""
        return "ReDef"

    @property
    def power(self) -> int:
        """How often the guidance is applied."""
        return 1

    @property
    def uses_weights(self) -> bool:
        """Whether the values of A_r are edge weights, if the graph has any."""
        return False

    @property
    def is_directed(self) -> bool:
        """Whether A_r depends on the direction of edges."""
        return False

    def check_guidance(self, guidance: "Guidance") -> str:
        """Return why a guidance cannot be used with this neighborhood; empty if it can."""
        return ""

    def adjacency(self, graph: Graph) -> Adjacency:
        """A_r of a graph."""
        raise NotImplementedError

    def __mul__(self, guidance: "Guidance") -> Channel:
        return Channel(self, guidance)


@dataclass(frozen=True)
class Ego(Neighborhood):
    """The node itself.

    A_r = I

    Examples
    --------
    >>> Ego().symbol
    'I'
    """

    symbol = "I"
    kind = "Raw"
    sampled = False

    @override
    def adjacency(self, graph: Graph) -> Pattern:
        n = graph.n_nodes
        return Pattern.from_arrays(np.arange(n + 1), np.arange(n), n_columns=n).to(graph.labels.device)


@dataclass(frozen=True)
class Raw(Neighborhood):
    """Neighbors in the symmetrized graph, without the node itself.

    A_r = A

    Examples
    --------
    >>> Raw().symbol
    'A'
    """

    symbol = "A"
    kind = "Raw"
    uses_weights = True

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return weighted_symmetric(graph)


@dataclass(frozen=True)
class WithSelf(Neighborhood):
    """Neighbors and the node itself.

    A_r = Ã = A + I

    Parameters
    ----------
    of
        Neighborhood without the node itself, such as `Raw()` or `In()`.

    Examples
    --------
    >>> WithSelf().symbol
    'Ã'
    """

    of: Neighborhood = Raw()
    kind = "Raw"
    uses_weights = True

    @property
    @override
    def symbol(self) -> str:
        return f"Ã{self.of.symbol[1:]}"

    @property
    @override
    def is_directed(self) -> bool:
        return self.of.is_directed

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return with_self_loops(self.of.adjacency(graph))


@dataclass(frozen=True)
class WithSelfTwice(WithSelf):
    """Neighbors and, with weight 2, the node itself, as in some reference implementations.

    A_r = A + 2I

    Examples
    --------
    >>> WithSelfTwice().symbol
    'Ã'
    """

    @override
    def adjacency(self, graph: Graph) -> Matrix:
        once = super().adjacency(graph)
        pattern, values = (once, 1) if isinstance(once, Pattern) else (once.pattern, once.values)
        return pattern * ((pattern.rows == pattern.indices).to(torch.get_default_dtype()) + values)


@dataclass(frozen=True)
class Hop(Neighborhood):
    """Nodes at distance exactly k. Weights are used for k = 1 only.

    (A_r)_ij = 1[dist(i, j) = k]

    Parameters
    ----------
    k
        Distance.
    limit
        Maximum number of second-hop nodes per node, sampled once; 0 for no limit.

    Examples
    --------
    >>> Hop(2).symbol
    'A_h2'
    """

    k: int = 2
    limit: int = 0

    @property
    @override
    def symbol(self) -> str:
        return "A" if self.k == 1 else f"A_h{self.k}"

    @property
    @override
    def kind(self) -> str:
        return "Raw" if self.k == 1 else "ReDef"

    @property
    @override
    def uses_weights(self) -> bool:
        return self.k == 1

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        from heterophily.htmp.algorithms.hops import k_hop, second_hop

        if self.k == 2:
            return second_hop(graph.symmetric, limit=self.limit)
        return weighted_symmetric(graph) if self.k == 1 else k_hop(graph.symmetric, self.k)


@dataclass(frozen=True)
class Power(Neighborhood):
    """Nodes within k steps, by powers of the guided matrix of a neighborhood.

    A_r ⊙ B_r = (Ã ⊙ B)^k

    Parameters
    ----------
    k
        Exponent; 0 for the identity.
    of
        Neighborhood of one step.

    Examples
    --------
    >>> Power(2).symbol
    'A_h2'
    """

    k: int = 1
    of: Neighborhood = WithSelf()

    @property
    @override
    def symbol(self) -> str:
        return ("I", "A")[self.k] if self.k < 2 else f"A_h{self.k}"

    @property
    @override
    def power(self) -> int:
        return self.k

    @property
    @override
    def uses_weights(self) -> bool:
        return self.of.uses_weights

    @property
    @override
    def is_directed(self) -> bool:
        return self.of.is_directed

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return adjacency_of(self.of, graph)


@dataclass(frozen=True)
class FeatureNeighbors(Neighborhood):
    """The k nodes with the most similar features, in both directions.

    (A_r)_ij = 1 if cos(x_i, x_j) is among the k largest of i or of j

    Parameters
    ----------
    k
        Number of nodes.

    Examples
    --------
    >>> FeatureNeighbors(20).symbol
    'A_f'
    """

    k: int = 20
    symbol = "A_f"
    uses_edges = False

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return self._nearest(graph, symmetric=True).pattern

    def _nearest(self, graph: Graph, *, binary: bool = False, symmetric: bool = False, pairs: str = "all") -> Matrix:
        """Return the similarities of the nearest nodes, stored on disk; see `nearest_features`."""
        from heterophily.htmp.algorithms.cache import cached
        from heterophily.htmp.algorithms.knn import nearest_features

        def compute() -> dict[str, Matrix]:
            return {"knn": nearest_features(graph.features, self.k, binary=binary, symmetric=symmetric, pairs=pairs)}

        return cached(graph.structure_checksum, f"nearest {self.k} {binary} {symmetric} {pairs}", compute)["knn"]


def adjacency_of(hood: Neighborhood, graph: GraphLike) -> Adjacency:
    """Return A_r of a graph, computed once, or the sampled rows of a batch."""
    # A batch contains all neighborhoods but those that are not sampled, which need only the number of nodes.
    return graph.cached(hood, lambda: hood.adjacency(cast("Graph", graph)).to(graph.labels.device))


def structure_adjacency(hood: Neighborhood, graph: GraphLike) -> Adjacency:
    """Return A_r as an input with one column per node of the training graph; a batch has full rows of it."""
    return graph.cached(structure_key(hood), lambda: adjacency_of(hood, graph))


def structure_key(hood: Neighborhood) -> tuple[str, Neighborhood]:
    """Under which a graph remembers a neighborhood as an input."""
    return "structure", hood


def to_default_dtype(x: X) -> X:
    """Return a matrix in the default dtype of PyTorch, which is that of new networks."""
    dtype = torch.get_default_dtype()
    converted: Features = x.to(dtype) if isinstance(x, Tensor) else x.pattern * x.values.to(dtype)
    return cast("X", converted)


def weighted_symmetric(graph: Graph) -> Adjacency:
    """Return the symmetrized graph with its weights, if it has any, the same object for all neighborhoods."""
    weights = graph.symmetric_weights
    if weights is None:
        return graph.symmetric
    return graph.cached("weighted symmetric", lambda: to_default_dtype(graph.symmetric * weights))


def with_self_loops(adjacency: Adjacency) -> Adjacency:
    """Return A + I for a matrix without a diagonal. The weight of a self-loop is 1."""
    if isinstance(adjacency, Pattern):
        return with_diagonal(adjacency)
    pattern = with_diagonal(adjacency.pattern)
    off_diagonal = pattern.rows != pattern.indices
    return pattern * adjacency.values.new_ones(pattern.n_entries).masked_scatter(off_diagonal, adjacency.values)


def with_diagonal(pattern: Pattern) -> Pattern:
    """A + I."""
    n = pattern.shape[0]
    own = torch.arange(n)
    rows = torch.cat([pattern.rows.long().cpu(), own])
    columns = torch.cat([pattern.indices.long().cpu(), own])
    return Pattern.from_edges(rows, columns, shape=(n, n)).to(pattern.indices.device)
