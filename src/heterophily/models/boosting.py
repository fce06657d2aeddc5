"""Boosting: gradient-boosted trees on a table that describes the neighborhood of each node."""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core import neighborhood as nb
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.spaces import Bounds, Choice, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from heterophily.core.types import Array, FloatArray
from heterophily.htmp.architecture import Architecture
from heterophily.htmp.execution.inputs import graph_of_data
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.state import Recognition
from heterophily.models.boosting_columns import inductive_columns, label_columns
from heterophily.models.boosting_trees import Forest

if TYPE_CHECKING:
    from torch_geometric.data import Data

MEAN_ONLY = ("mean",)
FEW = 24  # features of which all statistics are columns, because the time is proportional to the columns


@define_method
class Boosting(Method):
    """Gradient-boosted trees on features, their statistics over neighbors, positions, and label shares.

    F_k(i) = b_k + Σ_t f_tk(z_i), z_i = [x_i, stat_1(i), .., stat_h(i), degree_i, position_i, labels_i]

    The trees are those of `HistGradientBoostingClassifier` of scikit-learn. One epoch is one iteration, which adds one
    tree per class. The label shares use only labels of training nodes, and never a node's own label. Positions and
    label shares are known only for the nodes of the training graph, so a second set of trees without them predicts the
    nodes of other graphs.
    """

    name, title = "boosting", "Boosting"
    paper = "Friedman, Greedy function approximation: A gradient boosting machine, Annals of Statistics 2001"
    is_network = False
    unused_settings = (
        *("width", "n_layers", "dropout", "activation", "norm", "residual"),
        *("input_layer", "feature_norm", "loss", "weight_decay", "monitor", "n_members"),
    )

    learning_rate: Annotated[PositiveFloat, Choice(0.02, 0.05, 0.1), "Factor of each tree."] = 0.05
    max_leaf_nodes: Annotated[int, Bounds(ge=2), Choice(7, 15, 31), "Maximum number of leaves per tree."] = 15
    min_samples_leaf: Annotated[PositiveInt, Choice(5, 20, 50), "Minimum number of training nodes per leaf."] = 20
    l2_regularization: Annotated[NonNegativeFloat, Choice(0.0, 1.0, 10.0), "L2 penalty of the leaf values."] = 1.0
    max_bins: Annotated[int, Bounds(ge=2, le=255), Choice(63, 255), "Maximum number of bins per column."] = 63
    max_features: Annotated[
        float, Bounds(gt=0, le=1), Choice(0.1, 0.3, 1.0), "Share of the columns that each split considers."
    ] = 0.3
    n_columns: Annotated[
        PositiveInt, Choice(32, 64, 128), "Maximum number of feature columns; more are projected by an SVD."
    ] = 64
    n_hops: Annotated[int, Bounds(ge=0, le=2), Choice(0, 1, 2), "Hops over which features are summarized."] = 2
    statistics: Annotated[
        Literal["auto", "mean", "all"],
        Choice("auto", "mean", "all"),
        "Mean, or also minimum, maximum, and standard deviation; auto uses only the mean for more than 24 features.",
    ] = "auto"
    n_positions: Annotated[NonNegativeInt, Choice(0, 16, 64), "Number of spectral positions."] = 16
    label_shares: Annotated[bool, Choice(False, True), "Whether labels of training nodes are columns."] = True
    patience: PositiveInt = 50
    max_epochs: PositiveInt = 500

    @override
    def architecture(self) -> Architecture:
        raise HeterophilyError("boosting is not a network and has no architecture; choose a network such as cmgnn")

    deviations = (
        Deviation("Splits are those of histograms with at most 255 bins, as in LightGBM and scikit-learn."),
        Deviation("The table of neighborhoods is not part of the paper, which does not consider graphs."),
    )


class BoostedTrees(nn.Module):
    """Predictor of the method `boosting`: `trees(graph)` returns logits (N, K).

    A graph with the edges and features of the training graph is the training graph, whatever its labels. For any other
    graph, trees without positions and label shares predict the classes. Labels of the given graph are never used.
    """

    projection: Tensor  # V, (F, d), or empty
    train_labels: Tensor  # of the training graph, -1 for all other nodes, (N,)
    training_graph: Tensor  # checksum of its edges and features, (32,)
    seed: Tensor
    recognition: Recognition = "checksum"  # how copies of the training graph are recognized; see `recognize`

    def __init__(self, method: Boosting, graph: Graph) -> None:
        super().__init__()
        self.method = method
        self.n_nodes, self.n_features, self.n_classes = graph.n_nodes, graph.n_features, graph.n_classes
        self.forest, self.inductive_forest = Forest(graph.n_classes), Forest(graph.n_classes)
        width = method.n_columns if graph.n_features > method.n_columns else 0
        self.register_buffer("projection", torch.zeros(graph.n_features, min(width, graph.n_nodes)))
        self.register_buffer("train_labels", torch.full((graph.n_nodes,), -1))
        self.register_buffer("training_graph", torch.zeros(32, dtype=torch.uint8))
        self.register_buffer("seed", torch.zeros((), dtype=torch.long))
        self._recognized: Graph | None = None

    def initialize(self, graph: Graph, nodes: Tensor, *, seed: int) -> None:
        """Set everything but the trees, from the training graph and its training nodes."""
        projection = nb.feature_projection(graph.features, width=self.method.n_columns, seed=seed)
        if projection is not None:
            self.projection = torch.from_numpy(projection)
        labels = torch.full_like(self.train_labels, -1)
        labels[nodes.cpu()] = graph.labels.cpu()[nodes.cpu()]
        self.train_labels = labels
        self.training_graph = _checksum(graph)
        self.seed.fill_(seed)
        self.recognize(graph)

    @override
    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move to another device. `.double()` and `.bfloat16()` change nothing, because trees have no gradients."""
        return super()._apply(lambda tensor: tensor.to(fn(tensor).device), recurse)

    def forward(self, graph: "Graph | Data", *tensors: Tensor) -> Tensor:
        """Return logits, (N, K)."""
        if tensors:
            raise HeterophilyError("boosting is not a network; call it with a Graph or a PyG Data, not with tensors")
        graph = graph_of_data(graph)
        if graph.n_features != self.n_features:
            raise HeterophilyError(
                f"boosting was trained with {self.n_features} features, but {graph.name} has {graph.n_features}; "
                "use the same features"
            )
        if self.is_training_graph(graph):
            return self.forest(torch.from_numpy(self.table(graph)))
        return self.inductive_forest(torch.from_numpy(self.inductive_table(graph)))

    def is_training_graph(self, graph: Graph) -> bool:
        """Return whether edges and features are those of the training graph."""
        if graph is self._recognized:
            return True
        if self.recognition != "checksum":
            return graph.n_nodes == self.n_nodes
        if not torch.equal(_checksum(graph), self.training_graph.cpu()):
            return False
        self.recognize(graph)
        return True

    def recognize(self, graph: Graph) -> None:
        """Treat a graph as the training graph, such as a copy in which columns or edges were changed on purpose."""
        self._recognized = graph

    def inductive_table(self, graph: Graph) -> FloatArray:
        """Return the columns that exist for every graph, (N, d)."""
        method, projection = self.method, self.projection.cpu().numpy()
        given = projection if projection.shape[1] else None
        is_full = method.statistics == "all" or (method.statistics == "auto" and self.n_features <= FEW)
        names = nb.STATISTICS if is_full else MEAN_ONLY
        key = ("neighborhood table", method.n_hops, names, _digest(projection))
        return graph.cached(key, lambda: inductive_columns(graph, given, n_hops=method.n_hops, statistics=names))

    def table(self, graph: Graph) -> FloatArray:
        """Return all columns of the training graph, (N, d)."""
        method, blocks = self.method, [self.inductive_table(graph)]
        known = self._recognized
        if known is not None and graph.symmetric is known.symmetric:
            graph = known  # what follows depends only on the edges
        if method.n_positions:
            # Positions in different graphs cannot be compared, so a copy without an edge has those of the graph.
            place = known if known is not None and self.recognition == "fixed" else graph
            key = ("positions", method.n_positions)
            blocks.append(place.cached(key, lambda: nb.spectral_positions(place.symmetric, width=method.n_positions)))
        if method.label_shares:
            labels, seed = self.train_labels.cpu().numpy(), int(self.seed)
            shares_key = ("label shares", _digest(labels), self.n_classes, seed)
            compute = lambda: label_columns(graph.symmetric, labels, self.n_classes, seed=seed)  # noqa: E731
            blocks.append(graph.cached(shares_key, compute))
        return np.concatenate(blocks, axis=1)


def _checksum(graph: Graph) -> Tensor:
    """Return the SHA-256 of edges and features, (32,). Weights are not used."""
    graph = graph if graph.weights is None else graph.replace(weights=None)
    return torch.frombuffer(bytearray.fromhex(graph.structure_checksum), dtype=torch.uint8).clone()


def _digest(array: Array) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(array).data).digest()
