"""One study, many commands: store trials, claim them, and recover those whose command is gone.

A trial counts once it is claimed. If its command dies, it no longer counts, and its settings are tried again.

Studies are in a journal file that survives SIGKILL, or in any storage that an Optuna URL names. Optuna's own
file backend does not release its lock if its process is killed, and a line cut off by the kill damages the
next line. Here the operating system holds the lock, and a partial line is removed before the next one is
written.
"""

import math
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import optuna
import psutil
from filelock import FileLock
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState
from pydantic import Field
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.schema import RETAIN_OTHERS, Finite, SettingValue, TypedDict, check_json
from heterophily.core.spaces import Choice, Space
from heterophily.core.types import Json, JsonObject, Value
from heterophily.htmp.identity import digest
from heterophily.tuning.problem import round_value


class KernelLock(JournalFileOpenLock):
    """A lock that the operating system releases when its process ends."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._lock = FileLock(lock_path(path))

    @override
    def acquire(self) -> bool:
        self._lock.acquire()
        return True

    @override
    def release(self) -> None:
        self._lock.release()


class Journal(JournalFileBackend):
    """A file with one line of JSON per event."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._held = path, KernelLock(path)
        super().__init__(str(path), lock_obj=self._held)

    @override
    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        self._held.acquire()  # the same process may acquire it again
        try:
            self._repair()
            super().append_logs(logs)
        finally:
            self._held.release()

    def _repair(self) -> None:
        """Remove a partial last line."""
        with self._path.open("rb+") as file:
            end = file.seek(0, 2)
            file.seek(max(end - 1, 0))
            if not end or file.read() == b"\n":
                return
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def lock_path(path: Path) -> str:
    """Return the path of the hidden lock file of a file."""
    return str(path.with_name(f".{path.name}.lock"))


class StorageError(HeterophilyError):
    """A storage that cannot be opened."""


class DamagedError(HeterophilyError):
    """Stored values of a study that are impossible."""


def open_storage(place: Path | str) -> BaseStorage:
    """Open the storage at a path, or at a URL such as `sqlite:///studies.db` or `postgresql://..`."""
    if isinstance(place, Path):
        return JournalStorage(Journal(place))
    try:
        return RDBStorage(place)
    except Exception as error:  # database drivers raise their own errors
        raise StorageError(f"cannot open the storage {place!r}: {error}") from error


MAX_ATTEMPTS = 3  # how often a trial may lose its command before it counts as failed
RELEASED = "released"  # instead of the process of a trial that was interrupted
STATES = {TrialState.COMPLETE: "done", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}


@dataclass(frozen=True)
class Claims:
    """The number of trials of a study, and the lock that commands hold while they claim one."""

    study: optuna.Study
    n_trials: int
    seed: int
    folder: Path
    is_local: bool  # whether all commands run on this machine
    seconds: float | None = None  # limit of the training time of all trials, after which none is added

    @property
    def lock(self) -> FileLock:
        """The lock that prevents two commands from claiming the last trial."""
        return FileLock(lock_path(self.folder / "claims"), is_singleton=True)

    def claim_trial(self) -> Trial | None:
        """Claim a trial for this process, or return None if there are enough.

        A trial whose process is gone continues with its number and its settings, so an interrupted search with
        one worker has the same trials as an undisturbed one.
        """
        with self.lock:
            if self.count_missing() <= 0:
                return None
            waiting = orphans(self.study, is_local=self.is_local)
            orphan, index = next(iter(waiting), None), count_claimed(self.study) - len(waiting)
            trial = self.study.ask() if orphan is None else Trial(self.study, orphan._trial_id)
            trial.set_user_attr("process", _describe_process())
            if orphan is not None:
                trial.set_user_attr("lost", _n_lost(orphan) + 1)
            if "draw" not in trial.user_attrs:
                trial.set_user_attr("draw", self.seed * 1_000_003 + index)
            return trial

    def count_missing(self) -> int:
        """Return the number of trials that are not claimed, including those whose process is gone."""
        with self.lock:
            recover_trials(self.study, is_local=self.is_local)
            n_orphans = len(orphans(self.study, is_local=self.is_local))
            if self.seconds is not None and used_seconds(self.study) >= self.seconds:
                return n_orphans
            return self.n_trials - count_claimed(self.study) + n_orphans


def open_study(place: Path | str, name: str) -> optuna.Study:
    """Open the study of that name in a journal file or storage, or create it."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with damage_as_error(place):
        study = optuna.create_study(
            storage=open_storage(place),
            study_name=name,
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
        )
        _check_study(study)
    return study


class Facts(TypedDict, total=False):
    """What defines a study, as far as types are concerned."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    dataset: str
    splits: dict[str, str]
    seed: int
    fixed: dict[str, SettingValue]
    scoring: str
    metric: str


class StudyAttributes(TypedDict, total=False):
    """The attributes of a study."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    facts: Facts
    base: dict[str, SettingValue]


class Process(TypedDict):
    """The process of a trial."""

    host: str
    pid: Annotated[int, Field(ge=1, lt=2**31)]
    started: Finite


class TrialAttributes(TypedDict, total=False):
    """The attributes of a trial."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    accuracies: list[Finite]
    scores: list[Finite]
    reason: str
    seconds: Finite
    lost: int
    void: bool
    draw: int
    process: Literal["released"] | Process


@contextmanager
def damage_as_error(place: Path | str) -> Iterator[None]:
    """Report damage of a stored study, which has many symptoms, in one sentence."""
    try:
        yield
    except (OSError, StorageError, MemoryError):
        raise
    except Exception as error:
        known = isinstance(error, HeterophilyError)
        if known and not isinstance(error, DamagedError):
            raise
        reason = str(error) if known else repr(error)
        raise HeterophilyError(
            f"the study in {place} is damaged ({reason}); delete it to search from the start, finished runs are reused"
        ) from error


def _check_study(study: optuna.Study) -> None:
    """Raise an error unless the attributes and values of a study and its trials have the right types."""
    _check_attributes(StudyAttributes, study.user_attrs)
    if study.directions != [StudyDirection.MAXIMIZE]:
        raise DamagedError("its direction is not that of a search")
    for trial in study.get_trials(deepcopy=False):
        _check_attributes(TrialAttributes, trial.user_attrs)
        if trial.state == TrialState.COMPLETE and (trial.value is None or not math.isfinite(trial.value)):
            raise DamagedError(f"trial {trial.number} has no value")
        if trial.state.is_finished() and trial.datetime_complete is None:
            raise DamagedError(f"trial {trial.number} has no end")


def _check_attributes(schema: type[object], attributes: Mapping[str, Json]) -> None:
    try:
        check_json(schema, attributes)
    except HeterophilyError as error:
        raise DamagedError(str(error)) from None


def count_claimed(study: optuna.Study) -> int:
    """Return the number of trials that are finished or running."""
    trials = study.get_trials(deepcopy=False)
    return sum(t.state != TrialState.WAITING and not is_abandoned(t) for t in trials)


def used_seconds(study: optuna.Study) -> float:
    """Return the training time of all trials, including the finished runs of unfinished trials."""
    return sum(float(trial.user_attrs.get("seconds", 0.0)) for trial in study.get_trials(deepcopy=False))


def is_abandoned(trial: FrozenTrial) -> bool:
    """Return whether a trial lost its process and is tried again."""
    return bool(trial.user_attrs.get("void", False))


def orphans(study: optuna.Study, *, is_local: bool) -> list[FrozenTrial]:
    """Return the running trials whose process is gone, in order."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return [trial for trial in running if _is_orphan(trial, is_local=is_local)]


def recover_trials(study: optuna.Study, *, is_local: bool) -> None:
    """End the trials that lost their process too often. The next command continues with the others."""
    for trial in orphans(study, is_local=is_local):
        if _n_lost(trial) + 1 >= MAX_ATTEMPTS:
            Trial(study, trial._trial_id).set_user_attr("reason", "its process was killed")
            study.tell(trial.number, state=TrialState.FAIL)


def release_trial(trial: Trial) -> None:
    """Let the next command continue with a trial that was interrupted."""
    trial.set_user_attr("process", RELEASED)
    trial.set_user_attr("lost", -1)  # an interruption is not a loss


def _n_lost(trial: FrozenTrial) -> int:
    return int(trial.user_attrs.get("lost", 0))


def _describe_process() -> JsonObject:
    started = psutil.Process().create_time()
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": started}


def _is_orphan(trial: FrozenTrial, *, is_local: bool) -> bool:
    """Return whether the process of a trial is gone. Processes of other machines are assumed to run."""
    process = trial.user_attrs.get("process")
    if process == RELEASED:
        return True
    if process is None:  # killed after the claim; on another machine, it may be about to sign
        return is_local
    if process["host"] != socket.gethostname():
        return False
    try:
        current = psutil.Process(process["pid"])
        return current.status() == psutil.STATUS_ZOMBIE or (abs(current.create_time() - process["started"]) > 1)
    except psutil.NoSuchProcess:
        return True


def trial_state(trial: FrozenTrial) -> str:
    """Return the state of a trial: done, pruned, failed, or running."""
    return STATES.get(trial.state, "running")


def suggest_value(trial: Trial, name: str, space: Space) -> Value:
    """Return the value that the sampler suggests, given the number of the trial and the finished trials.

    The seed depends on the name, too, so values that an interrupted trial already has do not change the others.
    """
    seed = int(digest([trial.user_attrs["draw"], name])[:8], 16)
    trial.study.sampler = optuna.samplers.TPESampler(seed=seed)
    if isinstance(space, Choice):
        return trial.suggest_categorical(name, space.values)  # type: ignore[arg-type]
    value = trial.suggest_float(name, space.low, space.high, log=space.log)
    return round_value(space, value)
