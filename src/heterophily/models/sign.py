"""SIGN: features of several hops, computed once, each with its own dense layer."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Concat
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Power, Raw, WithSelf
from heterophily.htmp.transform import DensePerChannel

HopNorm = Literal["none", "layer", "batch"]


@define_method
class SIGN(Method):
    """Features of several hops, computed once, each with its own dense layer.

    Z = relu([X W_0 + b_0 ‖ S X W_1 + b_1 ‖ .. ‖ S^K X W_K + b_K]), S = D^(-1/2) A D^(-1/2)
    """

    name, title = "sign", "SIGN"
    paper = "Frasca et al., SIGN: scalable inception graph neural networks, ICML 2020 workshop GRL+, 2020"

    n_hops: Annotated[PositiveInt, Choice(1, 2, 3, 4, 8), "Number of hops K."] = 3
    self_loops: Annotated[bool, Choice(False, True), "Use A + I instead of A."] = False
    input_dropout: Annotated[DropoutRate, Choice(0.0, 0.2, 0.5, 0.8), "Dropout rate of S^k X."] = 0.5
    hop_norm: Annotated[HopNorm, Choice("none", "layer"), "Norm before the activation of each hop."] = "none"
    width: Annotated[PositiveInt, Choice(64, 128, 256, 512)] = 128
    n_layers: PositiveInt = 1
    dropout: Annotated[DropoutRate, Choice(0.2, 0.5, 0.8)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.01)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3)] = 5e-5

    @override
    def architecture(self) -> Architecture:
        step = WithSelf() if self.self_loops else Raw()
        return Architecture(
            channels=tuple(Power(k, step) * SymmetricMean() for k in range(self.n_hops + 1)),
            transform=DensePerChannel(self.input_dropout, self.hop_norm, self.activation),
            combine=Concat(),
            head=Head(),
            dropout=Dropout(head=self.dropout),
            activation="none",
        )

    deviations = (
        Deviation("The activation is a ReLU. The authors use a PReLU, whose slope is learned."),
        Deviation(
            "The operators are powers of the normalized adjacency matrix. The operators of personalized PageRank "
            "and of triangles, which the paper also considers, are omitted."
        ),
    )
