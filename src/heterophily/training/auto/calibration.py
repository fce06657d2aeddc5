"""Calibration: probabilities that agree with observed frequencies, and measures of how well they do.

A temperature T divides the logits: softmax(logits / T). It does not change the order of the classes. For two
classes, a bias b = (1 - 1/T) m + s can be added, which does not change the order of the nodes. With the median m of
the log-odds, a temperature makes the probabilities of a rare class more or less diverse, and s shifts them.
"""

import json
from dataclasses import asdict, dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.core.graph import Split
from heterophily.core.types import FloatArray, IntArray, Json, JsonObject

N_BINS = 10
N_FOLDS = 5
PRIOR = 1.0  # weight of the prior log T, s ~ N(0, 1), in units of one validation node
MAX_STEPS = 100


@dataclass(frozen=True)
class Bin:
    """The nodes whose highest probability is in an interval."""

    confidence: float  # mean of their highest probabilities
    accuracy: float
    n_nodes: int


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """Return the temperature with the lowest log loss on these nodes, slightly regularized towards 1."""
    return _fit(logits, labels, has_bias=False)[0]


def fit_calibration(logits: Tensor, labels: Tensor, *, has_bias: bool) -> tuple[float, Tensor]:
    """Return temperature and bias (K,) with the lowest log loss. Only two classes can have a bias."""
    return _fit(logits, labels, has_bias=has_bias and logits.shape[1] == 2)


def _fit(logits: Tensor, labels: Tensor, *, has_bias: bool) -> tuple[float, Tensor]:
    z = logits.detach().double().clamp_min(-1e4)
    parameters = torch.zeros(2 if has_bias else 1, dtype=torch.double, requires_grad=True)  # log T, s
    center = (z[:, 1] - z[:, 0]).median() if has_bias else torch.zeros(())

    def bias() -> Tensor:
        if not has_bias:
            return torch.zeros(z.shape[1], dtype=torch.double)
        b = (1 - (-parameters[0]).exp()) * center + parameters[1]
        return torch.stack([torch.zeros_like(b), b])

    def loss() -> Tensor:
        nll = F.cross_entropy(z / parameters[0].exp() + bias(), labels, reduction="sum")
        return (nll + PRIOR * parameters.square().sum() / 2) / len(labels)

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    optimizer = torch.optim.LBFGS([parameters], max_iter=MAX_STEPS, line_search_fn="strong_wolfe")
    start = float(loss().detach())
    optimizer.step(closure)
    if not float(loss().detach()) < start:  # also if it is not a number
        return 1.0, torch.zeros(z.shape[1])
    return float(parameters[0].detach().exp()), bias().detach().float()


def reliability(probabilities: FloatArray, labels: IntArray, *, n_bins: int = N_BINS) -> list[Bin]:
    """Return the bins of equal width that contain nodes, given probabilities (n, K) and labels (n,)."""
    highest, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    numbers = (highest * n_bins).astype(int).clip(max=n_bins - 1)
    groups = [numbers == number for number in range(n_bins)]
    return [Bin(float(highest[g].mean()), float(right[g].mean()), int(g.sum())) for g in groups if g.any()]


def expected_calibration_error(probabilities: FloatArray, labels: IntArray, *, n_bins: int = N_BINS) -> float:
    """Return Σ_bins n_b / n |accuracy_b - confidence_b|, given probabilities (n, K) and labels (n,)."""
    bins = reliability(probabilities, labels, n_bins=n_bins)
    total = sum(each.n_nodes for each in bins)
    return sum(each.n_nodes * abs(each.accuracy - each.confidence) for each in bins) / max(total, 1)


@dataclass(frozen=True)
class Reliability:
    """Expected calibration error and bins of predictions on some nodes."""

    error: float
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Calibration:
    """How well probabilities agree with observed frequencies, before and after calibration."""

    part: str  # test, or validation for which each node is calibrated by the other ones
    n_nodes: int
    before: Reliability
    after: Reliability | None = None  # None without calibration

    @property
    def used(self) -> Reliability:
        """The reliability of the probabilities that the model predicts."""
        return self.after or self.before

    def to_dict(self) -> JsonObject:
        """Return plain data."""
        return cast("JsonObject", json.loads(json.dumps(asdict(self))))

    @classmethod
    def from_dict(cls, values: JsonObject) -> "Calibration":
        """Restore the result of `to_dict`."""
        before, after = (_reliability_from(values[key]) for key in ("before", "after"))
        return cls(str(values["part"]), cast("int", values["n_nodes"]), cast("Reliability", before), after)


def _reliability_from(values: Json) -> Reliability | None:
    if not isinstance(values, dict):
        return None
    bins = cast("list[dict[str, float]]", values["bins"])
    return Reliability(cast("float", values["error"]), tuple(Bin(**each) for each in bins))  # type: ignore[arg-type]


def measure_calibration(
    raw: Tensor, calibrated: Tensor | None, labels: Tensor, split: Split, *, has_bias: bool = False
) -> Calibration | None:
    """Measure logits (N, K) before and after calibration on the labeled test nodes.

    Without these, each fifth of the validation nodes is calibrated by the other ones. None without any such nodes.
    """
    test = split.test[labels[split.test] >= 0]
    if len(test):
        after = None if calibrated is None else _reliability(calibrated[test], labels[test])
        return Calibration("test", len(test), _reliability(raw[test], labels[test]), after)
    z, truth = raw[split.val], labels[split.val]
    if len(truth) < N_FOLDS:
        return None
    after = None if calibrated is None else _reliability(_cross_fitted(z, truth, has_bias=has_bias), truth)
    return Calibration("validation", len(truth), _reliability(z, truth), after)


def _cross_fitted(logits: Tensor, labels: Tensor, *, has_bias: bool) -> Tensor:
    order = labels.argsort(stable=True)  # neighbors in this order are in different folds, so folds are stratified
    result = logits.clone()
    for fold in range(N_FOLDS):
        own = torch.zeros(len(labels), dtype=torch.bool)
        own[order[fold::N_FOLDS]] = True
        temperature, bias = fit_calibration(logits[~own], labels[~own], has_bias=has_bias)
        result[own] = logits[own] / temperature + bias
    return result


def _reliability(logits: Tensor, labels: Tensor) -> Reliability:
    probabilities, truth = logits.double().softmax(dim=1).numpy(), labels.numpy()
    error = expected_calibration_error(probabilities, truth)
    return Reliability(error, tuple(reliability(probabilities, truth)))
