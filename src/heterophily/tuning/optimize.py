"""`search`: optimize the settings of a method, or the architecture itself, with Optuna.

The objective is the mean validation score over a few splits, and test labels are hidden from training. The
study is in a file of the output folder, or in any storage that Optuna supports, so several commands can share
it. The same call adds only the missing trials, and runs that have finished are not repeated.
"""

from pathlib import Path
from typing import Protocol

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Settings
from heterophily.data.splits import random_splits
from heterophily.models import Model
from heterophily.runs.job import parse_splits
from heterophily.training.scoring import DEFAULT_SCORING, find_scoring
from heterophily.tuning import components
from heterophily.tuning.files import check_settings
from heterophily.tuning.problem import SearchProblem
from heterophily.tuning.result import SearchResult, TrialResult, trial_results
from heterophily.tuning.trials import SearchPlan, collect_result, make_problem, run_trials, start_study

N_SPLITS = 3  # by default


class SearchDisplay(Protocol):
    """Shows the progress of a search."""

    def start(self, trials: tuple[TrialResult, ...]) -> None:
        """Show the trials that exist."""

    def update(self, trial: TrialResult, *, n_splits: int) -> None:
        """Show a finished trial."""


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
    graph, names = search_splits(graph, splits)
    problem = make_problem(model, {}, settings or {})
    _check_target(problem, target)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    place = storage or folder / "study.journal"
    plan = SearchPlan(problem, graph, names, trials, seed, place, folder, device, find_scoring(scoring))
    plan = start_study(plan, model, settings or {})
    if display is not None:
        display.start(trial_results(plan.study))

    def show(plan: SearchPlan, trial: TrialResult) -> None:
        if display is not None:
            display.update(trial, n_splits=len(plan.splits))

    run_trials([plan], folder / "runs", workers=workers, threads=threads, on_trial=show)
    return collect_result(plan, target)


def search_splits(graph: Graph, splits: str | None) -> tuple[Graph, tuple[str, ...]]:
    """Return the graph, with random splits if it has none, and the names of the splits, by default the first three."""
    graph = graph if graph.splits else graph.replace(splits=random_splits(graph, stratify=True))
    return graph, tuple(parse_splits(graph, splits) if splits else list(graph.splits)[:N_SPLITS])


def _check_target(problem: SearchProblem, target: Path | None) -> None:
    if target is None:
        return
    if problem.name != components.NAME:
        check_settings(target)
    elif target.suffix != ".py":
        raise HeterophilyError(f"a method is written to a .py file, got {target.name!r}")
