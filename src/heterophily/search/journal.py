"""Storage of a study: a journal file that survives SIGKILL, or any storage that an Optuna URL names.

Optuna's own file backend does not release its lock if its process is killed, and a line cut off by the kill
damages the next line. Here the operating system holds the lock, and a partial line is removed before the next
one is written.
"""

from pathlib import Path
from typing import Any

from filelock import FileLock
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from typing_extensions import override

from heterophily.core.errors import HeterophilyError


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


def open_storage(place: Path | str) -> BaseStorage:
    """Open the storage at a path, or at a URL such as `sqlite:///studies.db` or `postgresql://..`."""
    if isinstance(place, Path):
        return JournalStorage(Journal(place))
    try:
        return RDBStorage(place)
    except Exception as error:  # database drivers raise their own errors
        raise HeterophilyError(f"cannot open the storage {place!r}: {error}") from error
