"""Temporary files, named after their process, so that the next command removes those of a process that was killed."""

import glob
import os
import shutil
import socket
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import psutil

GRAPHS, TEMPORARY = ".graphs-", "heterophily-"  # prefixes of temporary folders
# Processes of other machines, which may share a folder, are assumed to run.
_HOST = sha256(socket.gethostname().encode()).hexdigest()[:6]


def owned_name(prefix: str) -> str:
    """Return the start of the name of a temporary file of this process."""
    return f"{prefix}{_HOST}-{os.getpid()}-"


def remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove temporary files and folders with a prefix whose process is gone."""
    start = f"{prefix}{_HOST}-"
    for path in folder.glob(f"{glob.escape(start)}*"):
        process = path.name.removeprefix(start).partition("-")[0]
        if not process.isdecimal() or len(process) > 9 or psutil.pid_exists(int(process)):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):  # another command removed it, or another user owns it
                path.unlink()


def remove_folders_of_killed(folder: Path) -> None:
    """Remove the temporary folders of killed processes, in a folder of records and in that of the system."""
    remove_leftovers(folder, GRAPHS)
    remove_leftovers(Path(tempfile.gettempdir()), TEMPORARY)


def temporary_folder(folder: Path | None = None, *, prefix: str = TEMPORARY) -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder, and remove those of killed processes.

    Examples
    --------
    >>> with temporary_folder() as path:
    ...     Path(path).is_dir()
    True
    """
    place = Path(tempfile.gettempdir()) if folder is None else folder
    remove_leftovers(place, prefix)
    return tempfile.TemporaryDirectory(prefix=owned_name(prefix), dir=place)
