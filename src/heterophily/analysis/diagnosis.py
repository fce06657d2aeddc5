"""What kind of graph is this, and what does that suggest? Everything a person asks first.

The verdict follows the paper: message passing works under heterophily when the compatibility
matrix is discriminable "enough (depends on data)". We make that measurable: heterophily is "good"
if the classes of a node's neighbors tell its own class at least as often as its features do.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heterophily.analysis.audit import Audit, audit_graph
from heterophily.core.compatibility import (
    discriminability,
    neighborhood_accuracy,
    neighborhood_overlap,
    observed_compatibility,
    similarity,
)
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.homophily import Homophily, measure_homophily
from heterophily.core.sparse import Matrix

HOMOPHILOUS = 0.5  # adjusted homophily: 0 is random wiring; citation graphs lie above 0.65
TELLING = 0.05  # what must be told beyond always guessing the largest class
SAMPLE = 4_000  # labelled nodes that suffice to judge the features
ADVICE = {
    "homophily": "Plain message passing suits it: start with gcn, appnp, gcnii or gat.",
    "good heterophily": "Neighbors differ from a node, yet tell no less than its features, so "
    "message passing pays: try cmgnn, acm-gcn, h2gcn or ordered-gnn against a gcn.",
    "bad heterophily": "Averaging over neighbors alone would lose more than it adds, so keep a "
    "node's own features apart from its neighbors' messages: try cmgnn, acm-gcn, gcnii or glognn, "
    "and compare with an mlp before anything else.",
}


@dataclass(frozen=True)
class Diagnosis:
    """The measurements of one graph; `kind` and `verdict` are read off them."""

    name: str
    n_nodes: int
    n_edges: int  # distinct directed edges as stored, self-loops included
    n_edges_symmetric: int  # entries of the symmetrised graph, each edge twice
    n_features: int
    n_classes: int
    n_labelled: int
    class_names: tuple[str, ...]
    degrees: Mapping[str, float]  # of the symmetrised graph
    homophily: Homophily  # over edges as stored
    homophily_symmetric: Homophily
    compatibility: Any  # (K, K) array, on the symmetrised graph
    overlap: Any  # (K, K) array, of semantic neighborhoods
    discriminability: float
    closest_classes: tuple[str, str]
    neighborhood_accuracy: float  # how often the neighbors' classes tell a node's own
    feature_accuracy: float | None  # how often its features do, by a linear classifier
    largest_class: float
    audit: Audit

    @cached_property
    def mean_overlap(self) -> float:
        """Mean overlap of the semantic neighborhoods of two different classes."""
        k = self.n_classes
        return float((self.overlap.sum() - np.trace(self.overlap)) / (k * (k - 1)))

    @property
    def kind(self) -> str:
        """`homophily`, `good heterophily` or `bad heterophily`."""
        # It is NaN, not below, if all edges lie within one class.
        if not self.homophily_symmetric.adjusted < HOMOPHILOUS:
            return "homophily"
        rival = self.largest_class if self.feature_accuracy is None else self.feature_accuracy
        return "good heterophily" if self.neighborhood_accuracy >= rival else "bad heterophily"

    @property
    def verdict(self) -> str:
        """What kind of graph it is, why, and what to try, in plain words."""
        share = f"{self.homophily_symmetric.edge:.0%} of the edges connect nodes of one class"
        features = self.feature_accuracy
        told = "" if features is None else f", its features {features:.0%}"
        evidence = (
            f"The classes of its neighbors tell a node's class in {self.neighborhood_accuracy:.0%} "
            f"of the cases{told}, guessing the largest class {self.largest_class:.0%}."
        )
        return " ".join([f"{self.kind.capitalize()}: {share}. {evidence}", *self._advice()])

    def _advice(self) -> list[str]:
        sentences = [ADVICE[self.kind]]
        if self.kind != "homophily" and self.neighborhood_accuracy - self.largest_class < TELLING:
            pair = " and ".join(self.closest_classes)
            sentences.append(
                f"But do not expect much of their labels: classes have nearly the same "
                f"neighborhoods, most of all {pair}."
            )
        if self.n_labelled < self.n_nodes:
            sentences.append(
                f"All of this is measured on the {self.n_labelled:,} labelled nodes of "
                f"{self.n_nodes:,} and the edges between them."
            )
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """All measurements as plain data, as `heterophily diagnose --json` prints them."""
        facts = {key: value for key, value in vars(self).items() if key != "mean_overlap"}
        stored, symmetric = (_plain(facts.pop(key)) for key in ("homophily", "homophily_symmetric"))
        return {
            **facts,
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
            "kind": self.kind,
            "verdict": self.verdict,
        }

    def plot(self, path: Path | str) -> Path:
        """Draw the compatibility matrix as a heat map; the ending of `path` chooses the format."""
        from heterophily.views.figures import save_compatibility

        return save_compatibility(self.compatibility, self.class_names, path, title=self.name)


def diagnose(graph: Graph) -> Diagnosis:
    """Measure a graph on its labelled nodes; it needs two classes and an edge between them."""
    adjacency, labels, k = graph.symmetric, graph.labels, graph.n_classes
    if len(labels[labels >= 0].unique()) < 2:
        raise HeterophilyError(
            f"a diagnosis needs labelled nodes of at least two classes, {graph.name} has "
            f"{int(graph.labeled.sum())} labelled nodes of {len(labels[labels >= 0].unique())}"
        )
    between = graph.labeled[adjacency.rows.long()] & graph.labeled[adjacency.indices.long()]
    if not bool(between.any()):
        raise HeterophilyError(
            f"a diagnosis needs edges between labelled nodes, {graph.name} has none; "
            "label more nodes"
        )
    matrix = observed_compatibility(adjacency, labels, k)
    names = graph.class_names or tuple(map(str, range(k)))
    accuracy, largest = neighborhood_accuracy(adjacency, labels, k)
    return Diagnosis(
        name=graph.name,
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        n_edges_symmetric=adjacency.n_entries,
        n_features=graph.n_features,
        n_classes=k,
        n_labelled=int(graph.labeled.sum()),
        class_names=names,
        degrees=_degree_profile(graph),
        homophily=measure_homophily(graph.adjacency, labels, k),
        homophily_symmetric=measure_homophily(adjacency, labels, k),
        compatibility=matrix.numpy(),
        overlap=neighborhood_overlap(adjacency, labels, k).numpy(),
        discriminability=discriminability(matrix),
        closest_classes=_closest(matrix, names),
        neighborhood_accuracy=accuracy,
        feature_accuracy=_feature_accuracy(graph),
        largest_class=largest,
        audit=audit_graph(graph),
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
    """Two-fold accuracy of a ridge classifier on the features of a sample of labelled nodes."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler

    if graph.n_features == 0 or int(graph.labeled.sum()) < 4:
        return None
    nodes = np.random.default_rng(0).permutation(np.flatnonzero(graph.labeled.numpy()))[:SAMPLE]
    features = graph.features
    sparse = isinstance(features, Matrix)
    x = features.to_scipy() if isinstance(features, Matrix) else features.numpy()
    model = make_pipeline(Normalizer() if sparse else StandardScaler(), RidgeClassifier())
    scores = cross_val_score(model, x[nodes], graph.labels.numpy()[nodes], cv=KFold(2))
    return float(scores.mean())


def _closest(matrix: torch.Tensor, names: tuple[str, ...]) -> tuple[str, str]:
    similarities = similarity(matrix).fill_diagonal_(-1)
    a, b = divmod(int(similarities.argmax()), len(names))
    return names[a], names[b]
