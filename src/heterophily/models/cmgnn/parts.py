"""Parts of CMGNN: class prototypes as a neighborhood, their weights, and the discrimination loss."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.errors import check_option
from heterophily.core.fused import gated_sum
from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Pattern
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.encoder import Encoder
from heterophily.htmp.guidance import ChannelInput, Guidance, RowMean
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.neighborhoods import Neighborhood, Raw, structure_adjacency
from heterophily.htmp.parts import Context, Dense, Sizes, Weights, apply_dropout
from heterophily.models.cmgnn.state import CompatibilityEstimate, CompatibilityState

if TYPE_CHECKING:
    from heterophily.htmp.network import Network


@dataclass(frozen=True)
class Prototypes(Neighborhood):
    """The prototypes of all classes, which are K virtual nodes.

    A_r = 1 (N, K)

    Examples
    --------
    >>> Prototypes().symbol
    'A_sup'
    """

    symbol = "A_sup"
    sampled = False

    @override
    def adjacency(self, graph: Graph) -> Pattern:
        return graph.adjacency  # unused: the operator is dense, (N + K, K)

    @override
    def check_guidance(self, guidance: Guidance) -> str:
        if isinstance(guidance, CompatibilityWeights):
            return ""
        return "prototypes have no edges to average over; use Prototypes() * CompatibilityWeights()"

    @override
    def __mul__(self, guidance: Guidance) -> Channel:
        return Channel(self, guidance, "prototypes")


@dataclass(frozen=True)
class CompatibilityWeights(Guidance):
    """Weights of the prototypes: the neighborhood that a node of these classes should have.

    B_r = norm1(Ĉ M̂) (N, K)

    Examples
    --------
    >>> CompatibilityWeights().symbol
    'B_sup'
    """

    depends_on = "network"
    symbol = "B_sup"
    kind = "RelaEst"
    requires = (CompatibilityEstimate,)

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        if isinstance(neighborhood, Prototypes):
            return ""
        return "CompatibilityWeights has one column per class; use Prototypes()"

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> Tensor:
        weights: Tensor = seen.context.carry["prototype_weights"]
        return weights


@dataclass(frozen=True)
class Discrimination(AuxiliaryLoss):
    """Mean similarity of the desired messages of different classes.

    λ mean_(i≠j) cos(M̂_i Z_ptt, M̂_j Z_ptt), Z_ptt the representations of the prototypes

    Parameters
    ----------
    weight
        λ.

    Notes
    -----
    Z_ptt are the fused states of the prototypes after dropout. M̂ is constant.

    Examples
    --------
    >>> Discrimination(0.1).weight
    0.1
    """

    weight: float = 1.0
    requires = (CompatibilityEstimate,)

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Weights) -> Tensor:
        if not self.weight:
            return torch.zeros((), device=nodes.device)
        k = context.n_virtual
        desired = context.state(CompatibilityState).compatibility @ cast("Tensor", context.representation)[-k:]
        unit = F.normalize(desired, dim=1)
        similarities = unit @ unit.T
        mean = (similarities.sum() - similarities.diagonal().sum()) / (k * (k - 1))
        return self.weight * mean


class DegreeGatedSumWeights(Weights):
    """Weights of `DegreeGatedSum`."""

    attend: Dense  # W_att (R d + 1, R)
    mix: Dense  # W_mix (R, R)


@dataclass(frozen=True)
class DegreeGatedSum(Combine[DegreeGatedSumWeights]):
    """Sum with one learned weight per node and channel, which also depends on the degree.

    Z = Σ_r α_r ⊙ Z_r, α = softmax( sig([Z_1 ‖ .. ‖ Z_R ‖ d] W_att + b_att) W_mix + b_mix )

    Notes
    -----
    d is the degree of a node, at least 1, and 0 for prototypes.

    Examples
    --------
    >>> DegreeGatedSum().symbol
    'AdaAdd'
    """

    symbol = "AdaAdd"

    @override
    def weights(self, size: Sizes) -> DegreeGatedSumWeights:
        r = size.n_channels
        return DegreeGatedSumWeights(attend=Dense(r * size.d_out + 1, r), mix=Dense(r, r))

    @override
    def __call__(
        self, messages: Messages, inputs: Features | None, w: DegreeGatedSumWeights, context: Context
    ) -> Tensor:
        attend, last = w.attend.weight[:-1], w.attend.weight[-1]
        # The column d of [Z_1 ‖ .. ‖ d] meets the last row of W_att: d ⊗ last, turned.
        offset = torch.addcmul(w.attend.bias.unsqueeze(1), last.unsqueeze(1), degree_column(context).T)
        state, alpha = gated_sum(messages, attend, w.mix.weight, offset=offset, bias=w.mix.bias)
        context.add_aux_output("alpha", alpha)
        return state


def degree_column(context: Context) -> Tensor:
    """Degrees (N, 1), isolated nodes as 1, prototypes as 0."""

    def compute() -> Tensor:
        degrees = context.graph.degrees.clamp_min(1).to(torch.get_default_dtype())
        if context.n_virtual:
            degrees[-context.n_virtual :] = 0
        return degrees.unsqueeze(1)

    if "degree column" not in context.bound:
        context.bound["degree column"] = compute()
    column: Tensor = context.bound["degree column"]
    return column


class FeaturesAndStructureWeights(Weights):
    """Weights of `FeaturesAndStructure`."""

    features: Dense  # W_x (F, d)
    structure: Dense  # W_a (N + 1, d)
    both: Dense  # W_0 (2d, d)


@dataclass(frozen=True)
class FeaturesAndStructure(Encoder[FeaturesAndStructureWeights]):
    """Features and adjacency matrix, each embedded and then combined.

    Z⁰ = relu( drop([H_x ‖ H_a]) W_0 + b_0 ), H_x = X W_x + b_x,
    H_a = drop([D^(-1) A ‖ d]) W_a + b_a

    Parameters
    ----------
    dropout
        Dropout rate.
    structure_dropout
        `single`, or `double` to apply the dropout to X and D^(-1) A twice, as in the reference
        implementation of CMGNN.

    Examples
    --------
    >>> FeaturesAndStructure(0.5).uses_structure
    True
    """

    dropout: float | None = 0.0  # None: the method's dropout
    structure_dropout: str = "single"
    accepts_prototypes = True
    structure = Raw()

    def __post_init__(self) -> None:
        check_option("structure_dropout", self.structure_dropout, ("single", "double"))

    @override
    def weights(self, size: Sizes) -> FeaturesAndStructureWeights:
        d = size.d_out
        structure = Dense(size.n_nodes + 1, d)
        return FeaturesAndStructureWeights(features=Dense(size.d_in, d), structure=structure, both=Dense(2 * d, d))

    @override
    def __call__(self, x: Features, w: FeaturesAndStructureWeights, context: Context) -> Tensor:
        p, training = self.dropout or 0.0, context.training
        again = p if self.structure_dropout == "double" else 0.0
        features = w.features(apply_dropout(x, again, training=training))
        adjacency = structure_adjacency(Raw(), context.graph)
        means = RowMean().cached_matrix(context.graph, adjacency)
        means = apply_dropout(means, 1 - (1 - p) * (1 - again), training=training)
        weight, bias = w.structure.weight, w.structure.bias
        # Prototypes have no row in W_a: no node receives messages from them.
        padding = weight.new_zeros(means.shape[1] - len(weight) + 1, weight.shape[1])
        structure = means @ torch.cat([weight[:-1], padding]) + bias
        degrees = apply_dropout(degree_column(context), p, training=training)
        structure = torch.addcmul(structure, degrees, weight[-1])
        joined = torch.cat([features, structure], dim=1)
        return F.relu(w.both(apply_dropout(joined, p, training=training)))
