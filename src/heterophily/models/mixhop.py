"""MixHop: concatenated powers of the adjacency matrix."""

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor
from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Concat
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Power, WithSelf, WithSelfTwice
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context, Init, Weights
from heterophily.htmp.transform import Linear


@define_method
class MixHop(Method):
    """Concatenated powers of the adjacency matrix.

    Z^1 = [P^j relu(drop(X W_j + b_j))]_j, Z^2 = [P^j drop(Z^1 W_j) + b_j]_j, P = S(A + I)
    """

    name, title = "mixhop", "MixHop"
    paper = (
        "Abu-El-Haija et al., MixHop: higher-order graph convolutional architectures via sparsified "
        "neighborhood mixing, ICML 2019"
    )

    lasso_weight: Annotated[float, "Weight of the group lasso."] = 5e-4
    extra_self_loop: bool = False
    width: Annotated[PositiveInt, Choice(60, 200)] = 200
    dropout: Annotated[DropoutRate, Choice(0.5, 0.7, 0.9)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.005
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        step = WithSelfTwice() if self.extra_self_loop else WithSelf()
        return Architecture(
            channels=tuple(Power(j, step) * SymmetricMean() for j in range(3)),
            combine=Concat(),
            transform=Linear(bias="hidden", init=Init(bias="glorot_row")),
            head=Head(),
            dropout=Dropout(message=self.dropout),
            activation="none",
            message_activation="before",
            linear_last_layer=True,
            losses=(GroupLasso(self.lasso_weight),),
        )

    deviations = (
        Deviation(
            "The architecture is that of the reference implementation, which produced the published "
            "numbers. The authors' implementation has batch norm, tanh, and a weighted output."
        ),
        Deviation("The channels use powers of one normalized matrix, not strict hops."),
        Deviation("The reference implementation adds a second self-loop.", {"extra_self_loop": True}),
        Deviation(
            "Training has one phase with equal widths, as in the reference implementation. In the paper, "
            "the lasso selects the width of each power, and a pruned network is trained from scratch."
        ),
    )


@dataclass(frozen=True)
class GroupLasso(AuxiliaryLoss):
    """Sum of the norms of all columns of the weights, which can set entire columns to zero.

    λ Σ_W Σ_k ‖W_·k‖₂

    Parameters
    ----------
    weight
        λ.

    Examples
    --------
    >>> GroupLasso(0.001).weight
    0.001
    """

    weight: float = 5e-4

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Weights) -> Tensor:
        weights = [p for name, p in network.named_parameters() if ".transform.W" in name]
        return self.weight * sum(p.norm(dim=0).sum() for p in weights)
