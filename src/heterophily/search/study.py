"""One study, many processes: claim a trial, train it on the validation splits, tell what came of it.

The objective is the mean validation accuracy over a few splits. Test labels are hidden before training
begins, so that nothing here can depend on them. A trial counts once it is claimed; if its process dies, it no
longer counts and its settings are tried again.
"""

import os
import socket
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import optuna
import psutil
import torch
from filelock import FileLock
from optuna.trial import FrozenTrial, Trial, TrialState

from heterophily.core.graph import Graph, Split
from heterophily.core.spaces import Choice, LogUniform
from heterophily.search.journal import lock_beside, open_storage
from heterophily.search.problem import Candidate, SearchProblem, Space, three_digits
from heterophily.training.estimator import with_validation
from heterophily.training.trainer import train

TRIES = 3  # how often a trial may lose its process before it counts as failed


@dataclass(frozen=True)
class Task:
    """What a process needs to run trials of a study."""

    subject: SearchProblem
    graph: Graph | Path  # a path for other processes, which keep the graph that they read
    splits: tuple[str, ...]
    trials: int
    seed: int
    place: Path | str  # of the storage: a file or a URL
    study: str
    folder: Path
    device: str = "auto"

    @property
    def lock(self) -> FileLock:
        """Held while a trial is claimed, so that no two processes claim the last one."""
        return FileLock(lock_beside(self.folder / "claims"), is_singleton=True)


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    number: int
    state: str  # done, pruned or failed
    value: float | None
    n_splits: int  # that were trained
    seconds: float
    reason: str = ""


def open_study(place: Path | str, name: str) -> optuna.Study:
    """The study of that name, new if there is none."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(
        storage=open_storage(place),
        study_name=name,
        direction="maximize",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )


def run_next(task: Task) -> Outcome | None:
    """Claim a trial and run it; None if all are claimed."""
    study = open_study(task.place, task.study)
    trial = claim(study, task)
    if trial is None:
        return None
    start, reason, value = time.perf_counter(), "", None
    try:
        value, state = evaluate(study, trial, task), TrialState.COMPLETE
    except optuna.TrialPruned:
        state = TrialState.PRUNED
    except KeyboardInterrupt:
        give_up(study, _frozen(study, trial.number), reason="interrupted", lost=0)
        raise
    except Exception as error:  # whatever it is, the search goes on
        state, reason = TrialState.FAIL, str(error) or type(error).__name__
        trial.set_user_attr("reason", reason)
    told = study.tell(trial, value, state=state)
    shown = told.value if state == TrialState.PRUNED else value
    trained = len(told.user_attrs.get("accuracies", ()))
    seconds = time.perf_counter() - start
    return Outcome(trial.number, word_of(told), shown, trained, seconds, reason)


def claim(study: optuna.Study, task: Task) -> Trial | None:
    """A trial for this process, or None if there are enough."""
    with task.lock:
        missing = count_missing(study, task)
        if missing <= 0:
            return None
        taken = task.trials - missing
        # The same seed after an interruption as without: processes and resumed runs never repeat a draw.
        study.sampler = optuna.samplers.TPESampler(seed=(task.seed * 1_000_003 + taken) % 2**32)
        trial = study.ask()
        trial.set_user_attr("process", _identity())
        return trial


def count_missing(study: optuna.Study, task: Task) -> int:
    """Number of trials that are still to be claimed, among them those whose process is gone."""
    with task.lock:
        recover(study, local=isinstance(task.place, Path))
        return task.trials - count_taken(study)


def count_taken(study: optuna.Study) -> int:
    """Number of trials that are done or under way."""
    trials = study.get_trials(deepcopy=False)
    return sum(t.state != TrialState.WAITING and not is_void(t) for t in trials)


def count_begun(study: optuna.Study) -> int:
    """Number of trials that a process has ever claimed."""
    return sum(t.state != TrialState.WAITING for t in study.get_trials(deepcopy=False))


def is_void(trial: FrozenTrial) -> bool:
    """Whether a trial lost its process and is tried again."""
    return bool(trial.user_attrs.get("void", False))


def recover(study: optuna.Study, *, local: bool) -> None:
    """Give up the trials whose process is gone."""
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if _is_orphan(trial, local=local):
            lost = int(trial.user_attrs.get("lost", 0)) + 1
            give_up(study, trial, reason="its process was killed", lost=lost)


def give_up(study: optuna.Study, trial: FrozenTrial, *, reason: str, lost: int) -> None:
    """End a running trial without a result; unless it was lost too often, its settings are tried again."""
    again = lost < TRIES
    handle = Trial(study, trial._trial_id)
    handle.set_user_attr("reason", reason)
    handle.set_user_attr("void", again)
    study.tell(trial.number, state=TrialState.FAIL)
    if again:
        known = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        study.enqueue_trial(known, user_attrs={"lost": lost})


def _frozen(study: optuna.Study, number: int) -> FrozenTrial:
    return next(t for t in study.get_trials(deepcopy=False) if t.number == number)


def _identity() -> dict[str, Any]:
    started = psutil.Process().create_time()
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": started}


def _is_orphan(trial: FrozenTrial, *, local: bool) -> bool:
    """Whether the process of a trial is gone; those of other machines are trusted."""
    process = trial.user_attrs.get("process")
    if (
        process is None
    ):  # died between claim and signature; on another machine it may be signing now
        return local
    if process["host"] != socket.gethostname():
        return False
    try:
        alive = psutil.Process(process["pid"])
        return alive.status() == psutil.STATUS_ZOMBIE or (
            abs(alive.create_time() - process["started"]) > 1
        )
    except psutil.NoSuchProcess:
        return True


def word_of(trial: FrozenTrial) -> str:
    """The state of a trial in plain words."""
    words = {TrialState.COMPLETE: "done", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
    return words.get(trial.state, "running")


def suggest(trial: Trial, name: str, space: Space) -> Any:
    """Ask the sampler for a value."""
    if isinstance(space, Choice):
        return trial.suggest_categorical(name, space.values)
    log = isinstance(space, LogUniform)
    return three_digits(space, trial.suggest_float(name, space.low, space.high, log=log))


def evaluate(study: optuna.Study, trial: Trial, task: Task) -> float:
    """The mean validation accuracy, reported after every split; stops early where it is hopeless."""
    space = task.subject.space
    candidate = task.subject.candidate(lambda name: suggest(trial, name, space[name]))
    twin = _twin(study, trial)
    if twin is not None:  # the same settings and seeds would give the same again
        trial.set_user_attr("accuracies", twin.user_attrs["accuracies"])
        return float(twin.value or 0.0)
    graph = task.graph if isinstance(task.graph, Graph) else _kept(task.graph)
    accuracies: list[float] = []
    for step, split in enumerate(task.splits):
        accuracies.append(validation_accuracy(candidate, graph, split, task))
        trial.set_user_attr("accuracies", accuracies)
        trial.report(fmean(accuracies), step)
        if step + 1 < len(task.splits) and trial.should_prune():
            raise optuna.TrialPruned
    return fmean(accuracies)


def _twin(study: optuna.Study, trial: Trial) -> FrozenTrial | None:
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return next((other for other in done if other.params == trial.params), None)


@cache
def _kept(path: Path) -> Graph:
    return Graph.load(path)


def validation_accuracy(candidate: Candidate, graph: Graph, name: str, task: Task) -> float:
    """Train on one split, of which the test labels are out of sight, and score its validation nodes.

    The i-th split of a graph has the seed `seed` + i, as in the benchmark.
    """
    seed = task.seed + list(graph.splits).index(name)
    split = with_validation(graph, graph.split(name), seed=seed)
    seen = Split.from_nodes(split.train, split.val, origin=split.origin)
    shown = graph.with_labels_only(torch.cat([split.train, split.val]))
    options: dict[str, Any] = {"seed": seed, "device": task.device, "progress": False}
    _, run = train(candidate.recipe, shown, split=seen, **options, **candidate.values)
    if run.stopped == "interrupted":
        raise KeyboardInterrupt
    return run.score("val")
