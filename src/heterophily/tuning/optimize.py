"""`search`: optimize the settings of a method, or the architecture itself, with Optuna.

The objective is the mean validation score over a few splits, and test labels are hidden from training. The
study is in a file of the output folder, or in any storage that Optuna supports, so several commands can share
it. The same call adds only the missing trials, and runs that have finished are not repeated.
"""

from pathlib import Path
from typing import Protocol

from heterophily.core.arguments import check_integer
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Settings
from heterophily.data.loading import as_graph
from heterophily.data.splits import random_splits
from heterophily.models import Model
from heterophily.runs.arguments import check_run_arguments
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
    graph: str | Path | Graph,
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

    Runs have no access to test labels, and neither they nor the result contain a test score. The first trial has the
    bundled settings of the dataset. The same call continues an interrupted search.

    Parameters
    ----------
    model
        Name of a method, path of a Python file, or method; ``"htmp"`` to search for an architecture.
    graph
        Name of a dataset, path of a graph, or graph.
    trials
        Total number of trials, including those of earlier calls.
    out
        Folder for the trials and the best settings.
    splits
        ``"all"``, ``"0-2"``, or ``"0,3"``; by default the first three. The value of a trial is the mean over them.
    workers, threads
        Number of trials at the same time, and of PyTorch threads per trial. One worker trains in this process.
    storage
        URL of an Optuna storage that several machines share; by default a file in `out`.
    seed
        Seed of the sampler and of split 0; split i trains with the seed plus i.
    settings
        Settings that are not searched.
    write
        Settings file (.toml) in which the table of the dataset changes, or Python file (.py) for the best architecture.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``, or ``"mps"``.
    scoring
        Name of the objective of training and of the search.
    display
        Shows the progress; by default, nothing is shown.

    Returns
    -------
    A `SearchResult` with the best settings, the best method, and all trials.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from heterophily import search
    >>> result = search("gcn", "digits", trials=2, splits="0", out=mkdtemp(), settings={"max_epochs": 3})
    >>> result.count("done"), sorted(result.settings)[:3]
    (2, ['dropout', 'feature_norm', 'learning_rate'])
    """
    check_integer("trials", trials, low=1)
    check_run_arguments(out=out, splits=splits, seed=seed, workers=workers, threads=threads, settings=settings)
    target = None if write is None else Path(write)
    shared, names = search_splits(as_graph(graph), splits)
    problem = make_problem(model, {}, settings or {})
    _check_target(problem, target)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    place = storage or folder / "study.journal"
    plan = SearchPlan(problem, shared, names, trials, seed, place, folder, device, find_scoring(scoring))
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
