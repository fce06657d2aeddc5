"""HOG-GCN: neighbors within two hops, weighted by an estimated degree of homophily."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.graph import Graph
from heterophily.core.spaces import Choice
from heterophily.core.sparse import spmm
from heterophily.htmp.architecture import Architecture, Dropout, Head, ParamGroup
from heterophily.htmp.combine import LearnedAdd
from heterophily.htmp.guidance import Ones
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import (
    Deviation,
    DropoutRate,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import Ego, PathCounts
from heterophily.htmp.part import Context
from heterophily.htmp.relations import AttributeModel, EstimatedHomophily
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
    hop_weights: Annotated[Literal["counts", "binary"], "Whether path counts serve as weights."] = (
        "counts"
    )
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
        Deviation(
            "The reference implementation updates the attribute model twice per epoch.",
            {"double_update": True},
        ),
        Deviation(
            "Path counts serve as weights, as in the implementations; hop_weights = binary uses the "
            "indicator."
        ),
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
    def initialize(
        self, network: "Network", graph: Graph, nodes: Tensor, *, block: int | None = None
    ) -> None:
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
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: object) -> Tensor:
        log_p = context.aux_outputs["attribute log-probabilities"][0]
        return F.nll_loss(log_p[nodes], context.graph.labels[nodes])


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
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: object) -> Tensor:
        pattern, topology = context.aux_outputs["topology"][-1]
        labels = context.state(PropagatedLabelsState).labels
        propagated = spmm(pattern * topology, labels)
        return F.cross_entropy(propagated[nodes], context.graph.labels[nodes])
