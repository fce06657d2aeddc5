"""Tuned settings: one TOML file per model, one table per dataset.

A setting has one home: the recipe's default, then the table of the dataset, then what the user says. The
table is the committed one, or that of a file of the user's own.
"""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from heterophily.core.errors import HeterophilyError

SOURCE = "source"  # where a table comes from; not a setting
Tables = Mapping[str, Mapping[str, Any]]  # settings per dataset


def tuned(model: str, dataset: str, own: Tables | None = None) -> dict[str, Any]:
    """The settings of a model for a dataset, with their preset; empty if there are none."""
    table = dict(_table(model, dataset, own))
    table.pop(SOURCE, None)
    return table


def source_of(model: str, dataset: str, own: Tables | None = None) -> str:
    """Where the settings come from, or `defaults`."""
    unnamed = "file" if own and dataset in own else "defaults"
    return str(_table(model, dataset, own).get(SOURCE, unnamed))


def _table(model: str, dataset: str, own: Tables | None) -> Mapping[str, Any]:
    if own and dataset in own:
        return own[dataset]
    path = files("heterophily.models.settings") / f"{model}.toml"
    tables = tomllib.loads(path.read_text()) if path.is_file() else {}
    found: Mapping[str, Any] = tables.get(dataset, {})
    return found


def read_settings(path: Path, *, datasets: Sequence[str] | None = None) -> Tables:
    """The tables of a file of one's own, of which one at least must be for one of the `datasets`."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HeterophilyError(f"{path} is not readable TOML: {error}") from error
    if not all(isinstance(table, dict) for table in tables.values()):
        raise HeterophilyError(f"{path} is no file of settings: values must stand in tables")
    if datasets is not None and not set(tables) & set(datasets):
        raise HeterophilyError(
            f"{path} has settings for {', '.join(tables) or 'no dataset'}, none for "
            f"{', '.join(datasets)}; give the file another table, or another file"
        )
    return tables
