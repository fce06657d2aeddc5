"""The result of a search: the best trial, all trials, and the importance of each setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from heterophily.core.errors import HeterophilyError
from heterophily.core.types import Json, Settings, Value
from heterophily.htmp.method import Method
from heterophily.training.scoring import DEFAULT_SCORING, find_scoring
from heterophily.tuning.problem import Candidate, SearchProblem, round_value
from heterophily.tuning.study import is_abandoned, trial_state

ABSENT = "-"  # value of a parameter that a trial does not have


@dataclass(frozen=True)
class TrialResult:
    """One trial as plain data."""

    number: int
    state: str  # done, pruned, failed, or running
    value: float | None  # mean validation score over the splits that were trained
    scores: tuple[float, ...]  # per split
    seconds: float
    answers: Settings  # values that the sampler suggested
    reason: str = ""  # of a failure


@dataclass(frozen=True)
class SearchResult:
    """The best trial of a study, and all others."""

    model: str
    dataset: str
    method: Method
    settings: Settings
    preset: str
    best: TrialResult
    baseline: TrialResult  # the trial of the first initial point
    trials: tuple[TrialResult, ...]
    importances: Mapping[str, float]
    facts: Mapping[str, Json]  # what defines the study
    files: Mapping[str, Path] = field(default_factory=dict)
    origin: str = "search"  # or tune

    @property
    def n_finished(self) -> int:
        """The number of trials that are not running elsewhere."""
        return len(self.trials) - self.count("running")

    @property
    def value(self) -> float:
        """The best mean validation score."""
        assert self.best.value is not None
        return self.best.value

    @property
    def scoring(self) -> str:
        """The name of the scoring. Studies of earlier versions, which have none, used accuracy."""
        return find_scoring(str(self.facts.get("scoring", self.facts.get("metric", DEFAULT_SCORING.name)))).name

    def count(self, state: str) -> int:
        """Return the number of trials in a state."""
        return sum(trial.state == state for trial in self.trials)


def trial_results(study: optuna.Study) -> tuple[TrialResult, ...]:
    """Return all trials except those that wait or were abandoned."""
    trials = study.get_trials(deepcopy=False)
    return tuple(trial_result(t) for t in trials if t.state != TrialState.WAITING and not is_abandoned(t))


def trial_result(trial: FrozenTrial) -> TrialResult:
    """Return a trial as plain data."""
    attributes = trial.user_attrs
    return TrialResult(
        number=trial.number,
        state=trial_state(trial),
        value=trial.value,
        scores=tuple(attributes.get("scores", attributes.get("accuracies", ()))),  # earlier versions have the latter
        seconds=trial.duration.total_seconds() if trial.duration else 0.0,
        answers=dict(trial.params),
        reason=str(attributes.get("reason", "")),
    )


def best_trial(trials: Sequence[TrialResult]) -> TrialResult:
    """Return the finished trial with the highest value; of equal ones, the first."""
    done = [trial for trial in trials if trial.state == "done" and trial.value is not None]
    if not done:
        reasons = [t.reason for t in trials if t.reason] or ["all are still running elsewhere"]
        raise HeterophilyError(f"none of {len(trials)} trials finished: {reasons[0]}")
    return max(done, key=lambda trial: (trial.value, -trial.number))


def baseline_of(trials: Sequence[TrialResult], point: Settings) -> TrialResult:
    """Return the trial of an initial point, or the first trial if there is none."""
    matching = [t for t in trials if t.answers and t.answers.items() <= point.items()]
    return (matching or trials)[0]


def trial_candidate(problem: SearchProblem, trial: TrialResult) -> Candidate:
    """Return the candidate of a trial."""
    return problem.candidate(lambda name: round_value(problem.space[name], trial.answers[name]))


def importances_of(study: optuna.Study) -> dict[str, float]:
    """Return the share of the variance that each setting explains (fANOVA), largest first.

    For a parameter that only some trials have, `-` is one more value.
    """
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len({t.value for t in trials}) < 2:
        return {}
    names = sorted({name for t in trials for name in t.params})
    rows = [{name: t.params.get(name, ABSENT) for name in names} for t in trials]
    spaces = {name: _distribution(name, trials, [row[name] for row in rows]) for name in names}
    varied = {n: d for n, d in spaces.items() if len({str(row[n]) for row in rows}) > 1}
    flat = optuna.create_study(direction="maximize")
    for trial, row in zip(trials, rows, strict=True):
        params = {name: row[name] for name in varied}
        flat.add_trial(create_trial(params=params, distributions=varied, value=trial.value))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    shares = optuna.importance.get_param_importances(flat, evaluator=evaluator)
    return {name: float(share) for name, share in shares.items()}


def _distribution(name: str, trials: Sequence[FrozenTrial], values: Sequence[Value]) -> BaseDistribution:
    if ABSENT not in values:
        return next(t.distributions[name] for t in trials if name in t.distributions)
    return CategoricalDistribution(list(dict.fromkeys(values)))  # type: ignore[arg-type]
