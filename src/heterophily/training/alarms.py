"""Alarms: signs that a fitted model should not be trusted, as plain data."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from heterophily.core.errors import HeterophilyWarning
from heterophily.core.graph import Split
from heterophily.core.types import IntArray, JsonObject
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import Scoring, score_text

MIN_VALIDATION_NODES = 10  # of each class
MAX_CLASSES = 3  # that a sentence lists


class AlarmWarning(HeterophilyWarning):
    """Warning about a fitted model that should not be trusted."""


@dataclass(frozen=True)
class Alarm:
    """One reason not to trust a model: `not_finite`, `untrained`, `one_class`, `trivial`, or `few_validation_nodes`."""

    kind: str
    text: str

    def to_dict(self) -> JsonObject:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Evidence:
    """What the alarms of a fitted model depend on."""

    logits: Tensor  # (N, K)
    predicted: IntArray  # class numbers of all nodes, (N,)
    labels: Tensor  # (N,), below 0 if unknown
    split: Split
    run: TrainingResult
    scoring: Scoring
    class_names: Sequence[str]
    warm_up: int = 0  # epochs that are always better than those before them


def find_alarms(evidence: Evidence) -> tuple[Alarm, ...]:
    """Return all alarms, the most severe one first."""
    checks = (_not_finite, _untrained, _one_class, _trivial, _few_validation_nodes)
    return tuple(alarm for check in checks if (alarm := check(evidence)) is not None)


def warn_about(alarms: Iterable[Alarm], *, stacklevel: int = 3) -> None:
    """Emit one warning per alarm."""
    for alarm in alarms:
        warnings.warn(alarm.text, AlarmWarning, stacklevel=stacklevel)


def _not_finite(e: Evidence) -> Alarm | None:
    values = {
        "loss": e.run.history.loss,
        f"validation {e.scoring.title}": e.run.history.val_scores,
        "final scores": [value for found in e.run.scores.values() for value in found.values()],
    }
    names = [name for name, row in values.items() if not all(map(math.isfinite, row))]
    finite = torch.isfinite(e.logits.amax(dim=1))  # a class may have the logit minus infinity
    if not bool(finite.all()):
        count = int((~finite).sum())
        names.append(f"predictions of {count:,} node{'s' if count > 1 else ''}")
    if not names:
        return None
    advice = "check the features for very large values, or reduce the learning rate"
    return Alarm("not_finite", f"not finite: {', '.join(names)}; {advice}")


def _untrained(e: Evidence) -> Alarm | None:
    """Return an alarm if no epoch is better than the first one, or than the epochs of the warm-up."""
    has_epochs = bool(e.run.history.loss) or e.run.stopped == "interrupted"
    if e.run.best_epoch > e.warm_up or not has_epochs:
        return None
    text = f"the best epoch is {e.run.best_epoch} of {e.run.n_epochs}: training did not improve the validation "
    return Alarm("untrained", f"{text}{e.scoring.title}; change the learning rate, or use another model")


def _one_class(e: Evidence) -> Alarm | None:
    """Return an alarm if all nodes, or all validation nodes of different classes, are predicted as the same class."""
    val = e.split.val.cpu()
    nodes = {"nodes": (e.predicted, e.labels[e.split.train]), "validation nodes": (e.predicted[val], e.labels[val])}
    for name, (predicted, labels) in nodes.items():
        found = set(predicted.tolist())
        if len(found) == 1 and len(labels.unique()) > 1:
            predicted_class = e.class_names[found.pop()]
            advice = "tune the threshold, for example with --threshold f1, or " if len(e.class_names) == 2 else ""
            text = f"all {len(predicted):,} {name} are predicted as {predicted_class!r}; {advice}balance the classes"
            return Alarm("one_class", text)
    return None


def _trivial(e: Evidence) -> Alarm | None:
    """Return an alarm if the shares of the classes are as good a prediction of the validation nodes."""
    score = e.run.scores.get("val", {}).get(e.scoring.name)
    truth = e.labels[e.split.val].cpu()
    if score is None or e.scoring.requires(truth, len(e.class_names)):
        return None
    trivial = trivial_score(e)
    is_perfect = e.scoring.is_share and score >= 1
    if score > trivial or is_perfect or math.isnan(score):
        return None
    values = [score_text(e.scoring.name, value) for value in (score, trivial)]
    return Alarm(
        "trivial",
        f"the validation {e.scoring.title} is {values[0]}, but the shares of the classes alone reach {values[1]}; "
        "do not use these predictions",
    )


def trivial_score(e: Evidence) -> float:
    """Return the validation score of a predictor that only knows the shares of the classes of training nodes."""
    return class_share_score(e.scoring, e.labels, e.split.train, e.split.val, n_classes=len(e.class_names))


def class_share_score(scoring: Scoring, labels: Tensor, train: Tensor, nodes: Tensor, *, n_classes: int) -> float:
    """Return the score of the shares of the classes of training nodes on other nodes."""
    known = labels.cpu()
    counts = torch.bincount(known[train.cpu()], minlength=n_classes)
    constant = (counts.double() / counts.sum()).clamp_min(1e-12).log().expand(len(nodes), -1)
    return scoring.score(constant, known[nodes.cpu()])


def _few_validation_nodes(e: Evidence) -> Alarm | None:
    labels = e.labels.cpu()
    counts = torch.bincount(labels[e.split.val], minlength=len(e.class_names)).tolist()
    in_training = set(labels[e.split.train].tolist())
    few = {e.class_names[k]: n for k, n in enumerate(counts) if n < MIN_VALIDATION_NODES and k in in_training}
    if not few:
        return None
    listed = ", ".join(f"{name!r} has {n}" for name, n in list(few.items())[:MAX_CLASSES])
    others = f", and {len(few) - MAX_CLASSES} more" if len(few) > MAX_CLASSES else ""
    return Alarm(
        "few_validation_nodes",
        f"few validation nodes: {listed}{others}; scores and the choice of the model are uncertain",
    )
