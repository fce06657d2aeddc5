"""c-IGNN: every hop has its own dense layer, and a further one joins the hops; and its variants r-IGNN and a-IGNN."""

from dataclasses import dataclass
from typing import Annotated, Literal, cast

import torch
from torch import Tensor
from typing_extensions import override

from heterophily.core.graph import Features
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Combine, Concat, ConcatDense, Messages
from heterophily.htmp.encoder import EmbedBlock
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.method import Activation, Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Power, WithSelf
from heterophily.htmp.parts import Context, Dense, Sizes, apply_dropout
from heterophily.htmp.transform import DensePerChannel, Linear

HopNorm = Literal["none", "layer", "batch"]


@define_method
class CIGNN(Method):
    """Every hop has its own dense layer, and a further one joins the hops.

    Z^l = φ([φ_0(H) ‖ φ_1(S° H) ‖ .. ‖ φ_K(S°^K H)]), H = φ'(Z^(l-1)) or Z^(l-1), φ(x) = f(norm(drop(x) W + b)), Z⁰ = X

    The variant `residual`, r-IGNN, is Z^l = S° Z^(l-1) W_l + b_l + Z^(l-1), and the variant `attentive`, a-IGNN, is Z^l
    = α ⊙ (S° Z^(l-1) W_l + b_l) + (1-α) ⊙ Z^(l-1), both with Z⁰ = φ(X) and one hop per layer.
    """

    name, title = "c-ignn", "c-IGNN"
    paper = (
        "Gu et al., Making classic GNNs strong baselines across varying homophily: a smoothness-generalization "
        "perspective, NeurIPS 2025"
    )

    variant: Annotated[Literal["concat", "residual", "attentive"], "How the hops are joined."] = "concat"
    n_hops: Annotated[PositiveInt, Choice(1, 2, 4, 8), "Hops K per layer of the variant `concat`."] = 1
    embed_first: Annotated[bool, Choice(False, True), "Apply φ' before the first hop."] = True
    join: Annotated[bool, Choice(True, False), "Apply φ to the concatenation of all hops."] = True
    hop_norm: Annotated[HopNorm, Choice("none", "layer"), "Norm in φ."] = "none"
    input_dropout: Annotated[DropoutRate, Choice(0.0, 0.5, 0.8), "Dropout rate of the input of a layer."] = 0.8
    hidden_dropout: Annotated[DropoutRate, Choice(0.2, 0.5, 0.8), "Dropout rate inside of a layer."] = 0.3
    activation: Annotated[Activation, Choice("relu", "none")] = "relu"
    width: Annotated[PositiveInt, Choice(64, 128, 256, 512)] = 64
    n_layers: Annotated[PositiveInt, Choice(1, 3, 5)] = 1
    dropout: Annotated[DropoutRate, Choice(0.3, 0.5, 0.8)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 5e-4)] = 0.0

    @override
    def architecture(self) -> Architecture:
        return self._concatenation() if self.variant == "concat" else self._recursion()

    def _concatenation(self) -> Architecture:
        joined = ConcatDense(self.hidden_dropout, self.hop_norm, self.activation)
        return Architecture(
            channels=tuple(Power(k) * SymmetricMean() for k in range(self.n_hops + 1)),
            transform=DensePerChannel(
                self.hidden_dropout if self.embed_first else self.input_dropout,
                self.hop_norm,
                self.activation,
                self.embed_first,
                self.input_dropout if self.embed_first else 0.0,
            ),
            combine=joined if self.join else Concat(),
            head=Head(),
            dropout=Dropout(head=self.dropout),
            activation="none",
        )

    def _recursion(self) -> Architecture:
        attentive = self.variant == "attentive"
        return Architecture(
            encoder=EmbedBlock(self.hop_norm, self.activation),
            channels=(WithSelf() * SymmetricMean(),),
            transform=Linear(),
            combine=AttentiveResidual(self.hidden_dropout) if attentive else Residual(),
            head=Head(),
            dropout=Dropout(input=self.input_dropout, head=self.dropout),
            activation="none",
        )

    deviations = (
        Deviation(
            "No bias is added between two hops of one layer. In the authors' implementation, a learned bias "
            "follows every aggregation."
        ),
        Deviation(
            "The attention of the variant `attentive` has no norm. A layer norm of a single number, as in the authors' "
            "implementation, does not depend on the node."
        ),
    )


@dataclass(frozen=True)
class Residual(Combine):
    """The messages of a single channel plus the state of the node.

    Z^l = Z_1 + Z^(l-1)

    Examples
    --------
    >>> Residual().symbol
    'Add'
    """

    symbol = "Add"
    arity = (1, 1)
    requires_equal_widths = True

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: torch.nn.Module, context: Context) -> Tensor:
        return messages[0] + cast("Tensor", inputs)


@dataclass(frozen=True)
class AttentiveResidual(Combine[Dense]):
    """Mixture of the messages of a single channel and the state of the node, with one learned weight per node.

    Z^l = α ⊙ Z_1 + (1 - α) ⊙ Z^(l-1), α = tanh( drop([Z_1 ‖ Z^(l-1)]) w + b )

    Parameters
    ----------
    dropout
        Dropout rate.

    Examples
    --------
    >>> AttentiveResidual(0.5).symbol
    'AdaAdd'
    """

    dropout: float = 0.0
    symbol = "AdaAdd"
    arity = (1, 1)
    requires_equal_widths = True

    @override
    def weights(self, size: Sizes) -> Dense:
        return Dense(2 * size.d_out, 1)

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: Dense, context: Context) -> Tensor:
        hop, state = messages[0], cast("Tensor", inputs)
        both = apply_dropout(torch.cat([hop, state], dim=1), self.dropout, training=context.training)
        return torch.lerp(state, hop, torch.tanh(w(both)))
