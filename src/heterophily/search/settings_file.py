"""Settings files, with one TOML table per dataset: replace one table and leave everything else unchanged."""

from collections.abc import Mapping
from pathlib import Path

import tomlkit
from tomlkit.items import Comment, Table, Whitespace

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.types import Value
from heterophily.models.settings import read_settings

HEADER = "# Settings of {model} per dataset. `source` is the origin of a table.\n"


def write_settings(path: Path, dataset: str, table: Mapping[str, Value], *, model: str) -> Path:
    """Write a table to a new or existing settings file. Other tables and comments do not change."""
    check_settings(path)
    old = path.read_text(encoding="utf-8") if path.exists() else HEADER.format(model=model)
    new = with_table(old, dataset, table)
    write_atomically(path, lambda p: p.write_text(new, encoding="utf-8"))
    return path


def check_settings(path: Path) -> None:
    """Raise an error if a file exists that is not a settings file."""
    if path.suffix != ".toml":
        raise HeterophilyError(f"settings are written to a .toml file, got {path.name!r}")
    if path.exists():
        read_settings(path)


def with_table(text: str, name: str, values: Mapping[str, Value]) -> str:
    """Return TOML text with one table replaced, or added at the end."""
    for key, value in values.items():
        if not isinstance(value, bool | int | float | str):
            raise HeterophilyError(f"a setting is a text, number, or boolean, but {key} is {value!r}")
    document = tomlkit.parse(text)
    table = document.get(name)
    if table is None:
        if text.strip():
            document.add(tomlkit.nl())
        document[name] = dict(values)
        return tomlkit.dumps(document)
    assert isinstance(table, Table)
    trailing = _trailing(table)
    table.clear()
    table.value.body.clear()  # comments between the old values
    table.update(values)
    for item in trailing:
        table.add(item)
    return tomlkit.dumps(document)


def _trailing(table: Table) -> list[Comment | Whitespace]:
    """Return blank lines and comments after the last value, which belong to the next table."""
    items: list[Comment | Whitespace] = []
    for _, item in reversed(table.value.body):
        if not isinstance(item, Comment | Whitespace):
            break
        items.insert(0, item)
    return items
