"""Strong classics: plain GNNs with an input layer, residual connections, and a norm; and LINKX.

Published comparisons often omit these methods. Their additions are settings that any method has.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.graph import Features
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Add
from heterophily.htmp.direction import DIRECTION, Direction, directed_neighborhoods
from heterophily.htmp.encoder import Embed, Encoder
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.method import Deviation, Method, Norm, define_method
from heterophily.htmp.neighborhoods import Ego, Raw, structure_adjacency
from heterophily.htmp.parts import Context, Dense, Sizes, Weights
from heterophily.htmp.transform import Linear
from heterophily.models.gat import GAT
from heterophily.models.gcn import GCN


@define_method
class StrongClassic(Method):
    """The settings that GCN+, SAGE+, and GAT+ have in common."""

    paper = "Luo et al., Classic GNNs are strong baselines: reassessing GNNs for node classification, NeurIPS 2024"

    width: Annotated[PositiveInt, Choice(64, 128, 256, 512)] = 256
    n_layers: Annotated[PositiveInt, Choice(2, 3, 5, 8, 10)] = 5
    norm: Annotated[Norm, Choice("none", "batch", "layer")] = "layer"
    residual: Annotated[bool, Choice(False, True)] = True
    dropout: Annotated[DropoutRate, Choice(0.2, 0.3, 0.5, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 5e-4)] = 0.0
    direction: Annotated[Direction, DIRECTION] = "symmetric"
    patience: PositiveInt = 200

    def strengthen(self, plain: Architecture) -> Architecture:
        """Return an architecture with an input layer and a head."""
        p = self.dropout
        return replace(
            plain,
            encoder=Embed(),
            head=Head(),
            dropout=replace(plain.dropout, input=p, layer=p, head=p),
            activate_last=True,
        )

    deviations = (
        Deviation("Dropout precedes the input layer and a ReLU follows it. The authors' input layer is linear."),
        Deviation("The outputs of the layers are not summed. The authors leave this choice to the search."),
    )


@define_method
class GCNPlus(StrongClassic):
    """GCN with an input layer, a norm, and residual connections.

    Z^l = relu(norm(message(Z^(l-1)) + Z^(l-1) W_res + b_res)), between two dense layers
    """

    name, title = "gcn+", "GCN+"

    @override
    def architecture(self) -> Architecture:
        return self.strengthen(GCN(direction=self.direction).architecture())


@define_method
class SAGEPlus(StrongClassic):
    """GraphSAGE with an input layer, a norm, and residual connections.

    Z^l = relu(norm(message(Z^(l-1)) + Z^(l-1) W_res + b_res)), between two dense layers
    """

    name, title = "sage+", "SAGE+"

    @override
    def architecture(self) -> Architecture:
        sage = Architecture(
            channels=(Ego() * Ones(), *(hood * RowMean() for hood in directed_neighborhoods(self.direction))),
            combine=Add(),
            transform=Linear(init="linear", bias_channels=(1,)),
        )
        return self.strengthen(sage)


@define_method
class GATPlus(StrongClassic):
    """GAT with an input layer, a norm, and residual connections.

    Z^l = relu(norm(message(Z^(l-1)) + Z^(l-1) W_res + b_res)), between two dense layers
    """

    name, title = "gat+", "GAT+"

    n_heads: PositiveInt = 1
    head_merge: Literal["concat", "mean"] = "concat"
    attention_dropout: DropoutRate = 0.0
    dropout: Annotated[DropoutRate, Choice(0.2, 0.3, 0.5, 0.7)] = 0.6

    @override
    def architecture(self) -> Architecture:
        gat = GAT(
            n_heads=self.n_heads,
            head_merge=self.head_merge,
            attention_dropout=self.attention_dropout,
            direction=self.direction,
        )
        return self.strengthen(gat.architecture())


@define_method
class LINKX(Method):
    """Separate embeddings of features and structure, joined by an MLP.

    Z⁰ = relu([h_A ‖ h_X] W + b + h_A + h_X), h_A = A W_A + b_A, h_X = X W_X + b_X; then an MLP
    """

    name, title = "linkx", "LINKX"
    paper = (
        "Lim et al., Large scale learning on non-homophilous graphs: new benchmarks and strong simple "
        "methods, NeurIPS 2021"
    )

    width: Annotated[PositiveInt, Choice(16, 32, 64, 128, 256)] = 64
    n_layers: Annotated[PositiveInt, Choice(1, 2, 3)] = 1
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.01, 0.05)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-4, 1e-3)] = 1e-3

    @override
    def architecture(self) -> Architecture:
        return Architecture(
            encoder=LINKXEncoder(),
            channels=(Ego() * Ones(),),
            transform=Linear(init="linear"),
            dropout=Dropout(layer=self.dropout),
        )

    deviations = (
        Deviation(
            "Dropout precedes every layer of the last MLP, and there is no batch norm. The authors apply "
            "both between its layers."
        ),
    )


class LINKXEncoderWeights(Weights):
    """Weights of `LINKXEncoder`."""

    structure: Dense  # W_a (N, d)
    features: Dense  # W_x (F, d)
    both: Dense  # W (2d, d)


@dataclass(frozen=True)
class LINKXEncoder(Encoder[LINKXEncoderWeights]):
    """Features and adjacency matrix, each embedded and then combined with a residual connection.

    Z⁰ = relu( [H_a ‖ H_x] W + b + H_a + H_x ), H_a = A W_a + b_a, H_x = X W_x + b_x

    Examples
    --------
    >>> LINKXEncoder().uses_structure
    True
    """

    structure = Raw()

    @override
    def weights(self, size: Sizes) -> LINKXEncoderWeights:
        d = size.d_out
        return LINKXEncoderWeights(structure=Dense(size.n_nodes, d), features=Dense(size.d_in, d), both=Dense(2 * d, d))

    @override
    def __call__(self, x: Features, w: LINKXEncoderWeights, context: Context) -> Tensor:
        structure = structure_adjacency(Raw(), context.graph) @ w.structure.weight + w.structure.bias
        features = w.features(x)
        joined = w.both(torch.cat([structure, features], dim=1))
        return F.relu(joined + structure + features)
