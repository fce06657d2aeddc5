"""CLP: label propagation that maps the classes of neighbors by a compatibility matrix."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import torch
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.compatibility import norm1
from heterophily.core.graph import Features, Graph
from heterophily.core.spaces import Bounds, Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.encoder import Predict, PredictWeights
from heterophily.htmp.execution.batch import Batch, global_node_ids
from heterophily.htmp.guidance import ChannelInput, Guidance, Ones, SymmetricMean
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Neighborhood, Raw
from heterophily.htmp.parts import Context, Sizes, Weights
from heterophily.htmp.state import State, StatePart
from heterophily.htmp.transform import NoTransform
from heterophily.models.cpgnn import CompatibleOperator, known_compatibility

if TYPE_CHECKING:
    from heterophily.htmp.network import Network

KNOWN = "labels of training nodes"  # key of what the state prepares


@define_method
class CLP(Method):
    """Label propagation that maps the classes of neighbors by a compatibility matrix.

    F^l = (1-α) F⁰ + α norm1(S F^(l-1) H), F⁰ = [Y; B], B = softmax(drop(relu(X W_1 + b_1)) W_2 + b_2), logits = log F^L

    Y are the labels of training nodes, and B are the beliefs of an MLP about all other nodes. Only the MLP is trained.
    H is the doubly stochastic form of Yᵀ A F, where F are the labels and the beliefs of the best epoch so far. Training
    nodes are predicted from the beliefs alone, because their own labels would return to them after two layers.
    """

    name, title = "clp", "CLP"
    paper = (
        "Zhong et al., Simplifying node classification on heterophilous graphs with compatible label propagation, "
        "TMLR 2022"
    )
    needs_features = False

    alpha: Annotated[float, Choice(0.1, 0.3, 0.5, 0.7, 0.9), Bounds(ge=0, le=1), "α, the weight of the neighbors."] = (
        0.5
    )
    width: Annotated[PositiveInt, Choice(64, 128, 256)] = 64
    n_layers: Annotated[PositiveInt, Choice(1, 2, 5, 20), "Number of steps of propagation."] = 2
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 5e-5, 5e-4)] = 5e-5

    @override
    def architecture(self) -> Architecture:
        return Architecture(
            encoder=BeliefAndLabels(dropout=self.dropout),
            channels=((Ego() * Ones()).with_input("initial"), Raw() * EstimatedCompatibility()),
            combine=BeliefUpdate(self.alpha),
            transform=NoTransform(),
            dropout=Dropout(),
            activation="none",
            states=(KnownLabels(),),
        )

    deviations = (
        Deviation(
            "A message is F_j H. In the authors' implementation, the message about a class is multiplied by the "
            "beliefs of both nodes in this class, so that a class that no neighbor has cannot be predicted."
        ),
        Deviation("H is estimated from the beliefs after propagation. The authors use those of the MLP."),
        Deviation(
            "Labels of training nodes are sent to all other nodes. The authors select on validation nodes whether "
            "labels, beliefs, or both are propagated."
        ),
        Deviation("The echo of the beliefs of a node is not subtracted. The authors' search decides this."),
    )


@dataclass(frozen=True)
class BeliefAndLabels(Predict):
    """Beliefs of an MLP, once for all nodes, and once with the labels of training nodes.

    Z⁰ = [B ‖ F⁰], B = softmax( drop(relu(X W_1 + b_1)) W_2 + b_2 ), F⁰_i = Y_i for training nodes, else B_i (N, 2K)

    Examples
    --------
    >>> BeliefAndLabels().outputs_classes
    True
    """

    @override
    def width(self, size: Sizes) -> int:
        return 2 * size.n_classes

    @override
    def __call__(self, x: Features, w: PredictWeights, context: Context) -> Tensor:
        beliefs = super().__call__(x, w, context).softmax(dim=1)
        known = context.carry[KNOWN]
        if known is None:
            return torch.cat([beliefs, beliefs], dim=1)
        labels, is_train = known
        return torch.cat([beliefs, torch.where(is_train.unsqueeze(1), labels, beliefs)], dim=1)


@dataclass(frozen=True)
class KnownLabels(StatePart):
    """Labels of the training nodes, and the compatibility matrix.

    H = SK(Yᵀ A F), SK the doubly stochastic form

    Examples
    --------
    >>> KnownLabels().full_graph_reason
    ''
    """

    @override
    def create(self, graph: Graph) -> "KnownLabelsState":
        return KnownLabelsState(graph)


class KnownLabelsState(State):
    """Labels Y (N, K), the training nodes (N,), and H (K, K)."""

    labels: Tensor
    is_train_node: Tensor
    compatibility: Tensor

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        n, k = graph.n_nodes, graph.n_classes
        self.register_buffer("labels", torch.zeros(n, k))
        self.register_buffer("is_train_node", torch.zeros(n, dtype=torch.bool))
        self.register_buffer("compatibility", torch.full((k, k), 1 / k))

    @override
    def initialize(self, network: "Network", graph: Graph, nodes: Tensor, *, block: int | None = None) -> None:
        n, k = graph.n_nodes, self.labels.shape[1]
        place = nodes.to(self.labels.device)
        self.labels = self.labels.new_zeros(n, k)
        self.labels[place] = F.one_hot(graph.labels[nodes], k).to(self.labels)
        self.is_train_node = self.is_train_node.new_zeros(n)
        self.is_train_node[place] = True
        self._set_compatibility(graph, nodes, torch.zeros(n, k, device=graph.labels.device))
        self.mark_initialized(graph)

    @override
    def update(self, graph: Graph, logits: Tensor) -> None:
        beliefs = logits.detach().softmax(dim=1).to(graph.labels.device)
        self._set_compatibility(graph, self.is_train_node.nonzero().squeeze(1).to(graph.labels.device), beliefs)

    def _set_compatibility(self, graph: Graph, nodes: Tensor, beliefs: Tensor) -> None:
        found = known_compatibility(graph, nodes, beliefs)
        self.compatibility = found.to(self.compatibility)

    @override
    def prepare(self, context: Context) -> None:
        graph = context.graph
        nodes = global_node_ids(graph)
        is_subgraph = nodes is not None and not isinstance(graph, Batch)
        if not is_subgraph and self.recognition != "recomputed" and not self.is_training_graph(graph):
            context.carry[KNOWN] = None
        elif nodes is None:
            context.carry[KNOWN] = self.labels, self.is_train_node
        else:
            context.carry[KNOWN] = self.labels[nodes], self.is_train_node[nodes]

    @override
    @contextmanager
    def forget(self, nodes: Tensor) -> Iterator[None]:
        stored = self.is_train_node
        self.is_train_node = stored.index_fill(0, nodes.to(stored.device), False)
        try:
            yield
        finally:
            self.is_train_node = stored

    @override
    def summary(self) -> dict[str, Tensor]:
        return {"compatibility": self.compatibility}


@dataclass(frozen=True)
class EstimatedCompatibility(Guidance):
    """Sum over neighbors whose beliefs are multiplied by an estimated compatibility matrix.

    (A_r ⊙ B_r) Z = S Z H, H (K, K)

    Examples
    --------
    >>> EstimatedCompatibility().symbol
    'B^re'
    """

    depends_on = "network"
    requires = (KnownLabels,)
    symbol = "B^re"
    kind = "RelaEst"

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        return SymmetricMean().check_neighborhood(neighborhood)

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> CompatibleOperator:
        matrix = SymmetricMean().cached_matrix(seen.context.graph, seen.adjacency)
        return CompatibleOperator(matrix, seen.context.state(KnownLabelsState).compatibility)


class BeliefUpdateWeights(Weights):
    """No weights: whether the layer is the last one."""

    is_last = False


@dataclass(frozen=True)
class BeliefUpdate(Combine[BeliefUpdateWeights]):
    """Mixture of the first beliefs with those of the neighbors, and the logits in the last layer.

    Z^l = (1-α) Z⁰ + α norm1(Z_2)

    Parameters
    ----------
    alpha
        α.

    Notes
    -----
    The two halves of Z are normalized separately. The last layer selects the first half for training nodes and the
    second one for all other nodes, and in training, it returns log B of the MLP.

    Examples
    --------
    >>> BeliefUpdate(0.5).symbol
    'WeightedAdd'
    """

    alpha: float = 0.5
    symbol = "WeightedAdd"
    arity = (2, 2)

    @override
    def weights(self, size: Sizes) -> BeliefUpdateWeights:
        w = BeliefUpdateWeights()
        w.is_last = size.is_last
        return w

    @override
    def width(self, size: Sizes) -> int:
        return size.n_classes if size.is_last else size.d_out

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: BeliefUpdateWeights, context: Context) -> Tensor:
        first, near = (each.view(len(each), 2, -1) for each in messages)
        if w.is_last and context.training:
            return first[:, 0].clamp_min(1e-12).log()
        beliefs = (1 - self.alpha) * first + self.alpha * norm1(near.flatten(0, 1)).view(near.shape)
        if not w.is_last:
            return beliefs.flatten(1)
        known = context.carry[KNOWN]
        final = beliefs[:, 1] if known is None else torch.where(known[1].unsqueeze(1), beliefs[:, 0], beliefs[:, 1])
        return final.clamp_min(1e-12).log()
