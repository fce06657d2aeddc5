"""`tune`: the same budget for every method, a number of trials or a time, on validation nodes only.

Each pair of a method and a dataset is one search, which starts with the defaults of the method and ignores bundled
settings, because those of some methods were tuned for longer. The searches share their workers, and several commands
with the same folder share the work. The best settings of a method are in `settings/<model>.toml`.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar, cast

from filelock import FileLock

from heterophily.core.arguments import check_integer, check_sequence
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import safe_name, write_atomically
from heterophily.core.graph import Graph
from heterophily.core.types import JsonObject, Settings
from heterophily.data.loading import as_graph
from heterophily.models import Model
from heterophily.runs.arguments import check_run_arguments
from heterophily.training.auto.budget import parse_budget
from heterophily.training.scoring import DEFAULT_SCORING, find_scoring
from heterophily.tuning.components import NAME
from heterophily.tuning.optimize import search_splits
from heterophily.tuning.problem import SettingsSearch
from heterophily.tuning.result import SearchResult, TrialResult, trial_results
from heterophily.tuning.study import lock_path
from heterophily.tuning.trials import SearchPlan, collect_result, make_problem, run_trials, start_study

MAX_TRIALS = 100_000  # of a search that only a time limits
WAIT_SECONDS = 2.0  # before checking the trials of other commands again
T = TypeVar("T")
Cell = tuple[str, str]  # names of a method and a dataset


@dataclass(frozen=True)
class Budget:
    """The limits of each search. The one that is reached first ends it.

    Examples
    --------
    >>> print(Budget(trials=30))
    30 trials
    >>> print(Budget(trials=30, seconds=600))
    at most 30 trials and 600 seconds of training
    """

    trials: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.trials is None and self.seconds is None:
            raise HeterophilyError("tuning needs a budget; pass trials, budget, or both")
        check_integer("trials", self.trials, low=1, optional=True)

    def __str__(self) -> str:
        trials = "" if self.trials is None else "1 trial" if self.trials == 1 else f"{self.trials} trials"
        seconds = "" if self.seconds is None else f"{self.seconds:g} seconds of training"
        return f"at most {trials} and {seconds}" if trials and seconds else trials or seconds


class TuneDisplay(Protocol):
    """Shows the progress of several searches."""

    def start(self, trials: Mapping[Cell, Sequence[TrialResult]]) -> None:
        """Show the trials that exist."""

    def update(self, cell: Cell, trial: TrialResult, *, n_splits: int) -> None:
        """Show a finished trial."""


@dataclass(frozen=True)
class TuneResult:
    """The best settings of every method on every dataset, without any test score."""

    folder: Path
    budget: Budget
    searches: Mapping[Cell, SearchResult]
    failed: Mapping[Cell, str] = field(default_factory=dict)  # why no trial of a search finished

    @property
    def settings(self) -> dict[str, Path]:
        """The settings file of each method, which contains a table per dataset."""
        return {model: settings_path(self.folder, model) for model, _ in self.searches}

    def to_dict(self) -> JsonObject:
        """Return the result as plain data."""
        rows: list[JsonObject] = [
            {
                "model": model,
                "dataset": dataset,
                "scoring": search.scoring,
                "validation": search.value,
                "default_validation": search.baseline.value,
                "trials": search.n_finished,
                "seconds": sum(trial.seconds for trial in search.trials),
                "settings": dict(search.settings),
            }
            for (model, dataset), search in self.searches.items()
        ]
        failed = [{"model": model, "dataset": name, "reason": why} for (model, name), why in self.failed.items()]
        budget: JsonObject = {"trials": self.budget.trials, "seconds": self.budget.seconds}
        return {"budget": budget, "searches": [*rows], "failed": [*failed]}


def settings_path(folder: Path, model: str) -> Path:
    """Return the path of the tuned settings of a method."""
    return folder / "settings" / f"{safe_name(model)}.toml"


def tune(
    models: str | Sequence[Model],
    datasets: str | Path | Graph | Sequence[str | Path | Graph],
    *,
    out: Path | str,
    trials: int | None = None,
    budget: str | float | None = None,
    splits: str | None = None,
    workers: int = 1,
    threads: int = 1,
    seed: int = 0,
    settings: Settings | None = None,
    device: str = "auto",
    scoring: str = DEFAULT_SCORING.name,
    display: TuneDisplay | None = None,
) -> TuneResult:
    """Search the settings of every method on every dataset with the same budget, on validation nodes.

    Each search starts with the defaults of its method and ignores bundled settings. Runs have no access to test
    labels. The same call continues an interrupted one, and adds trials if the budget is larger.

    Parameters
    ----------
    models
        Name of a method, or a sequence of names, Python files, and methods.
    datasets
        Name of a dataset, path of a graph, or graph; or a sequence of these.
    out
        Folder for the trials and the settings. `bench` can write its records to the same folder.
    trials
        Number of trials of each search.
    budget
        Training time of each search in seconds, or as text such as ``"10m"``. With `trials`, the limit that is
        reached first ends the search.
    splits
        ``"all"``, ``"0-2"``, or ``"0,3"``; by default the first three. The objective is the mean over them.
    workers, threads
        Number of runs at the same time, and of PyTorch threads per run. One worker trains in this process.
    seed
        Seed of the sampler and of split 0; split i trains with the seed plus i.
    settings
        Settings of all methods that are not searched.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``, or ``"mps"``.
    scoring
        Name of the objective of training and of the search.
    display
        Shows the progress; by default, nothing is shown.

    Returns
    -------
    A `TuneResult` with one `SearchResult` per method and dataset, and the paths of the settings files.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from heterophily import tune
    >>> result = tune("mlp", "digits", trials=2, splits="0", out=mkdtemp(), settings={"max_epochs": 3})
    >>> result.searches["mlp", "digits"].n_finished
    2
    >>> [path.name for path in result.settings.values()]
    ['mlp.toml']
    """
    check_run_arguments(out=out, splits=splits, seed=seed, workers=workers, threads=threads, settings=settings)
    limits, folder = Budget(trials, None if budget is None else parse_budget(budget)), Path(out)
    plans: dict[Cell, SearchPlan] = {}
    for graph in _graphs(datasets):
        shared, names = search_splits(graph, splits)
        for model in _models(models):
            problem = _make_problem(model, settings or {})
            cell = problem.name, graph.name
            if cell in plans:
                raise HeterophilyError(f"two of the models and datasets are {' on '.join(cell)}; rename one of them")
            inner = folder / "trials" / safe_name(graph.name) / safe_name(problem.name)
            inner.mkdir(parents=True, exist_ok=True)
            plan = SearchPlan(
                problem=problem,
                graph=shared,
                splits=names,
                n_trials=limits.trials or MAX_TRIALS,
                seed=seed,
                place=inner / "study.journal",
                folder=inner,
                device=device,
                scoring=find_scoring(scoring),
                seconds=limits.seconds,
                from_defaults=True,
                origin="tune",
            )
            plans[cell] = start_study(plan, model, settings or {})
    _run(plans, folder / "trials" / "runs", workers, threads, display)
    return _collect(plans, limits, folder)


def _graphs(datasets: str | Path | Graph | Sequence[str | Path | Graph]) -> list[Graph]:
    given: list[str | Path | Graph] = _listed("datasets", datasets)
    return [as_graph(each) for each in given]


def _models(models: str | Sequence[Model]) -> list[Model]:
    return _listed("models", models)


def _listed(name: str, values: T | Sequence[T]) -> list[T]:
    single = isinstance(values, str | Path | Graph)
    return [cast("T", each) for each in ([values] if single else check_sequence(name, values))]


def _make_problem(model: Model, settings: Settings) -> SettingsSearch:
    problem = make_problem(model, {}, settings)
    if not isinstance(problem, SettingsSearch):
        raise HeterophilyError(f"`tune` searches settings of methods; use `search {NAME}` to search for architectures")
    return problem


def _run(
    plans: Mapping[Cell, SearchPlan], folder: Path, workers: int, threads: int, display: TuneDisplay | None
) -> None:
    """Run all missing trials, and wait for those that other commands run."""

    def show(plan: SearchPlan, trial: TrialResult) -> None:
        if display is not None:
            display.update((plan.problem.name, plan.graph.name), trial, n_splits=len(plan.splits))

    if display is not None:
        display.start({cell: trial_results(plan.study) for cell, plan in plans.items()})
    searches = list(plans.values())
    while True:
        run_trials(searches, folder, workers=workers, threads=threads, on_trial=show)
        if not any(trial.state == "running" for plan in searches for trial in trial_results(plan.study)):
            return
        time.sleep(WAIT_SECONDS)


def _collect(plans: Mapping[Cell, SearchPlan], budget: Budget, out: Path) -> TuneResult:
    """Collect the results of all searches, and write the settings and a summary."""
    searches, failed = {}, {}
    (out / "settings").mkdir(parents=True, exist_ok=True)
    for (model, dataset), plan in plans.items():
        path = settings_path(out, model)
        try:
            with FileLock(lock_path(path)):
                searches[model, dataset] = collect_result(plan, path)
        except HeterophilyError as error:
            failed[model, dataset] = str(error)
    result = TuneResult(out, budget, searches, failed)
    text = json.dumps(result.to_dict(), indent=1, ensure_ascii=False) + "\n"
    write_atomically(out / "tune.json", lambda path: path.write_text(text, encoding="utf-8"))
    return result
