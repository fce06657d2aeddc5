"""The result of a search on a terminal."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.search.components import NAME
from heterophily.search.result import SearchResult
from heterophily.views.models import model_table

STATES = ("done", "pruned", "failed", "running")
FILES = ("summary.md", "winner", "written")


def result_view(result: SearchResult) -> RenderableType:
    """Return the best trial, its settings with their importance, and the written files."""
    counts = ", ".join(f"{result.count(s)} {s}" for s in STATES if result.count(s))
    start = result.baseline
    baseline = f", started at {start.value:.2%}" if start.state == "done" and start.value else ""
    parts: list[RenderableType] = [
        Text(f"{result.model} on {result.dataset}: {result.value:.2%} validation accuracy", "bold"),
        Text(f"trial {result.best.number}{baseline}; {len(result.trials)} trials: {counts}"),
        Padding(_settings_table(result), (1, 0, 1, 1)),
    ]
    if result.model == NAME:
        parts.append(model_table([result.method]))
    paths = [result.files[name] for name in FILES if name in result.files]
    return Group(*parts, *(Text(f"wrote {path}") for path in paths))


def _settings_table(result: SearchResult) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row(*(Text(name, style="dim") for name in ("setting", "best", "importance")))
    if result.preset != "published":
        table.add_row("preset", result.preset, "")
    searched = result.best.answers if result.model == NAME else result.settings
    for name, value in searched.items():
        importance = result.importances.get(name)
        best = result.settings.get(name, value)
        table.add_row(name, str(best), "" if importance is None else f"{importance:.0%}")
    return table
