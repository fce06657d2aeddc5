"""The trials of searches: what defines a search, how its trials run, and how its result is collected.

The objective of a trial is the mean validation score over a few splits. Its runs have no access to test labels, and
their records contain no test scores.
"""

import dataclasses
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

import optuna
from optuna.trial import Trial, TrialState

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.leftovers import remove_folders_of_killed
from heterophily.core.types import Json, JsonObject, Settings
from heterophily.htmp.identity import digest
from heterophily.models import Model
from heterophily.models.settings import merge_settings
from heterophily.runs.execute import run_tasks
from heterophily.runs.job import Job, RunOptions, absolute_path, make_job, now, split_digest
from heterophily.runs.record import RESULTS_VERSION, Record
from heterophily.runs.store import Store
from heterophily.training.scoring import DEFAULT_SCORING, Scoring, find_scoring
from heterophily.tuning import components
from heterophily.tuning.files import winner_path, write_trials, write_winner
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
from heterophily.tuning.study import MAX_ATTEMPTS, Claims, damage_as_error, open_study, release_trial, suggest_value

DESCRIPTIONS = {
    "checksum": "checksum of the dataset",
    "fixed": "--set",
    "version": "version of the code, which gives other results",
}


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
    seconds: float | None = None  # limit of the training time of all trials
    from_defaults: bool = False  # whether the search ignores the bundled settings of the dataset
    origin: str = "search"  # or tune

    @cached_property
    def study(self) -> optuna.Study:
        """The study, which is created if it does not exist."""
        return open_study(self.place, f"{self.problem.name} on {self.graph.name}")

    @property
    def claims(self) -> Claims:
        """The trials that this command can claim."""
        is_local = isinstance(self.place, Path)
        return Claims(self.study, self.n_trials, self.seed, self.folder, is_local, self.seconds)

    def job(self, candidate: Candidate, split: str) -> Job:
        """Return the job of a candidate. The i-th split has the seed `seed` + i, as in the benchmark."""
        return make_job(
            candidate.model,
            self.graph,
            split,
            seed=self.seed + list(self.graph.splits).index(split),
            settings=candidate.values,
            origin=self.origin,
            hide_test_labels=True,
            device=self.device,
            scoring=self.scoring.name,
        )


def make_problem(model: Model, base: Settings, fixed: Settings) -> SearchProblem:
    """Return the search problem: the architecture, or the settings of a method."""
    if model == components.NAME:
        return components.ArchitectureSearch(fixed)
    return SettingsSearch(absolute_path(model) if isinstance(model, str) else model, base, fixed)


def start_study(plan: SearchPlan, model: Model, fixed: Settings) -> SearchPlan:
    """Start the study, or check that it is the same. It retains the bundled settings of its start."""
    with damage_as_error(plan.place):
        return _start_study(plan, model, fixed)


def _start_study(plan: SearchPlan, model: Model, fixed: Settings) -> SearchPlan:
    facts, study = _facts(plan, fixed), plan.study
    with plan.claims.lock:
        if "facts" not in study.user_attrs:
            base = {} if plan.from_defaults else merge_settings(plan.problem.name, plan.graph.name)[0]
            study.set_user_attr("base", base)
        problem = make_problem(model, study.user_attrs["base"], fixed)
        if "facts" not in study.user_attrs:
            for point in problem.initial_points:
                study.enqueue_trial(point, skip_if_exists=True)
            study.set_user_attr("facts", facts)
    _check_same(study.user_attrs["facts"], facts, plan.place)
    return dataclasses.replace(plan, problem=problem)


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
        **({"start": "defaults"} if plan.from_defaults else {}),
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


def run_trials(
    plans: Sequence[SearchPlan],
    folder: Path,
    *,
    workers: int,
    threads: int,
    on_trial: Callable[[SearchPlan, TrialResult], None] = lambda *_: None,
) -> None:
    """Run the missing trials of searches, also those that another command abandons meanwhile.

    `folder` contains the records. All searches share the workers, so none of them is idle at the end of a search.
    """
    store = Store(folder.resolve())
    remove_folders_of_killed(store.folder)  # also if no trial is missing
    engine = "inline" if workers == 1 else "local"
    options = RunOptions(now(), threads or 1, attempts=MAX_ATTEMPTS)
    while any(plan.claims.count_missing() > 0 for plan in plans):
        tasks = _trial_tasks(plans)
        for plan, trial in run_tasks(tasks, store, workers=workers, options=options, engine=engine):
            on_trial(plan, trial)


def _trial_tasks(plans: Sequence[SearchPlan]) -> Iterator[Generator[Job, Record, tuple[SearchPlan, TrialResult]]]:
    """Claim one trial after another, until there are enough."""
    for plan in plans:
        while (trial := plan.claims.claim_trial()) is not None:
            yield trial_task(plan, trial)


def trial_task(plan: SearchPlan, trial: Trial) -> Generator[Job, Record, tuple[SearchPlan, TrialResult]]:
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
    except OSError:  # the study cannot be written, which is not a failure of the trial
        with suppress(OSError):
            release_trial(trial)
        raise
    except Exception as error:  # any failure is stored, and the search continues
        trial.set_user_attr("reason", str(error) or type(error).__name__)
    return plan, trial_result(plan.study.tell(trial, value, state=state))


def _mean_score(plan: SearchPlan, trial: Trial) -> Generator[Job, Record, float]:
    """Return the mean validation score. Report it after every split."""
    space = plan.problem.space
    candidate = plan.problem.candidate(lambda name: suggest_value(trial, name, space[name]))
    scores: list[float] = []
    seconds = 0.0
    reported = trial.storage.get_trial(trial._trial_id).intermediate_values  # before the trial was interrupted
    for step, split in enumerate(plan.splits):
        record = yield plan.job(candidate, split)
        seconds += float(record.run.get("seconds", 0.0))
        trial.set_user_attr("seconds", seconds)
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


def collect_result(plan: SearchPlan, target: Path | None) -> SearchResult:
    """Return the best trial and all others, and write the table of trials and the best settings."""
    with damage_as_error(plan.place):
        return _collect_result(plan, target)


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
        origin=plan.origin,
    )
    for key, path in (("winner", winner_path(result, plan.folder)), ("written", target)):
        if path is not None:
            files[key] = write_winner(result, path)
    return result
