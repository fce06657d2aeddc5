"""Geom-GCN: neighbors by their position in a planar embedding of the graph."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.errors import check_option
from heterophily.core.graph import Features, Graph
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.combine import Concat, Messages
from heterophily.htmp.guidance import (
    ChannelInput,
    FixedGuidance,
    SymmetricMean,
    degree_sums,
    safe_inverse,
    scale_rows_and_columns,
)
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Adjacency, Ego, Neighborhood, adjacency_of
from heterophily.htmp.parts import Context, GraphLike, Sizes, Weights
from heterophily.htmp.transform import Linear

RELATIONS = tuple((space, quadrant) for space in ("graph", "latent") for quadrant in range(4))


@define_method
class GeomGCN(Method):
    """Neighbors by their position in a planar embedding of the graph.

    H_r = D_n^(-1/2) A_r D_n^(-1/2) drop(Z) W_r; relu([H_1 ‖ .. ‖ H_9]), at the end the mean
    """

    name, title = "geom-gcn", "Geom-GCN"
    paper = "Pei et al., Geom-GCN: geometric graph convolutional networks, ICLR 2020"

    overlap: Annotated[Literal["both", "latent"], "Relations of an edge that is also a latent neighbor."] = "both"
    degree: Annotated[Literal["union", "relation"], "Whether degrees count all relations or one."] = "union"
    width: Annotated[PositiveInt, Choice(16, 32, 48, 64)] = 32
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.01, 0.05)] = 0.05
    weight_decay: Annotated[NonNegativeFloat, Choice(5e-6, 5e-5, 5e-4)] = 5e-6

    @override
    def architecture(self) -> Architecture:
        mean = RelationMean(self.degree, self.overlap)
        relations = (Geometric(space, quadrant, self.overlap) for space, quadrant in RELATIONS)
        return Architecture(
            channels=(*(relation * mean for relation in relations), Ego() * mean),
            combine=ConcatThenMean(),
            transform=Linear(bias="none"),
        )

    deviations = (
        Deviation(
            "An edge that is also a latent neighbor belongs to both relations. In the authors' "
            "implementation it belongs only to the latent one.",
            {"overlap": "latent"},
        ),
        Deviation(
            "Degrees count the entries of all relations, as in the authors' implementation; degree = "
            "relation counts one."
        ),
        Deviation(
            "The embedding is Isomap, with landmarks above 10,000 nodes. The distance of unreachable "
            "pairs is 1.5 times the largest distance."
        ),
        Deviation("The learning rate is constant, and the best epoch is selected by validation accuracy."),
    )


@dataclass(frozen=True)
class RelationMean(FixedGuidance):
    """Sum over one geometric relation, normalized by the degrees of all relations.

    A_r ⊙ B_r = D^(-1/2) A_r D^(-1/2), D the row sums of all relations and I

    Parameters
    ----------
    degree
        `union` for the degrees of all relations, `relation` for those of this relation.
    overlap
        Same as that of the neighborhoods.

    Examples
    --------
    >>> RelationMean().symbol
    'B^d'
    """

    degree: str = "union"
    overlap: str = "both"
    supports_powers = False

    def __post_init__(self) -> None:
        check_option("degree", self.degree, ("union", "relation"))

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> Matrix:
        graph, key = seen.context.graph, (self, seen.channel.neighborhood)
        matrix: Matrix = graph.cached(key, lambda: self._scaled(graph, seen.adjacency))
        return matrix

    def _scaled(self, graph: GraphLike, adjacency: Adjacency) -> Matrix:
        if self.degree == "relation":
            return SymmetricMean().matrix(adjacency)
        hoods = [Geometric(*which, self.overlap) for which in RELATIONS]
        ends = [degree_sums(adjacency_of(hood, graph)) for hood in hoods]
        degrees = (1 + torch.stack(sums).sum(dim=0) for sums in zip(*ends, strict=True))
        return scale_rows_and_columns(adjacency, *(safe_inverse(d.sqrt()) for d in degrees))


@dataclass(frozen=True)
class Geometric(Neighborhood):
    """Neighbors in one quadrant around the node, in a planar embedding of the graph.

    (A_r)_ij = 1[j is a neighbor of i and in quadrant q of i]

    Parameters
    ----------
    space
        `graph` for neighbors in the graph, `latent` for neighbors in the embedding.
    quadrant
        Number q of the quadrant, 0 to 3.
    overlap
        `both` if a pair can be a neighbor in both spaces, `latent` if it is then a neighbor in the
        embedding only.

    Examples
    --------
    >>> Geometric("graph", 0).symbol
    'A_c'
    """

    space: str  # graph or latent
    quadrant: int
    overlap: str = "both"

    def __post_init__(self) -> None:
        check_option("overlap", self.overlap, ("both", "latent"))

    @override
    def adjacency(self, graph: Graph) -> Pattern:
        return geometric_relations(graph, str(self.overlap))[self.space, self.quadrant]


def geometric_relations(graph: Graph, overlap: str) -> dict[tuple[str, int], Pattern]:
    """All eight relations of Geom-GCN, computed once per graph."""
    from heterophily.htmp.algorithms.cache import cached
    from heterophily.htmp.algorithms.geometry import quadrant_patterns

    def compute() -> dict[str, Pattern]:
        patterns = quadrant_patterns(graph.symmetric, overlap=overlap)
        return {f"{space}.{quadrant}": p for (space, quadrant), p in patterns.items()}

    key = f"geometric {overlap}"
    stored = graph.cached(key, lambda: cached(graph.structure_checksum, key, compute))
    return {(k.split(".")[0], int(k.split(".")[1])): p for k, p in stored.items()}


@dataclass(frozen=True)
class ConcatThenMean(Concat):
    """Concatenation of all messages, and their mean in the last layer.

    Z^l = [Z_1 ‖ .. ‖ Z_R], Z^L = (Z_1 + .. + Z_R) / R

    Examples
    --------
    >>> ConcatThenMean().symbol
    'Cat'
    """

    keeps_width_in_last_layer = True

    @override
    def weights(self, size: Sizes) -> Weights:
        return Weights(mean=nn.Identity()) if size.is_last else Weights()  # marks the last layer

    @override
    def width(self, size: Sizes) -> int:
        return size.d_out if size.is_last else super().width(size)

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: Weights, context: Context) -> Tensor:
        if hasattr(w, "mean"):
            return torch.stack(list(messages)).mean(dim=0)
        return super().__call__(messages, inputs, w, context)
