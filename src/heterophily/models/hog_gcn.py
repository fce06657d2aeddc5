"""HOG-GCN: neighbors within two hops, weighted by an estimated degree of homophily."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.architecture import Architecture, Dropout, Head, ParamGroup
from heterophily.htmp.combine import LearnedAdd
from heterophily.htmp.guidance import Ones
from heterophily.htmp.losses import AttributeLoss, PropagationLoss
from heterophily.htmp.method import (
    Deviation,
    DropoutRate,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import Ego, PathCounts
from heterophily.htmp.relations import EstimatedHomophily
from heterophily.htmp.transform import Linear


@define_method
class HOGGCN(Method):
    """Neighbors within two hops, weighted by an estimated degree of homophily.

    Z = Z W + w G Z W' + b, G = r ⊙ (B ⊙ (μ P Pᵀ + ξ norm1(B ⊙ Θ))), B = (A + I)²
    """

    name, title = "hog-gcn", "HOG-GCN"
    paper = (
        "Wang et al., Powerful graph convolutional networks with adaptive propagation mechanism for "
        "homophily and heterophily, AAAI 2022"
    )

    second_width: Annotated[PositiveInt, "Width of the second layer."] = 256
    attribute_width: Annotated[PositiveInt, "Width of the attribute model."] = 256
    hop_weights: Annotated[Literal["counts", "binary"], "Whether path counts serve as weights."] = (
        "counts"
    )
    propagated_labels: Literal["predicted", "train_true"] = "predicted"
    double_update: bool = False
    width: Annotated[PositiveInt, Choice(256, 512)] = 512
    dropout: Annotated[DropoutRate, Choice(0.3, 0.5, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 1e-3)] = 1e-3

    @override
    def architecture(self) -> Architecture:
        homophily = EstimatedHomophily(width=self.attribute_width)
        return Architecture(
            channels=(Ego() * Ones(), PathCounts(2, self.hop_weights) * homophily),
            combine=LearnedAdd(),
            transform=Linear(bias="none", init="uniform_out"),
            head=Head(),
            dropout=Dropout(layer=self.dropout),
            widths=(self.width, self.second_width),
            losses=(
                AttributeLoss(),
                PropagationLoss(self.propagated_labels, self.learning_rate),
            ),
            param_groups=(ParamGroup("common.attributes.*", 0.02, step_twice=self.double_update),),
        )

    deviations = (
        Deviation(
            "The reference implementation updates the attribute model twice per epoch.",
            {"double_update": True},
        ),
        Deviation(
            "Path counts serve as weights, as in the implementations; hop_weights = binary uses the "
            "indicator."
        ),
        Deviation(
            "The optimizer of the attribute model is reset after its ten steps. In the implementations "
            "it keeps its moments."
        ),
    )
