"""Parts of CMGNN: class prototypes as a neighborhood, their weights, and the discrimination loss."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.graph import Graph
from heterophily.core.sparse import Pattern
from heterophily.htmp.channel import Channel
from heterophily.htmp.guidance import ChannelInput, Guidance
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.neighborhoods import Neighborhood
from heterophily.htmp.part import Context
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
    def operator(self, seen: ChannelInput, w: object) -> Tensor:
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
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: object) -> Tensor:
        if not self.weight:
            return torch.zeros((), device=nodes.device)
        k = context.n_virtual
        desired = context.state(CompatibilityState).compatibility @ context.representation[-k:]
        unit = F.normalize(desired, dim=1)
        similarities = unit @ unit.T
        mean = (similarities.sum() - similarities.diagonal().sum()) / (k * (k - 1))
        return self.weight * mean
