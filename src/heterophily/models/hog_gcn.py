"""HOG-GCN: neighbors within two hops, weighted by an estimated degree of homophily."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.errors import check_option
from heterophily.core.graph import Features, Graph
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Matrix, Pattern, sddmm, spmm
from heterophily.htmp.algorithms.homophily_degrees import homophily_degrees
from heterophily.htmp.architecture import Architecture, Dropout, Head, ParamGroup
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.guidance import ChannelInput, Guidance, Ones, pattern_of
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Neighborhood, WithSelf, to_default_dtype
from heterophily.htmp.parts import Context, Dense, Sizes, Weights
from heterophily.htmp.state import State, StatePart
from heterophily.htmp.transform import Linear

if TYPE_CHECKING:
    from heterophily.htmp.network import Network

PropagatedLabelSource = Literal["predicted", "train_true"]


@define_method
class HOGGCN(Method):
    """Neighbors within two hops, weighted by an estimated degree of homophily.

    Z = Z W + w G Z W' + b, G = r ⊙ (B ⊙ (μ P Pᵀ + ξ norm1(B ⊙ Θ))), B = (A + I)²
    """

    name, title = "hog-gcn", "HOG-GCN"
    paper = (
        "Wang et al., Powerful graph convolutional networks with adaptive propagation mechanism for "
        "homophily and heterophily, AAAI 2022"
    )

    second_width: Annotated[PositiveInt, "Width of the second layer."] = 256
    attribute_width: Annotated[PositiveInt, "Width of the attribute model."] = 256
    hop_weights: Annotated[Literal["counts", "binary"], "Whether path counts serve as weights."] = "counts"
    propagated_labels: PropagatedLabelSource = "predicted"
    double_update: bool = False
    width: Annotated[PositiveInt, Choice(256, 512)] = 512
    dropout: Annotated[DropoutRate, Choice(0.3, 0.5, 0.7)] = 0.5
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 1e-3)] = 1e-3

    @override
    def architecture(self) -> Architecture:
        homophily = EstimatedHomophily(width=self.attribute_width)
        return Architecture(
            channels=(Ego() * Ones(), PathCounts(2, self.hop_weights) * homophily),
            combine=LearnedAdd(),
            transform=Linear(bias="none", init="uniform_out"),
            head=Head(),
            dropout=Dropout(layer=self.dropout),
            widths=(self.width, self.second_width),
            states=(PropagatedLabels(self.propagated_labels, self.learning_rate),),
            losses=(AttributeLoss(), PropagationLoss()),
            param_groups=(ParamGroup("common.attributes.*", 0.02, step_twice=self.double_update),),
        )

    deviations = (
        Deviation("The reference implementation updates the attribute model twice per epoch.", {"double_update": True}),
        Deviation("Path counts serve as weights, as in the implementations; hop_weights = binary uses the indicator."),
        Deviation(
            "The optimizer of the attribute model is reset after its ten steps. In the implementations "
            "it keeps its moments."
        ),
    )


@dataclass(frozen=True)
class PropagatedLabels(StatePart):
    """Labels that the topology of the last layer propagates, fixed before the first epoch.

    Y_lp = one_hot(argmax P), P the attribute model after a few training steps

    Parameters
    ----------
    labels
        `predicted`, or `train_true` for the true labels of the training nodes.
    learning_rate
        Learning rate of the attribute model before the first epoch.
    n_steps
        Number of training steps of the attribute model.
    weight_decay
        Weight decay of the attribute model before the first epoch.

    Examples
    --------
    >>> PropagatedLabels().n_steps
    10
    """

    labels: PropagatedLabelSource = "predicted"
    learning_rate: float = 0.001
    n_steps: int = 10
    weight_decay: float = 0.02
    full_graph_reason = "its loss propagates labels over the full graph"

    @override
    def create(self, graph: Graph) -> "PropagatedLabelsState":
        return PropagatedLabelsState(self, graph)


class PropagatedLabelsState(State):
    """Y_lp (N, K), constant after initialization."""

    labels: Tensor
    used_in_forward = False

    def __init__(self, part: PropagatedLabels, graph: Graph) -> None:
        super().__init__()
        self.part = part
        self.register_buffer("labels", torch.zeros(graph.n_nodes, graph.n_classes))

    @override
    def initialize(self, network: "Network", graph: Graph, nodes: Tensor, *, block: int | None = None) -> None:
        """Train the attribute model alone and store its predictions."""
        model, part = network.common.attributes, self.part
        assert isinstance(model, AttributeModel)
        parameters, x = model.parameters(), network.input(graph)
        adam = torch.optim.Adam(parameters, lr=part.learning_rate, weight_decay=part.weight_decay)
        for _ in range(part.n_steps):
            adam.zero_grad()
            log_p = model(x)
            F.nll_loss(log_p[nodes], graph.labels[nodes]).backward()
            adam.step()
        classes = log_p.detach().argmax(dim=1)
        if part.labels == "train_true":
            classes[nodes] = graph.labels[nodes]
        self.labels = F.one_hot(classes, graph.n_classes).to(log_p.dtype)
        self.mark_initialized(graph)


@dataclass(frozen=True)
class LearnedAdd(Combine[nn.ParameterDict]):
    """Sum of two messages with a learned weight.

    Z = Z_1 + ω Z_2 + b

    Examples
    --------
    >>> LearnedAdd().symbol
    'WeightedAdd'
    """

    symbol = "WeightedAdd"
    is_linear = True
    arity = (2, 2)

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        spread = size.d_out**-0.5
        return nn.ParameterDict(
            {
                "weight": nn.Parameter(torch.empty(()).uniform_(0.5, 1)),
                "b": nn.Parameter(torch.empty(size.d_out).uniform_(-spread, spread)),
            }
        )

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: nn.ParameterDict, context: Context) -> Tensor:
        return messages[0] + w["weight"] * messages[1] + w["b"]


@dataclass(frozen=True)
class PathCounts(Neighborhood):
    """Nodes within k steps, weighted by the number of paths.

    A_r = (A + I)^k

    Parameters
    ----------
    k
        Number of steps.
    hop_weights
        `counts`, or `binary` for a weight of 1.

    Examples
    --------
    >>> PathCounts(2).symbol
    'A_h2'
    """

    k: int = 2
    hop_weights: str = "counts"

    def __post_init__(self) -> None:
        check_option("hop_weights", self.hop_weights, ("counts", "binary"))

    @property
    @override
    def symbol(self) -> str:
        return f"A_h{self.k}"

    @override
    def adjacency(self, graph: Graph) -> Matrix:
        from heterophily.htmp.algorithms.hops import path_counts

        counts = to_default_dtype(path_counts(graph.symmetric, k=self.k))
        binary = self.hop_weights == "binary"
        return counts.pattern * torch.ones_like(counts.values) if binary else counts


@dataclass(frozen=True)
class EstimatedHomophily(Guidance[nn.ParameterDict]):
    """Homophily degrees, estimated from attributes and a learned topology.

    G = norm1(B ⊙ H), H = μ P Pᵀ + ξ T, T = norm1(B ⊙ Θ)

    Parameters
    ----------
    attribute_weight
        μ, weight of the class probabilities P of a linear attribute model.
    topology_weight
        ξ, weight of the topology T with the learned mask Θ.
    width
        Width of the attribute model.

    Notes
    -----
    B are path counts. P are the class probabilities of the attribute model, which is linear in X
    and shared by all layers. All entries outside of B are zero.

    Examples
    --------
    >>> EstimatedHomophily().symbol
    'B^re'
    """

    attribute_weight: float = 0.4  # μ
    topology_weight: float = 1.0  # ξ
    width: int = 64  # of the attribute model
    weight_per_entry = True
    depends_on = "network"
    full_graph_reason = "it learns a weight for every pair of nodes and divides by sums of full rows"
    symbol = "B^re"
    kind = "RelaEst"

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        return "" if isinstance(neighborhood, PathCounts) else "use it with PathCounts()"

    @override
    def shared_weights(self, size: Sizes) -> dict[str, nn.Module]:
        return {"attributes": AttributeModel(size.n_features, self.width, size.n_classes)}

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        assert size.adjacency_of is not None
        assert size.neighborhood is not None
        within, near = (pattern_of(size.adjacency_of(hood)) for hood in (size.neighborhood, WithSelf()))
        return nn.ParameterDict({"mask": nn.Parameter(_membership(within, near))})

    @override
    def values(self, seen: ChannelInput, w: nn.ParameterDict) -> Tensor:
        assert isinstance(seen.adjacency, Matrix)
        pattern, counts, context = seen.pattern, seen.adjacency.values, seen.context
        if "similarity" not in context.carry:
            log_p = context.shared_weights.attributes(context.x)
            context.add_aux_output("attribute log-probabilities", log_p)
            p = log_p.exp()
            context.carry["similarity"] = sddmm(pattern, p, p)
        relation, topology = homophily_degrees(
            pattern,
            counts,
            w["mask"],
            context.carry["similarity"],
            attribute_weight=self.attribute_weight,
            topology_weight=self.topology_weight,
        )
        context.add_aux_output("topology", (pattern, topology))
        return relation


class AttributeModel(nn.Module):
    """log P = log_softmax((X W_a + b_a) W_b + b_b): classes from features alone."""

    def __init__(self, n_features: int, width: int, n_classes: int) -> None:
        super().__init__()
        self.inner, self.outer = Dense(n_features, width), Dense(width, n_classes)

    def forward(self, x: Features) -> Tensor:
        """Log P, (N, K)."""
        return F.log_softmax(self.outer(self.inner(x)), dim=1)


def _membership(pattern: Pattern, inner: Pattern) -> Tensor:
    n = pattern.n_columns
    codes, stored = (p.rows.long() * n + p.indices.long() for p in (pattern, inner))
    at = torch.searchsorted(stored, codes).clamp_max(len(stored) - 1)
    return (stored[at] == codes).to(torch.get_default_dtype())


@dataclass(frozen=True)
class AttributeLoss(AuxiliaryLoss):
    """Cross-entropy of the attribute model on training nodes.

    mean_i( -log P_i,y_i )

    Examples
    --------
    >>> AttributeLoss().full_graph_reason
    ''
    """

    requires = (EstimatedHomophily,)

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Weights) -> Tensor:
        log_p = context.aux_outputs["attribute log-probabilities"][0]
        assert context.labels is not None
        return F.nll_loss(log_p[nodes], context.labels[nodes])


@dataclass(frozen=True)
class PropagationLoss(AuxiliaryLoss):
    """Cross-entropy of labels that are propagated by the topology of the last layer.

    CE(T Y_lp, y), Y_lp the propagated labels, T the topology

    Examples
    --------
    >>> [kind.__name__ for kind in PropagationLoss().requires]
    ['EstimatedHomophily', 'PropagatedLabels']
    """

    requires = (EstimatedHomophily, PropagatedLabels)

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Weights) -> Tensor:
        pattern, topology = context.aux_outputs["topology"][-1]
        labels = context.state(PropagatedLabelsState).labels
        assert context.labels is not None
        return F.cross_entropy(spmm(pattern * topology, labels)[nodes], context.labels[nodes])
