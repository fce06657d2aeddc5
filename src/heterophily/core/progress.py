"""A progress bar on the error stream, for a person at a terminal and for nobody else."""

import sys
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, *, total: float | None = None) -> Iterable[T]:
    """Go through the items under a bar that vanishes when done; outside a terminal, just go."""
    if not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track as track_at_terminal

    console = Console(stderr=True)
    return track_at_terminal(items, description, total=total, console=console, transient=True)
