"""Where a study is kept: a journal file that survives kill -9, or whatever an Optuna URL names.

Optuna's own file backend leaves its lock behind when its process is killed, and a line cut off by the kill
spoils the line after it. Here the system holds the lock, and a cut line is taken away before the next one.
"""

from pathlib import Path
from typing import Any

from filelock import FileLock
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from heterophily.core.errors import HeterophilyError


class KernelLock(JournalFileOpenLock):
    """A lock that ends with its process, however that ends."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._lock = FileLock(lock_beside(path))

    def acquire(self) -> bool:
        """Wait for the lock."""
        self._lock.acquire()
        return True

    def release(self) -> None:
        """Let go of it."""
        self._lock.release()


class Journal(JournalFileBackend):
    """One line of JSON per event, appended."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._held = path, KernelLock(path)
        super().__init__(str(path), lock_obj=self._held)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add events, after a line that was cut off has been taken away."""
        self._held.acquire()  # may be taken again by the same process
        try:
            self._mend()
            super().append_logs(logs)
        finally:
            self._held.release()

    def _mend(self) -> None:
        with self._path.open("rb+") as file:
            end = file.seek(0, 2)
            file.seek(max(end - 1, 0))
            if not end or file.read() == b"\n":
                return
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def lock_beside(path: Path) -> str:
    """The hidden lock file of a path."""
    return str(path.with_name(f".{path.name}.lock"))


def open_storage(place: Path | str) -> BaseStorage:
    """The storage at a path, or at a URL such as `sqlite:///studies.db` or `postgresql://..`."""
    if isinstance(place, Path):
        return JournalStorage(Journal(place))
    try:
        return RDBStorage(place)
    except Exception as error:  # drivers raise errors of their own
        raise HeterophilyError(f"cannot open the storage {place!r}: {error}") from error
