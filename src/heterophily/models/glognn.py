"""GloGNN: messages between all pairs of nodes, with coefficients in closed form."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import PredictFromBoth
from heterophily.htmp.guidance import Ones
from heterophily.htmp.method import (
    Deviation,
    DropoutRate,
    FeatureNorm,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import AllPairs, Ego
from heterophily.htmp.relations import ClosedFormCoefficients
from heterophily.htmp.transform import NoTransform

TENTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@define_method
class GloGNN(Method):
    """Messages between all pairs of nodes, with coefficients in closed form.

    H^l = (1-γ) Z* H^(l-1) + γ H⁰, Z* = argmin ‖H - (1-γ) Z H - γ H⁰‖² + α ‖Z‖² + β ‖Z - Σ λ_k S°^k‖²
    """

    name, title = "glognn", "GloGNN"
    paper = (
        "Li et al., Finding global homophily in graph neural networks when meeting heterophily, "
        "ICML 2022"
    )

    alpha: Annotated[float, Choice(0.0, 1.0, 10.0)] = 1.0
    beta: Annotated[float, Choice(0.1, 1.0, 10.0, 100.0, 1000.0)] = 100.0
    gamma: Annotated[float, Choice(*TENTHS[:-1])] = 0.5
    delta: Annotated[float, Choice(*TENTHS), "Weight of the features in Z⁰."] = 0.5
    n_orders: Annotated[PositiveInt, Choice(1, 2, 3, 4, 5, 6), "Number of hops."] = 4
    variant: Annotated[Literal["glognn", "glognn++"], Choice("glognn", "glognn++")] = "glognn"
    feature_dropout: Annotated[bool, "Whether dropout applies to the features."] = True
    n_layers: Annotated[PositiveInt, Choice(1, 2, 3)] = 1
    dropout: Annotated[DropoutRate, Choice(*TENTHS[1:9])] = 0.5
    feature_norm: FeatureNorm = "l1"
    learning_rate: Annotated[PositiveFloat, Choice(0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 1e-4)] = 1e-4

    @override
    def architecture(self) -> Architecture:
        coefficients = ClosedFormCoefficients(
            self.alpha, self.beta, self.gamma, self.n_orders, self.variant
        )
        return Architecture(
            encoder=PredictFromBoth(dropout=self.dropout, share=self.delta),
            channels=((Ego() * Ones()).with_input("initial"), AllPairs() * coefficients),
            combine=WeightedAdd(self.gamma),
            transform=NoTransform(),
            dropout=Dropout(input=self.dropout if self.feature_dropout else 0.0),
            activation="none",
        )

    deviations = (
        Deviation(
            "Dropout applies to the features. The reference implementation computes it and discards the "
            "result.",
            {"feature_dropout": False},
        ),
        Deviation("The weights of the hops are learned. The authors' other two rules are omitted."),
    )
