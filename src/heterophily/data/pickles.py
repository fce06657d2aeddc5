"""Safe reading of pickled arrays, with an allow-list.

The files of Planetoid and GraphData contain pickled NumPy arrays, SciPy matrices, lists, and default
dictionaries. A pickle that refers to anything else is rejected, so a malicious file cannot run code.
"""

import pickle
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from typing_extensions import override

from heterophily.core.errors import HeterophilyError

Unpickled: TypeAlias = Any  # an array, matrix, list, or dictionary; the reader knows which

_RECONSTRUCT: Unpickled = np.empty(0).__reduce__()[0]  # its module depends on the version of NumPy

ALLOWED: dict[tuple[str, str], Callable[..., object]] = {
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
    ("scipy.sparse._csr", "csr_matrix"): sp.csr_matrix,
}
# Exceptions that a truncated or malicious pickle raises while it is read.
READ_ERRORS = (pickle.UnpicklingError, EOFError, LookupError, AttributeError, TypeError, ValueError)


class _Unpickler(pickle.Unpickler):
    @override
    def find_class(self, module: str, name: str) -> Callable[..., object]:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return ALLOWED[module, name]


def read_pickle(path: Path) -> Unpickled:
    """Read one pickled object of an allowed type."""
    with path.open("rb") as file:
        return _read(file, path)


def read_pickled_npz(path: Path) -> dict[str, Unpickled]:
    """Read an npz file whose members may be pickled objects of an allowed type."""
    with zipfile.ZipFile(path) as archive:
        return {Path(name).stem: _read_member(archive, name, path) for name in archive.namelist()}


def _read_member(archive: zipfile.ZipFile, name: str, path: Path) -> Unpickled:
    with archive.open(name) as file:
        version = npy.read_magic(file)
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        _, _, dtype = reader(file)
        if dtype.hasobject:
            return _read(file, path)
    with archive.open(name) as file:
        return npy.read_array(file, allow_pickle=False)


def _read(file: IO[bytes], path: Path) -> Unpickled:
    try:
        return _checked(_Unpickler(file, encoding="latin1").load())
    except READ_ERRORS as error:
        reason = " ".join(str(error).split())
        raise HeterophilyError(f"cannot read {path}: {reason}") from error


def _checked(content: Unpickled) -> Unpickled:
    # An npz file stores an object as an array with one element.
    if isinstance(content, np.ndarray) and content.dtype.hasobject:
        content = content.item()
    # The indices of a pickled matrix may be out of range.
    if sp.issparse(content):
        content.check_format(full_check=True)  # type: ignore[attr-defined]
    return content
