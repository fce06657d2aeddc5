"""Tuned settings: one TOML file per model, one table per dataset.

A setting comes from the method's default, then from the table of the dataset, then from the user. The
table is the bundled one, or that of a file of the user.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from heterophily.core.errors import HeterophilyError
from heterophily.core.types import Settings, Value

SOURCE = "source"  # key of a table: where its settings come from
TRIALS = "trials"  # key of a table: number of trials of `tune` that selected its settings
Tables = Mapping[str, Settings]  # settings per dataset


def merge_settings(
    model: str, dataset: str, user_tables: Tables | None = None, overrides: Settings | None = None
) -> tuple[dict[str, Value], str]:
    """Return the settings of a model for a dataset, with their preset, and where they come from.

    The result contains only settings of the table and of `overrides`; the method has defaults for the others.
    """
    values = {**tuned(model, dataset, user_tables), **(overrides or {})}
    return values, "command line" if overrides else source_of(model, dataset, user_tables)


def tuned(model: str, dataset: str, user_tables: Tables | None = None) -> dict[str, Value]:
    """Return the settings of a table, with their preset; empty if the dataset has no table."""
    table = _table(model, dataset, user_tables)
    return {name: value for name, value in table.items() if name not in (SOURCE, TRIALS)}


def trials_of(model: str, dataset: str, user_tables: Tables | None = None) -> int:
    """Return the number of trials of `tune` that selected the settings of a table, or 0."""
    number = _table(model, dataset, user_tables).get(TRIALS, 0)
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise HeterophilyError(f"{TRIALS} of {model} on {dataset} must be the number of trials, got {number!r}")
    return number


def source_of(model: str, dataset: str, user_tables: Tables | None = None) -> str:
    """Return where the settings of a table come from, or `defaults`."""
    unnamed = "file" if user_tables and dataset in user_tables else "defaults"
    return str(_table(model, dataset, user_tables).get(SOURCE, unnamed))


def _table(model: str, dataset: str, user_tables: Tables | None) -> Settings:
    if user_tables and dataset in user_tables:
        return user_tables[dataset]
    path = files("heterophily.models.settings") / f"{model}.toml"
    tables: Tables = tomllib.loads(path.read_text()) if path.is_file() else {}
    return tables.get(dataset, {})


def default_tables(datasets: Iterable[str]) -> Tables:
    """Return tables without settings, which replace the bundled ones by the defaults of a method."""
    return {name: {SOURCE: "defaults"} for name in datasets}


def read_settings(path: Path, *, datasets: Sequence[str] | None = None) -> Tables:
    """Return the tables of a settings file, at least one of which must be for one of the `datasets`."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HeterophilyError(f"{path} is not readable TOML: {error}") from error
    if not all(isinstance(table, dict) for table in tables.values()):
        raise HeterophilyError(f"{path} is not a settings file: expected one [table] per dataset")
    if datasets is not None and not set(tables) & set(datasets):
        raise HeterophilyError(
            f"{path} has settings for {', '.join(tables) or 'no dataset'}, but not for "
            f"{', '.join(datasets)}; add a table or use another file"
        )
    return tables
