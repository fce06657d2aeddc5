"""The results of an explanation, as plain data.

Effects are differences of the log-odds log(p / (1 - p)) of one class: those of the prediction minus those without an
edge, or with other values in a column. A positive effect supports the class.
"""

from dataclasses import asdict, dataclass
from typing import Literal, cast

from heterophily.core.types import Json, JsonObject

Part = Literal["ego", "neighbors", "supplementary"]
PARTS: tuple[Part, ...] = ("ego", "neighbors", "supplementary")


@dataclass(frozen=True)
class GateShare:
    """The mean weight α of one kind of messages in one network, over its layers."""

    model: str
    part: Part
    share: float


@dataclass(frozen=True)
class PartEffect:
    """The effect of all columns of the node, of all of its edges, or of what the model stores about the node."""

    part: Part
    effect: float
    probability: float  # without the part


@dataclass(frozen=True)
class NeighborEffect:
    """The effect of the edges between the node and one neighbor."""

    id: str
    node: int
    effect: float
    probability: float  # without these edges
    label: str | None
    predicted: str


@dataclass(frozen=True)
class ClassEffect:
    """The effect of all neighbors of a class: their label, or their prediction if they have none."""

    name: str
    n_neighbors: int
    effect: float
    probability: float


@dataclass(frozen=True)
class ColumnEffect:
    """The mean effect of the value in one column, compared with the values of other nodes."""

    name: str
    value: str
    effect: float
    standard_error: float | None
    probability: float


@dataclass(frozen=True)
class NodeExplanation:
    """Why a classifier predicts a class for a node.

    Attributes
    ----------
    id, node, graph, model
        The node, its number, and the names of the graph and of the method.
    target, probability
        The explained class, which is the predicted one by default, and its probability.
    predicted, label, probabilities
        The predicted class, the label if it is known, and the probabilities of all classes.
    gates
        Mean weights of ego, neighbors, and supplementary messages, if the method has them.
    parts, neighbor_classes, neighbors, columns
        Effects, those of neighbors and columns with the largest first.
    n_neighbors, n_columns
        Number of neighbors, and of columns with a value other than zero if features are sparse.
    n_evaluations, n_hops
        Number of predictions, and the size of the part of the graph that determines them; None for the full graph.
    notes
        What the effects do not include.
    """

    id: str
    node: int
    graph: str
    model: str
    target: str
    probability: float
    predicted: str
    label: str | None
    probabilities: dict[str, float]
    gates: tuple[GateShare, ...]
    parts: tuple[PartEffect, ...]
    neighbor_classes: tuple[ClassEffect, ...]
    neighbors: tuple[NeighborEffect, ...]
    columns: tuple[ColumnEffect, ...]
    n_neighbors: int
    n_columns: int
    n_evaluations: int
    n_hops: int | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return the explanation as plain data."""
        return to_plain(self)


@dataclass(frozen=True)
class Importance:
    """How much the score decreases if a column is shuffled among the nodes, or if edges are removed or rewired."""

    name: str
    importance: float
    standard_error: float | None  # None for a single measurement


@dataclass(frozen=True)
class ModelExplanation:
    """What the predictions of a classifier depend on.

    Attributes
    ----------
    graph, model
        Names of the graph and of the method.
    scoring, score, nodes, n_nodes
        Scoring, the score on unchanged data, and the nodes that are scored: `test`, `validation`, or `labeled`.
    edges, columns
        Decreases of the score, those of columns with the largest first.
    gates
        Mean weights of ego, neighbors, and supplementary messages over the scored nodes, if the method has them.
    n_columns, n_repeats, n_evaluations
        Number of columns, of repetitions with other random orders, and of evaluations of the model.
    notes
        What the importances do not include.
    """

    graph: str
    model: str
    scoring: str
    score: float
    nodes: str
    n_nodes: int
    edges: tuple[Importance, ...]
    columns: tuple[Importance, ...]
    gates: tuple[GateShare, ...]
    n_columns: int
    n_repeats: int
    n_evaluations: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return the explanation as plain data."""
        return to_plain(self)


def to_plain(explanation: NodeExplanation | ModelExplanation) -> JsonObject:
    """Return the fields as plain data, in which tuples are lists."""
    fields = asdict(explanation).items()
    return {key: list(value) if isinstance(value, tuple) else cast("Json", value) for key, value in fields}
