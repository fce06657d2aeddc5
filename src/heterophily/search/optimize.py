"""`search`: Optuna over the space of a recipe, or over the mechanism itself, in one or many processes.

A study is in a file of the output folder, or in any storage that Optuna knows. The same call adds only the
trials that are missing; killed processes lose nothing but the trial that they were in.
"""

import dataclasses
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import optuna

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.machine import prepare_process
from heterophily.data.splits import random_splits
from heterophily.htmp.identity import digest
from heterophily.htmp.recipe import Recipe
from heterophily.models.settings import tuned
from heterophily.runs.job import absolute_path, parse_splits, split_digest
from heterophily.runs.record import RESULTS_VERSION
from heterophily.search import components
from heterophily.search.problem import SearchProblem, SettingsSearch, with_defaults
from heterophily.search.result import (
    SearchResult,
    attempts_of,
    best_of,
    candidate_of,
    importances_of,
    start_of,
)
from heterophily.search.settings_file import check_settings
from heterophily.search.study import (
    Outcome,
    Task,
    count_begun,
    count_missing,
    open_study,
    run_next,
)
from heterophily.views.search import write_found, write_trials
from heterophily.views.search_progress import Display

N_SPLITS = 3  # by default
Settings = Mapping[str, Any]
WORDS = {
    "checksum": "checksum of the dataset",
    "fixed": "--set",
    "version": "version of the code, which gives other results",
}


def search(
    model: str | Recipe,
    graph: Graph,
    *,
    trials: int,
    out: Path | str,
    splits: str | None = None,
    workers: int = 1,
    storage: str | None = None,
    seed: int = 0,
    settings: Settings | None = None,
    write: Path | str | None = None,
    device: str = "auto",
    quiet: bool = False,
) -> SearchResult:
    """Search the settings of a model, or with the model `htmp` the mechanism, by validation accuracy.

    `splits` are `all`, `0-2` or `0,3`, the first three by default; `settings` are fixed and not searched.
    The winner goes into the folder `out` and, if given, into `write`: a file of settings (.toml), of which
    one table changes, or a recipe (.py).
    """
    if trials < 1 or workers < 1:
        raise HeterophilyError(f"trials and workers must be positive, got {trials} and {workers}")
    target = None if write is None else Path(write)
    graph = graph if graph.splits else graph.replace(splits=random_splits(graph))
    names = parse_splits(graph, splits) if splits else list(graph.splits)[:N_SPLITS]
    subject = make_subject(model, {}, settings or {})
    _check_target(subject, target)
    folder, title = Path(out), f"{subject.name} on {graph.name}"
    folder.mkdir(parents=True, exist_ok=True)
    place = storage or folder / "study.journal"
    task = Task(subject, graph, tuple(names), trials, seed, place, title, folder, device)
    task = dataclasses.replace(task, subject=_begin(task, model, settings or {}))
    with Display(trials, quiet=quiet) as display:
        _run(task, workers, display)
    return write_found(_gather(task), folder, write=target)


def make_subject(model: str | Recipe, base: Settings, fixed: Settings) -> SearchProblem:
    """What is searched: the mechanism, or the settings of a recipe."""
    if model == components.NAME:
        return components.ArchitectureSearch(fixed)
    return SettingsSearch(absolute_path(model) if isinstance(model, str) else model, base, fixed)


def _check_target(subject: SearchProblem, target: Path | None) -> None:
    if target is None:
        return
    if subject.name != components.NAME:
        check_settings(target)
    elif target.suffix != ".py":
        raise HeterophilyError(f"a recipe is written to a .py file, got {target.name!r}")


def _begin(task: Task, model: str | Recipe, fixed: Settings) -> SearchProblem:
    """Begin the study or check that it is the same; committed settings are those of its beginning."""
    facts, study = _facts(task, fixed), open_study(task.place, task.study)
    with task.lock:
        if "facts" not in study.user_attrs:
            study.set_user_attr("base", tuned(task.subject.name, facts["dataset"]))
        subject = make_subject(model, study.user_attrs["base"], fixed)
        if "facts" not in study.user_attrs:
            for start in subject.starts:
                study.enqueue_trial(start, skip_if_exists=True)
            study.set_user_attr("facts", facts)
    _compare(study.user_attrs["facts"], facts, task)
    return subject


def _facts(task: Task, fixed: Settings) -> dict[str, Any]:
    """What a study is about; none of it may change when it is resumed."""
    graph = task.graph
    assert isinstance(graph, Graph)
    facts = {
        "model": task.subject.name,
        "recipe": digest(task.subject.identity),
        "dataset": graph.name,
        "checksum": graph.checksum,
        "splits": {name: split_digest(graph.split(name)) for name in task.splits},
        "seed": task.seed,
        "fixed": dict(fixed),
        "version": RESULTS_VERSION,
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _compare(old: Settings, new: Settings, task: Task) -> None:
    begun = {"version": 1, **old}  # the first version did not say so
    changed = [WORDS.get(name, name) for name in new if begun.get(name) != new[name]]
    if changed:
        raise HeterophilyError(
            f"the study in {task.place} was begun with another {', '.join(changed)}; give the same "
            "again to resume it, or choose another --out or --storage"
        )


def _run(task: Task, workers: int, display: Display) -> None:
    """Run the trials that are missing."""
    study = open_study(task.place, task.study)
    display.begin(attempts_of(study))
    while True:
        before = count_begun(study)  # first: another command may claim the last trial in between
        missing = count_missing(study, task)
        if missing <= 0:
            return
        for outcome in _outcomes(task, missing, workers):
            if outcome is None:
                display.say("a worker was killed; its trial is tried again")
            else:
                display.show(outcome, n_splits=len(task.splits))
        if count_begun(study) == before:
            raise HeterophilyError("workers die before they begin; try fewer --workers")


def _outcomes(task: Task, missing: int, workers: int) -> Iterator[Outcome | None]:
    """The outcomes of trials as they come, None if a worker died."""
    if workers == 1:
        for _ in range(missing):
            outcome = run_next(task)
            if outcome is None:
                return
            yield outcome
        return
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with tempfile.TemporaryDirectory() as aside:
        try:
            yield from _parallel(task, missing, workers, Path(aside))
        except TerminatedWorkerError:
            yield None


def _parallel(task: Task, missing: int, workers: int, aside: Path) -> Iterator[Outcome]:
    import joblib

    assert isinstance(task.graph, Graph)
    sent = dataclasses.replace(task, graph=task.graph.save(aside / "graph.safetensors"))
    count = max(2, min(workers, missing))  # joblib runs a single job in this process
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        pool = joblib.Parallel(n_jobs=count, return_as="generator_unordered", pre_dispatch=count)
        for outcome in pool(joblib.delayed(_in_worker)(sent) for _ in range(missing)):
            if outcome is not None:
                yield outcome


def _in_worker(task: Task) -> Outcome | None:
    prepare_process(1)
    _follow_parent()
    return run_next(task)


@cache
def _follow_parent() -> None:
    """End this process once the one that started it is gone, or it would go on unseen."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _gather(task: Task) -> SearchResult:
    study: optuna.Study = open_study(task.place, task.study)
    subject, attempts = task.subject, attempts_of(study)
    facts = study.user_attrs["facts"]
    write_trials(attempts, list(facts["splits"]), task.folder / "trials.csv")
    best = best_of(attempts)
    winner = candidate_of(subject, best)
    if subject.name == components.NAME:
        name = f"{components.NAME}-{facts['dataset']}"
        winner = dataclasses.replace(winner, recipe=with_defaults(winner, name=name))
    return SearchResult(
        model=subject.name,
        dataset=facts["dataset"],
        recipe=winner.recipe,
        settings=winner.settings,
        preset=winner.preset,
        best=best,
        start=start_of(attempts, subject.starts[0]),
        attempts=attempts,
        importances=importances_of(study),
        facts=facts,
    )
