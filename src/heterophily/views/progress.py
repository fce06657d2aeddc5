"""What a benchmark shows while it runs: a live bar on a terminal, one line per run elsewhere."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from heterophily.runs.job import Job
from heterophily.runs.record import Record
from heterophily.runs.worker import Outcome


class Display:
    """Cells done, running and failed, and the time left, measured by what cells cost."""

    def __init__(
        self,
        finished: Sequence[Record],
        pending: Sequence[Job],
        *,
        workers: int,
        quiet: bool = False,
    ) -> None:
        self.total, self.workers, self.quiet = len(finished) + len(pending), workers, quiet
        self.done = sum(record.done for record in finished)
        self.failed = len(finished) - self.done
        self.live = sys.stderr.isatty() and not quiet
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} % of the work,"),
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        console = Console(stderr=True)
        self.bar = Progress(*columns, console=console, disable=not self.live)
        self.task = self.bar.add_task(
            self._progress_text(), total=sum(c.cost for c in pending) or 1
        )

    def __enter__(self) -> "Display":
        self.bar.start()
        if not self.live and not self.quiet:
            old = f", {self.failed} failed before" if self.failed else ""
            self._line(f"{self.done} of {self.total} runs are there already{old}")
        return self

    def __exit__(self, *reason: Any) -> None:
        self.bar.stop()

    def update(self, outcome: Outcome) -> None:
        """Take note of an outcome."""
        if outcome.status in ("busy", "stopped"):
            return
        good = outcome.record is not None and outcome.record.done
        self.done, self.failed = self.done + good, self.failed + (not good)
        self.bar.update(self.task, advance=outcome.job.cost, description=self._progress_text())
        if not self.quiet and (not self.live or not good):
            self._line(f"[{self.done + self.failed}/{self.total}] {format_outcome(outcome)}")

    def _progress_text(self) -> str:
        left = self.total - self.done - self.failed
        running = min(self.workers, left)
        return (
            f"{self.done} done, {running} running, {self.failed} failed, {left - running} to come"
        )

    def _line(self, text: str) -> None:
        if self.live:
            self.bar.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)


@contextmanager
def show_progress(
    finished: Sequence[Record], pending: Sequence[Job], workers: int
) -> Iterator[Callable[[Outcome], None]]:
    """Open a display, and return the function that shows an outcome."""
    with Display(finished, pending, workers=workers) as display:
        yield display.update


def format_outcome(outcome: Outcome) -> str:
    """One line on what became of a cell."""
    record = outcome.record
    if record is None or outcome.status:
        return f"{outcome.job}: its record could not be written, {outcome.reason}"
    if not record.done:
        last = (record.reason.strip().splitlines() or [""])[-1]
        return f"{outcome.job}: failed ({record.status}), {last}"
    run = record.run
    return (
        f"{outcome.job}: test {record.score():.2%}, validation {record.score('val'):.2%}, "
        f"{run['n_epochs']} epochs in {run['seconds']:.1f} s"
    )
