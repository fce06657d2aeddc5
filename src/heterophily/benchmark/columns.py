"""A table with one column per dataset and kind of settings: default, bundled, given, and tuned.

Methods are compared within a column only, so a method with tuned settings is never compared with one that has its
defaults. Average ranks and the tests over datasets use the tuned columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from heterophily.benchmark.selection import select_cells
from heterophily.benchmark.significance import ALPHA
from heterophily.benchmark.table import Entry, Table, build_table, table_of
from heterophily.core.arguments import NUMBER, check_argument, check_names, short_text
from heterophily.core.errors import HeterophilyError
from heterophily.runs.record import Record, read_records
from heterophily.training.scoring import DEFAULT_SCORING

KINDS = ("default", "bundled", "given", "tuned")


def settings_kind(record: Record) -> str:
    """Return the kind of the settings of a record.

    They are tuned if `tune` selected them, the defaults of the method, bundled with the library, or given by a user.
    """
    if record.trials:
        return "tuned"
    if record.source == "defaults":
        return "default"
    return "given" if record.source in ("command line", "file") else "bundled"


def by_kind(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by the kind of their settings."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(settings_kind(record), []).append(record)
    return {kind: groups[kind] for kind in KINDS if kind in groups}


def table(
    results: Path | str | Iterable[Record],
    *,
    scoring: str = DEFAULT_SCORING.name,
    models: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    against: Literal["paper"] | None = None,
    alpha: float = ALPHA,
) -> Table:
    """Compare the test scores of methods: means, ranks, and tests of significance.

    If `tune` selected some of the settings, the table has one column per dataset and kind of settings.

    Parameters
    ----------
    results
        Folder or file with records, or records.
    scoring
        Name of the score.
    models, datasets
        Names of the rows and columns; by default all of them.
    against
        ``"paper"`` to compare with the published results.
    alpha
        Level of the tests.

    Returns
    -------
    A `Table`. Iterate over it for its entries, print it, or use `entries`, `average_ranks`, `pairs`, and `ranking`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from heterophily import bench, table
    >>> fast = {"max_epochs": 3}
    >>> records = bench(["mlp", "gcn"], "digits", splits="0-1", out=mkdtemp(), settings=fast, engine="inline")
    >>> result = table(records)
    >>> result.models, result.datasets
    (('mlp', 'gcn'), ('digits',))
    >>> [(entry.model, entry.n) for entry in result]
    [('mlp', 2), ('gcn', 2)]
    """
    if not isinstance(results, str | Path | Iterable):
        raise HeterophilyError(f"results must be a path or records, got {short_text(results)}")
    check_names("models", models, optional=True)
    check_names("datasets", datasets, optional=True)
    check_argument("alpha", alpha, NUMBER)
    records = read_records(results) if isinstance(results, str | Path) else results
    return build_columns(
        records, scoring=scoring, models=models, datasets=datasets, against=against is not None, alpha=alpha
    )


def build_columns(
    records: Iterable[Record],
    *,
    scoring: str = DEFAULT_SCORING.name,
    models: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    against: bool = False,
    alpha: float = ALPHA,
) -> Table:
    """Return the table with a column per kind of settings if some are tuned, and the usual table otherwise."""
    records = list(records)
    groups = by_kind(records)
    if "tuned" not in groups:
        return build_table(records, scoring=scoring, models=models, datasets=datasets, against=against, alpha=alpha)
    rows, columns = select_cells(records, models, datasets)
    usual = build_table(records, scoring=scoring, models=rows, datasets=columns, against=against, alpha=alpha)
    tables = {
        kind: _labeled(table_of(group, rows, columns, scoring=scoring, against=against, alpha=alpha), kind, group)
        for kind, group in groups.items()
    }
    return _join(usual, tables)


def _labeled(table: Table, kind: str, records: Sequence[Record]) -> Table:
    """Return the table with the kind of its settings in the names of its columns."""
    trials = {(r.model, r.dataset): r.trials for r in sorted(records, key=lambda r: (r.done, r.finished))}
    entries = [replace(entry, settings=kind, trials=trials.get((entry.model, entry.dataset), 0)) for entry in table]
    names = {entry.dataset: entry.column for entry in entries}
    return replace(
        table,
        datasets=tuple(names.values()),
        entries={(entry.model, entry.column): entry for entry in entries},
        ranked=tuple(names[name] for name in table.ranked),
        comparisons={names[name]: rows for name, rows in table.comparisons.items()},
        test_to_train={names[name]: ratio for name, ratio in table.test_to_train.items()},
        scores={names[name]: rows for name, rows in table.scores.items()},
    )


def _join(usual: Table, tables: Mapping[str, Table]) -> Table:
    """Join tables side by side: all columns of a dataset next to each other, without empty ones."""
    places = zip(*(table.datasets for table in tables.values()), strict=True)
    tuned, parts = tables["tuned"], list(tables.values())
    entries = {place: entry for table in parts for place, entry in table.entries.items()}
    names = [name for group in places for name in group if _has_runs(name, entries.values())]
    return replace(
        usual,
        datasets=tuple(names),
        entries={place: entry for place, entry in entries.items() if place[1] in names},
        average_ranks=tuned.average_ranks,
        ranked=tuned.ranked,
        comparisons={name: rows for table in parts for name, rows in table.comparisons.items()},
        ranking=tuned.ranking,
        unranked=tuned.unranked,
        test_to_train={name: ratio for table in parts for name, ratio in table.test_to_train.items()},
        n_excluded=sum(table.n_excluded for table in parts),
        scores={name: rows for table in parts for name, rows in table.scores.items()},
        budget=_budget(entries.values()),
    )


def _has_runs(name: str, entries: Iterable[Entry]) -> bool:
    return any(entry.n or entry.failed for entry in entries if entry.column == name)


def _budget(entries: Iterable[Entry]) -> str:
    """Return the number of trials of the tuned settings, which may differ if time is limited."""
    numbers = sorted({entry.trials for entry in entries if entry.trials})
    if len(numbers) > 1:
        return f"{numbers[0]} to {numbers[-1]} trials, {fmean(numbers):.0f} on average,"
    return "1 trial" if numbers == [1] else f"{numbers[0]} trials"
