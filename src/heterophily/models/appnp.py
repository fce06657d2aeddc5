"""APPNP: predict first, then propagate with personalized PageRank."""

from typing import Annotated

from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, ParamGroup
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import Predict
from heterophily.htmp.guidance import Ones, SymmetricMean
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, WithSelf
from heterophily.htmp.transform import NoTransform


@define_method
class APPNP(Method):
    """Predict first, then propagate with personalized PageRank.

    Z^l = (1-α) drop_q(S°) Z^(l-1) + α Z⁰, Z⁰ = drop(relu(drop(X) W_1)) W_2
    """

    name, title = "appnp", "APPNP"
    paper = "Gasteiger et al., Predict then propagate: graph neural networks meet personalized PageRank, ICLR 2019"

    teleport: Annotated[float, Choice(0.1, 0.2, 0.5, 0.9), "α, the weight of Z⁰."] = 0.1
    edge_dropout: Annotated[DropoutRate, "Dropout rate of the entries of S°."] = 0.0
    n_layers: PositiveInt = 10
    dropout: Annotated[DropoutRate, Choice(0.2, 0.5, 0.8)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.002, 0.01, 0.05)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 5e-4, 5e-3)] = 0.005

    @override
    def architecture(self) -> Architecture:
        return Architecture(
            encoder=Predict(bias=False, dropout=self.dropout),
            channels=((Ego() * Ones()).with_input("initial"), WithSelf() * SymmetricMean()),
            combine=WeightedAdd(self.teleport),
            transform=NoTransform(),
            dropout=Dropout(input=self.dropout, edge=self.edge_dropout),
            activation="none",
            param_groups=(ParamGroup("encoder.inner.*", self.weight_decay), ParamGroup("*", weight_decay=0.0)),
        )

    deviations = (
        Deviation(
            "Early stopping follows the common protocol, which uses accuracy. The authors use accuracy and loss."
        ),
    )
