"""Geom-GCN: neighbors by their position in a planar embedding of the graph."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.combine import Concat
from heterophily.htmp.guidance import RelationMean
from heterophily.htmp.method import (
    Deviation,
    DropoutRate,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import RELATIONS, Ego, Geometric
from heterophily.htmp.transform import Linear


@define_method
class GeomGCN(Method):
    """Neighbors by their position in a planar embedding of the graph.

    H_r = D_n^(-1/2) A_r D_n^(-1/2) drop(Z) W_r; relu([H_1 ‖ .. ‖ H_9]), at the end the mean
    """

    name, title = "geom-gcn", "Geom-GCN"
    paper = "Pei et al., Geom-GCN: geometric graph convolutional networks, ICLR 2020"

    overlap: Annotated[
        Literal["both", "latent"], "Relations of an edge that is also a latent neighbor."
    ] = "both"
    degree: Annotated[
        Literal["union", "relation"], "Whether degrees count all relations or one."
    ] = "union"
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
            combine=Concat(last="mean"),
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
        Deviation(
            "The learning rate is constant, and the best epoch is selected by validation accuracy."
        ),
    )
