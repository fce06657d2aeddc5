"""The output of commands: results as text or JSON on stdout, and messages on stderr."""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

import typer
from typer import Option

PANEL = "Output"


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options of every command for its output."""

    as_json: Annotated[
        bool, Option("--json", rich_help_panel=PANEL), "Print the results as one JSON document instead of text."
    ] = False
    quiet: Annotated[
        bool,
        Option("--quiet", "-q", rich_help_panel=PANEL),
        "Print only warnings and errors, and the results if you choose --json.",
    ] = False

    def show(self, view: Callable[[], object], content: Callable[[], object]) -> None:
        """Print a result: its content as JSON, or its view as text unless `--quiet` is set."""
        if self.as_json:
            print_json(content())
        elif not self.quiet:
            _print_view(view())

    def note(self, text: str) -> None:
        """Print a message next to the results, unless `--quiet` is set."""
        if not self.quiet:
            typer.echo(text, err=True)


def _print_view(view: object) -> None:
    """Print text as it is, so that long lines remain intact, and other views on a console."""
    if isinstance(view, str):
        typer.echo(view, nl=bool(view))
    else:
        from heterophily.views.console import console

        console().print(view)


def print_json(content: object) -> None:
    """Print a value as JSON, in which numbers that are not finite are null."""
    typer.echo(json.dumps(_finite(content), indent=2, ensure_ascii=False, default=str))


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def print_colored(text: str, color: str) -> None:
    """Print a line to stderr, without the color if there is no terminal or if `NO_COLOR` is set."""
    typer.secho(text, fg=color, err=True, color=False if os.environ.get("NO_COLOR") else None)
