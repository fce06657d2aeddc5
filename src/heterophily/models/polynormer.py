"""Polynormer: Hadamard products with attention over neighbors, then with linear attention between all nodes."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.channel import Channel, Operator
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.encoder import Embed
from heterophily.htmp.fuse import Fuse
from heterophily.htmp.guidance import Attention, ChannelInput, Ones
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, WithSelf
from heterophily.htmp.parts import ACTIVATIONS, Context, Dense, Init, Sizes, Weights, apply_dropout
from heterophily.htmp.transform import Linear

PolynormerActivation = Literal["relu", "none"]


@define_method
class Polynormer(Method):
    """Hadamard products with attention over neighbors, then with linear attention between all nodes.

    Z^l = (1-β_l) ⊙ LN(f(Z W_l + b_l) ⊙ P) + β_l ⊙ P, P = drop(f(Z V_l + c_l + attention(Z))), Z = Z^(l-1);
    G^k = drop(f((LN(σ(K) (σ(K)ᵀ V) / σ(K) (σ(K)ᵀ 1)) ⊙ (G U_k + a_k + γ_k)) W + b)), G = G^(k-1), G⁰ = LN(Σ_l Z^l)
    """

    name, title = "polynormer", "Polynormer"
    paper = "Deng et al., Polynormer: polynomial-expressive graph transformer in linear time, ICLR 2024"

    n_heads: Annotated[PositiveInt, Choice(1, 2, 4, 8), "Number of heads; must divide the width."] = 4
    n_global_layers: Annotated[PositiveInt, Choice(1, 2, 3), "Number of layers of global attention."] = 1
    input_dropout: Annotated[DropoutRate, Choice(0.15, 0.2, 0.5, 0.8)] = 0.5
    global_dropout: Annotated[DropoutRate, Choice(0.3, 0.5, 0.7), "Dropout rate of global attention."] = 0.5
    activation: Annotated[PolynormerActivation, Choice("relu", "none")] = "relu"
    width: Annotated[PositiveInt, Choice(64, 128, 256)] = 64
    n_layers: Annotated[PositiveInt, Choice(2, 5, 7), "Number of layers of local attention."] = 2
    dropout: Annotated[DropoutRate, Choice(0.2, 0.3, 0.5, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 5e-4)] = 5e-5

    @override
    def architecture(self) -> Architecture:
        p, f = self.dropout, self.activation
        factor = Channel(Ego(), Ones(), activation="after" if f == "relu" else None)
        return Architecture(
            encoder=Embed(activation="none", dropout=p, drop_output=True),
            channels=(factor, Ego() * Ones(), WithSelf() * SplitAttention(n_heads=self.n_heads)),
            transform=Linear(init=("linear", "linear", "glorot"), bias_channels=(0, 1)),
            combine=HadamardBlend(p, f),
            fuse=GlobalPolynomial(self.n_global_layers, self.n_heads, self.global_dropout, f),
            head=Head(),
            dropout=Dropout(input=self.input_dropout),
            activation="none",
        )

    deviations = (
        Deviation(
            "Local and global attention are trained together. The authors first train the local layers with a "
            "classifier of their own and insert the global layers after 100 or 200 epochs."
        ),
        Deviation(
            "A local layer mixes the product and P with β, as in the authors' implementation. The paper adds β to a "
            "factor of the product, as the global layers do."
        ),
    )


@dataclass(frozen=True)
class SplitAttention(Attention):
    """Attention with several heads, each of which weights a part of the columns of a message.

    B_ij^h = softmax_j( lrelu(U_i^h · r_h + U_j^h · s_h) ), U = [U^1 ‖ .. ‖ U^H]

    Parameters
    ----------
    n_heads
        Number H of heads, which must divide the width.

    Examples
    --------
    >>> SplitAttention(n_heads=4).symbol
    'B^aw'
    """

    n_heads: int = 1

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        width = _width_of_head(size.d_out, self.n_heads)
        return super().weights(dataclasses.replace(size, heads=self.n_heads, d_out=width))

    @override
    def operator(self, seen: ChannelInput, w: nn.ParameterDict) -> Operator:
        split = seen.messages.view(len(seen.messages), self.n_heads, -1)
        return SplitOperator(super().operator(dataclasses.replace(seen, messages=split), w), self.n_heads)


@dataclass(frozen=True, eq=False)
class SplitOperator:
    """An operator of several heads, applied to the parts of each row."""

    heads: Operator
    n_heads: int

    def __matmul__(self, state: Tensor) -> Tensor:
        return (self.heads @ state.view(len(state), self.n_heads, -1)).flatten(1)


def _width_of_head(width: int, n_heads: int) -> int:
    if width % n_heads:
        raise HeterophilyError(f"n_heads must divide the width {width}, got {n_heads}")
    return width // n_heads


class HadamardBlendWeights(Weights):
    """Weights of `HadamardBlend`."""

    norm: nn.LayerNorm
    beta: nn.Parameter  # (d,), before the sigmoid


@dataclass(frozen=True)
class HadamardBlend(Combine[HadamardBlendWeights]):
    """Hadamard product of one message with the sum of two other ones, mixed with that sum.

    Z = (1-β) ⊙ LN(Z_1 ⊙ P) + β ⊙ P, P = drop(f(Z_2 + Z_3)), β = sig(b)

    Parameters
    ----------
    dropout
        Dropout rate.
    activation
        Activation f.

    Examples
    --------
    >>> HadamardBlend(0.5).arity
    (3, 3)
    """

    dropout: float = 0.0
    activation: str = "relu"
    symbol = "AdaMul"
    arity = (3, 3)

    @override
    def weights(self, size: Sizes) -> HadamardBlendWeights:
        return HadamardBlendWeights(norm=nn.LayerNorm(size.d_out), beta=_new_row(size.d_out))

    @override
    def __call__(
        self, messages: Messages, inputs: Features | None, w: HadamardBlendWeights, context: Context
    ) -> Tensor:
        factor, own, attended = messages
        p = ACTIVATIONS[self.activation](own + attended)
        p = apply_dropout(p, self.dropout, training=context.training)
        return torch.lerp(w.norm(factor * p), p, torch.sigmoid(w.beta))


class GlobalPolynomialWeights(Weights):
    """Weights of `GlobalPolynomial`."""

    entry: nn.LayerNorm
    layers: nn.ModuleList
    output: Dense  # W (d, d), shared by all layers


class GlobalLayerWeights(Weights):
    """Weights of one layer of global attention."""

    factor: Dense  # U (d, d)
    key: Dense
    value: Dense
    norm: nn.LayerNorm
    gamma: nn.Parameter  # (d,), before the sigmoid


@dataclass(frozen=True)
class GlobalPolynomial(Fuse[GlobalPolynomialWeights]):
    """Sum of all layers, followed by Hadamard products with attention between all nodes, in linear time.

    G^k = drop(f( (LN(σ(K) (σ(K)ᵀ V) / σ(K) (σ(K)ᵀ 1)) ⊙ (G U_k + a_k + γ_k)) W + b )), G⁰ = LN(Σ_l Z^l)

    Parameters
    ----------
    n_layers
        Number of layers.
    n_heads
        Number of heads, which must divide the width.
    dropout
        Dropout rate.
    activation
        Activation f.

    Notes
    -----
    K and V are dense layers of G^(k-1), σ is the sigmoid, and γ_k is between 0 and 1. The product σ(K)ᵀ V comes first,
    so the time is O(N d²) and no matrix of all pairs is formed.

    Examples
    --------
    >>> GlobalPolynomial(2).symbol
    'AdaMul'
    """

    n_layers: int = 1
    n_heads: int = 1
    dropout: float = 0.0
    activation: str = "relu"
    symbol = "AdaMul"
    uses_initial = False
    full_graph_reason = "its attention joins every node with every node"

    @override
    def weights(self, size: Sizes) -> GlobalPolynomialWeights:
        d = size.d_in
        _width_of_head(d, self.n_heads)
        layers = nn.ModuleList(self._layer(d) for _ in range(self.n_layers))
        return GlobalPolynomialWeights(entry=nn.LayerNorm(d), layers=layers, output=Dense(d, d))

    def _layer(self, d: int) -> GlobalLayerWeights:
        dense = {name: Dense(d, d) for name in ("factor", "key", "value")}
        return GlobalLayerWeights(**dense, norm=nn.LayerNorm(d), gamma=_new_row(d))

    @override
    def __call__(self, states: Sequence[Tensor], w: GlobalPolynomialWeights) -> Tensor:
        g: Tensor = w.entry(sum(states[2:], states[1]))
        for layer in cast("Iterable[GlobalLayerWeights]", w.layers):
            attended = global_attention(torch.sigmoid(layer.key(g)), layer.value(g), self.n_heads)
            product = layer.norm(attended) * (layer.factor(g) + torch.sigmoid(layer.gamma))
            g = ACTIVATIONS[self.activation](w.output(product))
            g = apply_dropout(g, self.dropout, training=w.training)
        return g


def global_attention(key: Tensor, value: Tensor, n_heads: int) -> Tensor:
    """Return K (Kᵀ V) / K (Kᵀ 1) of each head, (N, d), for K > 0."""
    keys, values = (each.view(len(each), n_heads, -1).transpose(0, 1) for each in (key, value))
    sums = keys @ (keys.transpose(1, 2) @ values)  # (H, N, d/H)
    totals = keys @ keys.sum(dim=1).unsqueeze(2)
    return (sums / totals).transpose(0, 1).flatten(1)


def _new_row(d: int) -> nn.Parameter:
    return nn.Parameter(Init("glorot_normal").new_matrix(1, d).detach()[0])
