"""What a search found: the winner, every trial, and how much each setting mattered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from heterophily.core.errors import HeterophilyError
from heterophily.htmp.method import Method
from heterophily.search.problem import Candidate, SearchProblem, round_value
from heterophily.search.study import is_abandoned, trial_state

ABSENT = "-"  # of a question that a trial was not asked


@dataclass(frozen=True)
class TrialResult:
    """One trial as plain data."""

    number: int
    state: str  # done, pruned, failed or running
    value: float | None  # mean validation accuracy over the splits that were trained
    accuracies: tuple[float, ...]  # per split
    seconds: float
    answers: Mapping[str, Any]  # what was tried
    reason: str = ""  # of a failure


@dataclass(frozen=True)
class SearchResult:
    """The best trial of a study, and all others."""

    model: str
    dataset: str
    method: Method
    settings: Mapping[str, Any]
    preset: str
    best: TrialResult
    start: TrialResult  # the trial of the settings with which the search began
    attempts: tuple[TrialResult, ...]
    importances: Mapping[str, float]
    facts: Mapping[str, Any]  # what the study was begun with
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The best mean validation accuracy."""
        assert self.best.value is not None
        return self.best.value

    def count(self, state: str) -> int:
        """Number of trials in a state."""
        return sum(attempt.state == state for attempt in self.attempts)


def attempts_of(study: optuna.Study) -> tuple[TrialResult, ...]:
    """All trials that count."""
    trials = study.get_trials(deepcopy=False)
    return tuple(
        trial_result(t) for t in trials if t.state != TrialState.WAITING and not is_abandoned(t)
    )


def trial_result(trial: FrozenTrial) -> TrialResult:
    """Return a trial as plain data."""
    return TrialResult(
        number=trial.number,
        state=trial_state(trial),
        value=trial.value,
        accuracies=tuple(trial.user_attrs.get("accuracies", ())),
        seconds=trial.duration.total_seconds() if trial.duration else 0.0,
        answers=dict(trial.params),
        reason=str(trial.user_attrs.get("reason", "")),
    )


def best_of(attempts: Sequence[TrialResult]) -> TrialResult:
    """The finished trial with the highest value, the earliest of equals."""
    done = [a for a in attempts if a.state == "done" and a.value is not None]
    if not done:
        reasons = [a.reason for a in attempts if a.reason] or ["all are still running elsewhere"]
        raise HeterophilyError(f"none of {len(attempts)} trials finished: {reasons[0]}")
    return max(done, key=lambda a: (a.value, -a.number))


def start_of(attempts: Sequence[TrialResult], answers: Mapping[str, Any]) -> TrialResult:
    """The trial of these answers, or the first: one whose process was killed is tried again later."""
    tried = [a for a in attempts if a.answers and a.answers.items() <= answers.items()]
    return (tried or attempts)[0]


def candidate_of(subject: SearchProblem, attempt: TrialResult) -> Candidate:
    """What a trial tried."""
    return subject.candidate(lambda name: round_value(subject.space[name], attempt.answers[name]))


def importances_of(study: optuna.Study) -> dict[str, float]:
    """The share of the variance of finished trials that each setting explains (fANOVA), largest first.

    A question that only some trials were asked counts `-` as one more answer.
    """
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len({t.value for t in trials}) < 2:
        return {}
    names = sorted({name for t in trials for name in t.params})
    rows = [{name: t.params.get(name, ABSENT) for name in names} for t in trials]
    spaces = {name: _flat(name, trials, [row[name] for row in rows]) for name in names}
    varied = {n: d for n, d in spaces.items() if len({str(row[n]) for row in rows}) > 1}
    flat = optuna.create_study(direction="maximize")
    for trial, row in zip(trials, rows, strict=True):
        kept = {name: row[name] for name in varied}
        flat.add_trial(create_trial(params=kept, distributions=varied, value=trial.value))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    found = optuna.importance.get_param_importances(flat, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}


def _flat(name: str, trials: Sequence[FrozenTrial], values: list[Any]) -> BaseDistribution:
    if ABSENT not in values:
        return next(t.distributions[name] for t in trials if name in t.distributions)
    return CategoricalDistribution(list(dict.fromkeys(values)))
