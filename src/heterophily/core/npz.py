"""Arrays of npz files, whose sizes are checked before they are read: a small file must not take gigabytes."""

import zipfile
import zlib
from math import prod
from pathlib import Path

from numpy.lib import format as npy

from heterophily.core.errors import HeterophilyError
from heterophily.core.types import Array

SMALL = 2**30  # bytes of arrays that every file may contain
RATIO = 200  # bytes of arrays per byte of a file, above which a larger file is rejected
# Exceptions of a damaged file: zipfile reports encryption as RuntimeError, and NumPy many kinds of damage.
NPZ_ERRORS = (
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def load_npz(path: Path, *, allow_large: bool = False) -> dict[str, Array]:
    """Read all arrays of an npz file without pickled objects.

    A file whose arrays take more than 1 GB and 200 times its own size is rejected unless `allow_large`.
    """
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        _check_sizes(archive, path, allow_large=allow_large)
        return {member.filename.removesuffix(".npy"): _read(archive, member) for member in archive.infolist()}


def _check_sizes(archive: zipfile.ZipFile, path: Path, *, allow_large: bool) -> None:
    size, limit = sum(member.file_size for member in archive.infolist()), RATIO * path.stat().st_size
    if size > max(SMALL, limit) and not allow_large:
        raise HeterophilyError(
            f"{path} has {path.stat().st_size / 1e6:.1f} MB, but its arrays take {size / 1e9:.1f} GB; save it without "
            "compression, or as Graph.save with sparse features"
        )


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """Read an array whose header and data have the same size."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        n_bytes = member.file_size - file.tell()
        if not dtype.hasobject and (min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != n_bytes):
            raise ValueError(f"{member.filename} has {n_bytes} bytes, but its header claims {shape} of {dtype}")
    with archive.open(member) as file:
        array: Array = npy.read_array(file, allow_pickle=False)
        return array
