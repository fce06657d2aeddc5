"""Cross-validation over the labeled nodes of a graph, and an adapter for the model selection of scikit-learn."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags
from typing_extensions import override

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.types import Array, FloatArray, IntArray
from heterophily.training.estimator import NodeClassifier
from heterophily.training.inputs import GraphInput, as_graph, read_input
from heterophily.training.objective import resolve_scoring
from heterophily.training.predictions import NotFittedClassifierError
from heterophily.training.scoring import Scoring, ScoringLike, find_scoring


class Splitter(Protocol):
    """A cross-validation splitter of scikit-learn."""

    def split(self, X: Array, y: Array) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield positions of training and test samples."""


Folds: TypeAlias = int | Splitter | Iterable[Split | tuple[ArrayLike, ArrayLike]]


def cross_validate(
    model: NodeClassifier,
    graph: GraphInput,
    y: ArrayLike | None = None,
    *,
    cv: Folds = 5,
    scoring: "ScoringLike | Sequence[str] | Mapping[str, ScoringLike] | None" = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
) -> dict[str, Array | list[NodeClassifier]]:
    """Fit and score a classifier on several folds of the labeled nodes of a graph.

    All nodes and edges are part of every fit. The labels of the test nodes are hidden. If a fold has no validation
    nodes, a quarter of its training nodes is held out for early stopping.

    Parameters
    ----------
    model
        Classifier, which is cloned for every fold.
    graph, y
        Graph and labels, as in `NodeClassifier.fit`.
    cv
        Number of stratified folds, a splitter of scikit-learn, or the folds: splits, or pairs of training nodes and
        test nodes.
    scoring
        Score on the test nodes; by default, the scoring of the model. Several scores have the keys
        ``test_<name>``.
    return_train_score, return_estimator
        Whether to return the scores on the training nodes, and the fitted classifiers.

    Returns
    -------
    Arrays with one value per fold, as in `sklearn.model_selection.cross_validate`: ``fit_time`` and ``score_time`` in
    seconds, and ``test_score``.

    Examples
    --------
    >>> from heterophily import NodeClassifier, cross_validate, load
    >>> results = cross_validate(NodeClassifier("mlp", max_epochs=30), load("digits"), cv=3)
    >>> sorted(results), results["test_score"].shape
    (['fit_time', 'score_time', 'test_score'], (3,))
    """
    if not isinstance(model, NodeClassifier):
        raise HeterophilyError(f"model must be a NodeClassifier, got {short_text(model)}; create one")
    data, classes = read_input(graph, y)
    model = _with_scoring(model, data)
    scorings = _named_scorings(model.scoring if scoring is None else scoring)
    parts = ("test", "train") if return_train_score else ("test",)
    results: dict[str, list[object]] = {}
    for split in _folds(data, cv, model):
        start = time.perf_counter()
        fitted = clone(model).fit(data, split=split)
        fitted.classes_ = classes
        between = time.perf_counter()
        row: dict[str, object] = {"fit_time": between - start, **_scores(fitted, parts, scorings)}
        row["score_time"] = time.perf_counter() - between
        row |= {"estimator": fitted} if return_estimator else {}
        for name, value in row.items():
            results.setdefault(name, []).append(value)
    return {name: values if name == "estimator" else np.array(values) for name, values in results.items()}  # type: ignore[misc]


def _with_scoring(model: NodeClassifier, graph: Graph) -> NodeClassifier:
    """Return a classifier with the same scoring on all folds."""
    if model.scoring is not None:
        return model
    nodes = graph.labeled.nonzero().squeeze(1)
    scoring = resolve_scoring(None, graph, Split.from_nodes(nodes, nodes), positive=model.positive)
    return clone(model).set_params(scoring=scoring)


def _named_scorings(scoring: "ScoringLike | Sequence[str] | Mapping[str, ScoringLike] | None") -> dict[str, Scoring]:
    assert scoring is not None
    if isinstance(scoring, Mapping):
        return {name: find_scoring(each) for name, each in scoring.items()}
    if isinstance(scoring, str) or not isinstance(scoring, Sequence):
        return {"score": find_scoring(scoring)}
    return {name: find_scoring(name) for name in scoring}


def _folds(graph: Graph, cv: Folds, model: NodeClassifier) -> Iterator[Split]:
    """Yield the folds as splits, of which those of a splitter are over the labeled nodes."""
    if isinstance(cv, Iterable):
        for fold in cv:
            yield fold if isinstance(fold, Split) else Split.from_nodes(fold[0], (), fold[1], origin="fold")
        return
    splitter = StratifiedKFold(cv, shuffle=True, random_state=model.random_state) if isinstance(cv, int) else cv
    nodes = graph.labeled.nonzero().squeeze(1).cpu().numpy()
    for number, (train, test) in enumerate(splitter.split(nodes, graph.labels.cpu().numpy()[nodes])):
        yield Split.from_nodes(nodes[train], (), nodes[test], origin=f"fold {number}")


def _scores(fitted: NodeClassifier, parts: Sequence[str], scorings: Mapping[str, Scoring]) -> dict[str, float]:
    assert fitted.graph_ is not None
    labels, found = fitted.graph_.labels.cpu(), {}
    known = {part: nodes[labels[nodes] >= 0] for part, nodes in fitted.split_.parts.items()}
    for name, scoring in scorings.items():
        for part in parts:
            found[f"{part}_{name}"] = fitted.score(nodes=known[part], scoring=scoring)
    return found


class NodeIndexClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier of node numbers, with which `GridSearchCV` and other tools of scikit-learn work on a graph.

    X contains node numbers, (n,) or (n, 1), and the graph is a parameter. Only the labels in y are used: those of
    the graph are hidden.

    Parameters
    ----------
    estimator
        Classifier, whose parameters have the prefix ``estimator__``.
    graph
        Graph that contains the nodes.

    Attributes
    ----------
    estimator_, classes_
        Fitted classifier, and its classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from heterophily import NodeClassifier, NodeIndexClassifier, load
    >>> graph = load("digits")
    >>> X, y = np.arange(graph.n_nodes), graph.labels.numpy()
    >>> model = NodeIndexClassifier(NodeClassifier("mlp", max_epochs=30), graph)
    >>> search = GridSearchCV(model, {"estimator__width": [2, 64]}, cv=2).fit(X, y)
    >>> search.best_params_
    {'estimator__width': 64}
    """

    def __init__(self, estimator: NodeClassifier, graph: GraphInput) -> None:
        self.estimator = estimator
        self.graph = graph

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy, which shares the immutable graph."""
        return type(self)(clone(self.estimator), self.graph)

    @override
    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = False, True
        tags.no_validation = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on the given nodes and their labels."""
        graph = as_graph(self.graph)
        nodes, given = _check_nodes(X, graph.n_nodes), np.asarray(y)
        if given.shape != nodes.shape:
            raise HeterophilyError(f"y must contain one label for each of {len(nodes)} nodes, got shape {given.shape}")
        labels = np.full(graph.n_nodes, None, dtype=object)
        labels[nodes] = given.tolist()
        split = Split.from_nodes(nodes, origin="given nodes")
        self.estimator_ = clone(self.estimator).fit(graph, labels, split=split)
        self.classes_, self.n_features_in_ = self.estimator_.classes_, 1
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predict the classes of the given nodes, (n,)."""
        probabilities = self.predict_proba(X)
        return self.classes_[self.estimator_.decide(probabilities)]

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the class probabilities of the given nodes, (n, K)."""
        if not hasattr(self, "estimator_"):
            raise NotFittedClassifierError("this classifier is not fitted yet; call fit(X, y) first")
        probabilities = self.estimator_.predict_proba()
        return probabilities[_check_nodes(X, len(probabilities))]


def _check_nodes(X: ArrayLike, n_nodes: int) -> IntArray:
    nodes = np.asarray(X)
    nodes = nodes.reshape(-1) if nodes.ndim == 2 and nodes.shape[1] == 1 else nodes
    valid = nodes.ndim == 1 and nodes.dtype.kind in "iu"
    if not valid or (len(nodes) and not 0 <= nodes.min() <= nodes.max() < n_nodes):
        raise HeterophilyError(
            f"X must contain node numbers from 0 to {n_nodes - 1}, (n,) or (n, 1), "
            f"got {nodes.dtype} of shape {nodes.shape}"
        )
    return nodes.astype(np.int64)
