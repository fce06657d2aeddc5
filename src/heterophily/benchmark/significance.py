"""Significance of differences between methods, on one dataset and over several.

On one dataset, the corrected resampled t-test of Nadeau and Bengio (2003) is used. The splits of one graph
share nodes, so their differences d_1 .. d_n are not independent, and the plain paired test rejects too often:

    t = mean(d) / sqrt((1/n + n_test/n_train) var(d)),   n - 1 degrees of freedom, two-sided

The best method is compared with every other one, and Holm's correction (1979) accounts for their number.
Over datasets, Friedman's test on ranks is followed by Nemenyi's critical difference of average ranks
(Demšar 2006):

    CD = q_α sqrt(k (k + 1) / (6 N)),   k methods, N datasets, q_α of the studentized range / sqrt(2)

Only paired runs are compared: those with the same split and the same seed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, variance

import numpy as np
from scipy import stats

from heterophily.core.errors import HeterophilyError
from heterophily.core.types import FloatArray

ALPHA = 0.05
TEST_TO_TRAIN = 0.2 / 0.48  # of the paper's splits: 48 % train, 32 % validation, 20 % test

Scores = Mapping[tuple[str, int], float]  # score of a method per split and seed


@dataclass(frozen=True)
class Comparison:
    """Comparison of the best method on a dataset with another one."""

    best: str
    other: str
    n_splits: int
    difference: float  # best minus other, over the runs that both have
    t: float
    p: float
    p_holm: float

    def significant(self, alpha: float = ALPHA) -> bool:
        """Return whether the other method is significantly worse."""
        return self.difference > 0 and self.p_holm <= alpha


@dataclass(frozen=True)
class PairedTest:
    """Comparison of two methods on a dataset, with Holm's correction over all pairs of the dataset."""

    first: str
    second: str
    n_splits: int
    difference: float  # first minus second, over the runs that both have
    t: float
    p: float
    p_holm: float


@dataclass(frozen=True)
class Ranking:
    """Average ranks over datasets, where 1 is best, and their tests of significance."""

    ranks: dict[str, float]  # in ascending order
    datasets: tuple[str, ...]
    chi_square: float
    p: float
    critical_difference: float
    alpha: float

    @property
    def cliques(self) -> list[tuple[str, ...]]:
        """The largest groups of methods whose average ranks differ by less than the critical difference."""
        names, ranks = list(self.ranks), list(self.ranks.values())
        cliques: list[tuple[str, ...]] = []
        end = 0
        for i, low in enumerate(ranks):
            j = max(j for j, high in enumerate(ranks) if high - low < self.critical_difference)
            if j > max(end, i):
                cliques.append(tuple(names[i : j + 1]))
            end = max(end, j)
        return cliques


def against_best(scores: Mapping[str, Scores], *, test_to_train: float = TEST_TO_TRAIN) -> list[Comparison]:
    """Compare the best method with every other method that shares at least two splits with it.

    The best method has the highest mean of those with the most runs, because fewer runs may be the easier
    ones. Runs of one split with several seeds are averaged first, because they are not separate splits.
    """
    finished = {model: runs for model, runs in scores.items() if runs}
    if len(finished) < 2:
        raise HeterophilyError(
            f"a comparison needs two methods with finished runs, got {_join(finished)}; run more methods"
        )
    best = max(finished, key=lambda m: (len(finished[m]), fmean(finished[m].values())))
    rows = []
    for other, runs in finished.items():
        differences = paired_differences(finished[best], runs)
        if other != best and len(differences) >= 2:
            t, p = corrected_t_test(differences, test_to_train=test_to_train)
            rows.append((other, len(differences), fmean(differences), t, p))
    if not rows:
        raise HeterophilyError(
            f"no method shares two splits with {best}, the best one; a test needs runs of the same splits "
            "and seeds, so run more splits"
        )
    adjusted = holm([p for *_, p in rows])
    return [Comparison(best, *row, q) for row, q in zip(rows, adjusted, strict=True)]


def all_pairs(scores: Mapping[str, Scores], *, test_to_train: float = TEST_TO_TRAIN) -> list[PairedTest]:
    """Compare all pairs of methods that share at least two splits."""
    rows = []
    for first, second in combinations([model for model, runs in scores.items() if runs], 2):
        differences = paired_differences(scores[first], scores[second])
        if len(differences) >= 2:
            t, p = corrected_t_test(differences, test_to_train=test_to_train)
            rows.append((first, second, len(differences), fmean(differences), t, p))
    return [PairedTest(*row, q) for row, q in zip(rows, holm([p for *_, p in rows]), strict=True)]


def paired_differences(one: Scores, other: Scores) -> list[float]:
    """Return the difference per split over runs with the same split and seed, averaged over seeds."""
    splits: dict[str, list[float]] = {}
    for split, seed in one:
        if (split, seed) in other:
            difference = one[split, seed] - other[split, seed]
            splits.setdefault(split, []).append(difference)
    return [fmean(values) for values in splits.values()]


def corrected_t_test(differences: Sequence[float], *, test_to_train: float = TEST_TO_TRAIN) -> tuple[float, float]:
    """Return the t statistic and the two-sided p-value of the corrected resampled t-test.

    >>> t, p = corrected_t_test([1.0, 2.0, 3.0], test_to_train=2 / 3)
    >>> round(t, 6), round(p, 4)
    (2.0, 0.1835)
    """
    n = len(differences)
    if n < 2:
        raise HeterophilyError(f"a t-test needs at least two splits, got {n}; run more splits")
    if test_to_train < 0:
        raise HeterophilyError(f"test_to_train (n_test / n_train) must not be negative, got {test_to_train}")
    mean = fmean(differences)
    error = math.sqrt((1 / n + test_to_train) * variance(differences))
    if error <= 1e-12 * abs(mean):  # the same difference on every split, up to rounding
        return (math.copysign(math.inf, mean), 0.0) if mean else (0.0, 1.0)
    t = mean / error
    return t, float(2 * stats.t.sf(abs(t), n - 1))


def signed_rank_test(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of mean differences, one per dataset.

    Return None for fewer than five datasets, because no result could be significant.

    >>> signed_rank_test([0.1, 0.2, 0.3, 0.4, 0.5])
    0.0625
    """
    if len(differences) < 5:
        return None
    return float(stats.wilcoxon(differences).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values: the i-th smallest times m - i + 1, monotone and at most 1.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, minimum = [0.0] * len(p_values), 0.0
    for position, i in enumerate(order):
        minimum = max(minimum, min(1.0, (len(p_values) - position) * p_values[i]))
        adjusted[i] = minimum
    return adjusted


def rank_over_datasets(scores: Mapping[str, Mapping[str, Scores]], *, alpha: float = ALPHA) -> Ranking:
    """Return Friedman's and Nemenyi's tests over the datasets on which all methods share a run."""
    models = list(dict.fromkeys(model for rows in scores.values() for model in rows))
    means = {name: paired_means(rows, models) for name, rows in scores.items()}
    shared = {name: row for name, row in means.items() if row is not None}
    if len(models) < 3 or len(shared) < 2:
        raise HeterophilyError(
            f"Friedman's test needs three methods and two datasets on which all of them share runs, got "
            f"{len(models)} and {len(shared)}; run more, or choose complete models and datasets"
        )
    table = np.array(list(shared.values()))  # (N, k)
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    chi_square, p = _friedman(table)
    order = np.argsort(ranks, kind="stable")
    return Ranking(
        ranks={models[i]: float(ranks[i]) for i in order},
        datasets=tuple(shared),
        chi_square=chi_square,
        p=p,
        critical_difference=critical_difference(len(models), len(shared), alpha=alpha),
        alpha=alpha,
    )


def critical_difference(n_models: int, n_datasets: int, *, alpha: float = ALPHA) -> float:
    """Return Nemenyi's critical difference of average ranks."""
    q = float(stats.studentized_range.ppf(1 - alpha, n_models, np.inf)) / math.sqrt(2)
    return q * math.sqrt(n_models * (n_models + 1) / (6 * n_datasets))


def _friedman(table: FloatArray) -> tuple[float, float]:
    if (table == table[:, :1]).all():  # all methods are equal on all datasets: SciPy divides 0 by 0
        return 0.0, 1.0
    result = stats.friedmanchisquare(*table.T)
    return float(result.statistic), float(result.pvalue)


def paired_means(rows: Mapping[str, Scores], models: Sequence[str]) -> list[float] | None:
    """Return means over the runs that all models have, or None if there is no such run."""
    runs = set.intersection(*(set(rows.get(model, ())) for model in models)) if models else set()
    return [fmean(rows[model][run] for run in sorted(runs)) for model in models] if runs else None


def _join(names: Mapping[str, object]) -> str:
    return ", ".join(names) or "none"
