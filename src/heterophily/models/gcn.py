"""GCN: symmetrically normalized mean over the neighbors and the node itself."""

from typing import Annotated

from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.combine import Add, SingleChannel
from heterophily.htmp.direction import DIRECTION, DirectedMean, Direction, directed_neighborhoods
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.method import Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.neighborhoods import WithSelf


@define_method
class GCN(Method):
    """Symmetrically normalized mean over the neighbors and the node itself.

    Z^l = relu(S° drop(Z^(l-1)) W_l + b_l), S° = D°^(-1/2) (A + I) D°^(-1/2)
    """

    name, title = "gcn", "GCN"
    paper = "Kipf and Welling, Semi-supervised classification with graph convolutional networks, ICLR 2017"

    width: Annotated[PositiveInt, Choice(32, 64, 128, 256)] = 64
    n_layers: Annotated[PositiveInt, Choice(1, 2, 3)] = 2
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5, 0.8)] = 0.5
    direction: Annotated[Direction, DIRECTION] = "symmetric"
    feature_norm: Annotated[FeatureNorm, Choice("none", "l1", "l2")] = "none"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01, 0.05)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 1e-4, 5e-4, 1e-3)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        if self.direction == "symmetric":
            return Architecture(channels=(WithSelf() * SymmetricMean(),))
        hoods = directed_neighborhoods(self.direction, with_self=True)
        return Architecture(
            channels=tuple(hood * DirectedMean() for hood in hoods),
            combine=Add() if len(hoods) > 1 else SingleChannel(),
        )

    deviations = (
        Deviation(
            "The reference implementation has no activation between layers, so the network is linear in evaluation.",
            {"activation": "none"},
        ),
        Deviation(
            "The reference implementation computes the cross-entropy of probabilities.", {"loss": "ce_of_probabilities"}
        ),
        Deviation(
            "Weight decay applies to all parameters, as in the reference implementation. The authors "
            "apply it to W_1 only."
        ),
    )
