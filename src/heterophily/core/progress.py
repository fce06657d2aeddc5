"""Progress bars on a terminal. Without a terminal, nothing is printed."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], description: str, *, total: float | None = None) -> Iterable[T]:
    """Iterate over items with a progress bar that disappears at the end."""
    if not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track as track_at_terminal

    console = Console(stderr=True)
    return track_at_terminal(items, description, total=total, console=console, transient=True)


@contextmanager
def track_epochs(n_epochs: int, *, shown: bool) -> Iterator[Callable[[int, float], None]]:
    """Show a progress bar for training. Call the result with the epoch and the best score so far."""
    if not (shown and sys.stderr.isatty()):
        yield lambda epoch, best: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("epoch {task.completed}"),
        BarColumn(),
        TextColumn("validation {task.fields[best]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=n_epochs, best="")
        yield lambda epoch, best: bar.update(task, completed=epoch + 1, best=f"{best:.1%}")
