"""Where raw files are found: the folder `HETEROPHILY_DATA`, the user's cache, or a download.

Both folders have one subfolder per dataset. Every file is checked against its digest before it is
read, and a download appears under its name only when it is whole and right.
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
    """The user's own folder of datasets, if the environment names one."""
    value = os.environ.get(VARIABLE)
    if not value:
        return None
    if not Path(value).is_dir():
        raise HeterophilyError(f"{VARIABLE} must name a folder, got {value}; create or unset it")
    return Path(value)


def find(dataset: Dataset, file_name: str) -> Path | None:
    """Look for a file in `HETEROPHILY_DATA`, then in the cache."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    paths = [folder / dataset.name / file_name for folder in folders]
    return next((path for path in paths if path.is_file()), None)


def is_present(dataset: Dataset) -> bool:
    """Whether all raw files are here, so that loading needs no network."""
    return all(find(dataset, file.name) for file in dataset.files)


def fetch(dataset: Dataset) -> dict[str, Path]:
    """Find or download the files of a dataset, each checked against its digest."""
    return {file.name: _fetch_file(dataset, file) for file in dataset.files}


def _fetch_file(dataset: Dataset, file: File) -> Path:
    path = find(dataset, file.name) or _download(dataset, file)
    if not matches(path, file):
        raise HeterophilyError(
            f"{path} is not the published {file.name} (its checksum differs); delete it and fetch "
            f"it again from {file.url}"
        )
    return path


def matches(path: Path, file: File) -> bool:
    """Whether the bytes at `path` have the declared digest."""
    if file.sha256:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    content = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return blob.hexdigest() == file.git_blob


def _download(dataset: Dataset, file: File) -> Path:
    import pooch

    folder = cache_folder() / dataset.name
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=30)
    registry = {file.name: f"sha256:{file.sha256}" if file.sha256 else None}
    bag = pooch.create(
        folder, "", registry=registry, urls={file.name: file.url}, retry_if_failed=RETRIES
    )
    pooch.get_logger().setLevel("WARNING")
    try:
        path = Path(bag.fetch(file.name, downloader=downloader))
        if not matches(path, file):
            path.unlink()
            raise ValueError("the hash of the downloaded file differs")
        return path
    except (OSError, ValueError) as error:
        reason = "its checksum differs" if "hash" in str(error) else type(error).__name__
        raise HeterophilyError(
            f"cannot download {file.url} ({reason}); fetch it elsewhere and put it at "
            f"{folder / file.name}, or set {VARIABLE} to a folder that has "
            f"{dataset.name}/{file.name}"
        ) from error
