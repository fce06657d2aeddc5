"""Select the members of an ensemble greedily on validation nodes, or the best single candidate.

The greedy selection is repeated on random halves of the validation nodes. The weights are the mean over the halves,
which depends less on single nodes than one selection. An ensemble is used only if those of the halves are better than
the best candidate of their half, on average over the other halves, which did not select them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.models.ensemble import mean_logits
from heterophily.training.auto.calibration import fit_temperature
from heterophily.training.scoring import Scoring

MAX_MEMBERS = 6
N_STEPS = 12  # members are selected with replacement
N_REPEATS = 5
MIN_NODES = 20  # validation nodes that a selection requires
BY_LOG_LOSS = ("accuracy",)  # scorings that are too coarse for a greedy selection


@dataclass(frozen=True)
class Selection:
    """Weights and temperatures of all candidates, (M,)."""

    weights: Tensor
    temperatures: Tensor
    gain: float = 0.0  # mean difference to the best candidate in cross-validation


def select_members(
    logits: Sequence[Tensor], labels: Tensor, scoring: Scoring, *, ensemble: bool = True, seed: int = 0
) -> Selection:
    """Select candidates, given the logits of each of them on the validation nodes, (n, K)."""
    temperatures = torch.tensor([fit_temperature(each, labels) for each in logits])
    score = _Score([each / t for each, t in zip(logits, temperatures, strict=True)], labels, scoring)
    everything = torch.arange(len(labels))
    best = score.best(everything)
    weights = F.one_hot(torch.tensor(best), len(logits)).float()
    if not ensemble or len(logits) == 1 or len(labels) < MIN_NODES:
        return Selection(weights, temperatures)
    gain, mean = score.select_on_halves(seed)
    if gain > (0.0, 0.0):
        weights = mean
    return Selection(weights, temperatures, gain[0])


class _Score:
    """Scores of weighted means on subsets of the validation nodes. Higher is better."""

    def __init__(self, logits: Sequence[Tensor], labels: Tensor, scoring: Scoring) -> None:
        self.logits, self.labels, self.scoring = torch.stack(list(logits)), labels, scoring  # (M, n, K)
        self.by_log_loss = scoring.name in BY_LOG_LOSS

    def __call__(self, weights: Tensor, nodes: Tensor) -> tuple[float, float]:
        """Return score and negative log loss."""
        used = weights > 0
        mean = mean_logits(
            list(self.logits[used][:, nodes]), weights[used] / weights.sum(), torch.ones(int(used.sum()))
        )
        truth = self.labels[nodes]
        return self.scoring.score(mean, truth), -float(F.cross_entropy(mean, truth))

    def best(self, nodes: Tensor) -> int:
        """Return the best candidate."""
        scores = [self(row, nodes) for row in torch.eye(len(self.logits))]
        return max(range(len(scores)), key=lambda m: (*scores[m], -m))

    def greedy(self, nodes: Tensor) -> Tensor:
        """Add the candidate that helps most, again and again, and return the best weights on the way, (M,)."""
        counts = torch.zeros(len(self.logits))
        counts[self.best(nodes)] = 1
        best, best_value = counts.clone(), self._objective(counts, nodes)
        for _ in range(N_STEPS - 1):
            options = [m for m in range(len(counts)) if counts[m] or int((counts > 0).sum()) < MAX_MEMBERS]
            rows = F.one_hot(torch.tensor(options), len(counts)) + counts
            values = [self._objective(row, nodes) for row in rows]
            chosen = max(range(len(values)), key=lambda i: (values[i], -i))
            counts = rows[chosen]
            if values[chosen] > best_value:
                best, best_value = counts.clone(), values[chosen]
        return best / best.sum()

    def _objective(self, weights: Tensor, nodes: Tensor) -> tuple[float, float]:
        score, log_loss = self(weights, nodes)
        return (log_loss, score) if self.by_log_loss else (score, log_loss)

    def select_on_halves(self, seed: int) -> tuple[tuple[float, float], Tensor]:
        """Return the mean gain of score and log loss over the best candidate on other nodes, and the mean weights."""
        gains, weights = [], []
        for half, rest in _halves(self.labels, self.scoring, seed):
            single = F.one_hot(torch.tensor(self.best(half)), len(self.logits)).float()
            weights.append(self.greedy(half))
            gains.append(np.subtract(self(weights[-1], rest), self(single, rest)))
        if not gains:
            return (0.0, 0.0), torch.zeros(len(self.logits))
        score, log_loss = np.mean(gains, axis=0).tolist()
        return (score, log_loss), _largest(torch.stack(weights).mean(dim=0))


def _largest(weights: Tensor) -> Tensor:
    """Return the largest weights, divided by their sum, and zero for all others."""
    order = weights.argsort(descending=True, stable=True)
    result = weights.index_fill(0, order[MAX_MEMBERS:], 0.0)
    return result / result.sum()


def _halves(labels: Tensor, scoring: Scoring, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Return pairs of disjoint random halves with equal shares of the classes, on which the scoring is defined."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(N_REPEATS):
        order = rng.permutation(len(labels))
        order = order[np.argsort(labels.numpy()[order], kind="stable")]
        halves = torch.from_numpy(order[::2].copy()), torch.from_numpy(order[1::2].copy())
        pairs += [halves, halves[::-1]]
    n_classes = int(labels.max()) + 1
    return [
        (a, b)
        for a, b in pairs
        if not (scoring.requires(labels[a], n_classes) or scoring.requires(labels[b], n_classes))
    ]
