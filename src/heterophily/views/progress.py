"""Progress of runs and of trials: a bar on a terminal, and one line per result elsewhere."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from typing_extensions import override

from heterophily.runs.job import Job
from heterophily.runs.record import Record
from heterophily.runs.worker import Outcome
from heterophily.training.scoring import DEFAULT_SCORING, score_text

if TYPE_CHECKING:
    from heterophily.tuning.equal_budget import Cell
    from heterophily.tuning.result import TrialResult


class ProgressDisplay:
    """A bar that is updated on a terminal, or lines that are printed elsewhere."""

    def __init__(self, *, total: float, quiet: bool = False) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty() and not quiet
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} % of the work,"),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), disable=not self.live)
        self.task = self.bar.add_task(self.text, total=total)

    @property
    def text(self) -> str:
        """The text in front of the bar."""
        return ""

    def __enter__(self) -> Self:
        if self.live:
            self.bar.start()
        return self

    def __exit__(self, *reason: object) -> None:
        if self.live:  # rich 13 prints an empty line otherwise
            self.bar.stop()

    def advance(self, amount: float) -> None:
        """Move the bar forward and update its text."""
        self.bar.update(self.task, advance=amount, description=self.text)

    def print_line(self, text: str) -> None:
        """Print a line above the bar, or to stderr if there is no terminal."""
        if self.live:
            self.bar.console.print(text, markup=False, highlight=False)
        elif not self.quiet:
            print(text, file=sys.stderr, flush=True)


class RunProgress(ProgressDisplay):
    """The number of finished, running, and failed runs. The bar measures their cost."""

    def __init__(
        self, finished: Sequence[Record], pending: Sequence[Job], *, workers: int, quiet: bool = False
    ) -> None:
        self.total, self.workers = len(finished) + len(pending), workers
        self.done = sum(record.done for record in finished)
        self.failed = len(finished) - self.done
        super().__init__(total=sum(job.cost for job in pending) or 1, quiet=quiet)

    @property
    @override
    def text(self) -> str:
        left = self.total - self.done - self.failed
        running = min(self.workers, left)
        return f"{self.done} done, {running} running, {self.failed} failed, {left - running} pending"

    @override
    def __enter__(self) -> Self:
        if not self.live:
            failed = f", {self.failed} failed earlier" if self.failed else ""
            self.print_line(f"{self.done} of {self.total} runs are already finished{failed}")
        return super().__enter__()

    def update(self, outcome: Outcome) -> None:
        """Show the outcome of a job."""
        if outcome.status in ("busy", "stopped"):
            return
        done = outcome.record is not None and outcome.record.done
        self.done, self.failed = self.done + done, self.failed + (not done)
        self.advance(outcome.job.cost)
        if not self.live or not done:
            self.print_line(f"[{self.done + self.failed}/{self.total}] {format_outcome(outcome)}")


@contextmanager
def show_progress(
    finished: Sequence[Record], pending: Sequence[Job], workers: int, *, quiet: bool = False
) -> Iterator[Callable[[Outcome], None]]:
    """Open a display, and return the function that shows an outcome."""
    with RunProgress(finished, pending, workers=workers, quiet=quiet) as display:
        yield display.update


def format_outcome(outcome: Outcome) -> str:
    """Describe the outcome of a job in one line."""
    record = outcome.record
    if record is None or outcome.status:
        return f"{outcome.job}: cannot write its record {outcome.reason}"
    if not record.done:
        last = (record.reason.strip().splitlines() or [""])[-1]
        return f"{outcome.job}: failed ({record.status}), {last}"
    run = record.run
    test = f"test {record.score():.2%}, " if record.has_test_scores else ""  # trials hide them
    return (
        f"{outcome.job}: {test}validation {record.score('val'):.2%}, {run['n_epochs']} epochs in {run['seconds']:.1f} s"
    )


class TrialProgress(ProgressDisplay):
    """The number of finished and failed trials, and the best value."""

    def __init__(self, total: int, *, scoring: str = DEFAULT_SCORING.name, quiet: bool = False) -> None:
        self.total, self.done, self.failed, self.best = total, 0, 0, -math.inf
        self.scoring = scoring
        super().__init__(total=total, quiet=quiet)

    @property
    @override
    def text(self) -> str:
        return f"{self.done} of {self.total} trials{self._summary}"

    @property
    def _summary(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return failed + ("" if self.best == -math.inf else f", best {score_text(self.scoring, self.best, digits=2)}")

    def start(self, trials: "Sequence[TrialResult]") -> None:
        """Show the trials that exist."""
        self.done = len(trials)
        self.failed = sum(trial.state == "failed" for trial in trials)
        self.best = max((t.value for t in trials if t.state == "done" and t.value is not None), default=-math.inf)
        self.advance(self.done)
        if trials:
            self.print_line(f"{self.done} of {self.total} trials are already finished{self._summary}")

    def update(self, trial: "TrialResult", *, n_splits: int) -> None:
        """Show a finished trial."""
        self.done += 1
        self.failed += trial.state == "failed"
        value = trial.value if trial.state == "done" and trial.value is not None else -math.inf
        is_best = value > self.best
        self.best = max(value, self.best)
        self.advance(1)
        if not self.live or is_best or trial.state == "failed":
            mark = ", the best so far" if is_best else ""
            line = format_trial(trial, n_splits=n_splits, scoring=self.scoring)
            self.print_line(f"[{self.done}/{self.total}] {line}{mark}")


class TuneProgress(ProgressDisplay):
    """The number of finished and failed trials of several searches."""

    def __init__(
        self, trials: int | None, n_searches: int, *, scoring: str = DEFAULT_SCORING.name, quiet: bool = False
    ) -> None:
        self.total, self.done, self.failed = (trials or 0) * n_searches, 0, 0
        self.scoring = scoring
        self.best: dict[Cell, float] = {}
        super().__init__(total=self.total or 1, quiet=quiet)

    @property
    @override
    def text(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.count} trials{failed}"

    @property
    def count(self) -> str:
        """The number of finished trials, and of all trials if it is known."""
        return f"{self.done} of {self.total}" if self.total else str(self.done)

    def start(self, trials: "Mapping[Cell, Sequence[TrialResult]]") -> None:
        """Show the trials that exist."""
        for cell, existing in trials.items():
            for trial in existing:
                self._count(cell, trial)
        self.advance(self.done)
        if self.done:
            self.print_line(f"{self.count} trials are already finished")

    def update(self, cell: "Cell", trial: "TrialResult", *, n_splits: int) -> None:
        """Show a finished trial."""
        is_best = self._count(cell, trial)
        self.advance(1)
        if not self.live or is_best or trial.state == "failed":
            mark = ", the best so far" if is_best else ""
            line = format_trial(trial, n_splits=n_splits, scoring=self.scoring)
            self.print_line(f"[{self.count.replace(' of ', '/')}] {' on '.join(cell)}, {line}{mark}")

    def _count(self, cell: "Cell", trial: "TrialResult") -> bool:
        """Count a trial, and return whether it is the best of its search."""
        self.done += trial.state != "running"
        self.failed += trial.state == "failed"
        if trial.state != "done" or trial.value is None or trial.value <= self.best.get(cell, -math.inf):
            return False
        self.best[cell] = trial.value
        return True


def format_trial(trial: "TrialResult", *, n_splits: int, scoring: str = DEFAULT_SCORING.name) -> str:
    """Describe a finished trial in one line."""
    start = f"trial {trial.number}: "
    if trial.state == "failed":
        return f"{start}failed, {trial.reason.strip().splitlines()[-1]}"
    value = "-" if trial.value is None else score_text(scoring, trial.value, digits=2)
    if trial.state == "pruned":
        after = f"pruned after {len(trial.scores)} of {n_splits} splits"
        return f"{start}{after}, validation {value}, {trial.seconds:.1f} s"
    return f"{start}validation {value}, {trial.seconds:.1f} s"
