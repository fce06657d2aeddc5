"""The leaderboard of a race as a table that is updated on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from heterophily.training.auto.leaderboard import Entry, Leaderboard
from heterophily.training.auto.race import LeaderboardCallback
from heterophily.training.scoring import score_text, title_of


@contextmanager
def show_leaderboard(*, shown: bool) -> Iterator[LeaderboardCallback]:
    """Show the leaderboard while a race runs. Without a terminal, nothing is printed."""
    if not (shown and sys.stderr.isatty()):
        yield lambda board: None
        return
    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:
        yield lambda board: live.update(leaderboard_table(board))


def leaderboard_table(board: Leaderboard) -> Table:
    """Return the leaderboard as a table, best candidate first."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("candidate", no_wrap=True)
    for heading in (f"validation {title_of(board.scoring)}", "weight", "epochs", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status")
    for entry in board.ranked:
        cells = entry_cells(entry, board.scoring)
        style = "bold" if entry.weight else "dim" if entry.status in ("pending", "skipped", "failed") else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def entry_cells(entry: Entry, scoring: str) -> list[str]:
    """Return an entry as text: name, score, weight, epochs, seconds, and status."""
    return [
        entry.name,
        score_text(scoring, entry.score) if entry.has_score else "–",
        f"{entry.weight:.2f}" if entry.weight else "",
        str(entry.n_epochs) if entry.n_epochs else "",
        f"{entry.seconds:.1f}" if entry.seconds else "",
        f"{entry.status}: {entry.reason}" if entry.reason else entry.status,
    ]
