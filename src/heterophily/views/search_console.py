"""What a search found, on a terminal."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.search.components import NAME
from heterophily.search.result import SearchResult
from heterophily.views.models import model_table


def found_view(found: SearchResult) -> RenderableType:
    """The winner, its settings with their importances, and where the files are."""
    states = ("done", "pruned", "failed", "running")
    counts = ", ".join(f"{found.count(s)} {s}" for s in states if found.count(s))
    start = found.start
    began = f", began at {start.value:.2%}" if start.state == "done" and start.value else ""
    settings = Table.grid(padding=(0, 2))
    settings.add_row(*(Text(word, style="dim") for word in ("setting", "found", "importance")))
    if found.preset != "published":
        settings.add_row("preset", found.preset, "")
    shown = found.best.answers if found.model == NAME else found.settings
    for name, value in shown.items():
        share = found.importances.get(name)
        tried = found.settings.get(name, value)
        settings.add_row(name, str(tried), "" if share is None else f"{share:.0%}")
    parts: list[RenderableType] = [
        Text(f"{found.model} on {found.dataset}: {found.value:.2%} validation accuracy", "bold"),
        Text(f"trial {found.best.number}{began}; {len(found.attempts)} trials: {counts}"),
        Padding(settings, (1, 0, 1, 1)),
    ]
    if found.model == NAME:
        parts.append(model_table([found.method]))
    return Group(*parts, *(Text(f"wrote {path}") for path in _paths(found)))


def _paths(found: SearchResult) -> list[Path]:
    wanted = ("summary.md", "winner", "written")
    return [found.files[key] for key in wanted if key in found.files]
