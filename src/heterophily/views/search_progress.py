"""What a search shows while it runs: a live bar on a terminal, one line per trial elsewhere."""

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from heterophily.search.result import TrialResult


class Display:
    """Trials done, pruned and failed, and the best value."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self.total, self.quiet = total, quiet
        self.done, self.failed, self.best = 0, 0, -1.0
        self.live = sys.stderr.isatty() and not quiet
        columns = (
            TextColumn("{task.completed} of {task.total} trials{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("gone,"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), disable=not self.live)
        self.task = self.bar.add_task("", total=total)

    def __enter__(self) -> "Display":
        self.bar.start()
        return self

    def __exit__(self, *reason: Any) -> None:
        self.bar.stop()

    def start(self, trials: Sequence[TrialResult]) -> None:
        """Show the trials that exist."""
        self.done = len(trials)
        self.failed = sum(trial.state == "failed" for trial in trials)
        self.best = max((t.value or -1.0 for t in trials if t.state == "done"), default=-1.0)
        self.bar.update(self.task, completed=self.done, description=self._progress_text())
        if trials:
            self.print_line(
                f"{self.done} of {self.total} trials are there already{self._progress_text()}"
            )

    def update(self, trial: TrialResult, *, n_splits: int) -> None:
        """Show a finished trial."""
        self.done += 1
        self.failed += trial.state == "failed"
        value = trial.value if trial.state == "done" and trial.value is not None else -1.0
        better = value > self.best
        self.best = max(value, self.best)
        self.bar.update(self.task, completed=self.done, description=self._progress_text())
        if not self.live or better or trial.state == "failed":
            count = f"[{self.done}/{self.total}] "
            self.print_line(
                count + format_trial(trial, n_splits=n_splits) + (", the best" if better else "")
            )

    def print_line(self, text: str) -> None:
        """One line."""
        if self.live:
            self.bar.console.print(text, markup=False, highlight=False)
        elif not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def _progress_text(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return failed + ("" if self.best < 0 else f", best {self.best:.2%}")


def format_trial(trial: TrialResult, *, n_splits: int) -> str:
    """Describe a finished trial in one line."""
    start = f"trial {trial.number}: "
    if trial.state == "failed":
        return f"{start}failed, {trial.reason.strip().splitlines()[-1]}"
    if trial.state == "pruned":
        after = f"pruned after {len(trial.accuracies)} of {n_splits} splits"
        return f"{start}{after}, validation {trial.value:.2%}, {trial.seconds:.1f} s"
    return f"{start}validation {trial.value:.2%}, {trial.seconds:.1f} s"
