"""Nodes to look at: a typical, a low-degree, and a wrongly predicted node with their neighbors, and uncertain nodes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heterophily.core.chart import Axis, Chart, Mark, Table
from heterophily.core.compatibility import observed_compatibility
from heterophily.core.graph import Graph
from heterophily.core.types import FloatArray, IntArray
from heterophily.training.estimator import NodeClassifier
from heterophily.training.explain import id_of
from heterophily.views.explain import percent
from heterophily.views.neighborhood import LIMIT_Y, MAX_NEIGHBORS, class_marks, node_label, node_places, other_edges

MAX_CANDIDATES = 2_000
TYPICAL_DEGREES = (3, MAX_NEIGHBORS)  # a picture of them is complete and shows more than one or two neighbors
N_UNCERTAIN = 12
LIMIT_X, FLAT = 1.75, 0.4  # FLAT: half the height of a picture of up to two neighbors, which are in one line
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Predictions:
    """Classes and probabilities of all nodes, or only labels."""

    names: Sequence[str]
    labels: IntArray  # (N,), -1 if unknown
    predicted: IntArray | None = None  # (N,)
    probabilities: FloatArray | None = None  # (N, K)
    threshold: float | None = None  # of the probability of one of two classes
    positive: int = 1  # the class of the threshold

    @classmethod
    def of(cls, fitted: NodeClassifier, graph: Graph) -> "Predictions":
        """Return the predictions of a fitted classifier for the graph of `fit`."""
        probabilities = fitted.predict_proba()
        predicted, threshold = fitted.decide(probabilities), fitted.threshold_
        positive = 1 if threshold is None else fitted.decision_.positive
        return cls(fitted.class_names_, graph.labels.numpy(), predicted, probabilities, threshold, positive)

    def shown(self, node: int) -> str:
        """Return the label of a node, or its prediction if it has none."""
        if self.labels[node] >= 0:
            return self.names[self.labels[node]]
        return UNKNOWN if self.predicted is None else self.names[self.predicted[node]]

    def wrong(self, nodes: IntArray) -> IntArray:
        """Return the labeled nodes with another prediction, the most confident one first."""
        if self.predicted is None or self.probabilities is None:
            return nodes[:0]
        found = nodes[(self.labels[nodes] >= 0) & (self.predicted[nodes] != self.labels[nodes])]
        return found[np.argsort(-self.probabilities[found, self.predicted[found]], kind="stable")]

    def sentence(self, node: int) -> str:
        """Return the label and the prediction of a node."""
        label = f"Label {self.names[self.labels[node]]}" if self.labels[node] >= 0 else "No label"
        if self.predicted is None or self.probabilities is None:
            return label
        number = self.predicted[node]
        return f"{label}, predicted {self.names[number]} ({percent(float(self.probabilities[node, number]))})"


def example_charts(graph: Graph, known: Predictions, nodes: IntArray) -> list[Chart]:
    """Return the neighborhoods of up to three of the given nodes."""
    labeled = nodes[known.labels[nodes] >= 0]
    found = {
        "typical node": _typical(graph, known, labeled),
        "node with few neighbors": _low_degree(graph, nodes),
        "confident wrong prediction": _wrong(graph, known, labeled),
    }
    picked = {name: node for name, node in found.items() if node is not None}
    return [_picture(graph, known, node, f"A {name}: {id_of(node, graph)}") for name, node in picked.items()]


def _typical(graph: Graph, known: Predictions, nodes: IntArray) -> int | None:
    """Return the node whose neighbors have classes in the proportions that are the most similar to those of its class.

    If there are predictions, only correct ones are candidates.
    """
    degrees, (low, high) = graph.degrees.numpy(), TYPICAL_DEGREES
    fine = nodes if known.predicted is None else nodes[known.predicted[nodes] == known.labels[nodes]]
    fine = fine[(degrees[fine] >= low) & (degrees[fine] <= high)][:MAX_CANDIDATES]
    if not len(fine):
        return None
    matrix = observed_compatibility(graph.symmetric, graph.labels, len(known.names)).numpy()
    distances = [np.abs(_shares(graph, known, node) - matrix[known.labels[node]]).sum() for node in fine.tolist()]
    return int(fine[int(np.argmin(distances))])


def _shares(graph: Graph, known: Predictions, node: int) -> FloatArray:
    labels = known.labels[_neighbors(graph, node)]
    counts = np.bincount(labels[labels >= 0], minlength=len(known.names))
    return counts / max(1, counts.sum())


def _low_degree(graph: Graph, nodes: IntArray) -> int | None:
    """Return the node with the fewest neighbors, at least one."""
    degrees = graph.degrees.numpy()[nodes]
    connected = nodes[degrees > 0]
    return int(connected[np.argmin(degrees[degrees > 0])]) if len(connected) else None


def _wrong(graph: Graph, known: Predictions, nodes: IntArray) -> int | None:
    """Return the most confident wrong prediction, if possible of a node whose neighbors fit into the picture."""
    wrong = known.wrong(nodes)
    degrees = graph.degrees.numpy()[wrong]
    small = wrong[(degrees > 0) & (degrees <= MAX_NEIGHBORS)]
    best = small if len(small) else wrong
    return int(best[0]) if len(best) else None


def _neighbors(graph: Graph, node: int) -> list[int]:
    pattern = graph.symmetric
    start, end = (int(each) for each in pattern.indptr[node : node + 2])
    return [other for other in pattern.indices[start:end].tolist() if other != node]


def _picture(graph: Graph, known: Predictions, node: int, title: str) -> Chart:
    everyone = _neighbors(graph, node)
    classes = {other: known.shown(other) for other in everyone}
    shown = sorted(everyone[:MAX_NEIGHBORS], key=lambda other: (classes[other], other))
    flat = len(shown) <= 2
    places = {o: (-1.0 if i else 1.0, 0.0) for i, o in enumerate(shown)} if flat else node_places(shown)
    limit = FLAT if flat else LIMIT_Y
    edges = [Mark("line", [0.0, x], [0.0, y], color="quiet", points=False, width=1.2) for x, y in places.values()]
    marked = {other: classes[other] for other in shown} | {node: known.shown(node)}
    return Chart(
        title,
        [
            *other_edges(graph, places),
            *edges,
            *class_marks(node, places, marked, known.names),
            *(node_label(id_of(other, graph), places[other]) for other in shown),
        ],
        Axis(limits=(-LIMIT_X, LIMIT_X), visible=False),
        Axis(limits=(-limit, limit), visible=False),
        caption=f"{known.sentence(node)}. {_count(classes)}{_omitted(len(everyone))}",
        height=3.3 * limit / LIMIT_Y,
        numbers=Table(["neighbor", "class"], [[id_of(other, graph), classes[other]] for other in shown]),
    )


def _count(classes: dict[int, str]) -> str:
    """Return how many neighbors have which class, most frequent first."""
    counts = Counter(classes.values()).most_common()
    listed = [f"{n} of class {name}" if name != UNKNOWN else f"{n} without a label" for name, n in counts[:3]]
    rest = sum(n for _, n in counts[3:])
    listed += [f"{rest} of others"] if rest else []
    total = len(classes)
    return f"{total:,} neighbor{'' if total == 1 else 's'}: {', '.join(listed)}."


def _omitted(count: int) -> str:
    return f" The picture shows {MAX_NEIGHBORS} of them." if count > MAX_NEIGHBORS else ""


def uncertain_nodes(graph: Graph, known: Predictions, nodes: IntArray) -> tuple[str, list[list[str]]]:
    """Return a sentence and a table, with a head, of the nodes whose two most probable classes are the closest.

    These are nodes without a label if there are any, and else the given nodes. With a threshold, they are the nodes
    whose probability is the closest to it.
    """
    assert known.probabilities is not None
    unlabeled = np.flatnonzero(known.labels < 0)
    pool, kind = (unlabeled, "nodes without a label") if len(unlabeled) else (nodes, "held-out nodes")
    margins, head, closeness = _margins(known, known.probabilities[pool])
    chosen = pool[np.argsort(margins, kind="stable")[:N_UNCERTAIN]]
    rows = [[id_of(n, graph), *_odds(known, n), f"{int(graph.degrees[n]):,}"] for n in chosen.tolist()]
    if not len(unlabeled):
        head.append("label")
        rows = [[*row, known.shown(node)] for row, node in zip(rows, chosen.tolist(), strict=True)]
    sentence = f"The {len(rows)} of {len(pool):,} {kind} whose {closeness}."
    if known.threshold is None:
        close = f"{(margins < 0.1).sum():,}" if (margins < 0.1).any() else "none"
        sentence += f" For {close} of the {len(pool):,}, they differ by less than 10 percentage points."
    return sentence, [["node", *head], *rows]


def _margins(known: Predictions, probabilities: FloatArray) -> tuple[FloatArray, list[str], str]:
    """Return how far each node is from another prediction, the names of columns, and the meaning of `close`."""
    if known.threshold is None:
        two = -np.sort(-probabilities, axis=1)[:, :2]
        closeness = "two most probable classes are the closest"
        return two[:, 0] - two[:, 1], ["most probable", "second", "neighbors"], closeness
    name, margins = known.names[known.positive], np.abs(probabilities[:, known.positive] - known.threshold)
    closeness = f"probability of {name} is the closest to the threshold of {percent(known.threshold)}"
    return margins, ["predicted", f"probability of {name}", "neighbors"], closeness


def _odds(known: Predictions, node: int) -> list[str]:
    """Return the two most probable classes of a node, or with a threshold its prediction and probability."""
    assert known.probabilities is not None
    assert known.predicted is not None
    p = known.probabilities[node]
    if known.threshold is None:
        return [f"{known.names[k]} {percent(float(p[k]))}" for k in np.argsort(-p)[:2].tolist()]
    return [known.names[known.predicted[node]], percent(float(p[known.positive]))]
