"""Tuned settings: one TOML file per model, one table per dataset.

A setting has one home: the recipe's default, then the table of the dataset, then what the user says.
"""

import tomllib
from importlib.resources import files
from typing import Any

SOURCE = "source"  # where a table comes from; not a setting


def tuned(model: str, dataset: str) -> dict[str, Any]:
    """The committed settings of a model for a dataset, with their preset; empty if there are none."""
    table = dict(_tables(model).get(dataset, {}))
    table.pop(SOURCE, None)
    return table


def source_of(model: str, dataset: str) -> str:
    """Where the committed settings come from, or `defaults`."""
    return str(_tables(model).get(dataset, {}).get(SOURCE, "defaults"))


def _tables(model: str) -> dict[str, dict[str, Any]]:
    path = files("heterophily.settings") / f"{model}.toml"
    return tomllib.loads(path.read_text()) if path.is_file() else {}
