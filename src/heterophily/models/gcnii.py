"""GCNII: initial residual and near-identity weights for deep networks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.dense import product
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head, ParamGroup
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, SymmetricMean
from heterophily.htmp.method import Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.neighborhoods import Ego, WithSelf
from heterophily.htmp.parts import Init, Sizes
from heterophily.htmp.transform import Transform


@define_method
class GCNII(Method):
    """Initial residual and near-identity weights for deep networks.

    Z^l = relu(θ_l T W_l + (1-θ_l) T), T = (1-α) S° drop(Z^(l-1)) + α Z⁰, θ_l = ln(λ/l + 1)
    """

    name, title = "gcnii", "GCNII"
    paper = "Chen et al., Simple and deep graph convolutional networks, ICML 2020"

    initial_residual: Annotated[float, Choice(0.1, 0.2, 0.3, 0.4, 0.5), "α."] = 0.2
    identity_decay: Annotated[float, Choice(0.5, 1.0, 1.5), "λ."] = 0.5
    star: Annotated[bool, Choice(False, True), "Separate weights for the message and Z⁰."] = False
    layer_decay: Annotated[NonNegativeFloat | None, "Weight decay of the W_l; empty to use weight_decay."] = None
    n_layers: Annotated[PositiveInt, Choice(2, 4, 8, 16, 32)] = 8
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5)] = 0.5
    feature_norm: FeatureNorm = "l1"
    learning_rate: Annotated[PositiveFloat, Choice(0.005, 0.01, 0.05)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 1e-4, 5e-4)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        p = self.dropout
        decay = self.weight_decay if self.layer_decay is None else self.layer_decay
        return Architecture(
            encoder=Embed(),
            channels=((Ego() * Ones()).with_input("initial"), WithSelf() * SymmetricMean()),
            combine=WeightedAdd(self.initial_residual),
            transform=NearIdentity(self.identity_decay, self.star),
            head=Head(),
            dropout=Dropout(input=p, layer=p, head=p),
            activate_last=True,
            param_groups=(ParamGroup("stacks.*", weight_decay=decay),),
        )

    deviations = (
        Deviation(
            "All parameters have the same weight decay unless layer_decay sets another one for the W_l, "
            "as the authors' semi-supervised implementation does."
        ),
    )


@dataclass(frozen=True)
class NearIdentity(Transform[nn.ParameterDict]):
    """Linear map close to the identity, applied after COMBINE.

    Z^l = θ_l T W + (1 - θ_l) T, θ_l = ln(λ/l + 1), T the result of COMBINE

    Parameters
    ----------
    decay
        λ; θ_l decreases with the layer l.
    star
        Whether to use separate weights for the messages and the initial state: θ_l [P ‖ Z⁰] W + (1
        - θ_l) T.

    Examples
    --------
    >>> NearIdentity(0.5).star
    False
    """

    decay: float = 0.5  # λ
    star: bool = False
    keeps_width_after_combine = True

    @override
    def weights(self, size: Sizes, channels: Sequence[Channel]) -> nn.ParameterDict:
        d = size.d_in
        return nn.ParameterDict({"W": Init("uniform_out").new_matrix(2 * d if self.star else d, d)})

    @override
    def after_combine(self, state: Tensor, messages: Sequence[Tensor], w: nn.ParameterDict, layer: int) -> Tensor:
        theta = math.log(self.decay / layer + 1)
        weight, first, propagated = theta * w["W"], messages[0], messages[-1]
        if not self.star:
            return product(state, weight).add_(state, alpha=1 - theta)
        upper, lower = weight.split(state.shape[1])
        turned = product(propagated, upper).add_(product(first, lower))
        return turned.add_(state, alpha=1 - theta)
