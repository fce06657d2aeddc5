"""What CMGNN believes about a graph while it learns: soft labels Ĉ, compatibility M̂ and prototypes.

The K class prototypes are extra nodes without neighbors: rows N..N+K-1 of every state. Ĉ and M̂ are state, not
parameters: they change only when validation improves, have no gradient and are saved with the weights.

A training node's supplementary message must not be built from its own true label, or the network learns to
read the answer there and nowhere else. So two kinds of soft labels are kept: `known`, one-hot on training
nodes, from which M̂ is estimated, and `heard`, with which a node weighs the prototypes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.core.compatibility import degree_weights, estimated_compatibility, norm1
from heterophily.core.errors import HeterophilyError, check_option
from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.execution.batch import Batch
from heterophily.htmp.guidance import ChannelInput, Guidance
from heterophily.htmp.neighborhoods import Neighborhood

SUPPLEMENTARY_LABELS = ("predicted", "masked", "true")


@dataclass(frozen=True)
class Prototypes(Neighborhood):
    """A_sup = 1 (N, K): every node hears the prototype of every class."""

    symbol = "A_sup"
    sampled = False

    def check_guidance(self, guidance: Guidance) -> str:
        """Prototypes are not nodes: only their own guidance has a column for each."""
        if isinstance(guidance, CompatibilityWeights):
            return ""
        return "prototypes have no edges to average over; use Prototypes() * CompatibilityWeights()"

    def adjacency(self, graph: Graph) -> Pattern:
        """Unused: the operator is dense, N × K."""
        return graph.adjacency


@dataclass(frozen=True)
class CompatibilityWeights(Guidance):
    """B_sup = norm1(Ĉ M̂) (N, K): the neighborhood that a node of these classes should have had."""

    depends_on = "network"
    symbol = "B_sup"
    kind = "RelaEst"

    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        """It has one column per prototype."""
        if isinstance(neighborhood, Prototypes):
            return ""
        return "CompatibilityWeights has one column per class; use Prototypes()"

    def operator(self, seen: ChannelInput, w: Any) -> Tensor:
        """B_sup, for nodes and prototypes."""
        desired: Tensor = seen.context.carry["desired"]
        return desired


@dataclass(frozen=True)
class CompatibilityEstimate:
    """How prototypes, soft labels and the compatibility matrix are made.

    `supplementary_labels` is what a training node weighs the prototypes with: its `predicted` soft label;
    or `masked`, its true label except in the steps in which the loss asks for it, drawn at random for a
    share of the nodes; or always its `true` label, as published.
    """

    supplementary_labels: str = "predicted"
    prototype_index: str = "nodes"
    degree_weight: str = "three_branches"
    pseudo_labels: str = "evaluation"
    masked_fraction: float = 0.5

    @property
    def full_graph_reason(self) -> str:
        """Why batches are wrong: they are no training pass over all nodes."""
        if self.pseudo_labels != "training":
            return ""
        return "it believes what a training pass over all nodes predicts (pseudo_labels = training)"

    def __post_init__(self) -> None:
        check_option("supplementary_labels", self.supplementary_labels, SUPPLEMENTARY_LABELS)
        check_option("prototype_index", self.prototype_index, ("nodes", "positions"))
        check_option("degree_weight", self.degree_weight, ("three_branches", "overwritten"))
        check_option("pseudo_labels", self.pseudo_labels, ("evaluation", "training"))
        if not 0 < self.masked_fraction <= 1:
            raise HeterophilyError(
                f"masked_fraction must be above 0 and at most 1, got {self.masked_fraction}"
            )


CompatibilityWeights.requires = (CompatibilityEstimate,)


class CompatibilityState(nn.Module):
    """The state of a belief: prototypes (K, F), Ĉ twice (N, K), M̂ (K, K) and the training nodes."""

    prototypes: Tensor
    known: Tensor
    heard: Tensor
    compatibility: Tensor
    trained: Tensor

    def __init__(self, belief: CompatibilityEstimate, graph: Graph) -> None:
        super().__init__()
        self.belief, k = belief, graph.n_classes
        uniform = torch.full((graph.n_nodes, k), 1 / k)
        self.register_buffer("prototypes", torch.zeros(k, graph.n_features))
        self.register_buffer("known", uniform)
        self.register_buffer("heard", uniform.clone())
        self.register_buffer("compatibility", torch.full((k, k), 1 / k))
        self.register_buffer("trained", torch.zeros(graph.n_nodes, dtype=torch.bool))
        self._extended: tuple[Graph, Graph] | None = None
        self.register_load_state_dict_post_hook(CompatibilityState.forget)

    def forget(self, *_: Any) -> None:
        """Let go of the graph with prototypes, since others may have come."""
        self._extended = None

    def begin(self, graph: Graph, x: Features, nodes: Tensor) -> None:
        """Prototypes from the training nodes, uniform soft labels elsewhere, and the first M̂."""
        rule = str(self.belief.prototype_index)
        self.start(graph, prototype_features(x, graph, nodes, rule=rule), nodes)

    def start(self, graph: Graph, prototypes: Tensor, nodes: Tensor) -> None:
        """The same with given prototypes."""
        self.prototypes = prototypes
        self.forget()
        self.trained = torch.zeros_like(self.trained)
        self.trained[nodes] = True
        self.believe(graph, torch.full_like(self.known, 1 / graph.n_classes))

    def believe(self, graph: Graph, soft: Tensor) -> None:
        """Take new soft labels of all nodes and estimate M̂ anew."""
        truth = F.one_hot(graph.labels.clamp_min(0), graph.n_classes).to(soft.dtype)
        known = torch.where(self.trained.unsqueeze(1), truth, soft)
        self.known = known
        self.heard = known if self.belief.supplementary_labels == "true" else soft
        # Isolated nodes count one neighbor, as in the published program.
        degrees = graph.degrees.clamp_min(1)
        weights = degree_weights(degrees, graph.n_classes, rule=self.belief.degree_weight)
        self.compatibility = estimated_compatibility(graph.symmetric, known, weights)

    def desired(self, hidden: Tensor | None = None, nodes: Tensor | None = None) -> Tensor:
        """B_sup = norm1([Ĉ; I] M̂), (N+K, K); with `hidden`, other training nodes show their label.

        With `nodes`, the rows of these nodes only, of which `hidden` speaks then.
        """
        labels = self.heard if nodes is None else self.heard[nodes]
        if hidden is not None:
            trained, known = self.trained, self.known
            if nodes is not None:
                trained, known = trained[nodes], known[nodes]
            labels = torch.where((trained & ~hidden).unsqueeze(1), known, labels)
        one_hot = torch.eye(labels.shape[1], dtype=labels.dtype, device=labels.device)
        return norm1(torch.cat([labels, one_hot]) @ self.compatibility)

    @contextmanager
    def visiting(self, soft: Tensor) -> Iterator[None]:
        """For a while, let the nodes of another graph weigh the prototypes with these soft labels."""
        kept, self.heard = self.heard, soft
        try:
            yield
        finally:
            self.heard = kept

    def hide(self, nodes: Tensor | None = None) -> Tensor | None:
        """The training nodes that are asked in this step, drawn anew, or None if all are."""
        if self.belief.supplementary_labels != "masked":
            return None
        trained = self.trained if nodes is None else self.trained[nodes]
        drawn = torch.rand(len(trained), device=trained.device)
        return trained & (drawn < self.belief.masked_fraction)

    def extended(self, graph: Graph, x: Callable[[], Features]) -> Graph:
        """The graph with the prototypes as K more nodes, kept while the same graph comes again."""
        if isinstance(graph, Batch):
            return graph.extended(lambda: stacked(x(), self.prototypes), len(self.prototypes))
        if self._extended is None or self._extended[0] is not graph:
            self._extended = graph, with_prototypes(graph, x(), self.prototypes)
        return self._extended[1]


def prototype_features(x: Features, graph: Graph, nodes: Tensor, *, rule: str) -> Tensor:
    """X_ptt: the mean features of the training nodes of each class, (K, F); zero without any.

    `positions` takes the places of a class in the list of training nodes for node numbers, as the published
    program does by mistake: means of arbitrary nodes.
    """
    members, classes = prototype_members(graph, nodes, rule=rule)
    values = x.values if isinstance(x, Matrix) else x
    member = values.new_zeros(graph.n_classes, graph.n_nodes)
    member[classes, members] = 1
    rows = norm1(member)
    return (x.T @ rows.T).T.contiguous() if isinstance(x, Matrix) else rows @ x


def prototype_members(graph: Graph, nodes: Tensor, *, rule: str) -> tuple[Tensor, Tensor]:
    """The nodes whose features are averaged, and of which class they count."""
    classes, k = graph.labels[nodes], graph.n_classes
    if rule == "nodes":
        return nodes, classes
    members = torch.arange(len(nodes) + k, device=nodes.device)
    classes = torch.cat([classes, torch.arange(k, device=nodes.device)])
    inside = members < graph.n_nodes
    return members[inside], classes[inside]


def with_prototypes(graph: Graph, x: Features, prototypes: Tensor) -> Graph:
    """The symmetrised graph and its prototypes, which have no neighbors and the label of their class."""
    n, k, edges = graph.n_nodes, graph.n_classes, graph.symmetric
    tail = edges.indptr[-1:].expand(k)
    pattern = Pattern(torch.cat([edges.indptr, tail]), edges.indices, n + k)
    labels = torch.cat([graph.labels, torch.arange(k, device=graph.labels.device)])
    return Graph(pattern, stacked(x, prototypes), labels, k, name=graph.name)


def stacked(x: Features, rows: Tensor) -> Features:
    """[X; rows], sparse if X is."""
    if not isinstance(x, Matrix):
        return torch.cat([x, rows.to(x.dtype)])
    at = rows.nonzero(as_tuple=True)
    extra = Pattern.from_edges(*at, shape=(len(rows), rows.shape[1])).to(rows.device)
    indptr = torch.cat([x.pattern.indptr, extra.indptr[1:] + x.pattern.indptr[-1]])
    indices = torch.cat([x.pattern.indices, extra.indices])
    both = Pattern(indptr, indices, x.pattern.n_columns)
    return both * torch.cat([x.values, rows[at].to(x.values.dtype)])
