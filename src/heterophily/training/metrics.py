"""Metrics on a set of nodes: accuracy, macro-F1 and, for two classes, ROC AUC."""

from typing import Any

import numpy as np
from torch import Tensor


def accuracy(logits: Tensor, labels: Tensor, nodes: Tensor) -> float:
    """Share of the nodes that are classified rightly."""
    return float((logits[nodes].argmax(dim=1) == labels[nodes]).double().mean())


def all_metrics(logits: Tensor, labels: Tensor, nodes: Tensor) -> dict[str, float]:
    """Accuracy, macro-F1 over the classes that occur, and ROC AUC where there are two classes."""
    from sklearn.metrics import f1_score, roc_auc_score

    truth: Any = labels[nodes].cpu().numpy()
    if not len(truth):
        return {}
    predicted = logits[nodes].argmax(dim=1).cpu().numpy()
    found = {
        "accuracy": accuracy(logits, labels, nodes),
        "macro_f1": float(f1_score(truth, predicted, average="macro", labels=np.unique(truth))),
    }
    if logits.shape[1] == 2 and len(np.unique(truth)) == 2:
        scores = logits[nodes].softmax(dim=1)[:, 1].cpu().numpy()
        found["roc_auc"] = float(roc_auc_score(truth, scores))
    return found
