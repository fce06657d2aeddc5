"""FAGCN: attention weights of either sign, so messages can be subtracted."""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Matrix, edge_sum
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import ChannelInput, Guidance, Ones, SymmetricMean
from heterophily.htmp.method import Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.parts import Init, Sizes, init_uniform
from heterophily.htmp.transform import NoTransform

GAIN = 1.414  # of the initial weights


@define_method
class FAGCN(Method):
    """Attention weights of either sign, so messages can be subtracted.

    Z^l = ε Z⁰ + Σ_j drop(tanh(w_l·[Z_i ‖ Z_j] + c_l) / √(d_i d_j)) Z_j^(l-1)
    """

    name, title = "fagcn", "FAGCN"
    paper = "Bo et al., Beyond low-frequency information in graph convolutional networks, AAAI 2021"

    ego_weight: Annotated[float, Choice(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), "ε, the weight of Z⁰."] = 0.3
    width: Annotated[PositiveInt, Choice(16, 32, 64)] = 32
    n_layers: Annotated[PositiveInt, Choice(1, 2, 4, 6, 8)] = 2
    dropout: Annotated[DropoutRate, Choice(0.4, 0.5, 0.6)] = 0.5
    feature_norm: FeatureNorm = "l1"
    learning_rate: Annotated[PositiveFloat, Choice(0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(5e-5, 5e-4, 1e-3)] = 5e-5
    patience: PositiveInt = 200

    @override
    def architecture(self) -> Architecture:
        p, init = self.dropout, Init("glorot_normal", bias="linear", gain=GAIN)
        return Architecture(
            encoder=Embed(init=init, dropout=p, drop_output=True),
            channels=((Ego() * Ones()).with_input("initial"), Raw() * SignedAttention()),
            combine=WeightedAdd(self.ego_weight, 1.0),
            transform=NoTransform(),
            head=Head(init=init),
            dropout=Dropout(input=p, edge=p),
            activation="none",
        )

    deviations = (
        Deviation("The gate uses the state of each layer, as in the authors' implementation. The paper writes X."),
    )


@dataclass(frozen=True)
class SignedAttention(Guidance[nn.ParameterDict]):
    """Learned weights of either sign.

    B_ij = tanh( w · [Z_i ‖ Z_j] + c ) / √(d_i d_j)

    Examples
    --------
    >>> SignedAttention().symbol
    'B^naw'
    """

    accepts_sparse_inputs = False
    symbol = "B^naw"

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        spread = 1.414 * (2 / (2 * size.d_in + 1)) ** 0.5
        return nn.ParameterDict(
            {"w": nn.Parameter(spread * torch.randn(2, size.d_in)), "c": init_uniform((2 * size.d_in) ** -0.5, 1)}
        )

    @override
    def values(self, seen: ChannelInput, w: nn.ParameterDict) -> Tensor:
        left, right = (seen.inputs @ row for row in w["w"])
        return torch.tanh(edge_sum(seen.pattern, left + w["c"], right)) * symmetric_values(seen)


def symmetric_values(seen: ChannelInput) -> Tensor:
    """1/√(d_i d_j) on the entries of a neighborhood, computed once per graph."""
    key = ("symmetric", seen.channel.neighborhood)
    matrix: Matrix = seen.context.graph.cached(key, lambda: SymmetricMean().matrix(seen.adjacency))
    return matrix.values
