"""Tidy data: a study has a few tables, a table is a list of flat rows, and a row is one observation.

Each table is a JSON file with one row per line and a CSV file with the same rows. Rows of other datasets or
methods remain when a study is run again, so one folder collects everything. Several commands can write to it
at the same time: each applies its changes to what the others have written.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import stdev
from typing import Any

from filelock import FileLock

from heterophily.core.chart import Kind, Mark, Table, number_text
from heterophily.core.csv_files import write_csv
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.schema import Scalar, parse_json
from heterophily.data.catalog import CATALOG

Row = dict[str, Any]  # numbers, text, booleans, and None
Rows = list[Row]
Tables = dict[str, Rows]  # by the name of their file
PLACES = {name: place for place, name in enumerate(CATALOG)}
DIGITS = 6  # significant ones; more would be noise in a repository


def tidy(row: Row) -> Row:
    """The row as it is written and read: plain numbers, few digits, None for what is not a number."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: object) -> bool | int | float | str | None:
    item = getattr(value, "item", None)  # of arrays and tensors
    value = value if item is None else item()
    if not isinstance(value, str | int | float | bool | None):
        raise TypeError(f"a tidy cell holds a number or text, got {value!r}")
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows as JSON to `path` and as CSV next to it, each atomically."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_atomically(path, lambda p: p.write_text(f"[\n{lines}\n]\n", encoding="utf-8"))
    columns = list(dict.fromkeys(name for row in rows for name in row))

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            write_csv(file, [columns, *([row.get(name) for name in columns] for row in rows)])

    write_atomically(path.with_suffix(".csv"), write)


def read_rows(path: Path) -> Rows:
    """The rows that `write_rows` wrote."""
    try:
        return parse_json(list[dict[str, Scalar]], path.read_bytes())
    except HeterophilyError as error:
        raise HeterophilyError(f"{path} is not the data of a study: {error}; run the study again") from None


def read_tables(folder: Path) -> Tables:
    """Return the tables in a folder by the names of their files."""
    return {path.stem: read_rows(path) for path in sorted(folder.glob("*.json"))}


def filter_rows(rows: Iterable[Row], **values: object) -> Rows:
    """The rows with these values.

    >>> filter_rows([{"split": "0", "x": 1}, {"split": "1", "x": 2}], split="1")
    [{'split': '1', 'x': 2}]
    """
    return [row for row in rows if all(row.get(name) == v for name, v in values.items())]


def unique_values(rows: Iterable[Row], name: str) -> list[Any]:
    """The different values of a column, in order of appearance; datasets in that of the catalog."""
    values = list(dict.fromkeys(row.get(name) for row in rows))
    return sorted(values, key=lambda v: PLACES.get(v, len(PLACES))) if name == "dataset" else values


def group_rows(rows: Iterable[Row], *columns: str) -> dict[tuple[str, ...], Rows]:
    """Return the rows with each combination of values of text columns.

    >>> group_rows([{"a": "c", "x": 1}, {"a": "d", "x": 1}, {"a": "c", "x": 3}], "a")
    {('c',): [{'a': 'c', 'x': 1}, {'a': 'c', 'x': 3}], ('d',): [{'a': 'd', 'x': 1}]}
    """
    known = list(rows)
    if not columns:
        return {(): known}
    first, *others = columns
    groups = {value: filter_rows(known, **{first: value}) for value in unique_values(known, first)}
    return {(value, *key): group for value in groups for key, group in group_rows(groups[value], *others).items()}


def mean_of(rows: Iterable[Row], name: str) -> float | None:
    """The mean of a column over the rows that have a number there; None without any."""
    numbers = [row[name] for row in rows if row.get(name) is not None]
    return sum(numbers) / len(numbers) if numbers else None


def deviation_of(rows: Iterable[Row], name: str) -> float | None:
    """Return the sample standard deviation (n - 1) of a column, or None for fewer than two numbers."""
    numbers = [row[name] for row in rows if row.get(name) is not None]
    return stdev(numbers) if len(numbers) > 1 else None


def means_by(rows: Iterable[Row], by: str, values: Sequence[Any], column: str) -> list[float | None]:
    """Return the mean of a column for each of the values of another one."""
    grouped = list(rows)
    return [mean_of(filter_rows(grouped, **{by: value}), column) for value in values]


def pivot_table(
    rows: Iterable[Row],
    down: str,
    across: str,
    cell: Callable[[Rows], str],
    *,
    corner: str,
    columns: Sequence[str] = (),
    caption: str = "",
) -> Table:
    """Return a table with a row per value of `down` and a column per value of `across`."""
    known = list(rows)
    names = columns or unique_values(known, across)
    body = [
        [value, *(cell(filter_rows(group, **{across: name})) for name in names)]
        for (value,), group in group_rows(known, down).items()
    ]
    return Table([corner, *names], body, caption)


def paired_marks(
    kind: Kind, rows: Iterable[Row], by: str, values: Sequence[Any], *, name: str, method: str
) -> list[Mark]:
    """Return the mean accuracy over the values of a column, and the paper's, if there is any."""
    grouped = list(rows)
    ours = Mark(kind, values, means_by(grouped, by, values, "test_accuracy"), name, method)
    printed = means_by(grouped, by, values, "paper")
    if all(value is None for value in printed):
        return [ours]
    return [ours, replace(ours, y=printed, paper=True)]


def published_comparison(rows: Iterable[Row], column: str = "test_accuracy", *, spread: bool = False) -> str:
    """Return our mean, with its standard deviation if `spread`, and the paper's number."""
    known = list(rows)
    ours, deviation = number_text(mean_of(known, column), 1), deviation_of(known, column)
    if spread and deviation is not None:
        ours += f" ± {number_text(deviation, 1)}"
    return f"{ours} / {number_text(mean_of(known, 'paper'), 1)}"


comparison_with_spread = partial(published_comparison, spread=True)


def describe_splits(rows: Iterable[Row]) -> str:
    """Return how many splits the runs of a table have.

    Examples
    --------
    >>> row = {"dataset": "actor", "model": "gcn", "split": "0"}
    >>> describe_splits([row, {**row, "model": "mlp"}, {**row, "model": "mlp", "split": "1"}])
    'over 1 to 2 splits'
    """
    keys = ("dataset", "model", "variant")
    runs = {(*(row.get(key) for key in keys), row["split"]) for row in rows}
    counts = Counter(run[:-1] for run in runs).values()
    low, high = min(counts), max(counts)
    count = str(high) if low == high else f"{low} to {high}"
    return f"over {count} split{'s' * (high > 1)}"


RowEdit = Callable[[Rows], Rows]  # from the rows of a table to those that it shall have


@dataclass
class StudyData:
    """The tables of one study, in memory and, with a folder, on disk.

    The main table is called "" and lies in `<name>.json`, the others in `<name>-<table>.json`. Only
    changes by `replace_rows` and `keep` are written.
    """

    name: str
    folder: Path | None = None
    tables: dict[str, Rows] = field(default_factory=lambda: {"": []})
    unwritten: list[tuple[str, RowEdit]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        given, self.tables = self.tables, {"": []}
        for table, rows in given.items():
            self.replace_rows(table, rows, same=())  # in place of all rows that the folder may have

    @classmethod
    def opened(cls, name: str, folder: Path | str | None = None) -> "StudyData":
        """A study with all rows that its folder has already."""
        study = cls(name, None if folder is None else Path(folder))
        study._read()
        return study

    def _read(self) -> None:
        """Take the tables of the folder, the main one first, as it is written last."""
        for path in reversed(self.paths()):
            self.tables[path.stem.removeprefix(self.name).removeprefix("-")] = read_rows(path)

    def paths(self) -> list[Path]:
        """The JSON files of its tables that exist."""
        if self.folder is None:
            return []
        return sorted(p for p in self.folder.glob(f"{self.name}*.json") if f"{p.stem}-".startswith(f"{self.name}-"))

    @property
    def by_file(self) -> Tables:
        """The tables by the name of their file."""
        return {f"{self.name}-{t}" if t else self.name: rows for t, rows in self.tables.items()}

    @property
    def rows(self) -> Rows:
        """The rows of the main table."""
        return self.tables[""]

    def replace_rows(self, table: str, rows: Iterable[Row], *, same: Sequence[str]) -> None:
        """Add rows in place of those that agree with one of them in the columns `same`."""
        new = [tidy(row) for row in rows]
        taken = {tuple(row.get(name) for name in same) for row in new}

        def edit(old: Rows) -> Rows:
            return [r for r in old if tuple(r.get(name) for name in same) not in taken] + new

        self._change(table, edit)

    def drop_rows_unless(self, condition: Callable[[Row], bool]) -> None:
        """Drop the rows of all tables that do not satisfy a condition."""
        for table in self.tables:
            self._change(table, lambda rows: [row for row in rows if condition(row)])

    def _change(self, table: str, edit: RowEdit) -> None:
        self.tables[table] = edit(self.tables.get(table, []))
        if self.folder is not None:
            self.unwritten.append((table, edit))

    def write(self) -> None:
        """Make the changes since the last time to what the folder has now, which is more if others write too.

        The main table comes last: a row there means that the others are complete.
        """
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / f".{self.name}.lock"):
            self._read()
            for table, edit in self.unwritten:
                self.tables[table] = edit(self.tables.get(table, []))
            for table in sorted(self.tables, reverse=True):
                suffix = f"-{table}" if table else ""
                write_rows(self.tables[table], self.folder / f"{self.name}{suffix}.json")
        self.unwritten.clear()
