"""What a search shows while it runs: a live bar on a terminal, one line per trial elsewhere."""

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from heterophily.search.result import TrialResult
from heterophily.search.study import Outcome


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

    def begin(self, attempts: Sequence[TrialResult]) -> None:
        """Take note of the trials that are there."""
        self.done = len(attempts)
        self.failed = sum(a.state == "failed" for a in attempts)
        self.best = max((a.value or -1.0 for a in attempts if a.state == "done"), default=-1.0)
        self.bar.update(self.task, completed=self.done, description=self._words())
        if attempts:
            self.say(f"{self.done} of {self.total} trials are there already{self._words()}")

    def show(self, outcome: Outcome, *, n_splits: int) -> None:
        """Take note of a trial."""
        self.done += 1
        self.failed += outcome.state == "failed"
        value = outcome.value if outcome.state == "done" and outcome.value is not None else -1.0
        better = value > self.best
        self.best = max(value, self.best)
        self.bar.update(self.task, completed=self.done, description=self._words())
        if not self.live or better or outcome.state == "failed":
            count = f"[{self.done}/{self.total}] "
            self.say(
                count + sentence(outcome, n_splits=n_splits) + (", the best" if better else "")
            )

    def say(self, text: str) -> None:
        """One line."""
        if self.live:
            self.bar.console.print(text, markup=False, highlight=False)
        elif not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def _words(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return failed + ("" if self.best < 0 else f", best {self.best:.2%}")


def sentence(outcome: Outcome, *, n_splits: int) -> str:
    """What came of a trial."""
    start = f"trial {outcome.number}: "
    if outcome.state == "failed":
        return f"{start}failed, {outcome.reason.strip().splitlines()[-1]}"
    if outcome.state == "pruned":
        after = f"pruned after {outcome.n_splits} of {n_splits} splits"
        return f"{start}{after}, validation {outcome.value:.2%}, {outcome.seconds:.1f} s"
    return f"{start}validation {outcome.value:.2%}, {outcome.seconds:.1f} s"
