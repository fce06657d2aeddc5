"""Raw files of the datasets, in the folder `HETEROPHILY_DATA`, the user's cache, or downloaded.

Both folders have one subfolder per dataset. The checksum of a file is verified before it is read, and
a download gets its final name only after it is complete and verified.
"""

import hashlib
import os
import sys
from pathlib import Path

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import cache_folder
from heterophily.data.catalog import Dataset, File

VARIABLE = "HETEROPHILY_DATA"
RETRIES = 2


def data_folder() -> Path | None:
    """Return the folder that the environment variable HETEROPHILY_DATA names, if it is set."""
    value = os.environ.get(VARIABLE)
    if not value:
        return None
    if not Path(value).is_dir():
        raise HeterophilyError(f"{VARIABLE} must be a folder, got {value!r}; create or unset it")
    return Path(value)


def find(dataset: Dataset, file_name: str) -> Path | None:
    """Look for a file in `HETEROPHILY_DATA`, then in the cache."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    paths = [folder / dataset.name / file_name for folder in folders]
    return next((path for path in paths if path.is_file()), None)


def is_present(dataset: Dataset) -> bool:
    """Whether all raw files exist locally, so that loading requires no network."""
    return all(find(dataset, file.name) for file in dataset.files)


def fetch(dataset: Dataset, *, show_progress: bool = True) -> dict[str, Path]:
    """Find or download the files of a dataset and verify their checksums."""
    return {file.name: _fetch_file(dataset, file, show_progress) for file in dataset.files}


def _fetch_file(dataset: Dataset, file: File, show_progress: bool) -> Path:
    path = find(dataset, file.name) or _download(dataset, file, show_progress)
    if not matches(path, file):
        raise HeterophilyError(
            f"{path} is not the published {file.name}: its checksum differs; delete it and download "
            f"it again from {file.url}"
        )
    return path


def matches(path: Path, file: File) -> bool:
    """Whether the file at `path` has the checksum of the catalog."""
    if file.sha256:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    content = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return blob.hexdigest() == file.git_blob


def _download(dataset: Dataset, file: File, show_progress: bool) -> Path:
    import pooch

    folder = cache_folder() / dataset.name
    downloader = pooch.HTTPDownloader(progressbar=show_progress and sys.stderr.isatty(), timeout=30)
    registry = {file.name: f"sha256:{file.sha256}" if file.sha256 else None}
    repository = pooch.create(folder, "", registry=registry, urls={file.name: file.url}, retry_if_failed=RETRIES)
    pooch.get_logger().setLevel("WARNING")
    try:
        path = Path(repository.fetch(file.name, downloader=downloader))
        if not matches(path, file):
            path.unlink()
            raise ValueError("the hash of the downloaded file differs")
        return path
    except (OSError, ValueError) as error:
        reason = "its checksum differs" if "hash" in str(error) else type(error).__name__
        raise HeterophilyError(
            f"cannot download {file.url} ({reason}); download it elsewhere and save it as "
            f"{folder / file.name}, or set {VARIABLE} to a folder that contains "
            f"{dataset.name}/{file.name}"
        ) from error
