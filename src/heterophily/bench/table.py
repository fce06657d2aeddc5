"""From records to the benchmark's table, as plain data: means, failures, places, ranks, significance.

Scores are in percent; `std` is the sample standard deviation over runs, with n - 1 in the denominator.
A mean over the ten runs of the paper counts as reproduced unless it is below the published one by more than
max(0.3, published std / 4).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from scipy.stats import rankdata

from heterophily.bench.significance import (
    ALPHA,
    TEST_TO_TRAIN,
    Comparison,
    Ranking,
    Scores,
    against_best,
    paired_means,
    rank_over_datasets,
)
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.data import published as paper
from heterophily.data.published import Published
from heterophily.runs.record import Record, latest
from heterophily.training.metrics import DEFAULT_METRIC

MARKS = {"memory": "OOM", "time": "time", "error": "error"}  # other failures are run again
MISSING = "–"
DIGITS = 2  # decimals shown; scores that look alike share a place
LEAST_TOLERANCE = 0.3  # percentage points
PAPER_RUNS = 10
PUBLISHED_METRIC = DEFAULT_METRIC.name  # the only metric that the paper reports


@dataclass(frozen=True)
class Entry:
    """What is known of a method on a dataset."""

    model: str
    dataset: str
    mean: float | None = None
    std: float | None = None  # None also for a single run
    n: int = 0  # finished runs
    planned: int = 0  # runs that some method of the table, or the paper, has on this dataset
    failed: Mapping[str, int] | None = None  # number of runs per kind of failure
    rank: float | None = None  # on this dataset, over shared runs; equals share an average
    place: int = 0  # 1 best, 2 second of the methods with the most runs, 0 any other
    level: bool | None = (
        None  # not significantly worse than the best; None: the best, or not tested
    )
    published: Published | None = None

    @property
    def mark(self) -> str:
        """What stands in the table instead of a number."""
        kinds = self.failed or {}
        return next((mark for kind, mark in MARKS.items() if kind in kinds), MISSING)

    @property
    def partial(self) -> bool:
        """Whether only some of the runs are finished."""
        return 0 < self.n < self.planned

    @property
    def difference(self) -> float | None:
        """The mean minus the published mean."""
        if self.mean is None or self.published is None or self.published.mean is None:
            return None
        return self.mean - self.published.mean

    @property
    def verdict(self) -> bool | None:
        """Whether the published mean is reproduced; None where there is nothing to compare yet."""
        if self.difference is None or self.partial:
            return None
        return self.difference >= -self.tolerance - 1e-9

    @property
    def tolerance(self) -> float:
        """How far below the published mean still counts as reproduced."""
        std = self.published.std if self.published else None
        return max(LEAST_TOLERANCE, (std or 0.0) / 4)

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data; what the paper has where it is compared."""
        facts: dict[str, Any] = {
            "model": self.model,
            "dataset": self.dataset,
            "mean": self.mean,
            "std": self.std,
            "n": self.n,
            "failed": dict(self.failed or {}),
            "rank": self.rank,
            "place": self.place,
            "not_significantly_worse": self.level,
        }
        if self.published is None:
            return facts
        return {
            **facts,
            "published": self.published.mean,
            "published_std": self.published.std,
            "published_out_of_memory": self.published.out_of_memory,
            "difference": self.difference,
            "reproduced": self.verdict,
        }


@dataclass(frozen=True)
class Table:
    """Methods × datasets, with everything that is printed beside."""

    metric: str
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    entries: Mapping[tuple[str, str], Entry]
    average_ranks: Mapping[str, float]  # empty if no dataset has all methods
    ranked: tuple[str, ...]  # the datasets that all methods have, over which ranks are averaged
    comparisons: Mapping[str, Sequence[Comparison]]  # per dataset, where it could be tested
    ranking: Ranking | None  # None: see `unranked`
    unranked: str  # why there is no test over datasets
    test_to_train: Mapping[str, float]  # per dataset
    alpha: float
    against: bool  # whether the paper's numbers stand beside
    left_out: int  # records of other settings, graphs or versions than those that are shown

    @property
    def untested(self) -> dict[str, list[str]]:
        """Per dataset that was tested, the methods that share too few splits with the best."""
        found = {}
        for name, made in self.comparisons.items():
            tested = {made[0].best, *(comparison.other for comparison in made)}
            found[name] = [e.model for e in self.column(name) if e.n and e.model not in tested]
        return found

    def row(self, model: str) -> list[Entry]:
        """The entries of a method, in the order of the datasets."""
        return [self.entries[model, dataset] for dataset in self.datasets]

    def column(self, dataset: str) -> list[Entry]:
        """The entries of a dataset, in the order of the methods."""
        return [self.entries[model, dataset] for model in self.models]

    def __iter__(self) -> Iterator[Entry]:
        return (entry for model in self.models for entry in self.row(model))


def build_table(
    records: Iterable[Record],
    *,
    metric: str = DEFAULT_METRIC.name,
    models: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    against: bool = False,
    alpha: float = ALPHA,
) -> Table:
    """The table of a metric on the test nodes; `against` puts the paper's accuracy beside."""
    if against and metric != PUBLISHED_METRIC:
        raise HeterophilyError(
            f"the paper reports only {PUBLISHED_METRIC}, not {metric}; omit --metric or --against"
        )
    known = list(records)
    cells = latest(known)
    if not cells:
        raise HeterophilyError("no records of runs, so no table; `heterophily bench` makes some")
    rows = _chosen("model", models, {model for model, _ in cells}, paper.methods())
    columns = _chosen("dataset", datasets, {name for _, name in cells}, paper.datasets())
    shown = {(m, d): one_per_run(cells.get((m, d), ())) for m in rows for d in columns}
    scores = {d: {m: _scores(shown[m, d], metric) for m in rows} for d in columns}
    ratios = {d: _test_to_train([r for m in rows for r in shown[m, d]]) for d in columns}
    comparisons = {}
    entries: dict[tuple[str, str], Entry] = {}
    for name in columns:
        planned = len({(r.split, r.seed) for m in rows for r in shown[m, name]})
        column = [_entry(m, name, shown[m, name], scores[name][m], planned) for m in rows]
        comparisons[name] = _compared(scores[name], ratios[name])
        for entry in _judged(_placed(column, scores[name]), comparisons[name], alpha):
            beside = paper.accuracy(entry.model, name) if against else None
            runs = max(planned, PAPER_RUNS) if beside else planned
            entries[entry.model, name] = replace(entry, published=beside, planned=runs)
    ranked = tuple(d for d in columns if all(entries[m, d].rank for m in rows))
    ranking, unranked = _ranked(scores, alpha)
    return Table(
        metric=metric,
        models=rows,
        datasets=columns,
        entries=entries,
        average_ranks={m: fmean(entries[m, d].rank or 0.0 for d in ranked) for m in rows if ranked},
        ranked=ranked,
        comparisons={name: found for name, found in comparisons.items() if found},
        ranking=ranking,
        unranked=unranked,
        test_to_train=ratios,
        alpha=alpha,
        against=against,
        left_out=_left_out(known, cells, entries),
    )


def _left_out(
    records: Iterable[Record],
    cells: Mapping[tuple[str, str], Sequence[Record]],
    entries: Mapping[tuple[str, str], Entry],
) -> int:
    there = Counter((record.model, record.dataset) for record in records)
    return sum(there[cell] - len(cells.get(cell, ())) for cell in entries)


def _chosen(
    kind: str, wanted: Sequence[str] | None, known: set[str], order: Iterable[str]
) -> tuple[str, ...]:
    """The wanted names, or all: the paper's in its order, then the others by the alphabet."""
    if wanted is None:
        first = [name for name in order if name in known]
        return (*first, *sorted(known - set(first)))
    if not wanted:
        raise HeterophilyError(f"no {kind} is chosen; name some, or leave the choice out")
    for name in wanted:
        if name not in known:
            raise unknown_name(f"{kind} in these results", name, known)
    return tuple(dict.fromkeys(wanted))


def one_per_run(records: Iterable[Record]) -> list[Record]:
    """One record per split and seed: a finished one before a failed one, then the newest."""
    chosen: dict[tuple[str, int], Record] = {}
    for record in sorted(records, key=lambda r: (r.done, r.finished)):
        chosen[record.split, record.seed] = record
    return list(chosen.values())


def _scores(records: Iterable[Record], metric: str) -> dict[tuple[str, int], float]:
    """Percent per split and seed."""
    found = {}
    for record in records:
        if record.done:
            known = record.run["scores"].get("test", {})
            if metric not in known:
                raise unknown_name(f"metric of {record.model} on {record.dataset}", metric, known)
            found[record.split, record.seed] = 100 * record.score("test", metric)
    return found


def _test_to_train(records: Iterable[Record]) -> float:
    """n_test / n_train as the records tell, or that of the paper's splits."""
    sizes = [record.details["split"] for record in records if "split" in record.details]
    known = [size["test"] / size["train"] for size in sizes if size.get("train")]
    return fmean(known) if known else TEST_TO_TRAIN


def _entry(
    model: str, dataset: str, records: Sequence[Record], scores: Scores, planned: int
) -> Entry:
    values = list(scores.values())
    return Entry(
        model,
        dataset,
        mean=fmean(values) if values else None,
        std=stdev(values) if len(values) > 1 else None,
        n=len(values),
        planned=planned,
        failed=Counter(record.status for record in records if not record.done),
    )


def _placed(column: Sequence[Entry], scores: Mapping[str, Scores]) -> list[Entry]:
    """The entries with their place among those with the most runs, and their rank on shared runs."""
    finished = [entry.model for entry in column if entry.n]
    means = paired_means(scores, finished) or []
    ranks = dict(zip(finished, rankdata([-mean for mean in means]).tolist(), strict=False))
    most = max((entry.n for entry in column), default=0)
    complete = {
        e.model: round(e.mean, DIGITS) for e in column if e.mean is not None and e.n == most
    }
    shown = sorted(set(complete.values()), reverse=True)
    places = {model: shown.index(mean) + 1 for model, mean in complete.items() if mean in shown[:2]}
    return [replace(e, rank=ranks.get(e.model), place=places.get(e.model, 0)) for e in column]


def _judged(
    column: Sequence[Entry], comparisons: Sequence[Comparison], alpha: float
) -> list[Entry]:
    level = {c.other: not c.significant(alpha) for c in comparisons}
    return [replace(entry, level=level.get(entry.model)) for entry in column]


def _compared(scores: Mapping[str, Scores], ratio: float) -> list[Comparison]:
    try:
        return against_best(scores, test_to_train=ratio)
    except HeterophilyError:  # too few methods or splits so far: nothing is marked
        return []


def _ranked(scores: Mapping[str, Mapping[str, Scores]], alpha: float) -> tuple[Ranking | None, str]:
    try:
        return rank_over_datasets(scores, alpha=alpha), ""
    except HeterophilyError as error:
        return None, str(error)
