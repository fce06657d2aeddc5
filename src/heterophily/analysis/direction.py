"""Whether the direction of edges carries information about classes.

Undirected message passing mixes incoming and outgoing edges. The classes of both kinds of neighbors are compared with
those of the symmetrized graph: as compatibility matrices, and by how often they predict the class of a node.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from heterophily.core.compatibility import cmd, correct_predictions, directed_compatibility
from heterophily.core.graph import Graph
from heterophily.core.types import FloatArray, JsonObject

MIN_ADVANTAGE = 0.01  # in accuracy over the symmetrized graph, for direction to be worth a comparison
STANDARD_ERRORS = 2.0  # by which the advantage must exceed 0


@dataclass(frozen=True)
class DirectionReport:
    """Result of `measure_direction`: what incoming and outgoing edges reveal about the class of a node.

    Attributes
    ----------
    one_sided
        Fraction of the connected pairs of nodes with an edge in one direction only.
    is_sorted
        Whether all edges start at the node with the smaller number, or all at the one with the larger number. Then an
        undirected graph was probably stored with one entry per edge, and the direction has no meaning.
    incoming, outgoing
        Compatibility matrices of incoming and of outgoing edges, (K, K).
    cmd_incoming, cmd_outgoing
        Their CMD, the mean distance between two rows.
    accuracy
        How often the classes of neighbors predict the class of a node, for each value of the setting `direction`.
    advantage, standard_error
        Accuracy of the best direction minus that of the symmetrized graph, and its standard error over nodes.

    Examples
    --------
    >>> from heterophily import Graph
    >>> edges = [(i, (i + 1) % 40) for i in range(40)]
    >>> report = measure_direction(Graph.from_edges(edges, labels=[i % 4 for i in range(40)]))
    >>> report.carries_information, report.accuracy["both"]
    (True, 1.0)
    """

    one_sided: float
    is_sorted: bool
    incoming: FloatArray
    outgoing: FloatArray
    cmd_incoming: float
    cmd_outgoing: float
    accuracy: Mapping[str, float]
    advantage: float
    standard_error: float

    @property
    def best(self) -> str:
        """The direction with the highest accuracy: `in`, `out`, or `both`."""
        return max((name for name in self.accuracy if name != "symmetric"), key=self.accuracy.__getitem__)

    @property
    def carries_information(self) -> bool:
        """Whether edges have a direction that predicts classes better than the symmetrized graph, beyond chance."""
        return not self.is_sorted and self.advantage >= max(MIN_ADVANTAGE, STANDARD_ERRORS * self.standard_error)

    @property
    def sentence(self) -> str:
        """The result in plain language."""
        if self.is_sorted:
            return (
                "All edges are sorted by node number, so the graph is probably undirected with one entry per edge. "
                "Keep direction = symmetric."
            )
        compared = (
            f"with direction = {self.best}, neighbors predict the class of a node in {self.accuracy[self.best]:.0%} of "
            f"cases, and in {self.accuracy['symmetric']:.0%} without direction"
        )
        if self.carries_information:
            return (
                f"The direction of edges carries information: {compared}. Compare direction = {self.best}, or dir-sage."
            )
        return f"The direction of edges adds little: {compared}. Keep direction = symmetric."

    def to_dict(self) -> JsonObject:
        """Return all measurements as plain data."""
        return {
            **vars(self),
            "incoming": self.incoming.tolist(),
            "outgoing": self.outgoing.tolist(),
            "accuracy": dict(self.accuracy),
            "best": self.best,
            "carries_information": self.carries_information,
            "sentence": self.sentence,
        }


def measure_direction(graph: Graph) -> DirectionReport | None:
    """Compare incoming and outgoing edges with the symmetrized graph; None if every edge is in both directions."""
    out, labels, k = graph.adjacency.without_diagonal(), graph.labels, graph.n_classes
    if graph.symmetric.n_entries == out.n_entries:
        return None
    incoming, outgoing = directed_compatibility(graph.adjacency, labels, k)
    kinds = {"symmetric": [graph.symmetric], "in": [out.T], "out": [out], "both": [out.T, out]}
    correct = {name: correct_predictions(each, labels, k).double() for name, each in kinds.items()}
    accuracy = {name: float(each.mean()) for name, each in correct.items()}
    best = max(("in", "out", "both"), key=accuracy.__getitem__)
    gain = correct[best] - correct["symmetric"]
    pairs = graph.symmetric.n_entries // 2
    return DirectionReport(
        is_sorted=bool((out.rows < out.indices).all() or (out.rows > out.indices).all()),
        one_sided=(graph.symmetric.n_entries - out.n_entries) / pairs,
        incoming=incoming.numpy(),
        outgoing=outgoing.numpy(),
        cmd_incoming=cmd(incoming),
        cmd_outgoing=cmd(outgoing),
        accuracy=accuracy,
        advantage=float(gain.mean()),
        standard_error=float(gain.std() / len(gain) ** 0.5),
    )
