"""Cheap classifiers that measure what edges add: cross-validated scores of sets of columns, and differences.

Score = 2 AUC - 1, where AUC is the mean over the classes of the area under the ROC curve of each class against all
others. It is 0 for chance and 1 for a perfect ranking, whatever the sizes of the classes.

Intervals are those of the corrected resampled t-test (Nadeau and Bengio 2003). With J folds of all repetitions, the
variance of a mean difference is (1/J + n_test/n_train) s², because training sets overlap.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t

from heterophily.analysis.probe_columns import ProbeColumns, probe_columns
from heterophily.core.graph import Graph
from heterophily.core.neighborhood import make_folds
from heterophily.core.progress import track
from heterophily.core.types import FloatArray, IntArray, JsonObject

MAX_PROBED_NODES = 2_000  # labeled nodes
N_FOLDS, N_REPEATS = 5, 2
FEATURES, AVERAGE = "features", "average"
GAINS = ("features and neighbors' features", "features and neighbors' labels", "all")
SETS: dict[str, tuple[str, ...]] = {
    FEATURES: ("features",),
    GAINS[0]: ("features", "neighbors", "two hops"),
    GAINS[1]: ("features", "labels"),
    GAINS[2]: ("features", "neighbors", "two hops", "labels", "position"),
    "position": ("position",),
    AVERAGE: ("average",),
}
TITLES = {
    FEATURES: "features alone",
    GAINS[0]: "with neighbors' features",
    GAINS[1]: "with neighbors' labels",
    GAINS[2]: "all of these and position",
    "position": "position alone",
    AVERAGE: "averages instead",
}
PENALTIES = tuple(10.0**k for k in range(6))  # of ridge regression on standardized columns
MAX_DEVIATIONS = 10.0  # to which new rows are clipped
TREE_COLUMNS = 20  # of each kind
MAX_TREES, MIN_ROUNDS, MAX_ROUNDS, MAX_BINS = 48, 6, 24, 31
CLEARLY_WORSE = 0.1  # in the score of the first fold, for a probe to be dropped
MIN_SCREENED_NODES = 500  # for which a single fold is reliable enough


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences of scores, with its corrected standard error."""

    mean: float
    error: float
    freedom: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the two-sided confidence interval."""
        width = self.error * float(t.ppf((1 + level) / 2, self.freedom))
        return self.mean - width, self.mean + width

    @property
    def is_tie(self) -> bool:
        """Whether the interval contains 0."""
        low, high = self.interval()
        return low <= 0 <= high

    @property
    def points(self) -> str:
        """The mean in points of the score, which is 100 for a perfect ranking."""
        return _points(self.mean)

    @property
    def interval_text(self) -> str:
        """The 95% confidence interval in points."""
        low, high = (max(-2.0, min(2.0, value)) for value in self.interval())
        return f"{_points(low)} to {_points(high)}"

    def to_dict(self) -> JsonObject:
        """Return the difference as plain data."""
        low, high = self.interval()
        return {"mean": self.mean, "low": low, "high": high, "probability": self.probability_above()}

    def probability_above(self, value: float = 0.0) -> float:
        """Return the probability that the difference exceeds a value, given the t distribution of its error."""
        if self.error == 0:
            return float(self.mean > value) if self.mean != value else 0.5
        return float(t.sf((value - self.mean) / self.error, self.freedom))


def _points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def corrected_difference(values: FloatArray, n_folds: int) -> Difference:
    """Return the mean of differences of folds, with the correction for overlapping training sets."""
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    error = (variance * (1 / len(values) + 1 / (n_folds - 1))) ** 0.5
    return Difference(float(values.mean()), error, len(values) - 1)


def ranking_score(classes: IntArray, scores: FloatArray) -> float:
    """Return 2 AUC - 1, the mean over the classes that some but not all nodes have."""
    ranks = rankdata(scores, axis=0)
    values = []
    for k in range(scores.shape[1]):
        own = classes == k
        n, m = int(own.sum()), int((~own).sum())
        if n and m:
            values.append(2 * (ranks[own, k].sum() - n * (n + 1) / 2) / (n * m) - 1)
    return float(np.mean(values)) if values else 0.0


def ridge_scores(x: FloatArray, classes: IntArray, new: FloatArray, *, n_classes: int) -> FloatArray:
    """Fit ridge regressions of the classes on standardized columns, and return scores of new rows, (m, K).

    The penalty is the one with the smallest leave-one-out error.
    """
    center, scale = x.mean(axis=0), x.std(axis=0)
    varies = scale > 1e-6 * (np.abs(center) + 1e-6)
    x, new = (((each - center) / np.where(varies, scale, 1.0))[:, varies] for each in (x, new))
    targets = np.eye(n_classes)[classes]
    residual = targets - targets.mean(axis=0)
    values, vectors = np.linalg.eigh(x.T @ x)
    rotated = x @ vectors
    best, weights = np.inf, np.zeros((x.shape[1], n_classes))
    for penalty in PENALTIES:
        inverse = 1 / (np.maximum(values, 0) + penalty)
        found = inverse[:, None] * (rotated.T @ residual)
        leverage = rotated**2 @ inverse + 1 / len(x)
        error = (((residual - rotated @ found) / (1 - leverage)[:, None]) ** 2).mean()
        if error < best:
            best, weights = error, found
    return np.asarray(np.clip(new, -MAX_DEVIATIONS, MAX_DEVIATIONS) @ vectors @ weights)


def tree_scores(x: FloatArray, classes: IntArray, new: FloatArray, *, n_classes: int) -> FloatArray:
    """Fit a few small boosted trees, and return probabilities of new rows, (m, K)."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    present = np.unique(classes)
    model = HistGradientBoostingClassifier(
        max_iter=max(MIN_ROUNDS, min(MAX_ROUNDS, MAX_TREES // n_classes)),
        max_leaf_nodes=8,
        max_bins=MAX_BINS,
        learning_rate=0.2,
        min_samples_leaf=max(2, min(10, len(x) // 20)),
        early_stopping=False,
        random_state=0,
    )
    scores = np.zeros((len(new), n_classes))
    scores[:, present] = model.fit(x, classes).predict_proba(new)
    return scores


ProbeScores = dict[tuple[str, str], list[float]]  # (set, probe) -> score of each fold
PROBES = {"linear": ridge_scores, "trees": tree_scores}


@dataclass(frozen=True)
class Probes:
    """Scores of the sets of columns in each fold, and the probe that is the better one for each set."""

    scores: Mapping[str, FloatArray]  # set -> (J,)
    kinds: Mapping[str, str]  # set -> probe
    n_sampled: int
    n_folds: int

    def difference(self, left: str, right: str) -> Difference:
        """Return the paired difference of the scores of two sets. A missing set has score 0, that of chance."""
        zero = np.zeros(len(next(iter(self.scores.values()))))
        return corrected_difference(self.scores.get(left, zero) - self.scores.get(right, zero), self.n_folds)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """What a node's class is predicted from, the score, its change, and the interval of the change, as text."""
        found: list[tuple[str, ...]] = []
        for name in SETS:
            if name in self.scores:
                change = self.difference(name, FEATURES)
                shown = (change.points, change.interval_text) if FEATURES in self.scores and name != FEATURES else ()
                score = f"{100 * self.scores[name].mean():.1f}".replace("-", "−")
                found.append((TITLES[name], score, *(shown or ("", ""))))
        return found

    def to_dict(self) -> JsonObject:
        """Return scores, probes, and differences from the features alone as plain data."""
        return {
            "n_nodes": self.n_sampled,
            "n_folds": self.n_folds,
            "n_repetitions": N_REPEATS,
            "sets": {name: self._plain(name) for name in self.scores},
        }

    def _plain(self, name: str) -> JsonObject:
        row: JsonObject = {"score": float(self.scores[name].mean()), "probe": self.kinds[name]}
        return row if name == FEATURES else {**row, "difference": self.difference(name, FEATURES).to_dict()}


def measure_probes(
    graph: Graph, *, sample: int = MAX_PROBED_NODES, seed: int = 0, progress: bool = False
) -> Probes | None:
    """Score all sets of columns by repeated cross-validation on a sample of the labeled nodes.

    The first repetition compares the linear probe and the trees, and the second repeats the better one of each set.
    None if fewer than two classes have at least two labeled nodes.
    """
    nodes = _sample(graph, sample, seed)
    classes = graph.labels.numpy()[nodes]
    sizes = np.bincount(classes, minlength=graph.n_classes)
    n_folds = min(N_FOLDS, int(np.sort(sizes)[-2]))
    if n_folds < 2:
        return None
    columns = probe_columns(graph, nodes)
    names = [name for name in SETS if columns.has(SETS[name])]
    scores: ProbeScores = {(name, probe): [] for name in names for probe in PROBES}
    rounds = [(repeat, fold) for repeat in range(N_REPEATS) for fold in range(n_folds)]
    for repeat, fold in track(rounds, "Measuring what edges add") if progress else rounds:
        folds = make_folds(classes, n_folds=n_folds, seed=seed + repeat)
        _score_fold(columns, folds == fold, scores)
        if (repeat, fold) == (0, 0) and len(nodes) >= MIN_SCREENED_NODES:
            scores = _without_worse(scores, by=CLEARLY_WORSE)
        if (repeat, fold) == (0, n_folds - 1):
            scores = _without_worse(scores, by=0.0)
    kinds = dict(scores.keys())
    return Probes({name: np.array(found) for (name, _), found in scores.items()}, kinds, len(nodes), n_folds)


def _without_worse(scores: ProbeScores, *, by: float) -> ProbeScores:
    """Return the scores of the best probe of each set, and of the other one if it is not worse by a margin."""
    means = {key: float(np.mean(found)) for key, found in scores.items()}
    best = {name: max(PROBES, key=lambda probe: means.get((name, probe), -np.inf)) for name, _ in scores}
    return {
        (name, probe): found
        for (name, probe), found in scores.items()
        if probe == best[name] or means[name, probe] > means[name, best[name]] - by
    }


def _sample(graph: Graph, size: int, seed: int) -> IntArray:
    known = np.flatnonzero(graph.labeled.numpy())
    return np.sort(np.random.default_rng(seed).permutation(known)[:size])


def _score_fold(columns: ProbeColumns, held_out: IntArray, scores: ProbeScores) -> None:
    test = np.flatnonzero(held_out)
    train = np.flatnonzero(~held_out)
    blocks = {**columns.fixed, "labels": columns.label_columns(test)}
    for (name, probe), found in scores.items():
        width = TREE_COLUMNS if probe == "trees" else None
        x = np.hstack([blocks[kind][:, :width] for kind in SETS[name] if kind in blocks])
        predicted = PROBES[probe](x[train], columns.classes[train], x[test], n_classes=columns.n_classes)
        found.append(ranking_score(columns.classes[test], predicted))
