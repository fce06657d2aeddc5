"""How far training is, for whoever sits before the terminal."""

import sys
from typing import Any


class progress_bar:  # noqa: N801, a context manager that reads as a verb
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int, *, shown: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("epoch {task.completed}"),
            BarColumn(),
            TextColumn("validation {task.fields[best]}"),
            TimeElapsedColumn(),
        )
        self.bar = Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            disable=not (shown and sys.stderr.isatty()),
        )
        self.task = self.bar.add_task("", total=total, best="")

    def __enter__(self) -> Any:
        self.bar.start()
        return self.advance

    def advance(self, epoch: int, best: float) -> None:
        """Show where training stands."""
        self.bar.update(self.task, completed=epoch + 1, best=f"{best:.1%}")

    def __exit__(self, *reason: object) -> None:
        self.bar.stop()
