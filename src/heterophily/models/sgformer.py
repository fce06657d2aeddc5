"""SGFormer: one layer of linear attention between all nodes, next to a small graph network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.spaces import Bounds, Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.encoder import EmbedBlock
from heterophily.htmp.fuse import Fuse
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.method import Deviation, Method, Norm, define_method
from heterophily.htmp.neighborhoods import WithSelf
from heterophily.htmp.parts import Dense, Sizes, Weights, apply_dropout
from heterophily.htmp.transform import Linear


@define_method
class SGFormer(Method):
    """One layer of linear attention between all nodes, next to a small graph network.

    Z = (1-α) LN(β D^(-1) (V + Q (Kᵀ V) / N) + (1-β) Z⁰) + α Z^L, Z^l = relu(norm(S° Z^(l-1) W_l + b_l)),
    Q = Z⁰ W_q / ‖Z⁰ W_q‖, K = Z⁰ W_k / ‖Z⁰ W_k‖, V = Z⁰ W_v, D = diag(1 + Q (Kᵀ 1) / N)
    """

    name, title = "sgformer", "SGFormer"
    paper = "Wu et al., SGFormer: simplifying and empowering transformers for large-graph representations, NeurIPS 2023"

    graph_weight: Annotated[float, Choice(0.5, 0.8), Bounds(ge=0, le=1), "α, the weight of the graph network."] = 0.8
    attention_weight: Annotated[float, Bounds(ge=0, le=1), "β, the weight of the attention compared with Z⁰."] = 0.5
    norm: Annotated[Norm, Choice("none", "batch", "layer")] = "batch"
    n_layers: Annotated[PositiveInt, Choice(1, 2, 4, 8), "Number of layers of the graph network."] = 2
    width: Annotated[PositiveInt, Choice(32, 64, 128, 256)] = 64
    dropout: Annotated[DropoutRate, Choice(0.2, 0.5, 0.8)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 5e-4, 1e-3, 1e-2)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        p = self.dropout
        return Architecture(
            encoder=EmbedBlock("layer", self.activation),
            channels=(WithSelf() * SymmetricMean(),),
            transform=Linear(init="linear"),
            fuse=GlobalAttention(self.graph_weight, self.attention_weight, p),
            head=Head(),
            dropout=Dropout(layer=p, head=p),
            activate_last=True,
        )

    deviations = (
        Deviation("The graph network receives Z⁰, as in the paper. In the authors' implementation, it receives X."),
        Deviation("The attention has one head, as in the authors' experiments."),
        Deviation(
            "Dropout precedes the attention, the layers, and the head. In the authors' implementation, it follows them."
        ),
        Deviation("All parameters have the same weight decay. The authors' implementation has two."),
    )


class GlobalAttentionWeights(Weights):
    """Weights of `GlobalAttention`."""

    query: Dense  # W_q (d, d)
    key: Dense  # W_k (d, d)
    value: Dense  # W_v (d, d)
    norm: nn.LayerNorm


@dataclass(frozen=True)
class GlobalAttention(Fuse[GlobalAttentionWeights]):
    """The last layer, and attention between all nodes in Z⁰, in linear time.

    Z = (1-α) LN(β D^(-1) (V + Q (Kᵀ V) / N) + (1-β) Z⁰) + α Z^L, D = diag(1 + Q (Kᵀ 1) / N)

    Parameters
    ----------
    graph_weight
        α.
    attention_weight
        β.
    dropout
        Dropout rate of Z⁰.

    Notes
    -----
    Q and K are dense layers of Z⁰, each divided by its Frobenius norm, and V is a third one. The product Kᵀ V comes
    first, so the time is O(N d²) and no matrix of all pairs is formed.

    Examples
    --------
    >>> GlobalAttention().symbol
    'AdaAdd'
    """

    graph_weight: float = 0.8
    attention_weight: float = 0.5
    dropout: float = 0.0
    symbol = "AdaAdd"
    full_graph_reason = "its attention joins every node with every node"

    @override
    def weights(self, size: Sizes) -> GlobalAttentionWeights:
        d = size.d_in
        dense = {name: Dense(d, d) for name in ("query", "key", "value")}
        return GlobalAttentionWeights(**dense, norm=nn.LayerNorm(d))

    @override
    def __call__(self, states: Sequence[Tensor], w: GlobalAttentionWeights) -> Tensor:
        z = apply_dropout(states[0], self.dropout, training=w.training)
        attended = all_pair_attention(w.query(z), w.key(z), w.value(z))
        attended = w.norm(torch.lerp(z, attended, self.attention_weight))
        return torch.lerp(attended, states[-1], self.graph_weight)


def all_pair_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return D^(-1) (V + Q (Kᵀ V) / N), (N, d), with Q and K divided by their Frobenius norms."""
    query, key = (each / each.norm().clamp_min(1e-12) for each in (query, key))
    n = len(value)
    totals = 1 + (query @ key.sum(dim=0)).unsqueeze(1) / n
    return (value + query @ (key.T @ value) / n) / totals
