"""A_r: which nodes send messages to a node (paper, Section 3 and Appendix A).

A neighborhood is an indicator: a 0/1 pattern whose row i lists the nodes that i hears, or, where the
method says so, a pattern that carries weights or counts. `symbol` is how the paper's table writes it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from heterophily.core.errors import check_option
from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.channel import Channel

if TYPE_CHECKING:
    from heterophily.htmp.guidance import Guidance

Adjacency = Pattern | Matrix
RELATIONS = tuple((space, quadrant) for space in ("graph", "latent") for quadrant in range(4))


@dataclass(frozen=True)
class Neighborhood:
    """The base of all neighborhoods: `indicator(graph)` is the verb, `*` joins a guidance."""

    sampled = (
        True  # whether a batch draws rows of it; not where a node hears itself alone, or no nodes
    )

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
    """

    symbol = "I"
    kind = "Raw"
    sampled = False

    def adjacency(self, graph: Graph) -> Pattern:
        """I."""
        return _diagonal(graph)


@dataclass(frozen=True)
class Raw(Neighborhood):
    """Neighbors in the symmetrized graph, without the node itself.

    A_r = A
    """

    self_loops: bool = False
    weight: float = 1.0
    symbol = "A"
    kind = "Raw"

    def adjacency(self, graph: Graph) -> Adjacency:
        """A ∪ Aᵀ without self-loops, or with one for each node, times the weight."""
        pattern = with_diagonal(graph.symmetric) if self.self_loops else graph.symmetric
        if self.weight == 1:
            return pattern
        return pattern * torch.full((pattern.n_entries,), float(self.weight))


@dataclass(frozen=True)
class WithSelf(Neighborhood):
    """Neighbors and the node itself.

    A_r = Ã = A + I
    """

    double_self_loops: bool = False
    symbol = "Ã"
    kind = "Raw"

    def adjacency(self, graph: Graph) -> Adjacency:
        """A + I, or A + 2I."""
        pattern = with_diagonal(graph.symmetric)
        if not self.double_self_loops:
            return pattern
        return pattern * (1 + (pattern.rows == pattern.indices).to(torch.get_default_dtype()))


@dataclass(frozen=True)
class Hop(Neighborhood):
    """Nodes at distance exactly k.

    (A_r)_ij = 1[dist(i, j) = k]
    """

    k: int = 2
    rule: str = "strict"
    limit: int = 0

    def __post_init__(self) -> None:
        check_option("second_hop", self.rule, ("strict", "thresholded"))

    @property
    def symbol(self) -> str:
        """A for k = 1, else A_hk."""
        return "A" if self.k == 1 else f"A_h{self.k}"

    @property
    def kind(self) -> str:
        """One hop is the raw neighborhood."""
        return "Raw" if self.k == 1 else "ReDef"

    def adjacency(self, graph: Graph) -> Pattern:
        """1[distance = k]."""
        from heterophily.htmp.algorithms.hops import k_hop, second_hop

        if self.k == 2:
            return second_hop(graph.symmetric, rule=self.rule, limit=self.limit)
        return graph.symmetric if self.k == 1 else k_hop(graph.symmetric, self.k)


@dataclass(frozen=True)
class Power(Neighborhood):
    """Nodes within k steps, by powers of the guided matrix of A + I.

    A_r ⊙ B_r = (Ã ⊙ B)^k
    """

    k: int = 1
    double_self_loops: bool = False

    @property
    def symbol(self) -> str:
        """I, A, A_h2, .. as in the paper's table."""
        return ("I", "A")[self.k] if self.k < 2 else f"A_h{self.k}"

    @property
    def power(self) -> int:
        """The guidance is applied k times."""
        return self.k

    def adjacency(self, graph: Graph) -> Adjacency:
        """A + I, the same for all powers; the power is taken by the operator."""
        found: Adjacency = adjacency_of(WithSelf(self.double_self_loops), graph)
        return found


@dataclass(frozen=True)
class PathCounts(Neighborhood):
    """Nodes within k steps, weighted by the number of paths.

    A_r = (A + I)^k
    """

    k: int = 2
    hop_weights: str = "counts"

    def __post_init__(self) -> None:
        check_option("hop_weights", self.hop_weights, ("counts", "binary"))

    @property
    def symbol(self) -> str:
        """A_hk."""
        return f"A_h{self.k}"

    def adjacency(self, graph: Graph) -> Matrix:
        """(A + I)^k."""
        from heterophily.htmp.algorithms.hops import path_counts

        counts = to_default_dtype(path_counts(graph.symmetric, k=self.k))
        binary = self.hop_weights == "binary"
        return counts.pattern * torch.ones_like(counts.values) if binary else counts


@dataclass(frozen=True)
class CommonNeighbors(Neighborhood):
    """Nodes two steps apart with several common neighbors, and the node itself.

    A_r = 1[(A²)_ij ≥ n, A_ij = 0] + I
    """

    at_least: int = 2
    symbol = "Ã_h2"

    def adjacency(self, graph: Graph) -> Pattern:
        """1[(A²)_ij ≥ n, A_ij = 0] + I."""
        from heterophily.htmp.algorithms.hops import common_neighbors

        return with_diagonal(common_neighbors(graph.symmetric, at_least=self.at_least))


@dataclass(frozen=True)
class FeatureNeighbors(Neighborhood):
    """The k nodes with the most similar features.

    (A_r)_ij = cos(x_i, x_j) for the k most similar j
    """

    k: int = 20
    weighted: bool = True
    with_self: bool = False
    pairs: str = "all"
    symbol = "A_f"

    def __post_init__(self) -> None:
        check_option("knn_pairs", self.pairs, ("all", "ascending"))

    def adjacency(self, graph: Graph) -> Adjacency:
        """Top k of the cosine similarities, or their symmetrised indicator."""
        from heterophily.htmp.algorithms.cache import cached
        from heterophily.htmp.algorithms.knn import nearest_features

        found = cached(
            graph.structure_checksum,
            repr(self),
            lambda: {
                "knn": nearest_features(
                    graph.features,
                    self.k,
                    binary=self.weighted,
                    symmetric=not self.weighted,
                    pairs=self.pairs,
                )
            },
        )["knn"]
        if self.weighted:
            return to_default_dtype(found)
        return with_diagonal(found.pattern) if self.with_self else found.pattern


@dataclass(frozen=True)
class Geometric(Neighborhood):
    """Neighbors in one quadrant around the node, in a planar embedding of the graph.

    (A_r)_ij = 1[j is a neighbor of i and in quadrant q of i]
    """

    space: str  # graph or latent
    quadrant: int
    overlap: str = "both"

    def __post_init__(self) -> None:
        check_option("overlap", self.overlap, ("both", "latent"))

    def adjacency(self, graph: Graph) -> Pattern:
        """The pairs of one space whose sender lies in one quadrant of the receiver."""
        return geometric_relations(graph, str(self.overlap))[self.space, self.quadrant]


def geometric_relations(graph: Graph, overlap: str) -> dict[tuple[str, int], Pattern]:
    """All eight relations of Geom-GCN, computed once per graph."""
    from heterophily.htmp.algorithms.cache import cached
    from heterophily.htmp.algorithms.geometry import quadrant_patterns

    def compute() -> dict[str, Pattern]:
        found = quadrant_patterns(graph.symmetric, overlap=overlap)
        return {f"{space}.{quadrant}": p for (space, quadrant), p in found.items()}

    key = f"geometric {overlap}"
    stored = graph.cached(key, lambda: cached(graph.structure_checksum, key, compute))
    return {(k.split(".")[0], int(k.split(".")[1])): p for k, p in stored.items()}


@dataclass(frozen=True)
class Structural(Neighborhood):
    """Nodes with similar degrees in their surroundings.

    (A_r)_vu = exp(-f_t(u, v)) / Σ_v' exp(-f_t(u, v')), f_t the structural distance up to depth t
    """

    depth: int = 0
    max_depth: int = 2
    duplicates: bool = False

    def adjacency(self, graph: Graph) -> Matrix:
        """ω_t(u→v) = exp(-f_t(u,v)) / Σ_v' exp(-f_t(u,v')), stored at the receiver v."""
        from heterophily.htmp.algorithms.cache import cached
        from heterophily.htmp.algorithms.structural import structural_relations

        key = f"structural {self.max_depth} {self.duplicates}"

        def compute() -> dict[str, Matrix]:
            found = structural_relations(
                graph.symmetric,
                depth=self.max_depth,
                duplicates=self.duplicates,
            )
            return {str(t): matrix for t, matrix in enumerate(found)}

        stored = graph.cached(key, lambda: cached(graph.structure_checksum, key, compute))
        return to_default_dtype(stored[str(self.depth)])


@dataclass(frozen=True)
class Signed(Neighborhood):
    """Neighbors with positive or with negative similarity, which the guidance determines.

    A_r = A
    """

    sign: int = 1
    kind = "Dis"

    @property
    def symbol(self) -> str:
        """A_p or A_n."""
        return "A_p" if self.sign > 0 else "A_n"

    def adjacency(self, graph: Graph) -> Pattern:
        """A: the sign is found by the guidance in every layer."""
        return graph.symmetric


@dataclass(frozen=True)
class AllPairs(Neighborhood):
    """All nodes, without storing a matrix of all pairs.

    A_r = 1
    """

    symbol = "1"

    def check_guidance(self, guidance: "Guidance") -> str:
        """Only a guidance that never forms the N × N matrix works."""
        if guidance.covers_all_pairs:
            return ""
        return "the matrix of all pairs is never formed; use AllPairs() * ClosedFormCoefficients()"

    def adjacency(self, graph: Graph) -> Pattern:
        """A + I, on which the operator bases its sparse part."""
        return with_diagonal(graph.symmetric)


def adjacency_of(hood: Neighborhood, graph: Graph) -> Any:
    """A_r of a graph, computed once; of a sample of a graph, the rows that were drawn."""
    return graph.cached(hood, lambda: hood.adjacency(graph).to(graph.labels.device))


def structure_adjacency(hood: Neighborhood, graph: Graph) -> Any:
    """A_r as an input, with a column for every node of the fitted graph; a sample has whole rows of it."""
    return graph.cached(structure_key(hood), lambda: adjacency_of(hood, graph))


def structure_key(hood: Neighborhood) -> tuple[str, Neighborhood]:
    """Under which a graph remembers a neighborhood as an input."""
    return "structure", hood


def to_default_dtype(matrix: Matrix) -> Matrix:
    """The same weights in the default precision of floats, that of new networks."""
    return matrix.pattern * matrix.values.to(torch.get_default_dtype())


def with_diagonal(pattern: Pattern) -> Pattern:
    """A + I."""
    n = pattern.shape[0]
    own = torch.arange(n)
    rows = torch.cat([pattern.rows.long().cpu(), own])
    columns = torch.cat([pattern.indices.long().cpu(), own])
    return Pattern.from_edges(rows, columns, shape=(n, n)).to(pattern.indices.device)


def _diagonal(graph: Graph) -> Pattern:
    n: Any = graph.n_nodes
    return Pattern.from_arrays(np.arange(n + 1), np.arange(n), n_columns=n).to(graph.labels.device)
