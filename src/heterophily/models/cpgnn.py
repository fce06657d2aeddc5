"""CPGNN: beliefs of an MLP, propagated with a learned compatibility matrix."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.compatibility import doubly_stochastic
from heterophily.core.graph import Features, Graph
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, ParamGroup
from heterophily.htmp.channel import Operator
from heterophily.htmp.combine import Add
from heterophily.htmp.encoder import Predict, PredictWeights
from heterophily.htmp.execution.batch import Batch
from heterophily.htmp.guidance import ChannelInput, Guidance, Ones, RowMean, SymmetricMean
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Neighborhood, Raw, adjacency_of
from heterophily.htmp.parts import Context, Sizes, Weights
from heterophily.htmp.state import State, StatePart
from heterophily.htmp.transform import NoTransform

if TYPE_CHECKING:
    from heterophily.htmp.network import Network

NEIGHBOR_SUM = Ones()
AVERAGES: dict[str, Guidance] = {"none": NEIGHBOR_SUM, "symmetric": SymmetricMean(), "row": RowMean()}
PRIOR = "prior logits"  # key of what the encoder stores for losses


@define_method
class CPGNN(Method):
    """Beliefs of an MLP, propagated with a learned compatibility matrix.

    B^l = B⁰ + A B^(l-1) H, B⁰ = softmax(drop(relu(X W_1 + b_1)) W_2 + b_2) - 1/K, logits = B^L

    H is learned, with ‖H 1‖₁ as a penalty. Its initial value is that of the edges of training nodes: the doubly
    stochastic form of Yᵀ A B minus 1/K, where Y are the labels of training nodes, and B are Y and the beliefs of all
    other nodes after some epochs of the MLP alone. No node receives a label.
    """

    name, title = "cpgnn", "CPGNN"
    paper = "Zhu et al., Graph neural networks with heterophily, AAAI 2021"

    normalization: Annotated[
        Literal["none", "symmetric", "row"], Choice("none", "symmetric", "row"), "Normalization of A."
    ] = "none"
    prior_weight: Annotated[NonNegativeFloat, Choice(0.1, 1.0), "Weight of the loss of the MLP."] = 1.0
    n_pretraining_epochs: Annotated[NonNegativeInt, Choice(0, 100, 400), "Epochs of the MLP before H is set."] = 100
    width: Annotated[PositiveInt, Choice(64, 128, 256)] = 64
    n_layers: Annotated[PositiveInt, Choice(1, 2)] = 2
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5)] = 0.5
    feature_norm: Annotated[FeatureNorm | None, Choice("none", "l1")] = "l1"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 5e-4)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        start = CompatibilityStart(self.n_pretraining_epochs, self.learning_rate, self.weight_decay)
        return Architecture(
            encoder=PriorBelief(dropout=self.dropout),
            channels=(
                (Ego() * Ones()).with_input("initial"),
                Raw() * LearnedCompatibility(AVERAGES[self.normalization]),
            ),
            combine=Add(),
            transform=NoTransform(),
            dropout=Dropout(),
            activation="none",
            losses=(PriorLoss(self.prior_weight), CenteringLoss()),
            states=(start,),
            param_groups=(ParamGroup("common.compatibility", 0.0),),
        )

    deviations = (
        Deviation("The prior beliefs are those of an MLP, CPGNN-MLP. The variant with Chebyshev filters is omitted."),
        Deviation(
            "The MLP is first trained alone for a fixed number of epochs. The authors select the best epoch of up to "
            "400 on validation nodes."
        ),
    )


@dataclass(frozen=True)
class PriorBelief(Predict):
    """Beliefs of an MLP, centered.

    Z⁰ = softmax( drop(relu(X W_1 + b_1)) W_2 + b_2 ) - 1/K (N, K)

    Examples
    --------
    >>> PriorBelief().outputs_classes
    True
    """

    @override
    def __call__(self, x: Features, w: PredictWeights, context: Context) -> Tensor:
        logits = super().__call__(x, w, context)
        context.add_aux_output(PRIOR, logits)
        return logits.softmax(dim=1) - 1 / logits.shape[1]


@dataclass(frozen=True)
class LearnedCompatibility(Guidance):
    """Sum over neighbors whose beliefs are multiplied by a learned compatibility matrix, which all layers share.

    (A_r ⊙ B_r) Z = A' Z H, H (K, K)

    Parameters
    ----------
    of
        Guidance of A'.

    Examples
    --------
    >>> LearnedCompatibility().symbol
    'B^re'
    """

    of: Guidance = NEIGHBOR_SUM
    depends_on = "network"
    symbol = "B^re"
    kind = "RelaEst"

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        return self.of.check_neighborhood(neighborhood)

    @override
    def shared_weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        return {"compatibility": nn.Parameter(torch.zeros(size.n_classes, size.n_classes))}

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> "CompatibleOperator":
        return CompatibleOperator(self.of.operator(seen, w), seen.context.shared_weights.compatibility)


@dataclass(frozen=True, eq=False)
class CompatibleOperator:
    """A' Z H, for beliefs Z (N, K), or several of them in one matrix (N, c K)."""

    of: Operator
    compatibility: Tensor

    def __matmul__(self, state: Tensor) -> Tensor:
        sums = self.of @ state
        return (sums.view(len(sums), -1, len(self.compatibility)) @ self.compatibility).flatten(1)


@dataclass(frozen=True)
class PriorLoss(AuxiliaryLoss):
    """Cross-entropy of the prior beliefs on training nodes.

    η mean_i( -log softmax(prior logits)_i,y_i )

    Parameters
    ----------
    weight
        η.

    Examples
    --------
    >>> PriorLoss(0.5).weight
    0.5
    """

    weight: float = 1.0

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Weights) -> Tensor:
        assert context.labels is not None
        return self.weight * F.cross_entropy(context.aux_outputs[PRIOR][0][nodes], context.labels[nodes])


@dataclass(frozen=True)
class CenteringLoss(AuxiliaryLoss):
    """Norm of the row sums of the compatibility matrix, which are zero for centered matrices.

    ‖H 1‖₁

    Examples
    --------
    >>> [kind.__name__ for kind in CenteringLoss().requires]
    ['LearnedCompatibility']
    """

    requires = (LearnedCompatibility,)

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Weights) -> Tensor:
        matrix = cast("Tensor", network.common.compatibility)
        return matrix.sum(dim=1).abs().sum()


@dataclass(frozen=True)
class CompatibilityStart(StatePart):
    """Initial value of the learned compatibility matrix, from the edges of training nodes.

    H = SK(Yᵀ A B) - 1/K, SK the doubly stochastic form

    Parameters
    ----------
    n_epochs
        Number of epochs in which the encoder is trained alone before.
    learning_rate, weight_decay
        Of these epochs.

    Examples
    --------
    >>> CompatibilityStart().n_epochs
    100
    """

    n_epochs: int = 100
    learning_rate: float = 0.01
    weight_decay: float = 5e-4

    @override
    def create(self, graph: Graph) -> "CompatibilityStartState":
        return CompatibilityStartState(self)


class CompatibilityStartState(State):
    """No values of its own: it sets a learned weight before the first epoch."""

    used_in_forward = False

    def __init__(self, part: CompatibilityStart) -> None:
        super().__init__()
        self.part = part

    @override
    def initialize(self, network: "Network", graph: Graph, nodes: Tensor, *, block: int | None = None) -> None:
        mode, size = network.training, block or graph.n_nodes
        adam = torch.optim.Adam(
            network.encoder.parameters(), lr=self.part.learning_rate, weight_decay=self.part.weight_decay
        )
        network.train()
        for _ in range(self.part.n_epochs):
            adam.zero_grad()
            for some in nodes.split(size):
                loss = F.cross_entropy(_prior(network, graph, some), graph.labels[some].to(_place(network)))
                (loss * len(some) / len(nodes)).backward()
            adam.step()
        adam.zero_grad()
        network.eval()
        with torch.no_grad():
            rows = torch.arange(graph.n_nodes, device=nodes.device).split(size)
            beliefs = torch.cat([_prior(network, graph, some).softmax(dim=1).to(graph.labels.device) for some in rows])
            start = known_compatibility(graph, nodes, beliefs)
            weight = cast("Tensor", network.common.compatibility)
            weight.copy_(start - 1 / graph.n_classes)
        network.train(mode)
        self.mark_initialized(graph)


def _place(network: "Network") -> torch.device:
    return next(network.parameters()).device


def _prior(network: "Network", graph: Graph, nodes: Tensor) -> Tensor:
    """Return the logits of the encoder for some nodes."""
    context = network.open(Batch(graph, nodes, {}, device=_place(network)))
    network.encoder_part(context.x, network.encoder, context)
    logits: Tensor = context.aux_outputs[PRIOR][0]
    return logits


def known_compatibility(graph: Graph, nodes: Tensor, beliefs: Tensor) -> Tensor:
    """Return the symmetric, doubly stochastic form of Yᵀ A B, (K, K).

    Y are the labels of the given nodes, and B are Y and, for all other nodes, their beliefs (N, K).
    """
    true = F.one_hot(graph.labels[nodes], graph.n_classes).to(beliefs.dtype)
    known = beliefs.index_copy(0, nodes, true)
    sums = adjacency_of(Raw(), graph) @ known
    return doubly_stochastic(true.T @ sums.index_select(0, nodes))
