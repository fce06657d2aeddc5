"""Scoring: the one objective of a run, under the names of scikit-learn. A higher score is always better.

The scoring of a run decides when training stops, which epoch is retained, which settings a search prefers, and
which numbers tables and reports show. To add one, append it to `SCORINGS`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.types import FloatArray, IntArray

if TYPE_CHECKING:  # the command line lists the names without loading PyTorch
    from torch import Tensor

RENAMED = {"macro_f1": "f1_macro"}  # names in records of earlier versions


def _no_requirement(labels: "Tensor", n_classes: int) -> str:
    return ""


@dataclass(frozen=True)
class Scoring:
    """A score of logits (n, K) given labels (n,). Call it with all nodes and the nodes to score.

    Examples
    --------
    >>> import torch
    >>> logits, labels = torch.eye(2)[[0, 1, 1]], torch.tensor([0, 1, 0])
    >>> find_scoring("accuracy")(logits, labels, torch.tensor([0, 1]))
    1.0
    """

    name: str
    title: str  # as in "validation accuracy"
    function: "Callable[[Tensor, Tensor], float]"
    requires: "Callable[[Tensor, int], str]" = _no_requirement  # unmet requirement of labels, if any
    is_share: bool = True  # whether it is between 0 and 1 and shown in percent
    has_positive: bool = False  # whether the score of two classes depends on which one is positive
    positive: int | None = None  # the positive one of two classes; None for class 1

    def __call__(self, logits: "Tensor", labels: "Tensor", nodes: "Tensor") -> float:
        """Score some nodes, given logits (N, K) and labels (N,) of all nodes."""
        return self.score(logits[nodes], labels[nodes])

    def score(self, logits: "Tensor", labels: "Tensor") -> float:
        """Score nodes, given their logits (n, K) and labels (n,)."""
        if self.has_positive and self.positive == 0:
            return self.function(logits.flip(1), 1 - labels)
        return self.function(logits, labels)

    def check(self, labels: "Tensor", n_classes: int) -> None:
        """Raise an error if the scoring is not defined for these labels."""
        if unmet := self.requires(labels, n_classes):
            raise HeterophilyError(
                f"scoring {self.name!r} requires {unmet}; use another one such as {DEFAULT_SCORING.name!r}"
            )

    def with_positive(self, labels: "Tensor", n_classes: int) -> "Scoring":
        """Return the scoring with the rarer of two classes as the positive one, unless one was chosen."""
        if n_classes != 2 or self.positive is not None:
            return self
        return replace(self, positive=rarer_class(labels))


# A function (y_true, y_proba) -> float, or a scorer of scikit-learn, (estimator, X, y_true) -> float.
Scorer: TypeAlias = Callable[..., float]
ScoringLike: TypeAlias = str | Scoring | Scorer


def _accuracy(logits: "Tensor", labels: "Tensor") -> float:
    return int((logits.argmax(dim=1) == labels).count_nonzero()) / len(labels)


def _balanced_accuracy(logits: "Tensor", labels: "Tensor") -> float:
    """Return the mean recall of the classes that occur."""
    import torch

    right = (logits.argmax(dim=1) == labels).double()
    sizes = torch.bincount(labels)
    recalls = torch.bincount(labels, weights=right)[sizes > 0] / sizes[sizes > 0]
    return float(recalls.mean())


def _f1_macro(logits: "Tensor", labels: "Tensor") -> float:
    """Return the mean F1 score of the classes that occur."""
    from sklearn.metrics import f1_score

    truth, predicted = labels.cpu().numpy(), logits.argmax(dim=1).cpu().numpy()
    classes = labels.unique().cpu().numpy()
    return float(f1_score(truth, predicted, average="macro", labels=classes, zero_division=0))


def _per_class(function: "Callable[[IntArray, FloatArray], float]", logits: "Tensor", labels: "Tensor") -> float:
    """Return the mean over the classes that occur of each class against all others."""
    probabilities, truth = logits.softmax(dim=1).cpu().numpy(), labels.cpu().numpy()
    classes = labels.unique().tolist()
    return float(sum(function(truth == k, probabilities[:, k]) for k in classes) / len(classes))


def _roc_auc(logits: "Tensor", labels: "Tensor") -> float:
    from sklearn.metrics import roc_auc_score

    if logits.shape[1] == 2:
        return float(roc_auc_score(labels.cpu().numpy(), logits.softmax(dim=1)[:, 1].cpu().numpy()))
    return _per_class(roc_auc_score, logits, labels)


def _average_precision(logits: "Tensor", labels: "Tensor") -> float:
    """Return the average precision of class 1 of two classes, or the mean over the classes that occur."""
    from sklearn.metrics import average_precision_score

    if logits.shape[1] == 2:
        return float(average_precision_score(labels.cpu().numpy(), logits.softmax(dim=1)[:, 1].cpu().numpy()))
    return _per_class(average_precision_score, logits, labels)


def _neg_log_loss(logits: "Tensor", labels: "Tensor") -> float:
    return float(logits.double().log_softmax(dim=1).gather(1, labels[:, None]).mean())


def _two_classes(labels: "Tensor", n_classes: int) -> str:
    return "" if len(labels.unique()) > 1 else "nodes of at least two classes"


accuracy = Scoring("accuracy", "accuracy", _accuracy)
neg_log_loss = Scoring("neg_log_loss", "negative log loss", _neg_log_loss, is_share=False)
SCORINGS = {
    scoring.name: scoring
    for scoring in (
        accuracy,
        Scoring("balanced_accuracy", "balanced accuracy", _balanced_accuracy),
        Scoring("f1_macro", "macro-F1", _f1_macro),
        Scoring("roc_auc", "ROC AUC", _roc_auc, _two_classes),
        Scoring("average_precision", "average precision", _average_precision, _two_classes, has_positive=True),
        neg_log_loss,
    )
}
DEFAULT_SCORING = accuracy


def find_scoring(scoring: ScoringLike) -> Scoring:
    """Return a scoring by name, by a callable, or the scoring itself."""
    if isinstance(scoring, Scoring):
        return scoring
    if callable(scoring):
        return _from_callable(scoring)
    name = RENAMED.get(scoring, scoring) if isinstance(scoring, str) else None
    if name not in SCORINGS:
        raise unknown_name("scoring", scoring, SCORINGS)
    return SCORINGS[name]


def _from_callable(function: Scorer) -> Scoring:
    """Return a scoring that calls `function(y_true, y_proba)`, or a scorer of scikit-learn."""
    parameters = inspect.signature(function).parameters.values()
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(required) not in (2, 3):
        raise HeterophilyError(
            "a scoring function must have the parameters (y_true, y_proba), or (estimator, X, y) as a scorer of "
            f"scikit-learn, got {inspect.signature(function)}"
        )
    inner = getattr(function, "_score_func", function)
    name = str(getattr(inner, "__name__", type(function).__name__)).strip("<>")
    call = _call_function if len(required) == 2 else _call_scorer
    return Scoring(name, name.replace("_", " "), partial(call, function), is_share=False)


def _call_function(function: Scorer, logits: "Tensor", labels: "Tensor") -> float:
    return float(function(labels.cpu().numpy(), logits.double().softmax(dim=1).cpu().numpy()))


def _call_scorer(scorer: Scorer, logits: "Tensor", labels: "Tensor") -> float:
    probabilities = logits.double().softmax(dim=1).cpu().numpy()
    return float(scorer(_predictions(probabilities.shape[1]), probabilities, labels.cpu().numpy()))


def _predictions(n_classes: int) -> object:
    """Return a classifier of scikit-learn whose input are the probabilities that it predicts."""
    import numpy as np
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Predictions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        classes_ = np.arange(n_classes)

        def predict(self, X: FloatArray) -> IntArray:
            return X.argmax(axis=1)

        def predict_proba(self, X: FloatArray) -> FloatArray:
            return X

        def __sklearn_is_fitted__(self) -> bool:
            return True

    return Predictions()


def title_of(name: str) -> str:
    """Return the title of a scoring by its name, which may be that of a custom one.

    >>> title_of("roc_auc"), title_of("my_score")
    ('ROC AUC', 'my score')
    """
    return SCORINGS[name].title if name in SCORINGS else name.replace("_", " ")


def is_share(name: str) -> bool:
    """Return whether the scoring of this name is between 0 and 1 and shown in percent."""
    return name in SCORINGS and SCORINGS[name].is_share


def score_text(name: str, value: float, *, digits: int = 1) -> str:
    """Return a score as text, in percent if it is a share, by the name of its scoring.

    >>> score_text("accuracy", 0.5), score_text("neg_log_loss", -0.5)
    ('50.0%', '-0.500')
    """
    return f"{value:.{digits}%}" if is_share(name) else f"{value:.3f}"


def renamed_scores(scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return the scores of a stored run, by part and by the current names."""
    return {part: {RENAMED.get(n, n): v for n, v in (found or {}).items()} for part, found in scores.items()}


def all_scores(
    logits: "Tensor", labels: "Tensor", nodes: "Tensor", *, scoring: Scoring = DEFAULT_SCORING
) -> dict[str, float]:
    """Return all scores that are defined for these nodes, by name. Without nodes, there are none.

    They include that of `scoring`, and its positive class applies to all of them.
    """
    if not len(nodes):
        return {}
    n_classes, truth = logits.shape[1], labels[nodes]
    scorings = {name: replace(each, positive=scoring.positive) for name, each in SCORINGS.items()}
    scorings[scoring.name] = scoring
    defined = (each for each in scorings.values() if not each.requires(truth, n_classes))
    return {each.name: each(logits, labels, nodes) for each in defined}


def rarer_class(labels: "Tensor") -> int:
    """Return the rarer one of two classes, or class 1 if both have the same number of nodes."""
    return int((labels == 0).sum() < (labels == 1).sum()) ^ 1
