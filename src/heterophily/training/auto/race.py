"""A race of candidates under a time budget: cheap ones first, and only promising ones continue.

The race has three rounds. In the first, all candidates train for a few epochs. The better half, and all that are
within the uncertainty of the best, continue in the second round, and the better quarter in the last one, which trains
them to the end. Decisions are made between rounds, so the result does not depend on the order in which tasks end.

If the time of the first round is over before all candidates have started, the remaining ones have a race of their own
in the time that the others leave. At the end, the best networks are trained again with other seeds, because the mean
of several networks that differ only in their seeds is better than each of them.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heterophily.core.graph import Graph
from heterophily.training.auto.budget import Clock
from heterophily.training.auto.leaderboard import Entry, Leaderboard
from heterophily.training.auto.portfolio import Candidate
from heterophily.training.auto.task import SPLIT, Outcome, Task, TrainingOptions
from heterophily.training.auto.workers import Runner, choose_workers, open_runner

ENDLESS = 10**9
MAX_SHARE = 0.2  # of the budget for one candidate in one round, unless it is the last round
MIN_SURVIVORS = 3
N_REPEATED = 3  # networks that are trained with several seeds


@dataclass(frozen=True)
class Round:
    """Train up to a number of epochs, within a share of the time of the race that includes earlier rounds."""

    n_epochs: int
    budget_share: float


ROUNDS = (Round(40, 0.5), Round(120, 0.75), Round(ENDLESS, 1.0))
# Called with the current leaderboard whenever it changes.
LeaderboardCallback = Callable[[Leaderboard], None]


def run_race(
    graph: Graph,
    candidates: Sequence[Candidate],
    options: TrainingOptions,
    folder: Path,
    *,
    clock: Clock,
    workers: int | None = None,
    n_seeds: int = 1,
    on_update: LeaderboardCallback | None = None,
) -> tuple[Leaderboard, tuple[Candidate, ...]]:
    """Train candidates on the split `race` of a graph. Their weights and predictions are in the folder.

    Return the leaderboard and the candidates of its entries, which include the best ones with `n_seeds` seeds.
    """
    race = _Race(graph, candidates, options, clock, on_update)
    n_workers = choose_workers(workers, graph, options, len(candidates))
    try:
        with open_runner(graph, options, folder, workers=n_workers) as runner:
            while race.waiting and clock.left() > 0:
                race.run_rounds(runner)
            race.repeat_best(runner, n_seeds)
    except KeyboardInterrupt:
        race.stopped = "interrupted"
    return race.finish(), tuple(race.candidates)


class _Race:
    """The state of a race."""

    def __init__(
        self,
        graph: Graph,
        candidates: Sequence[Candidate],
        options: TrainingOptions,
        clock: Clock,
        on_update: LeaderboardCallback | None,
    ) -> None:
        self.candidates, self.clock = list(candidates), clock
        self.on_update = on_update or (lambda board: None)
        self.entries = [Entry(each.name, each.method) for each in candidates]
        self.scoring = options.scoring.name
        self.uncertainty = 0.5 / math.sqrt(len(graph.split(SPLIT).val))  # largest standard error of a share
        self.stopped = "finished"
        self.saved: dict[int, Outcome] = {}  # the last outcome with weights and predictions, by candidate

    @property
    def waiting(self) -> list[int]:
        """The candidates that have not started."""
        return [i for i, entry in enumerate(self.entries) if entry.status == "pending"]

    def run_rounds(self, runner: Runner) -> None:
        """Run all rounds with the candidates that have not started, and decide between rounds who continues."""
        start, indices = self.clock.elapsed, self.waiting
        for number, current in enumerate(ROUNDS, start=1):
            self._run(runner, indices, current, start)
            indices = self.survivors(number)

    def repeat_best(self, runner: Runner, n_seeds: int) -> None:
        """Train the best networks with other seeds, in the time that is left."""
        ranked = sorted(self.saved, key=lambda i: (-self.entries[i].score, i))
        best = [i for i in ranked if self.entries[i].status == "done" and self.candidates[i].make().is_network]
        added = [self.candidates[i].with_seed(seed) for seed in range(1, n_seeds) for i in best[:N_REPEATED]]
        if not added or self.clock.left() <= 0:
            return
        self.candidates += added
        self.entries += [Entry(each.name, each.method) for each in added]
        self._run(runner, self.waiting, ROUNDS[-1], self.clock.elapsed)

    def _run(self, runner: Runner, indices: Sequence[int], current: Round, start: float) -> None:
        for outcome in runner.run(self._tasks(indices, current, start), self._progress):
            self._record(outcome)
            if outcome.status == "interrupted":
                raise KeyboardInterrupt

    def survivors(self, number: int) -> list[int]:
        """Return the paused candidates that continue after a round: the better half or quarter, and the close ones."""
        known = sorted(self.saved)
        ranked = sorted(known, key=lambda i: (-self.entries[i].score, i))
        n_best = max(MIN_SURVIVORS, math.ceil(len(ranked) / 2**number))
        best = self.entries[ranked[0]].score if ranked else 0.0
        close = {i for i in known if self.entries[i].score >= best - self.uncertainty}
        chosen = close | set(ranked[:n_best])
        for i in known:
            if self.entries[i].status == "paused" and i not in chosen:
                self._change(i, status="stopped early")
        return [i for i in ranked if i in chosen and self.entries[i].status == "paused"]

    def _tasks(self, indices: Sequence[int], current: Round, start: float) -> Iterator[Task]:
        """Yield tasks as long as there is time for them. Candidates without any wait for the next race."""
        is_last = current.n_epochs == ENDLESS
        for i in indices:
            limit = self.clock.left() if is_last else MAX_SHARE * self.clock.budget
            seconds = min(limit, self.clock.left(current.budget_share, since=start))
            if seconds <= 0 and (self.saved or self.clock.left() <= 0):
                if i in self.saved:
                    self.stopped = "budget"
                    self._change(i, status="out of time")
                continue
            self._change(i, status="running")
            method = self.candidates[i].make()
            is_single = method.is_network and method.n_members == 1  # trees and ensembles cannot be continued
            yield Task(i, self.candidates[i], current.n_epochs if is_single else ENDLESS, max(seconds, 0.0))

    def _progress(self, index: int, epoch: int, score: float) -> None:
        entry = self.entries[index]
        self._change(index, n_epochs=epoch + 1, score=max(score, entry.score) if entry.has_score else score)

    def _record(self, outcome: Outcome) -> None:
        if outcome.status == "out of time":
            self.stopped = "budget"
        if outcome.status != "failed":
            self.saved[outcome.index] = outcome
        self._change(outcome.index, status=outcome.status, reason=outcome.reason, **self._result(outcome.index))

    def _result(self, index: int) -> dict[str, float]:
        """Return the numbers of the last outcome with weights and predictions."""
        saved = self.saved.get(index, Outcome(index, "failed"))
        return {"score": saved.score, "n_epochs": saved.n_epochs, "seconds": saved.seconds}

    def _change(self, index: int, **values: str | float) -> None:
        self.entries[index] = dataclasses.replace(self.entries[index], **values)  # type: ignore[arg-type]
        self.on_update(self.board)

    @property
    def board(self) -> Leaderboard:
        """The leaderboard so far."""
        return Leaderboard(self.scoring, tuple(self.entries), self.clock.elapsed, self.stopped)

    def finish(self) -> Leaderboard:
        """Return the final leaderboard. A score belongs to the weights and predictions in the folder."""
        ends = {"pending": "skipped", "running": "interrupted", "paused": "out of time"}
        if self.waiting and self.stopped == "finished":
            self.stopped = "budget"
        for i, entry in enumerate(self.entries):
            self._change(i, status=ends.get(entry.status, entry.status), **self._result(i))
        return self.board
