"""GAT: attention over the neighbors and the node itself."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.combine import Add, SingleChannel
from heterophily.htmp.direction import DIRECTION, Direction, directed_neighborhoods
from heterophily.htmp.guidance import Attention
from heterophily.htmp.method import Activation, Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.parts import Init
from heterophily.htmp.transform import Heads, Linear


@define_method
class GAT(Method):
    """Attention over the neighbors and the node itself.

    Z_i = Σ_j drop_q(α_ij) U_j + b, α = softmax_nbr(lrelu(U_i·r + U_j·s)), U = drop_p(Z) W
    """

    name, title = "gat", "GAT"
    paper = "Veličković et al., Graph attention networks, ICLR 2018"

    n_heads: PositiveInt = 8
    head_merge: Annotated[Literal["concat", "mean"], "How hidden layers merge heads."] = "concat"
    attention_dropout: Annotated[DropoutRate, Choice(0.0, 0.5)] = 0.6
    width: Annotated[PositiveInt, Choice(8, 16, 32, 64, 128), "Width of one head."] = 8
    n_layers: Annotated[PositiveInt, Choice(1, 2, 3)] = 2
    direction: Annotated[Direction, DIRECTION] = "symmetric"
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5, 0.8)] = 0.6
    activation: Activation = "elu"
    feature_norm: Annotated[FeatureNorm, Choice("none", "l1", "l2")] = "none"
    learning_rate: Annotated[PositiveFloat, Choice(0.005, 0.01, 0.05)] = 0.005
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 1e-4, 5e-4)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        p = self.dropout
        hoods = directed_neighborhoods(self.direction, with_self=True)
        return Architecture(
            channels=tuple(hood * Attention() for hood in hoods),
            combine=Add() if len(hoods) > 1 else SingleChannel(),
            transform=Linear(init=Init("glorot_normal", gain=2**0.5), heads=Heads(self.n_heads, self.head_merge)),
            dropout=Dropout(input=p, layer=p, edge=self.attention_dropout),
        )

    deviations = (
        Deviation(
            "The reference implementation averages the heads in every layer and has no activation and "
            "no dropout of attention.",
            {"head_merge": "mean", "activation": "none", "attention_dropout": 0.0},
        ),
        Deviation(
            "The reference implementation computes the cross-entropy of probabilities.", {"loss": "ce_of_probabilities"}
        ),
    )
