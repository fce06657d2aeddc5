"""CSV that is safe to open in a spreadsheet, which evaluates cells that start with certain characters."""

import csv
from collections.abc import Iterable
from typing import TextIO

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_cell(value: object) -> object:
    """Return a cell that no spreadsheet evaluates: an apostrophe precedes text that is a formula.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("-1.5"), escape_cell(-3), escape_cell("a=b")
    ("'=1+1", '-1.5', -3, 'a=b')
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")  # a carriage return would not be quoted
    return f"'{text}" if value.startswith(FORMULA_STARTS) and not _is_number(value) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_csv(file: TextIO, rows: Iterable[Iterable[object]], *, end: str = "\r\n") -> None:
    """Write rows, of which the first one is the header. `end` is the end of a line."""
    writer = csv.writer(file, lineterminator=end)
    writer.writerows(map(escape_cell, row) for row in rows)
