"""What the commands share: how a graph and settings are given."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from heterophily.core.errors import HeterophilyError

Source = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset name (see `heterophily datasets`), the embedded graph `digits`, a folder "
        "with edges.csv and nodes.csv, or a .csv, .tsv, .parquet, .npz, .graphml or "
        ".safetensors file.",
    ),
]
Nodes = Annotated[
    Path | None,
    typer.Option("--nodes", help="Table of the nodes, if GRAPH is a table of edges."),
]


def chosen(settings: list[str] | None) -> dict[str, Any]:
    """The settings of `--set name=value`, read as JSON where they are."""
    return dict(_setting(text) for text in settings or ())


def _setting(text: str) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    if not mark:
        raise HeterophilyError(f"--set takes name=value, got {text!r}")
    try:
        return name, json.loads(value.lower() if value in ("True", "False") else value)
    except json.JSONDecodeError:
        return name, value


def pieces(text: str) -> list[str]:
    """The words of a list with commas between."""
    return [piece.strip() for piece in text.split(",") if piece.strip()]


def neighbor_counts(text: str) -> list[int] | str:
    """How many neighbors to draw per hop, `10,5`, or `all`."""
    if text == "all":
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise HeterophilyError(f"--neighbors takes 10,5 or all, got {text!r}") from error
