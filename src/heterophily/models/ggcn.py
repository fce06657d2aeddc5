"""GGCN: separate relations of positive and negative similarity, corrected for degree."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import GlobalSum
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.guidance import Ones
from heterophily.htmp.method import (
    Deviation,
    DropoutRate,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import Ego, Signed
from heterophily.htmp.relations import SignedSimilarity
from heterophily.htmp.skip import DecayedResidual
from heterophily.htmp.transform import SharedLinear


@define_method
class GGCN(Method):
    """Separate relations of positive and negative similarity, corrected for degree.

    Z = ς (ω_1 (Â ⊙ τ ⊙ relu(cos)) U - ω_2 (Â ⊙ τ ⊙ relu(-cos)) U + ω_3 U), U = Z W + b
    """

    name, title = "ggcn", "GGCN"
    paper = (
        "Yan et al., Two sides of the same coin: heterophily and oversmoothing in graph "
        "convolutional neural networks, ICDM 2022"
    )

    decay_rate: Annotated[float, Choice(0.6, 0.8, 0.9, 1.0, 1.2), "η of the residual."] = 1.0
    normalization: Annotated[Literal["symmetric", "row"], "How Â is normalized."] = "symmetric"
    width: Annotated[PositiveInt, Choice(8, 16, 32, 64, 80)] = 64
    n_layers: Annotated[PositiveInt, Choice(2, 4, 8, 16)] = 2
    dropout: Annotated[DropoutRate, Choice(0.0, 0.1, 0.3, 0.5, 0.6, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(1e-5, 1e-4, 5e-4, 1e-3)] = 1e-4

    @override
    def architecture(self) -> Architecture:
        relations = (Signed(s) * SignedSimilarity(s, self.normalization) for s in (1, -1))
        return Architecture(
            channels=(Ego() * Ones(), *relations),
            combine=GlobalSum(),
            transform=SharedLinear(bias="before", init="linear"),
            skip=DecayedResidual(self.decay_rate, dropout=self.dropout),
            dropout=Dropout(input=self.dropout),
            activation="none",
        )

    deviations = (
        Deviation(
            "The dense path of the reference implementation normalizes by rows, which turns off the "
            "correction for degree. It is symmetric on pubmed only.",
            {"normalization": "row"},
        ),
    )
