"""Measurements of a graph, and the methods that they suggest.

According to the paper, message passing works under heterophily if the compatibility matrix is discriminable "enough
(depends on data)". Cross-validated probes measure whether it is: see `probes` and `verdict`.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

from heterophily.analysis.alarms import diagnosis_alarms
from heterophily.analysis.audit import Audit, audit_graph
from heterophily.analysis.direction import DirectionReport, measure_direction
from heterophily.analysis.probes import MAX_PROBED_NODES, Probes, measure_probes
from heterophily.analysis.verdict import NOT_ENOUGH, Verdict, decide
from heterophily.core.chart import Chart, matrix_chart
from heterophily.core.compatibility import (
    cmd,
    discriminability,
    edge_compatibility,
    neighborhood_accuracy,
    neighborhood_overlap,
    observed_compatibility,
    similarity,
)
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, check_graph_type
from heterophily.core.homophily import Homophily, measure_homophily
from heterophily.core.sparse import Matrix
from heterophily.core.types import FloatArray, JsonObject

MAX_SAMPLED_NODES = 4_000  # labeled nodes for estimating the accuracy of features


@dataclass(frozen=True)
class Diagnosis:
    """Result of `diagnose`: measurements of a graph on its labeled nodes.

    Attributes
    ----------
    n_edges, n_edges_symmetric
        Number of distinct directed edges as stored, including self-loops, and number of entries of
        the symmetrized graph, which has each edge twice.
    degrees
        Mean, minimum, quartiles, and maximum of the degrees in the symmetrized graph.
    homophily, homophily_symmetric
        Homophily over the edges as stored and over those of the symmetrized graph.
    compatibility
        Observed compatibility matrix of the symmetrized graph, shape (K, K).
    overlap
        Overlap of the semantic neighborhoods of two classes, shape (K, K).
    discriminability
        How much the rows of the compatibility matrix differ, between 0 and 1.
    cmd, cmd_of_edges
        Mean L1 distance between different rows, between 0 and 2, of the compatibility matrix and of the matrix of
        edge counts, in which a node with many neighbors has more weight.
    closest_classes
        The two classes with the most similar rows.
    neighborhood_accuracy, feature_accuracy, largest_class
        How often the classes of its neighbors, a linear classifier of its features, and guessing
        the largest class predict the class of a node. `feature_accuracy` is None without features.
    probes
        Cross-validated scores of cheap classifiers with and without the edges; None with too few labels.
    decision
        Whether edges help, how sure this is, the reason, and methods to try.
    direction
        Whether the direction of edges carries information; None if every edge is in both directions.
    alarms
        Sentences about missing information: too few labels, no edges, or no features.

    Examples
    --------
    >>> from heterophily import diagnose, load
    >>> diagnosis = diagnose(load("digits"))
    >>> diagnosis.kind
    'helpful heterophily'
    >>> diagnosis.confidence
    'high'
    >>> diagnosis.compatibility.shape
    (10, 10)
    """

    name: str
    n_nodes: int
    n_edges: int
    n_edges_symmetric: int
    n_features: int
    n_classes: int
    n_labeled: int
    class_names: tuple[str, ...]
    degrees: Mapping[str, float]
    homophily: Homophily
    homophily_symmetric: Homophily
    compatibility: FloatArray
    overlap: FloatArray
    discriminability: float
    cmd: float
    cmd_of_edges: float
    closest_classes: tuple[str, str]
    neighborhood_accuracy: float
    feature_accuracy: float | None
    largest_class: float
    audit: Audit
    probes: Probes | None
    decision: Verdict
    direction: DirectionReport | None
    alarms: tuple[str, ...]

    @cached_property
    def mean_overlap(self) -> float:
        """Mean overlap of the semantic neighborhoods of two different classes."""
        k = self.n_classes
        return float((self.overlap.sum() - np.trace(self.overlap)) / (k * (k - 1)))

    @property
    def kind(self) -> str:
        """The kind of the graph: see `heterophily.analysis.verdict.Verdict`."""
        return self.decision.kind

    @property
    def confidence(self) -> str:
        """How sure the verdict is: `high`, `moderate`, or `low`."""
        return self.decision.confidence

    @property
    def verdict(self) -> str:
        """The kind of the graph, the reason, and which methods to try, in plain language."""
        sentences = [f"{self.headline}. {self.decision.reason}", self.decision.advice]
        share = self.homophily_symmetric.edge
        if math.isfinite(share):
            sentences.append(f"{share:.0%} of the edges connect nodes of the same class.")
        if self.n_labeled < self.n_nodes:
            sentences.append(
                f"All numbers are measured on the {self.n_labeled:,} labeled nodes of {self.n_nodes:,} and the edges "
                "between them."
            )
        if self.direction is not None and self.direction.carries_information:
            sentences.append(self.direction.sentence)
        return " ".join(sentences)

    @property
    def headline(self) -> str:
        """The kind of the graph and how sure this is, in a few words."""
        known = self.confidence_text
        return f"{self.kind.capitalize()} ({known})" if known else self.kind.capitalize()

    @property
    def confidence_text(self) -> str:
        """How sure the verdict is, in words; empty without a decision."""
        return "" if self.kind == NOT_ENOUGH else f"{self.confidence} confidence"

    def to_dict(self) -> JsonObject:
        """Return all measurements as plain data, in the format of `heterophily diagnose --json`."""
        # The key stays "n_labelled" until the next version of the format.
        values = {key.replace("_labeled", "_labelled"): x for key, x in vars(self).items() if key != "decision"}
        stored, symmetric = _plain(self.homophily), _plain(self.homophily_symmetric)
        return {
            **values,
            "label_informativeness": stored.pop("label_informativeness"),
            "label_informativeness_symmetric": symmetric.pop("label_informativeness"),
            "homophily": stored,
            "homophily_symmetric": symmetric,
            "class_names": list(self.class_names),
            "degrees": dict(self.degrees),
            "compatibility": self.compatibility.tolist(),
            "overlap": self.overlap.tolist(),
            "mean_overlap": self.mean_overlap,
            "closest_classes": list(self.closest_classes),
            "audit": self.audit.to_dict(),
            "probes": self.probes.to_dict() if self.probes else None,
            "direction": self.direction.to_dict() if self.direction else None,
            "alarms": list(self.alarms),
            "kind": self.kind,
            "confidence": self.confidence,
            "probability": self.decision.probability,
            "reason": self.decision.reason,
            "recommended_models": list(self.decision.models),
            "verdict": self.verdict,
        }

    @property
    def charts(self) -> list[Chart]:
        """The compatibility matrix and the overlap of neighborhoods as heat maps."""
        return [
            matrix_chart(
                self.compatibility.tolist(), self.class_names, "Observed", caption="From all labels.", panel=self.name
            ),
            matrix_chart(
                self.overlap.tolist(),
                self.class_names,
                "Overlap of neighborhoods",
                peak=1.0,
                caption="1 if the classes of neighbors do not distinguish the two classes.",
                x="class",
                y="class",
                scale="overlap",
            ),
        ]


def diagnose(graph: Graph, *, sample: int = MAX_PROBED_NODES, progress: bool = False) -> Diagnosis:
    """Measure a graph and determine which kinds of methods suit it.

    Parameters
    ----------
    graph
        Graph with labeled nodes of at least two classes.
    sample
        Largest number of labeled nodes on which the probes are measured. The time grows with it.
    progress
        Whether to show a progress bar on a terminal.

    Returns
    -------
    The measurements, on labeled nodes and the edges between them, with `kind` and `verdict`.

    Raises
    ------
    HeterophilyError
        If fewer than two classes have labeled nodes.

    Examples
    --------
    >>> from heterophily import Graph, diagnose
    >>> diagnosis = diagnose(Graph.from_edges([(0, 1), (2, 1), (2, 3)], labels=[0, 1, 0, 1]))
    >>> diagnosis.kind
    'not enough labels to tell'
    >>> diagnosis.compatibility
    array([[0., 1.],
           [1., 0.]])
    """
    check_graph_type(graph)
    _check_labels(graph)
    adjacency, labels, k = graph.symmetric, graph.labels, graph.n_classes
    matrix = observed_compatibility(adjacency, labels, k)
    names = graph.class_names or tuple(map(str, range(k)))
    accuracy, largest = neighborhood_accuracy(adjacency, labels, k)
    homophily = measure_homophily(adjacency, labels, k)
    probes = measure_probes(graph, sample=sample, progress=progress)
    return Diagnosis(
        name=graph.name,
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        n_edges_symmetric=adjacency.n_entries,
        n_features=graph.n_features,
        n_classes=k,
        n_labeled=int(graph.labeled.sum()),
        class_names=names,
        degrees=_degree_profile(graph),
        homophily=measure_homophily(graph.adjacency, labels, k),
        homophily_symmetric=homophily,
        compatibility=matrix.numpy(),
        overlap=neighborhood_overlap(adjacency, labels, k).numpy(),
        discriminability=discriminability(matrix),
        cmd=cmd(matrix),
        cmd_of_edges=cmd(edge_compatibility(adjacency, labels, k)),
        closest_classes=_closest(matrix, names),
        neighborhood_accuracy=accuracy,
        feature_accuracy=_feature_accuracy(graph),
        largest_class=largest,
        audit=audit_graph(graph),
        probes=probes,
        decision=decide(probes, homophily.adjusted),
        direction=measure_direction(graph),
        alarms=diagnosis_alarms(graph),
    )


def _check_labels(graph: Graph) -> None:
    n_labeled, n_classes = int(graph.labeled.sum()), len(graph.labels[graph.labeled].unique())
    if n_classes < 2:
        raise HeterophilyError(
            f"a diagnosis requires labeled nodes of at least 2 classes, but {graph.name} has {n_labeled} labeled "
            f"{'node' if n_labeled == 1 else 'nodes'} of {n_classes}; label nodes of another class"
        )


def _plain(homophily: Homophily) -> dict[str, float | None]:
    # JSON has no NaN.
    return {key: None if math.isnan(x) else x for key, x in asdict(homophily).items()}


def _degree_profile(graph: Graph) -> dict[str, float]:
    degrees = graph.degrees.double()
    marks = {"minimum": 0.0, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "maximum": 1.0}
    quantiles = np.quantile(degrees.numpy(), list(marks.values()))
    profile = dict(zip(marks, quantiles.tolist(), strict=True))
    return {"mean": float(degrees.mean()), **profile}


def _feature_accuracy(graph: Graph) -> float | None:
    """Return the two-fold accuracy of a ridge classifier on a sample of the labeled nodes."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler

    if graph.n_features == 0 or int(graph.labeled.sum()) < 4:
        return None
    shuffled = np.random.default_rng(0).permutation(np.flatnonzero(graph.labeled.numpy()))
    nodes, features = shuffled[:MAX_SAMPLED_NODES], graph.features
    x = features.to_scipy() if isinstance(features, Matrix) else features.numpy()
    model = make_pipeline(Normalizer() if graph.is_sparse else StandardScaler(), RidgeClassifier())
    scores = cross_val_score(model, x[nodes], graph.labels.numpy()[nodes], cv=KFold(2))
    return float(scores.mean())


def _closest(matrix: Tensor, names: tuple[str, ...]) -> tuple[str, str]:
    similarities = similarity(matrix).fill_diagonal_(-1)
    a, b = divmod(int(similarities.argmax()), len(names))
    return names[a], names[b]
