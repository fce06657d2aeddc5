"""Select the members of an ensemble on validation nodes: the mean of the best candidates, unless another one is better.

The score of the best of many candidates is too high, because it was chosen for its score, in particular if there are
few validation nodes. The mean of several candidates with low log losses depends less on such a choice, so it is the
default. A greedy selection, repeated on random halves of the validation nodes, or the best single candidate replaces
it only if it is better on the other halves by more than one standard error.
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
MIN_NODES = 5  # validation nodes that an ensemble requires
MIN_HALVED_NODES = 20  # validation nodes that a comparison on halves requires
N_BEST, MAX_ERRORS = 5, 6.0  # candidates of the mean, and their distance from the lowest log loss in standard errors
BY_LOG_LOSS = ("accuracy",)  # scorings that are too coarse for a greedy selection


@dataclass(frozen=True)
class Selection:
    """Weights and temperatures of all candidates, (M,)."""

    weights: Tensor
    temperatures: Tensor
    kind: str = "best"  # best, mean, or greedy


def select_members(
    logits: Sequence[Tensor], labels: Tensor, scoring: Scoring, *, ensemble: bool = True, seed: int = 0
) -> Selection:
    """Select candidates, given the logits of each of them on the validation nodes, (n, K)."""
    temperatures = torch.tensor([fit_temperature(each, labels) for each in logits])
    score = _Score([each / t for each, t in zip(logits, temperatures, strict=True)], labels, scoring)
    everything = torch.arange(len(labels))
    kind, weights = "best", score.single(everything)
    if ensemble and len(logits) > 1 and len(labels) >= MIN_NODES:
        kind, weights = "mean", score.mean_of_best(everything)
        if len(labels) >= MIN_HALVED_NODES:
            kind, weights = score.compare_on_halves(seed)
    return Selection(weights, temperatures, kind)


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

    def single(self, nodes: Tensor) -> Tensor:
        """Return the weights of the best candidate alone, (M,)."""
        return F.one_hot(torch.tensor(self.best(nodes)), len(self.logits)).float()

    def mean_of_best(self, nodes: Tensor) -> Tensor:
        """Return equal weights for the candidates with the lowest log loss, unless they are clearly worse, (M,)."""
        losses = -self.logits[:, nodes].log_softmax(dim=2)[:, torch.arange(len(nodes)), self.labels[nodes]]  # (M, n)
        order = losses.mean(dim=1).argsort(stable=True)[:N_BEST]
        differences = losses[order] - losses[order[0]]
        errors = differences.std(dim=1) / len(nodes) ** 0.5
        close = order[differences.mean(dim=1) <= MAX_ERRORS * errors]
        return torch.zeros(len(self.logits)).index_fill(0, close, 1 / len(close))

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

    def compare_on_halves(self, seed: int) -> tuple[str, Tensor]:
        """Return the kind and the weights of the selection that is best on the halves that did not select it."""
        everything = torch.arange(len(self.labels))
        result = ("mean", self.mean_of_best(everything))
        pairs = _halves(self.labels, self.scoring, seed)
        if not pairs:
            return result
        greedy = [self.greedy(half) for half, _ in pairs]
        others = {"greedy": greedy, "best": [self.single(half) for half, _ in pairs]}
        means = [self._objective(self.mean_of_best(half), rest)[0] for half, rest in pairs]
        least = 0.0
        for kind, weights in others.items():
            values = [self._objective(each, rest)[0] for each, (_, rest) in zip(weights, pairs, strict=True)]
            gains = np.subtract(values, means)
            # The gains on different halves are not independent. One on all nodes has half of the variance.
            if gains.mean() > max(least, float(gains.std(ddof=1)) / 2**0.5):
                least = float(gains.mean())
                chosen = _largest(torch.stack(greedy).mean(dim=0)) if kind == "greedy" else self.single(everything)
                result = (kind, chosen)
        return result


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
