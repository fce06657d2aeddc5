"""The report of the columns of a node table: what each column is, and what became of it."""

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.core.encoder import ColumnReport
from heterophily.core.graph import Graph

MAX_ROWS = 40  # of the report in a terminal
HEADINGS = ["column", "type", "treatment", "missing", "features"]


def column_report(graph: Graph) -> dict[str, list[ColumnReport]]:
    """Return one row per column of the node table, for JSON; empty if the graph was not read from tables."""
    rows = [] if graph.encoder is None else graph.encoder.report()
    return {"columns": rows} if rows else {}


def column_rows(graph: Graph) -> list[list[str]]:
    """Return the report as text, with a head; empty if there are no columns."""
    rows = [
        [row["name"], row["type"], row["treatment"], _share(row["missing"]), str(row["n_features"])]
        for row in column_report(graph).get("columns", ())
    ]
    return [HEADINGS, *rows] if rows else []


def _share(missing: float) -> str:
    """Return a share as text, of which only 0 is "0 %".

    >>> _share(0.0), _share(0.0004), _share(0.125)
    ('0 %', '< 0.1 %', '12.5 %')
    """
    return "0 %" if missing == 0 else "< 0.1 %" if missing < 0.001 else f"{100 * missing:.1f} %"


def with_columns(graph: Graph, view: RenderableType) -> RenderableType:
    """Return a view below the report of the columns, if there are any."""
    rows = column_rows(graph)[1:]
    if not rows:
        return view
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in HEADINGS:
        is_number = heading in ("missing", "features")
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=is_number or heading == "type")
    for row in rows[:MAX_ROWS]:
        table.add_row(*map(Text, row), style="dim" if row[2].startswith("dropped") else "")
    n_more = len(rows) - MAX_ROWS
    more = [Text(f" and {n_more} more columns")] if n_more > 0 else []
    return Group(Text("Columns", style="bold"), Padding(Group(table, *more), (0, 0, 0, 1)), view)
