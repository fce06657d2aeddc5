"""GPR-GNN: predict first, then learn one weight per hop."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.architecture import Architecture, Dropout, ParamGroup
from heterophily.htmp.encoder import Predict
from heterophily.htmp.fuse import WeightedLayerSum
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.method import (
    Deviation,
    DropoutRate,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import WithSelf
from heterophily.htmp.transform import NoTransform


@define_method
class GPRGNN(Method):
    """Predict first, then learn one weight per hop.

    Z = Σ_k γ_k S°^k Z⁰, Z⁰ = drop_q(drop_p(relu(drop_p(X) W_1 + b_1)) W_2 + b_2)
    """

    name, title = "gpr-gnn", "GPR-GNN"
    paper = "Chien et al., Adaptive universal generalized PageRank graph neural network, ICLR 2021"

    teleport: Annotated[float, Choice(0.0, 0.1, 0.2, 0.5, 0.9, 1.0), "α of the initial γ."] = 0.1
    gamma_init: Annotated[
        Literal["ppr", "nppr", "sgc", "random"] | tuple[float, ...],
        "Initial γ: a rule, or one number per layer and one for Z⁰.",
    ] = "ppr"
    propagation_dropout: Annotated[DropoutRate, Choice(0.0, 0.5, 0.7)] = 0.5
    decay_gamma: Annotated[bool, "Whether weight decay applies to γ."] = False
    n_layers: Annotated[PositiveInt, Choice(2, 4, 8, 10, 16, 32)] = 10
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.002, 0.01, 0.05)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-4)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        decay = self.weight_decay
        return Architecture(
            encoder=Predict(dropout=self.dropout, output_dropout=self.propagation_dropout),
            channels=(WithSelf() * SymmetricMean(),),
            transform=NoTransform(),
            fuse=WeightedLayerSum(self.teleport, self.gamma_init),
            dropout=Dropout(input=self.dropout),
            activation="none",
            param_groups=(
                ParamGroup("encoder.*", decay),
                ParamGroup("fuse.*", decay if self.decay_gamma else 0.0),
                ParamGroup("*", weight_decay=0.0),
            ),
        )

    deviations = (
        Deviation(
            "The best epoch is selected by validation accuracy, as for all methods. The authors select "
            "by loss."
        ),
        Deviation("The reference implementation applies weight decay to γ.", {"decay_gamma": True}),
    )
