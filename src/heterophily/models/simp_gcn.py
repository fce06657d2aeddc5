"""SimP-GCN: the graph, the nearest neighbors by features, and the node, balanced per node."""

from dataclasses import dataclass
from typing import Annotated, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.graph import Features, Graph
from heterophily.core.spaces import Choice, PositiveFloat, PositiveInt
from heterophily.core.sparse import Matrix
from heterophily.htmp.algorithms.cache import cached
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.execution.batch import full_graph_of
from heterophily.htmp.guidance import Ones, SymmetricMean
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.neighborhoods import Ego, FeatureNeighbors, WithSelf, to_default_dtype
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context, Dense, Sizes, init_scalar, init_uniform
from heterophily.htmp.transform import SharedLinear


@define_method
class SimPGCN(Method):
    """The graph, the nearest neighbors by features, and the node, balanced per node.

    Z = s ⊙ f(S° Z W + b) + (1-s) ⊙ f(S_f Z W + b) + γ k ⊙ f(Z W + b), s = sig(Z a + β)
    """

    name, title = "simp-gcn", "SimP-GCN"
    paper = "Jin et al., Node similarity preserving graph convolutional networks, WSDM 2021"

    n_neighbors: Annotated[PositiveInt, "Number of nearest neighbors by features."] = 20
    ego_weight: Annotated[float, Choice(0.01, 0.1, 1.0), "γ."] = 0.1
    score_bias_init: Annotated[float, Choice(0.0, 2.0), "Initial β."] = 0.0
    similarity_weight: Annotated[
        float, Choice(0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0), "Weight of the similarity loss."
    ] = 1.0
    width: Annotated[PositiveInt, Choice(16, 32, 64, 128)] = 64
    feature_norm: FeatureNorm = "sum"
    learning_rate: Annotated[PositiveFloat, Choice(0.01, 0.05)] = 0.01

    @override
    def architecture(self) -> Architecture:
        return Architecture(
            channels=(Ego() * Ones(), WithSelf() * SymmetricMean(), SimilarNodes(self.n_neighbors) * SymmetricMean()),
            combine=SimilaritySum(self.ego_weight, self.score_bias_init),
            transform=SharedLinear(),
            dropout=Dropout(layer=self.dropout),
            activation="none",
            message_activation="after",
            linear_last_layer=True,
            losses=(SimilarityLoss(self.similarity_weight),),
        )

    deviations = (
        Deviation(
            "Rows of features are divided by the sum of absolute values. The authors' implementation divides by the "
            "sum, which is the same for features without negative values and can be near zero for other ones."
        ),
        Deviation("The activation is inside the sum, as in the authors' implementation. The paper writes it outside."),
        Deviation(
            "Equal similarities are ordered by node number. In the authors' implementation the order is arbitrary."
        ),
        Deviation(
            "Features are used as they are. On a CPU, the authors' implementation also binarizes the training features."
        ),
    )


@dataclass(frozen=True)
class SimilarNodes(FeatureNeighbors):
    """The k nodes with the most similar binarized features, weighted by their similarity.

    (A_r)_ij = cos(x_i, x_j) for the k most similar j

    Examples
    --------
    >>> SimilarNodes(20).symbol
    'A_f'
    """

    @override
    def adjacency(self, graph: Graph) -> Matrix:
        return to_default_dtype(self._nearest(graph, binary=True))


@dataclass(frozen=True)
class SimilaritySum(Combine[nn.ParameterDict]):
    """Balance of graph and features with one learned weight per node, plus the node itself.

    Z = s ⊙ Z_2 + (1 - s) ⊙ Z_3 + γ k ⊙ Z_1, s = sig(H a + β), k = H u + κ,
    H the input of the layer

    Parameters
    ----------
    ego_weight
        γ, weight of the node itself.
    score_bias_init
        Initial value of β.

    Examples
    --------
    >>> SimilaritySum(0.1).symbol
    'AdaAdd'
    """

    ego_weight: float = 0.1  # γ
    score_bias_init: float = 0.0  # initial β
    symbol = "AdaAdd"
    arity = (3, 3)

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        return nn.ParameterDict(
            {
                "a": init_uniform(1.0, size.d_in, 1),
                "beta": init_scalar(self.score_bias_init),
                "u": init_uniform(1.0, size.d_in, 1),
                "kappa": init_scalar(0.0),
            }
        )

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: nn.ParameterDict, context: Context) -> Tensor:
        ego, graph, features = messages
        assert inputs is not None
        balance = torch.sigmoid(inputs @ w["a"] + w["beta"])
        own = inputs @ w["u"] + w["kappa"]
        return torch.lerp(features, graph, balance) + self.ego_weight * own * ego


@dataclass(frozen=True)
class SimilarityLoss(AuxiliaryLoss[nn.ModuleDict]):
    """Squared error of predicting the similarity of features from the input of the last layer.

    λ mean_ij( w · |E_i - E_j| + w_0 - cos(x_i, x_j) )²

    Parameters
    ----------
    weight
        λ.
    n_pairs
        Number of pairs that are sampled in every step, from the five most and five least similar
        nodes of each node.

    Notes
    -----
    E is the input of the last layer. The pairs are each node with its five most and five least
    similar nodes, by binarized features.

    Examples
    --------
    >>> SimilarityLoss(0.1).weight
    0.1
    """

    weight: float = 1.0
    n_pairs: int = 10_000
    full_graph_reason = "its loss compares pairs of nodes from all over the graph"

    @override
    def weights(self, size: Sizes) -> nn.ModuleDict:
        return nn.ModuleDict({"dense": Dense(size.d_out, 1)})

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: nn.ModuleDict) -> Tensor:
        pairs, targets = context.graph.cached("similar pairs", lambda: similar_pairs(full_graph_of(context.graph)))
        if len(targets) > self.n_pairs:
            chosen_pairs = torch.randperm(len(targets))[: self.n_pairs].to(targets.device)
            pairs, targets = pairs[:, chosen_pairs], targets[chosen_pairs]
        state = cast("Tensor", context.inputs["previous"])
        predicted = w["dense"]((state[pairs[0]] - state[pairs[1]]).abs()).squeeze(1)
        return self.weight * F.mse_loss(predicted, targets)


def similar_pairs(graph: Graph) -> tuple[Tensor, Tensor]:
    """SimP-GCN's pairs (2, P) and the cosine similarities of their binarised features (P,)."""
    from heterophily.htmp.algorithms.knn import most_and_least_similar

    def compute() -> dict[str, Tensor]:
        pairs, targets = most_and_least_similar(graph.features)
        return {"pairs": pairs, "targets": targets}

    result = cached(graph.structure_checksum, "similar pairs", compute)
    device = graph.labels.device
    return result["pairs"].T.to(device), result["targets"].to(device, torch.get_default_dtype())
