"""A file of tuned settings, one TOML table per dataset: one table is changed, all else stays as it is."""

import json
import re
import tomllib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.models.settings import read_settings

HEADER = "# Settings of {model} per dataset. `source` says where a table comes from.\n"
TABLE = re.compile(r"^\s*\[")


def write_settings(path: Path, dataset: str, table: Mapping[str, Any], *, model: str) -> Path:
    """Put a table into a file of settings, new or old; other tables and comments stay."""
    check_settings(path)
    old = path.read_text(encoding="utf-8") if path.exists() else HEADER.format(model=model)
    new = with_table(old, dataset, table)
    assert tomllib.loads(new)[dataset] == dict(table)
    write_atomically(path, lambda p: p.write_text(new, encoding="utf-8"))
    return path


def check_settings(path: Path) -> None:
    """Raise an error if a file is there that is no file of settings."""
    if path.suffix != ".toml":
        raise HeterophilyError(f"settings are written to a .toml file, got {path.name!r}")
    if path.exists():
        read_settings(path)


def with_table(text: str, name: str, table: Mapping[str, Any]) -> str:
    """The text with one table replaced where it stands, or added at the end."""
    lines = text.splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if TABLE.match(line)]
    for start, end in pairwise([*starts, len(lines)]):
        if list(tomllib.loads(lines[start])) == [name]:
            # Blank lines and comments before the next table belong to that one.
            last = max(i for i in range(start, end) if _says(lines[i])) + 1
            return "".join(lines[:start]) + table_text(name, table) + "".join(lines[last:])
    return f"{text.rstrip()}\n\n{table_text(name, table)}".lstrip("\n")


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def table_text(name: str, table: Mapping[str, Any]) -> str:
    """One table in TOML."""
    rows = (f"{_key(key)} = {_value(key, value)}\n" for key, value in table.items())
    return f"[{_key(name)}]\n" + "".join(rows)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    raise HeterophilyError(f"a setting is a text, a number or a truth value, {key} is {value!r}")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
