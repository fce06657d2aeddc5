"""GPR-GNN: predict first, then learn one weight per hop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.errors import HeterophilyError, check_option
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, ParamGroup
from heterophily.htmp.encoder import Predict
from heterophily.htmp.fuse import Fuse
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import WithSelf
from heterophily.htmp.parts import Sizes
from heterophily.htmp.transform import NoTransform

INITS = ("ppr", "nppr", "sgc", "random")


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
        Deviation("The best epoch is selected by validation accuracy, as for all methods. The authors select by loss."),
        Deviation("The reference implementation applies weight decay to γ.", {"decay_gamma": True}),
    )


@dataclass(frozen=True)
class WeightedLayerSum(Fuse[nn.ParameterDict]):
    """Sum over layers with one learned weight per layer, of either sign.

    Z = Σ_l γ_l Z^l

    Parameters
    ----------
    teleport
        α, which determines the initial weights.
    init
        Initial weights: `ppr` for α(1-α)^l and (1-α)^L in the last layer, `nppr` for normalized
        α^l, `sgc` for 1 at layer α, `random`, or a tuple of L + 1 numbers.

    Examples
    --------
    >>> WeightedLayerSum(0.1).symbol
    'AdaAdd'
    """

    teleport: float = 0.1  # α
    init: str | tuple[float, ...] = "ppr"
    symbol = "AdaAdd"

    def __post_init__(self) -> None:
        if isinstance(self.init, str):
            check_option("gamma_init", self.init, INITS)

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        return nn.ParameterDict({"gamma": nn.Parameter(self._initial(size.n_layers))})

    def _initial(self, n_layers: int) -> Tensor:
        alpha = self.teleport
        steps = torch.arange(n_layers + 1.0)
        if not isinstance(self.init, str):
            return self._given(n_layers + 1)
        if self.init == "ppr":
            gamma = alpha * (1 - alpha) ** steps
            gamma[-1] = (1 - alpha) ** n_layers
            return gamma
        if self.init == "sgc":
            return (steps == round(alpha)).to(steps.dtype)
        raw = alpha**steps if self.init == "nppr" else 2 * torch.rand(n_layers + 1) - 1
        return raw / raw.abs().sum()

    def _given(self, count: int) -> Tensor:
        if len(self.init) != count:
            raise HeterophilyError(f"gamma_init must have {count} numbers, got {len(self.init)}")
        return torch.tensor(self.init, dtype=torch.get_default_dtype())

    @override
    def __call__(self, states: Sequence[Tensor], w: nn.ParameterDict) -> Tensor:
        total: Tensor = w["gamma"][0] * states[0]
        for gamma, state in zip(w["gamma"][1:], states[1:], strict=True):
            total = torch.addcmul(total, gamma, state)
        return total
