"""The table of the benchmark as plain data: means, failures, positions, ranks, and significance.

Scores are in percent. `std` is the sample standard deviation over runs, with n - 1 in the denominator.
A mean over the ten runs of the paper is treated as reproduced unless it is below the published mean by more
than max(0.3, published std / 4).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev

from scipy.stats import rankdata

from heterophily.benchmark.selection import select_cells
from heterophily.benchmark.significance import (
    ALPHA,
    TEST_TO_TRAIN,
    Comparison,
    PairedTest,
    Ranking,
    Scores,
    against_best,
    all_pairs,
    paired_means,
    rank_over_datasets,
)
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.types import JsonObject
from heterophily.data import published as paper
from heterophily.data.published import Published
from heterophily.runs.record import Record, latest
from heterophily.training.scoring import DEFAULT_SCORING

FAILURE_LABELS = {"memory": "OOM", "time": "time", "error": "error"}  # other failures run again
MISSING = "–"
DIGITS = 2  # decimals shown; scores that are equal after rounding share a position
MIN_TOLERANCE = 0.3  # percentage points
PAPER_RUNS = 10
PUBLISHED_SCORING = DEFAULT_SCORING.name  # the only scoring that the paper reports


@dataclass(frozen=True)
class Entry:
    """The results of a method on a dataset."""

    model: str
    dataset: str
    mean: float | None = None
    std: float | None = None  # None also for a single run
    n: int = 0  # finished runs
    planned: int = 0  # runs that any method of the table, or the paper, has on this dataset
    failed: Mapping[str, int] | None = None  # number of runs per kind of failure
    rank: float | None = None  # on this dataset, over shared runs; ties have their average rank
    position: int = 0  # 1 best, 2 second of the methods with the most runs, 0 any other
    not_significantly_worse: bool | None = None  # None for the best method, or if not tested
    published: Published | None = None
    test: Comparison | None = None  # with the best method; None for the best one, or if not tested
    settings: str = ""  # kind of the settings, in a table with several kinds
    trials: int = 0  # of `tune` that selected the settings

    @property
    def column(self) -> str:
        """The name of the column: the dataset, with the kind of the settings if the table has several."""
        return f"{self.dataset} ({self.settings})" if self.settings else self.dataset

    @property
    def failure_label(self) -> str:
        """The text that the table shows instead of a number."""
        kinds = self.failed or {}
        return next((label for kind, label in FAILURE_LABELS.items() if kind in kinds), MISSING)

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
        """Whether the published mean is reproduced; None if there is nothing to compare yet."""
        if self.difference is None or self.partial:
            return None
        return self.difference >= -self.tolerance - 1e-9

    @property
    def tolerance(self) -> float:
        """The largest difference below the published mean that is treated as reproduced."""
        std = self.published.std if self.published else None
        return max(MIN_TOLERANCE, (std or 0.0) / 4)

    def __str__(self) -> str:
        """Mean ± standard deviation, with the number of runs if some are missing, or OOM, time, error, or –."""
        if self.mean is None:
            return self.failure_label
        spread = "" if self.std is None else f" ± {self.std:.{DIGITS}f}"
        return f"{self.mean:.{DIGITS}f}{spread}{f' ({self.n}/{self.planned})' if self.partial else ''}"

    def to_dict(self) -> JsonObject:
        """Return the entry as plain data, with the published result if it is compared."""
        facts: JsonObject = {
            "model": self.model,
            "dataset": self.dataset,
            "mean": self.mean,
            "std": self.std,
            "n": self.n,
            "failed": dict(self.failed or {}),
            "rank": self.rank,
            "place": self.position,
            "not_significantly_worse": self.not_significantly_worse,
            "p": None if self.test is None else self.test.p,
            "p_holm": None if self.test is None else self.test.p_holm,
        }
        if self.settings:
            facts |= {"settings": self.settings, "trials": self.trials}
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
    """Methods × datasets, with ranks and tests of significance."""

    scoring: str
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    entries: Mapping[tuple[str, str], Entry]
    average_ranks: Mapping[str, float]  # empty if no dataset has all methods
    ranked: tuple[str, ...]  # the datasets that all methods have, over which ranks are averaged
    comparisons: Mapping[str, Sequence[Comparison]]  # per dataset that can be tested
    ranking: Ranking | None  # None: see `unranked`
    unranked: str  # why there is no test over datasets
    test_to_train: Mapping[str, float]  # per dataset
    alpha: float
    against: bool  # whether the results are compared with the paper's
    n_excluded: int  # number of records of other settings, graphs, or versions than those shown
    scores: Mapping[str, Mapping[str, Scores]]  # per dataset and method
    budget: str = ""  # number of trials of `tune`, in a table with several kinds of settings

    @cached_property
    def pairs(self) -> dict[str, list[PairedTest]]:
        """The tests of all pairs of methods, per dataset."""
        return {name: all_pairs(rows, test_to_train=self.test_to_train[name]) for name, rows in self.scores.items()}

    @property
    def untested(self) -> dict[str, list[str]]:
        """The methods that share too few splits with the best, per dataset that was tested."""
        models = {}
        for name, comparisons in self.comparisons.items():
            tested = {comparisons[0].best, *(comparison.other for comparison in comparisons)}
            models[name] = [e.model for e in self.column(name) if e.n and e.model not in tested]
        return models

    def row(self, model: str) -> list[Entry]:
        """Return the entries of a method, in the order of the datasets."""
        return [self.entries[model, dataset] for dataset in self.datasets]

    def column(self, dataset: str) -> list[Entry]:
        """Return the entries of a dataset, in the order of the methods."""
        return [self.entries[model, dataset] for model in self.models]

    def __str__(self) -> str:
        cells = [[model, *(str(entry) for entry in self.row(model))] for model in self.models]
        rows = [["", *self.datasets], *cells]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
        return "\n".join("  ".join(row) for row in padded)

    def __iter__(self) -> Iterator[Entry]:
        return (entry for model in self.models for entry in self.row(model))


def build_table(
    records: Iterable[Record],
    *,
    scoring: str = DEFAULT_SCORING.name,
    models: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    against: bool = False,
    alpha: float = ALPHA,
) -> Table:
    """Return the table of a scoring on the test nodes. `against` compares it with the paper's accuracy."""
    if against and scoring != PUBLISHED_SCORING:
        raise HeterophilyError(
            f"the paper reports only {PUBLISHED_SCORING}, not {scoring}; omit --scoring or --against"
        )
    records = list(records)
    rows, columns = select_cells(records, models, datasets)
    return table_of(records, rows, columns, scoring=scoring, against=against, alpha=alpha)


def table_of(
    records: Sequence[Record],
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    *,
    scoring: str = DEFAULT_SCORING.name,
    against: bool = False,
    alpha: float = ALPHA,
) -> Table:
    """Return the table of these methods and datasets, some of which may have no record."""
    cells = latest(records)
    shown = {d: {m: one_per_run(cells.get((m, d), ())) for m in rows} for d in columns}
    scores = {d: {m: _scores(shown[d][m], scoring) for m in rows} for d in columns}
    ratios = {d: _test_to_train([r for runs in shown[d].values() for r in runs]) for d in columns}
    comparisons = {d: _compare(scores[d], ratios[d]) for d in columns}
    entries = {
        (entry.model, d): entry
        for d in columns
        for entry in _with_significance(_column(d, shown[d], scores[d], against=against), comparisons[d], alpha)
    }
    ranked = tuple(d for d in columns if all(entries[m, d].rank for m in rows))
    return Table(
        scoring,
        rows,
        columns,
        entries,
        {m: fmean(entries[m, d].rank or 0.0 for d in ranked) for m in rows if ranked},
        ranked,
        {name: made for name, made in comparisons.items() if made},
        *_rank(scores, alpha),
        ratios,
        alpha,
        against,
        _count_excluded(records, cells, entries),
        scores,
    )


def _column(
    dataset: str, records: Mapping[str, Sequence[Record]], scores: Mapping[str, Scores], *, against: bool
) -> list[Entry]:
    """Return the entries of a dataset, with their positions and the published results."""
    planned = len({(r.split, r.seed) for runs in records.values() for r in runs})
    entries = [_entry(m, dataset, records[m], scores[m], planned) for m in records]
    column = _with_positions(entries, scores)
    if not against:
        return column
    results = [paper.accuracy(model, dataset) for model in records]
    counts = [max(planned, PAPER_RUNS) if result else planned for result in results]
    return [
        replace(entry, published=result, planned=n) for entry, result, n in zip(column, results, counts, strict=True)
    ]


def _count_excluded(
    records: Iterable[Record],
    cells: Mapping[tuple[str, str], Sequence[Record]],
    entries: Mapping[tuple[str, str], Entry],
) -> int:
    counts = Counter((record.model, record.dataset) for record in records)
    return sum(counts[cell] - len(cells.get(cell, ())) for cell in entries)


def one_per_run(records: Iterable[Record]) -> list[Record]:
    """Return one record per split and seed, preferring finished records and then the newest."""
    selected: dict[tuple[str, int], Record] = {}
    for record in sorted(records, key=lambda r: (r.done, r.finished)):
        selected[record.split, record.seed] = record
    return list(selected.values())


def _scores(records: Iterable[Record], scoring: str) -> dict[tuple[str, int], float]:
    """Return scores in percent by split and seed."""
    scores = {}
    for record in records:
        if record.done:
            if not record.has_test_scores:
                raise HeterophilyError(
                    f"{record.model} on {record.dataset}, split {record.split}, has no test scores, because it is a "
                    "trial of `search` or `tune`; use the folder of `bench`"
                )
            known = record.run["scores"]["test"]
            if scoring not in known:
                raise unknown_name(f"scoring of {record.model} on {record.dataset}", scoring, known)
            scores[record.split, record.seed] = 100 * record.score("test", scoring)
    return scores


def _test_to_train(records: Iterable[Record]) -> float:
    """Return n_test / n_train of the records, or that of the paper's splits."""
    sizes = [record.details["split"] for record in records if "split" in record.details]
    known = [size["test"] / size["train"] for size in sizes if size.get("train") and size.get("test")]
    return fmean(known) if known else TEST_TO_TRAIN


def _entry(model: str, dataset: str, records: Sequence[Record], scores: Scores, planned: int) -> Entry:
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


def _with_positions(column: Sequence[Entry], scores: Mapping[str, Scores]) -> list[Entry]:
    """Add the position among the methods with the most runs, and the rank on shared runs."""
    finished = [entry.model for entry in column if entry.n]
    means = paired_means(scores, finished) or []
    ranks = dict(zip(finished, rankdata([-mean for mean in means]).tolist(), strict=False))
    most = max((entry.n for entry in column), default=0)
    complete = {e.model: round(e.mean, DIGITS) for e in column if e.mean is not None and e.n == most}
    shown = sorted(set(complete.values()), reverse=True)
    first_two = {m: shown.index(mean) + 1 for m, mean in complete.items() if mean in shown[:2]}
    return [replace(e, rank=ranks.get(e.model), position=first_two.get(e.model, 0)) for e in column]


def _with_significance(column: Sequence[Entry], comparisons: Sequence[Comparison], alpha: float) -> list[Entry]:
    tests = {c.other: c for c in comparisons}
    return [
        replace(e, not_significantly_worse=not tests[e.model].significant(alpha), test=tests[e.model])
        if e.model in tests
        else e
        for e in column
    ]


def _compare(scores: Mapping[str, Scores], ratio: float) -> list[Comparison]:
    try:
        return against_best(scores, test_to_train=ratio)
    except HeterophilyError:  # too few methods or splits so far
        return []


def _rank(scores: Mapping[str, Mapping[str, Scores]], alpha: float) -> tuple[Ranking | None, str]:
    try:
        return rank_over_datasets(scores, alpha=alpha), ""
    except HeterophilyError as error:
        return None, str(error)
