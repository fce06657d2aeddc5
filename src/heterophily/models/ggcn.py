"""GGCN: separate relations of positive and negative similarity, corrected for degree."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.errors import check_option
from heterophily.core.graph import Features, Graph
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Pattern, sddmm
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import Combine, Messages, weigh
from heterophily.htmp.fuse import Skip
from heterophily.htmp.guidance import ChannelInput, Guidance, Ones, degree_sums
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Adjacency, Ego, Neighborhood, weighted_symmetric
from heterophily.htmp.parts import Context, Dense, Sizes, apply_dropout, init_scalar
from heterophily.htmp.transform import SharedLinear

EPSILON = 1e-8  # of a product of two lengths


@define_method
class GGCN(Method):
    """Separate relations of positive and negative similarity, corrected for degree.

    Z = ς (ω_1 (Â ⊙ τ ⊙ relu(cos)) U - ω_2 (Â ⊙ τ ⊙ relu(-cos)) U + ω_3 U), U = Z W + b
    """

    name, title = "ggcn", "GGCN"
    paper = (
        "Yan et al., Two sides of the same coin: heterophily and oversmoothing in graph "
        "convolutional neural networks, ICDM 2022"
    )

    decay_rate: Annotated[float, Choice(0.6, 0.8, 0.9, 1.0, 1.2), "η of the residual."] = 1.0
    normalization: Annotated[Literal["symmetric", "row"], "How Â is normalized."] = "symmetric"
    width: Annotated[PositiveInt, Choice(8, 16, 32, 64, 80)] = 64
    n_layers: Annotated[PositiveInt, Choice(2, 4, 8, 16)] = 2
    dropout: Annotated[DropoutRate, Choice(0.0, 0.1, 0.3, 0.5, 0.6, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(1e-5, 1e-4, 5e-4, 1e-3)] = 1e-4

    @override
    def architecture(self) -> Architecture:
        relations = (Signed(s) * SignedSimilarity(s, self.normalization) for s in (1, -1))
        return Architecture(
            channels=(Ego() * Ones(), *relations),
            combine=GlobalSum(),
            transform=SharedLinear(bias="before", init="linear"),
            skip=DecayedResidual(self.decay_rate, dropout=self.dropout),
            dropout=Dropout(input=self.dropout),
            activation="none",
        )

    deviations = (
        Deviation(
            "The dense path of the reference implementation normalizes by rows, which turns off the "
            "correction for degree. It is symmetric on pubmed only.",
            {"normalization": "row"},
        ),
    )


@dataclass(frozen=True)
class GlobalSum(Combine[nn.ParameterDict]):
    """Sum with one learned weight per layer and channel.

    Z = softplus(ς) Σ_r ω_r Z_r, ω a softmax of R learned numbers

    Parameters
    ----------
    scale_init
        Initial value of ς.

    Examples
    --------
    >>> GlobalSum().symbol
    'AdaAdd'
    """

    scale_init: float = 2.0  # initial ς
    symbol = "AdaAdd"

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        return nn.ParameterDict(
            {"scale": init_scalar(self.scale_init), "omega": nn.Parameter(torch.zeros(size.n_channels))}
        )

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: nn.ParameterDict, context: Context) -> Tensor:
        shares = w["omega"].softmax(dim=0) * F.softplus(w["scale"])
        return weigh(messages, shares.unsqueeze(0))


@dataclass(frozen=True)
class Signed(Neighborhood):
    """Neighbors with positive or with negative similarity, which the guidance determines.

    A_r = A

    Parameters
    ----------
    sign
        1 for positive similarity, -1 for negative similarity.

    Examples
    --------
    >>> Signed(1).symbol
    'A_p'
    """

    sign: int = 1
    kind = "Dis"
    uses_weights = True

    @property
    @override
    def symbol(self) -> str:
        return "A_p" if self.sign > 0 else "A_n"

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return weighted_symmetric(graph)


@dataclass(frozen=True)
class SignedSimilarity(Guidance[nn.ParameterDict]):
    """Positive or negative part of the similarity of messages, scaled by structure.

    B_ij = ±Â_ij τ_ij relu(±cos(U_i, U_j)), τ_ij = softplus(a (Â_ii / Â_ij - 1) + b)

    Parameters
    ----------
    sign
        1 for the positive part, -1 for the negative part.
    normalization
        Normalization of Â = A + I: `symmetric` or `row`.

    Notes
    -----
    Â is the normalized adjacency matrix with self-loops. With row normalization and without edge weights,
    Â_ii / Â_ij is 1.

    Examples
    --------
    >>> SignedSimilarity(1).symbol
    'B^re_p'
    """

    sign: int = 1
    normalization: str = "symmetric"
    depends_on = "messages"
    kind = "RelaEst"

    def __post_init__(self) -> None:
        check_option("normalization", self.normalization, ("symmetric", "row"))

    @property
    @override
    def symbol(self) -> str:
        return "B^re_p" if self.sign > 0 else "B^re_n"

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        if neighborhood == Signed(self.sign):
            return ""
        return f"use Signed({self.sign}) * SignedSimilarity({self.sign})"

    @override
    def shares_weights_with(self, neighborhood: Neighborhood) -> Channel | None:
        return Signed(1) * replace(self, sign=1) if self.sign < 0 else None

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        if self.sign < 0:
            return nn.ParameterDict()
        return nn.ParameterDict({"a": init_scalar(0.5), "b": init_scalar(0.0)})

    @override
    def values(self, seen: ChannelInput, w: nn.ParameterDict) -> Tensor:
        carry, key = seen.context.carry, ("similarity", seen.context.layer)
        if self.sign > 0:
            weight, delta = self.structure(seen)
            cosine = cosines(seen.pattern, seen.messages)
            carry[key] = weight * F.softplus(w["a"] * delta + w["b"]), cosine
        scale, cosine = carry[key]
        # ±relu(±e) is the positive or the negative part of e.
        return scale * (cosine.clamp_min(0) if self.sign > 0 else cosine.clamp_max(0))

    def structure(self, seen: ChannelInput) -> tuple[Tensor, Tensor]:
        """Â_ij on the edges and δ_ij, which may be one number for all, once per graph."""
        graph = seen.context.graph

        def compute() -> tuple[Tensor, Tensor]:
            times = 1 if seen.sampling_weight is None else seen.sampling_weight
            edge = 1 if seen.weights is None else seen.weights
            times = times * edge
            receivers, senders = (sums + 1 for sums in degree_sums(seen.adjacency))
            rows = receivers.index_select(0, seen.pattern.rows)
            if self.normalization == "row":
                return times / rows, rows.new_zeros(()) + (1 / edge - 1)
            rows, columns = rows.sqrt(), senders.sqrt().index_select(0, seen.pattern.indices)
            return times / (rows * columns), columns / (rows * edge) - 1

        pair: tuple[Tensor, Tensor] = graph.cached(("ggcn", self.normalization), compute)
        return pair


def cosines(pattern: Pattern, state: Tensor) -> Tensor:
    """U_i · U_j / max(‖U_i‖ ‖U_j‖, 1e-8) on the entries; rows of zeros have no gradient.

    Where no product of lengths is below the floor, rows are divided before they are multiplied.
    """
    lengths = state.norm(dim=1, keepdim=True)
    known = lengths.detach()
    # A compiled or exported network cannot depend on values, and both ways compute the same.
    if not torch.compiler.is_compiling() and bool(((known == 0) | (known > EPSILON**0.5)).all()):
        unit = torch.where(known > 0, state / lengths.clamp_min(EPSILON**0.5), 0.0)
        return sddmm(pattern, unit, unit)
    product = sddmm(pattern, lengths, lengths)
    dots = torch.where(product > 0, sddmm(pattern, state, state), 0.0)
    return dots / product.clamp_min(EPSILON)


@dataclass(frozen=True)
class DecayedResidual(Skip[nn.ModuleDict]):
    """Sum of the outputs of all layers, with decreasing weights, as the input of the next layer.

    P^l = P^(l-1) + c_l drop_p(elu(Z^(l-1))), P^1 = elu(X W_0 + b_0), c_2 = 1, c_l = ln(η / l^e + 1)

    Parameters
    ----------
    rate, exponent
        η and e.
    dropout
        Dropout rate p.
    decay
        Whether the weights decrease; otherwise all c_l are 1.

    Notes
    -----
    The input of the first layer is X. Layer 2 is the first to use P, so a network has at least two layers.

    Examples
    --------
    >>> DecayedResidual().coefficient(2)
    1.0
    """

    rate: float = 1.0  # η
    exponent: float = 3.0  # e
    dropout: float = 0.0
    decay: bool = True
    min_layers = 2
    carried_keys = ("carried",)

    @override
    def weights(self, size: Sizes) -> nn.ModuleDict:
        return nn.ModuleDict({"first": Dense(size.d_in, size.d_out)})

    @override
    def __call__(self, state: Features, w: nn.ModuleDict, context: Context) -> Tensor:
        carry, layer = context.carry, context.layer
        if layer == 1:
            carry["carried"] = F.elu(w["first"](state))
            return cast("Tensor", state)  # X may be sparse
        opened = apply_dropout(F.elu(cast("Tensor", state)), self.dropout, training=context.training)
        carry["carried"] = carry["carried"] + self.coefficient(layer) * opened
        return carry["carried"]

    def coefficient(self, layer: int) -> float:
        """c_l."""
        decays = self.decay and layer > 2
        return math.log(self.rate / layer**self.exponent + 1) if decays else 1.0
