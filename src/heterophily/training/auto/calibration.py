"""Calibration: probabilities that agree with observed frequencies, and measures of how well they do.

A temperature T divides the logits: softmax(logits / T). It does not change the order of the classes. For two
classes, a bias can be added, which does not change the order of the nodes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.core.types import FloatArray, IntArray

N_BINS = 10
PRIOR = 1.0  # weight of the prior log T ~ N(0, 1), in units of one validation node
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
    parameters = torch.zeros(2 if has_bias else 1, dtype=torch.double, requires_grad=True)  # log T, b

    def loss() -> Tensor:
        nll = F.cross_entropy(_calibrated(z, parameters), labels, reduction="sum")
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
    best = parameters.detach()
    bias = torch.zeros(z.shape[1])
    if has_bias:
        bias[1] = float(best[1])
    return float(best[0].exp()), bias


def _calibrated(z: Tensor, parameters: Tensor) -> Tensor:
    scaled = z / parameters[0].exp()
    if len(parameters) == 1:
        return scaled
    return scaled + torch.stack([torch.zeros_like(parameters[1]), parameters[1]])


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
