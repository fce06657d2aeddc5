"""The paper's table from the registry, and one of its rows in full, on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.htmp.recipe import COMMON, Recipe


def row_of(recipe: Recipe) -> dict[str, Any]:
    """The row of a recipe with default settings."""
    return recipe.with_settings().row


def model_table(recipes: Sequence[Recipe]) -> RenderableType:
    """Every method with its neighborhoods, guidance, COMBINE and FUSE."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("method", "kind", "neighborhoods", "kind", "guidance", "COMBINE", "FUSE"):
        table.add_column(heading, no_wrap=True)
    table.add_column("paper")
    for recipe in recipes:
        decided = recipe.with_settings()
        row, channels = decided.row, decided.channels
        table.add_row(
            recipe.name,
            _leading([c.neighborhood.kind for c in channels], ("Dis", "ReDef", "Raw")),
            _bracket(row["neighborhoods"]),
            _leading([c.guidance.kind for c in channels], ("RelaEst", "AdaWeight", "DegAvg")),
            _bracket(row["guidance"]),
            row["combine"],
            row["fuse"],
            recipe.paper.split(",")[0] + ", " + recipe.paper.rsplit(" ", 1)[-1],
        )
    return table


def _leading(kinds: Sequence[str], order: Sequence[str]) -> str:
    return next(kind for kind in order if kind in kinds)


def _bracket(symbols: Sequence[str]) -> str:
    shown = symbols if len(symbols) <= 4 else (symbols[0], symbols[1], "..", symbols[-1])
    return "[" + ", ".join(shown) + "]"


def model_view(recipe: Recipe) -> RenderableType:
    """Row, equation, citation, settings, search space and deviations of one method."""
    row = row_of(recipe)
    facts = Table.grid(padding=(0, 2))
    for name in ("neighborhoods", "guidance"):
        facts.add_row(Text(name, style="dim"), Text(_bracket(row[name])))
    for name, key in (("COMBINE", "combine"), ("FUSE", "fuse")):
        facts.add_row(Text(name, style="dim"), row[key])
    facts.add_row(Text("equation", style="dim"), Text(recipe.equation))
    facts.add_row(Text("paper", style="dim"), Text(recipe.paper))
    parts: list[RenderableType] = [
        Text(recipe.title or recipe.name, style="bold"),
        Padding(facts, (0, 0, 1, 1)),
        Text("Settings", style="bold"),
        Padding(_settings(recipe), (0, 0, 1, 1)),
    ]
    if recipe.deviations:
        listed = Group(*(Text(f"• {sentence}") for sentence in recipe.deviations))
        parts += [Text("Deviations", style="bold"), Padding(listed, (0, 0, 1, 1))]
    return Group(*parts)


def _settings(recipe: Recipe) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("setting", "default", "reference", "search"):
        table.add_column(heading)
    own = [name for name in recipe.settings if name not in COMMON]
    for name in (*own, *COMMON):
        space = recipe.space.get(name)
        table.add_row(
            name,
            str(recipe.defaults[name]),
            str(recipe.reference.get(name, "")),
            "" if space is None else _range(space),
        )
    return table


def _range(space: Any) -> str:
    values = getattr(space, "values", None)
    return ", ".join(map(str, values)) if values else f"{space.low} to {space.high}"


def model_facts(recipe: Recipe) -> dict[str, Any]:
    """The same as plain data."""
    return {
        **row_of(recipe),
        "equation": recipe.equation,
        "settings": recipe.defaults,
        "reference": dict(recipe.reference),
        "space": {name: _range(space) for name, space in recipe.space.items()},
        "deviations": list(recipe.deviations),
    }
