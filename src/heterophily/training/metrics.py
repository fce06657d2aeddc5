"""Metrics: scores of predictions on a set of nodes, as values.

To add a metric, append it to `METRICS`. Training results, early stopping, search, and tables then accept it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heterophily.core.errors import HeterophilyError, unknown_name

if TYPE_CHECKING:  # the command line lists the metrics without loading PyTorch
    from torch import Tensor


def _no_requirement(labels: "Tensor", n_classes: int) -> str:
    return ""


@dataclass(frozen=True)
class Metric:
    """A score of logits (n, K) given labels (n,). Call it with all nodes and the nodes to score."""

    name: str
    title: str  # as in "validation accuracy"
    function: "Callable[[Tensor, Tensor], float]"
    higher_is_better: bool = True
    requires: "Callable[[Tensor, int], str]" = _no_requirement  # unmet requirement of labels, if any

    def __call__(self, logits: "Tensor", labels: "Tensor", nodes: "Tensor") -> float:
        """Score some nodes, given logits (N, K) and labels (N,) of all nodes."""
        return self.function(logits[nodes], labels[nodes])

    def check(self, labels: "Tensor", n_classes: int) -> None:
        """Raise an error if the metric is not defined for these labels."""
        if unmet := self.requires(labels, n_classes):
            raise HeterophilyError(
                f"metric {self.name!r} requires {unmet}; use another metric such as {DEFAULT_METRIC.name!r}"
            )


def _accuracy(logits: "Tensor", labels: "Tensor") -> float:
    return float((logits.argmax(dim=1) == labels).double().mean())


def _macro_f1(logits: "Tensor", labels: "Tensor") -> float:
    """Return the mean F1 score of the classes that occur."""
    from sklearn.metrics import f1_score

    truth, predicted = labels.cpu().numpy(), logits.argmax(dim=1).cpu().numpy()
    classes = labels.unique().cpu().numpy()
    return float(f1_score(truth, predicted, average="macro", labels=classes))


def _roc_auc(logits: "Tensor", labels: "Tensor") -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels.cpu().numpy(), logits.softmax(dim=1)[:, 1].cpu().numpy()))


def _two_classes(labels: "Tensor", n_classes: int) -> str:
    return "" if n_classes == 2 and len(labels.unique()) == 2 else "nodes of exactly two classes"


accuracy = Metric("accuracy", "accuracy", _accuracy)
METRICS = {
    metric.name: metric
    for metric in (
        accuracy,
        Metric("macro_f1", "macro-F1", _macro_f1),
        Metric("roc_auc", "ROC AUC", _roc_auc, requires=_two_classes),
    )
}
DEFAULT_METRIC = accuracy


def find_metric(metric: str | Metric) -> Metric:
    """Return a metric by name, or the metric itself."""
    if isinstance(metric, Metric):
        return metric
    if metric not in METRICS:
        raise unknown_name("metric", metric, METRICS)
    return METRICS[metric]


def all_metrics(logits: "Tensor", labels: "Tensor", nodes: "Tensor") -> dict[str, float]:
    """Return all metrics that are defined for these nodes, by name. Without nodes, there are none."""
    if not len(nodes):
        return {}
    n_classes, truth = logits.shape[1], labels[nodes]
    defined = (metric for metric in METRICS.values() if not metric.requires(truth, n_classes))
    return {metric.name: metric(logits, labels, nodes) for metric in defined}
