"""The state of CMGNN: soft labels Ĉ, compatibility matrix M̂, and class prototypes.

The K prototypes are virtual nodes without neighbors, rows N..N+K-1 of every representation. Ĉ and M̂ change
only when validation improves.

The supplementary message of a training node must not be computed from its true label. Otherwise, the network
learns to read the answer from this message alone. Therefore, there are two kinds of soft labels:
`soft_labels` are one-hot for training nodes, and M̂ is estimated from them; `supplementary_labels` weight the
prototypes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.compatibility import degree_weights, estimated_compatibility, norm1
from heterophily.core.errors import HeterophilyError, check_option
from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix
from heterophily.htmp.execution.batch import Batch, full_graph_of, global_node_ids, with_virtual_nodes
from heterophily.htmp.neighborhoods import Neighborhood, Raw, adjacency_of
from heterophily.htmp.parts import Context, GraphLike
from heterophily.htmp.state import State, StatePart

if TYPE_CHECKING:
    from heterophily.htmp.network import Network

SUPPLEMENTARY_LABELS = ("predicted", "masked", "true")


@dataclass(frozen=True)
class CompatibilityEstimate(StatePart):
    """Prototypes, soft labels, and the compatibility matrix, estimated during training.

    M̂ = norm1( norm1((w ⊙ g ⊙ Ĉ)ᵀ) norm1(A (g ⊙ Ĉ)) ), g the confidence of the soft labels Ĉ,
    w a weight of the degree

    Parameters
    ----------
    supplementary_labels
        Labels with which training nodes weight the prototypes: `predicted`; `masked` for the true
        labels, except for nodes that are randomly selected for the loss of a step; or `true`, as
        published.
    prototype_index
        `nodes`, or `positions` to use positions in the list of training nodes as node numbers, as
        in the reference implementation.
    degree_weight
        `three_branches`, or `overwritten` as in the reference implementation of CMGNN.
    pseudo_labels
        Pass whose predictions become soft labels: `evaluation`, or `training` as in the reference
        implementation.
    masked_fraction
        Fraction of training nodes in the loss of a step, if `supplementary_labels` is `masked`.
    neighborhood
        A, the neighborhood whose classes M̂ describes.

    Notes
    -----
    Ĉ contains the true labels of training nodes and the predictions for all other nodes.

    Examples
    --------
    >>> CompatibilityEstimate().supplementary_labels
    'predicted'
    """

    supplementary_labels: str = "predicted"
    prototype_index: str = "nodes"
    degree_weight: str = "three_branches"
    pseudo_labels: Literal["evaluation", "training"] = "evaluation"
    masked_fraction: float = 0.5
    neighborhood: Neighborhood = field(default_factory=Raw)

    adds_virtual_nodes = True

    def __post_init__(self) -> None:
        check_option("supplementary_labels", self.supplementary_labels, SUPPLEMENTARY_LABELS)
        check_option("prototype_index", self.prototype_index, ("nodes", "positions"))
        check_option("degree_weight", self.degree_weight, ("three_branches", "overwritten"))
        check_option("pseudo_labels", self.pseudo_labels, ("evaluation", "training"))
        if not 0 < self.masked_fraction <= 1:
            raise HeterophilyError(f"masked_fraction must be above 0 and at most 1, got {self.masked_fraction}")

    @property
    def full_graph_reason(self) -> str:  # type: ignore[override]
        """Why training needs the full graph; empty if mini-batches work."""
        if self.pseudo_labels != "training":
            return ""
        return "its soft labels come from a training pass over all nodes (pseudo_labels = training)"

    @override
    def create(self, graph: Graph) -> "CompatibilityState":
        return CompatibilityState(self, graph)


class CompatibilityState(State):
    """Prototypes (K, F), two kinds of soft labels (N, K), M̂ (K, K), and the training nodes (N,)."""

    prototypes: Tensor
    soft_labels: Tensor
    supplementary_labels: Tensor
    compatibility: Tensor
    is_train_node: Tensor

    def __init__(self, part: CompatibilityEstimate, graph: Graph) -> None:
        super().__init__()
        self.part, self.n_virtual = part, graph.n_classes
        self.update_from = part.pseudo_labels
        k = graph.n_classes
        uniform = torch.full((graph.n_nodes, k), 1 / k)
        self.register_buffer("prototypes", torch.zeros(k, graph.n_features))
        self.register_buffer("soft_labels", uniform)
        self.register_buffer("supplementary_labels", uniform.clone())
        self.register_buffer("compatibility", torch.full((k, k), 1 / k))
        self.register_buffer("is_train_node", torch.zeros(graph.n_nodes, dtype=torch.bool))
        self._extended: tuple[GraphLike, GraphLike] | None = None  # a graph, and the same with prototypes
        self._adapted: Tensor | None = None  # soft labels of another graph

    @override
    def clear_cache(self) -> None:
        super().clear_cache()
        self._extended = self._adapted = None

    @override
    def initialize(self, network: "Network", graph: Graph, nodes: Tensor, *, block: int | None = None) -> None:
        rule = str(self.part.prototype_index)
        prototypes = (
            prototype_features(network.input(graph), graph, nodes, rule=rule)
            if block is None
            else blockwise_prototypes(network, graph, nodes, rule=rule, block=block)
        )
        self.prototypes = prototypes.to(self.prototypes)
        self.clear_cache()
        self.is_train_node = self.is_train_node.new_zeros(graph.n_nodes)
        self.is_train_node[nodes] = True
        self.mark_initialized(graph)
        self._set_soft_labels(graph, self.soft_labels.new_full((graph.n_nodes, self.n_virtual), 1 / self.n_virtual))

    @override
    def update(self, graph: Graph, logits: Tensor) -> None:
        self._set_soft_labels(graph, logits.detach().softmax(dim=1))

    def _set_soft_labels(self, graph: Graph, soft: Tensor) -> None:
        """Set Ĉ and estimate M̂, on the device of the graph."""
        place, labels = self.compatibility.device, graph.labels
        soft = soft.to(labels.device)
        true = F.one_hot(labels.clamp_min(0), self.n_virtual).to(soft.dtype)
        known = torch.where(self.is_train_node.to(labels.device).unsqueeze(1), true, soft)
        # Isolated nodes have degree 1, as in the reference implementation.
        degrees = graph.degrees.clamp_min(1)
        weights = degree_weights(degrees, self.n_virtual, rule=self.part.degree_weight)
        adjacency = adjacency_of(self.part.neighborhood, graph)
        self.compatibility = estimated_compatibility(adjacency, known, weights).to(place)
        self.soft_labels = known.to(place)
        use_true = self.part.supplementary_labels == "true"
        self.supplementary_labels = self.soft_labels if use_true else soft.to(place)

    @override
    def needs_adaptation(self, graph: GraphLike) -> bool:
        nodes = global_node_ids(graph)
        if not isinstance(graph, Batch) and nodes is not None:  # the subgraph of a loader
            self._check_nodes(nodes)
            return False
        return self._adapted is None and not self.is_training_graph(graph)

    def _check_nodes(self, nodes: Tensor) -> None:
        n_nodes, last = len(self.soft_labels), int(nodes.max())
        if last >= n_nodes:
            raise HeterophilyError(
                f"n_id must contain node numbers of the training graph, which has {n_nodes} nodes, got {last}; "
                "pass a subgraph of the training graph, or a Data without n_id"
            )

    @override
    def adapt(self, graph: GraphLike, predict: Callable[[], Tensor]) -> None:
        place = self.compatibility.device
        n_nodes, k = full_graph_of(graph).n_nodes, self.n_virtual
        self._adapted = torch.full((n_nodes, k), 1 / k, device=place)
        self._adapted = predict().softmax(dim=1).to(place)

    @override
    def end_adaptation(self) -> None:
        self._adapted = None

    @override
    @contextmanager
    def forget(self, nodes: Tensor) -> Iterator[None]:
        stored = self.supplementary_labels
        self.supplementary_labels = stored.index_fill(0, nodes.to(stored.device), 1 / self.n_virtual)
        try:
            yield
        finally:
            self.supplementary_labels = stored

    @override
    def add_virtual_nodes(self, graph: GraphLike, features: Callable[[], Features]) -> GraphLike:
        labels = torch.arange(self.n_virtual, device=graph.labels.device)
        if isinstance(graph, Batch):
            return with_virtual_nodes(graph, features, self.prototypes, labels)
        if self._extended is None or self._extended[0] is not graph:
            self._extended = graph, with_virtual_nodes(graph, features, self.prototypes, labels)
        return self._extended[1]

    @override
    def prepare(self, context: Context) -> None:
        graph = context.graph
        is_part = isinstance(graph, Batch) or getattr(graph, "n_id", None) is not None
        nodes = global_node_ids(graph) if is_part else None
        masked = self.sample_masked_nodes(nodes) if context.training else None
        weights = self.prototype_weights(masked, nodes)
        context.carry |= {"masked": masked, "prototype_weights": weights}

    def prototype_weights(self, masked: Tensor | None = None, nodes: Tensor | None = None) -> Tensor:
        """Return norm1([Ĉ; I] M̂), (N + K, K), or the rows of some nodes.

        If there are masked nodes, the other training nodes use their true labels.
        """
        labels = self.supplementary_labels if self._adapted is None else self._adapted
        labels = labels if nodes is None else labels[nodes]
        if masked is not None:
            is_train, known = self.is_train_node, self.soft_labels
            if nodes is not None:
                is_train, known = is_train[nodes], known[nodes]
            labels = torch.where((is_train & ~masked).unsqueeze(1), known, labels)
        one_hot = torch.eye(self.n_virtual, dtype=labels.dtype, device=labels.device)
        return norm1(torch.cat([labels, one_hot]) @ self.compatibility)

    def sample_masked_nodes(self, nodes: Tensor | None = None) -> Tensor | None:
        """Return a random mask of the training nodes that the loss uses in this step, or None for all."""
        if self.part.supplementary_labels != "masked":
            return None
        is_train = self.is_train_node if nodes is None else self.is_train_node[nodes]
        sampled = torch.rand(len(is_train), device=is_train.device)
        return is_train & (sampled < self.part.masked_fraction)

    @override
    def loss_nodes(self, context: Context, nodes: Tensor) -> Tensor:
        masked, n = context.carry["masked"], len(context.graph.labels)
        used = nodes if masked is None else nodes[masked[nodes]]
        return torch.cat([used, torch.arange(n - self.n_virtual, n, device=nodes.device)])

    @override
    def summary(self) -> dict[str, Tensor]:
        return {"compatibility": self.compatibility}


def prototype_features(x: Features, graph: Graph, nodes: Tensor, *, rule: str) -> Tensor:
    """Return X_ptt, the mean features of the training nodes of each class, (K, F); zero without any.

    The rule `positions` uses the positions of a class in the list of training nodes as node numbers, as the
    reference implementation does by mistake.
    """
    members, classes = prototype_members(graph, nodes, rule=rule)
    values = x.values if isinstance(x, Matrix) else x
    member = values.new_zeros(graph.n_classes, graph.n_nodes)
    member[classes, members] = 1
    rows = norm1(member)
    return (x.T @ rows.T).T.contiguous() if isinstance(x, Matrix) else rows @ x


def blockwise_prototypes(network: "Network", graph: Graph, nodes: Tensor, *, rule: str, block: int) -> Tensor:
    """Return X_ptt, computed from at most `block` rows of X at a time, in double precision."""
    members, classes = prototype_members(graph, nodes, rule=rule)
    sums = torch.zeros(graph.n_classes, graph.n_features, dtype=torch.double)
    counts = torch.bincount(classes, minlength=graph.n_classes)
    for some, of in zip(members.split(block), classes.split(block), strict=True):
        sums += class_sums(network.input(Batch(graph, some, {})), of, len(sums))
    return sums / counts.clamp_min(1).unsqueeze(1)


def class_sums(x: Features, classes: Tensor, n_classes: int) -> Tensor:
    """Return the sum of the rows of each class, (K, F), in double precision."""
    member = F.one_hot(classes, n_classes).double()  # (n, K)
    if isinstance(x, Matrix):
        return ((x.pattern * x.values.double()).T @ member).T
    return member.T @ x.double()


def prototype_members(graph: Graph, nodes: Tensor, *, rule: str) -> tuple[Tensor, Tensor]:
    """Return the nodes whose features are averaged, and their classes."""
    classes, k = graph.labels[nodes], graph.n_classes
    if rule == "nodes":
        return nodes, classes
    members = torch.arange(len(nodes) + k, device=nodes.device)
    classes = torch.cat([classes, torch.arange(k, device=nodes.device)])
    inside = members < graph.n_nodes
    return members[inside], classes[inside]
