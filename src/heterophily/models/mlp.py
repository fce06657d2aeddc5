"""MLP: features only, without the graph."""

from typing import Annotated

from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.guidance import Ones
from heterophily.htmp.method import Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.transform import Linear


@define_method
class MLP(Method):
    """Features only, without the graph.

    Z^l = relu(drop(Z^(l-1)) W_l + b_l)
    """

    name, title = "mlp", "MLP"
    paper = "Rumelhart et al., Learning representations by back-propagating errors, Nature 1986"

    width: Annotated[PositiveInt, Choice(32, 64, 128, 256)] = 64
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5, 0.8)] = 0.5
    feature_norm: Annotated[FeatureNorm, Choice("none", "l1", "l2")] = "none"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01, 0.05)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 1e-4, 5e-4)] = 0.0

    @override
    def architecture(self) -> Architecture:
        return Architecture(channels=(Ego() * Ones(),), transform=Linear(init="linear"))

    deviations = (
        Deviation(
            "The reference implementation computes the cross-entropy of probabilities.", {"loss": "ce_of_probabilities"}
        ),
    )
