"""Decisions from probabilities: the most probable class, or a threshold for the positive one of two classes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.types import BoolArray, FloatArray, IntArray, JsonObject
from heterophily.training.scoring import Scoring, all_scores

Threshold: TypeAlias = float | str | None  # the only texts are numbers and the names of `RULES`
RULES = ("f1", "youden")
# Scores of predicted classes, which a threshold changes. All others depend only on probabilities.
OF_CLASSES = ("accuracy", "balanced_accuracy", "f1_macro")


@dataclass(frozen=True)
class Decision:
    """How classes follow from probabilities. Without a threshold, the most probable class is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> Decision(threshold=0.3).predict(probabilities), Decision().predict(probabilities)
    (array([0, 1]), array([0, 0]))
    """

    threshold: float | None = None
    positive: int = 1

    def predict(self, probabilities: FloatArray) -> IntArray:
        """Return class numbers (N,), given probabilities (N, K)."""
        if self.threshold is None:
            return probabilities.argmax(axis=1)
        is_positive = probabilities[:, self.positive] >= self.threshold
        return np.where(is_positive, self.positive, 1 - self.positive)

    def shift(self, logits: Tensor) -> Tensor:
        """Return logits (N, 2) whose largest entry is the predicted class."""
        if self.threshold is None:
            return logits
        is_positive = logits.softmax(dim=1)[:, self.positive] >= self.threshold
        classes = torch.where(is_positive, self.positive, 1 - self.positive)
        return torch.nn.functional.one_hot(classes, 2).to(logits)


def parse_threshold(threshold: Threshold) -> float | str | None:
    """Return a number between 0 and 1, the name of a rule, or None.

    >>> parse_threshold("0.3"), parse_threshold("f1")
    (0.3, 'f1')
    """
    if threshold is None or (isinstance(threshold, str) and threshold in RULES):
        return threshold
    try:
        value = float(threshold)
    except (TypeError, ValueError):
        value = float("nan")
    if not 0 < value < 1:
        rules = ", ".join(RULES)
        raise HeterophilyError(f"threshold must be {rules}, or a number between 0 and 1, got {short_text(threshold)}")
    return value


def make_decision(threshold: Threshold, logits: Tensor, labels: Tensor, scoring: Scoring) -> Decision:
    """Return the decision for a threshold or a rule, given logits (n, K) and labels (n,) of validation nodes."""
    value = parse_threshold(threshold)
    positive = 1 if scoring.positive is None else scoring.positive
    if value is None:
        return Decision(None, positive)
    if logits.shape[1] != 2:
        raise HeterophilyError(f"a threshold requires two classes, got {logits.shape[1]}; omit it")
    if isinstance(value, str):
        truth = (labels == positive).cpu().numpy()
        if truth.all() or not truth.any():
            raise HeterophilyError(f"the threshold {value!r} requires validation nodes of both classes; pass a number")
        value = tune_threshold(value, logits.double().softmax(dim=1)[:, positive].cpu().numpy(), truth)
    return Decision(value, positive)


def tune_threshold(rule: str, probabilities: FloatArray, truth: BoolArray) -> float:
    """Return the threshold that maximizes F1, or Youden's J = sensitivity + specificity - 1.

    It is in the middle between two probabilities that occur, (n,).

    >>> import numpy as np
    >>> tune_threshold("f1", np.array([0.1, 0.2, 0.4, 0.9]), np.array([False, False, True, True]))
    0.3
    """
    values, groups = np.unique(probabilities, return_inverse=True)
    positives = np.bincount(groups, weights=truth, minlength=len(values))[::-1].cumsum()[::-1]
    predicted = np.bincount(groups, minlength=len(values))[::-1].cumsum()[::-1]
    n_positive, n_negative = truth.sum(), (~truth).sum()
    if rule == "f1":
        quality = 2 * positives / (predicted + n_positive)
    else:
        quality = positives / n_positive - (predicted - positives) / n_negative
    best = len(values) - 1 - int(quality[::-1].argmax())  # the highest one of equally good thresholds
    below = values[best - 1] if best else 0.0
    middle = float((below + values[best]) / 2)
    return round(middle, 6) if below < round(middle, 6) <= values[best] else float(values[best])


def decided_scores(
    scores: Mapping[str, Mapping[str, float]],
    decision: Decision,
    logits: Tensor,
    labels: Tensor,
    parts: Mapping[str, Tensor],
    scoring: Scoring,
) -> dict[str, dict[str, float]]:
    """Return scores by part in which those of predicted classes follow from a decision."""
    result = {part: dict(found) for part, found in scores.items()}
    if decision.threshold is None:
        return result
    shifted = decision.shift(logits)
    for part, nodes in parts.items():
        known = nodes[labels[nodes] >= 0]
        found = all_scores(shifted, labels, known, scoring=dataclasses.replace(scoring))
        result[part] |= {name: found[name] for name in OF_CLASSES if name in found}
    return result


def positive_counts(predicted: IntArray, truth: IntArray, positive: int) -> JsonObject:
    """Return precision, recall, and F1 of the positive class on some nodes."""
    hits = int(((predicted == positive) & (truth == positive)).sum())
    n_predicted, n_true = int((predicted == positive).sum()), int((truth == positive).sum())
    return {
        "n_predicted": n_predicted,
        "n_true": n_true,
        "precision": hits / n_predicted if n_predicted else None,
        "recall": hits / n_true if n_true else None,
        "f1": 2 * hits / (n_predicted + n_true) if n_predicted + n_true else None,
    }
