"""`search`: optimize the settings of a method, or the architecture itself, with Optuna.

The objective is the mean validation score over a few splits, and test labels are hidden from training. The
study is in a file of the output folder, or in any storage that Optuna supports, so several commands can share
it. The same call adds only the missing trials, and runs that have finished are not repeated.
"""

import dataclasses
import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Protocol

import optuna
from optuna.trial import Trial, TrialState

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Json, JsonObject, Settings
from heterophily.data.splits import random_splits
from heterophily.htmp.identity import digest
from heterophily.models import Model
from heterophily.models.settings import merge_settings
from heterophily.runs.execute import run_tasks
from heterophily.runs.job import Job, RunOptions, absolute_path, make_job, now, parse_splits, split_digest
from heterophily.runs.record import RESULTS_VERSION, Record
from heterophily.runs.store import Store
from heterophily.training.scoring import DEFAULT_SCORING, Scoring, find_scoring
from heterophily.tuning import components
from heterophily.tuning.files import check_settings, winner_path, write_trials, write_winner
from heterophily.tuning.problem import Candidate, SearchProblem, SettingsSearch
from heterophily.tuning.result import (
    SearchResult,
    TrialResult,
    baseline_of,
    best_trial,
    importances_of,
    trial_candidate,
    trial_result,
    trial_results,
)
from heterophily.tuning.study import MAX_ATTEMPTS, Claims, open_study, release_trial, suggest_value

N_SPLITS = 3  # by default
DESCRIPTIONS = {
    "checksum": "checksum of the dataset",
    "fixed": "--set",
    "version": "version of the code, which gives other results",
}


class SearchDisplay(Protocol):
    """Shows the progress of a search."""

    def start(self, trials: tuple[TrialResult, ...]) -> None:
        """Show the trials that exist."""

    def update(self, trial: TrialResult, *, n_splits: int) -> None:
        """Show a finished trial."""


@dataclass(frozen=True)
class SearchPlan:
    """A search problem on the splits of a graph, and the place of its study."""

    problem: SearchProblem
    graph: Graph
    splits: tuple[str, ...]
    n_trials: int
    seed: int
    place: Path | str  # of the storage: a file or a URL
    folder: Path
    device: str = "auto"
    scoring: Scoring = DEFAULT_SCORING

    @cached_property
    def study(self) -> optuna.Study:
        """The study, which is created if it does not exist."""
        return open_study(self.place, f"{self.problem.name} on {self.graph.name}")

    @property
    def claims(self) -> Claims:
        """The trials that this command can claim."""
        is_local = isinstance(self.place, Path)
        return Claims(self.study, self.n_trials, self.seed, self.folder, is_local)

    def job(self, candidate: Candidate, split: str) -> Job:
        """Return the job of a candidate. The i-th split has the seed `seed` + i, as in the benchmark."""
        return make_job(
            candidate.model,
            self.graph,
            split,
            seed=self.seed + list(self.graph.splits).index(split),
            settings=candidate.values,
            origin="search",
            hide_test_labels=True,
            device=self.device,
            scoring=self.scoring.name,
        )


def search(
    model: Model,
    graph: Graph,
    *,
    trials: int,
    out: Path | str,
    splits: str | None = None,
    workers: int = 1,
    threads: int = 1,
    storage: str | None = None,
    seed: int = 0,
    settings: Settings | None = None,
    write: Path | str | None = None,
    device: str = "auto",
    scoring: str = DEFAULT_SCORING.name,
    display: SearchDisplay | None = None,
) -> SearchResult:
    """Search the settings of a model, or with the model `htmp` the architecture, by validation score.

    `splits` is `all`, `0-2`, or `0,3`, by default the first three; `settings` are fixed and not searched. One
    worker trains in this process, several workers in separate processes. The best settings are written to the
    folder `out` and, if given, to `write`: a settings file (.toml), in which one table changes, or a Python
    file (.py) that defines the best method. `scoring` is the name of the objective of every run and of the search.
    """
    if trials < 1 or workers < 1:
        raise HeterophilyError(f"trials and workers must be positive, got {trials} and {workers}")
    target = None if write is None else Path(write)
    graph = graph if graph.splits else graph.replace(splits=random_splits(graph, stratify=True))
    names = parse_splits(graph, splits) if splits else list(graph.splits)[:N_SPLITS]
    problem = make_problem(model, {}, settings or {})
    _check_target(problem, target)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    place = storage or folder / "study.journal"
    plan = SearchPlan(problem, graph, tuple(names), trials, seed, place, folder, device, find_scoring(scoring))
    plan = dataclasses.replace(plan, problem=_start_study(plan, model, settings or {}))
    _run_trials(plan, workers, threads, display)
    return _collect_result(plan, target)


def make_problem(model: Model, base: Settings, fixed: Settings) -> SearchProblem:
    """Return the search problem: the architecture, or the settings of a method."""
    if model == components.NAME:
        return components.ArchitectureSearch(fixed)
    return SettingsSearch(absolute_path(model) if isinstance(model, str) else model, base, fixed)


def _check_target(problem: SearchProblem, target: Path | None) -> None:
    if target is None:
        return
    if problem.name != components.NAME:
        check_settings(target)
    elif target.suffix != ".py":
        raise HeterophilyError(f"a method is written to a .py file, got {target.name!r}")


def _start_study(plan: SearchPlan, model: Model, fixed: Settings) -> SearchProblem:
    """Start the study, or check that it is the same. It retains the bundled settings of its start."""
    facts, study = _facts(plan, fixed), plan.study
    with plan.claims.lock:
        if "facts" not in study.user_attrs:
            base, _ = merge_settings(plan.problem.name, plan.graph.name)
            study.set_user_attr("base", base)
        problem = make_problem(model, study.user_attrs["base"], fixed)
        if "facts" not in study.user_attrs:
            for point in problem.initial_points:
                study.enqueue_trial(point, skip_if_exists=True)
            study.set_user_attr("facts", facts)
    _check_same(study.user_attrs["facts"], facts, plan.place)
    return problem


def _facts(plan: SearchPlan, fixed: Settings) -> JsonObject:
    """Return what defines a study. None of it may change when the study is resumed."""
    graph = plan.graph
    facts = {
        "model": plan.problem.name,
        "method": digest(plan.problem.identity),
        "dataset": graph.name,
        "checksum": graph.checksum,
        "splits": {name: split_digest(graph.split(name)) for name in plan.splits},
        "seed": plan.seed,
        "fixed": dict(fixed),
        "version": RESULTS_VERSION,
        "scoring": plan.scoring.name,
    }
    plain: JsonObject = json.loads(json.dumps(facts))
    return plain


def _check_same(old: Mapping[str, Json], new: JsonObject, place: Path | str) -> None:
    # Studies of earlier versions do not contain these two, or have the scoring as `metric`.
    scoring = find_scoring(str(old.get("metric", DEFAULT_SCORING.name))).name
    started = {"version": 1, "scoring": scoring, **old}
    changed = [DESCRIPTIONS.get(name, name) for name in new if started.get(name) != new[name]]
    if changed:
        raise HeterophilyError(
            f"the study in {place} was started with another {', '.join(changed)}; use the same values to "
            "resume it, or choose another --out or --storage"
        )


def _run_trials(plan: SearchPlan, workers: int, threads: int, display: SearchDisplay | None) -> None:
    """Run the missing trials, also those that another command abandons meanwhile."""
    if display is not None:
        display.start(trial_results(plan.study))
    store = Store((plan.folder / "runs").resolve())
    engine = "inline" if workers == 1 else "local"
    options = RunOptions(now(), threads or 1, attempts=MAX_ATTEMPTS)
    while plan.claims.count_missing() > 0:
        tasks = _trial_tasks(plan)
        for trial in run_tasks(tasks, store, workers=workers, options=options, engine=engine):
            if display is not None:
                display.update(trial, n_splits=len(plan.splits))


def _trial_tasks(plan: SearchPlan) -> Iterator[Generator[Job, Record, TrialResult]]:
    """Claim one trial after another, until there are enough."""
    while (trial := plan.claims.claim_trial()) is not None:
        yield trial_task(plan, trial)


def trial_task(plan: SearchPlan, trial: Trial) -> Generator[Job, Record, TrialResult]:
    """Run a trial and store its result in the study. An interrupted trial is tried again."""
    value, state = None, TrialState.FAIL
    try:
        value = yield from _mean_score(plan, trial)
        state = TrialState.COMPLETE
    except optuna.TrialPruned:
        state = TrialState.PRUNED
    except (KeyboardInterrupt, GeneratorExit):
        release_trial(trial)
        raise
    except Exception as error:  # any failure is stored, and the search continues
        trial.set_user_attr("reason", str(error) or type(error).__name__)
    return trial_result(plan.study.tell(trial, value, state=state))


def _mean_score(plan: SearchPlan, trial: Trial) -> Generator[Job, Record, float]:
    """Return the mean validation score. Report it after every split."""
    space = plan.problem.space
    candidate = plan.problem.candidate(lambda name: suggest_value(trial, name, space[name]))
    scores: list[float] = []
    reported = trial.storage.get_trial(trial._trial_id).intermediate_values  # before the trial was interrupted
    for step, split in enumerate(plan.splits):
        record = yield plan.job(candidate, split)
        if not record.done:
            raise HeterophilyError(_short_reason(record))
        scores.append(record.score("val", plan.scoring.name))
        trial.set_user_attr("scores", scores)
        if step not in reported:
            trial.report(fmean(scores), step)
        if step + 1 < len(plan.splits) and trial.should_prune():
            raise optuna.TrialPruned
    return fmean(scores)


def _short_reason(record: Record) -> str:
    lines = record.reason.strip().splitlines()
    return lines[-1] if lines else record.status


def _collect_result(plan: SearchPlan, target: Path | None) -> SearchResult:
    study, problem = plan.study, plan.problem
    trials, facts = trial_results(study), study.user_attrs["facts"]
    files = {"trials": plan.folder / "trials.csv"}
    write_trials(trials, list(facts["splits"]), files["trials"])
    best = best_trial(trials)
    winner = trial_candidate(problem, best)
    if problem.name == components.NAME:
        name = f"{components.NAME}-{facts['dataset']}"
        winner = dataclasses.replace(
            winner,
            method=dataclasses.replace(winner.method, name=name),  # type: ignore[call-arg]
        )
    result = SearchResult(
        model=problem.name,
        dataset=facts["dataset"],
        method=winner.method,
        settings=winner.settings,
        preset=winner.preset,
        best=best,
        baseline=baseline_of(trials, problem.initial_points[0]),
        trials=trials,
        importances=importances_of(study),
        facts=facts,
        files=files,
    )
    for key, path in (("winner", winner_path(result, plan.folder)), ("written", target)):
        if path is not None:
            files[key] = write_winner(result, path)
    return result
