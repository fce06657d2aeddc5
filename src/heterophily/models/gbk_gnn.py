"""GBK-GNN: one kernel for similar and one for dissimilar neighbors, selected by a trained gate."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.combine import Add
from heterophily.htmp.guidance import Gate, Ones
from heterophily.htmp.losses import GateLoss
from heterophily.htmp.method import (
    Deviation,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.transform import Linear


@define_method
class GBKGNN(Method):
    """One kernel for similar and one for dissimilar neighbors, selected by a trained gate.

    Z_i = Z_i W_r + mean_j[σ_ij Z_j] W_p + b_p + mean_j[(1-σ_ij) Z_j] W_n + b_n
    """

    name, title = "gbk-gnn", "GBK-GNN"
    paper = (
        "Du et al., GBK-GNN: gated bi-kernel graph neural networks for modeling both homophily and "
        "heterophily, WWW 2022"
    )

    gate_weight: Annotated[
        float,
        Choice(1.0, 2.0, 4.0, 14.0, 20.0, 24.0, 28.0, 30.0, 36.0),
        "Weight of the gate's loss.",
    ] = 1.84
    hetero_message: Annotated[Literal["neighbor", "ego"], "What the second kernel transforms."] = (
        "neighbor"
    )
    kernel_merge: Literal["add", "parity"] = "add"
    gate_target: Literal["same_label", "both_nonzero"] = "same_label"
    gate_loss: Literal["binary", "probabilities_as_logits"] = "binary"
    gate_self_loops: bool = False
    width: Annotated[PositiveInt, Choice(16, 32, 64)] = 16
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.01)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(1e-4, 1e-3, 1e-2)] = 1e-3

    @override
    def architecture(self) -> Architecture:
        neighbors = Raw(self_loops=self.gate_self_loops)
        return Architecture(
            channels=(
                Ego() * Ones(),
                neighbors * Gate(),
                neighbors * Gate(other=True, heterophilous_message=self.hetero_message),
            ),
            combine=Add(),
            transform=Linear(
                init=("linear", "glorot", "glorot"),
                bias_init="linear",
                bias_channels=(1, 2),
                kernel_merge=self.kernel_merge,
            ),
            dropout=Dropout(layer=self.dropout),
            losses=(GateLoss(self.gate_weight, self.gate_target, self.gate_loss),),
        )

    deviations = (
        Deviation(
            "The reference implementation applies the second kernel to the state of the receiver.",
            {"hetero_message": "ego"},
        ),
        Deviation("It concatenates the kernels if the width is even.", {"kernel_merge": "parity"}),
        Deviation(
            "It trains the gate on whether both class numbers are positive, with probabilities as logits.",
            {"gate_target": "both_nonzero", "gate_loss": "probabilities_as_logits"},
        ),
        Deviation("It treats a node as its own neighbor.", {"gate_self_loops": True}),
    )
