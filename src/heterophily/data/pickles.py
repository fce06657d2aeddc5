"""Old pickles of arrays, read through an allow-list.

Planetoid's files and one npz re-encoding hold pickled NumPy arrays, SciPy matrices, lists and
default dictionaries, and nothing else. Any other global in a pickle stops the load, so a forged
file can at worst be nonsense, never code.
"""

import pickle
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from heterophily.core.errors import HeterophilyError

_RECONSTRUCT = np.empty(0).__reduce__()[0]  # NumPy's own array constructor, wherever it lives

ALLOWED: dict[tuple[str, str], Any] = {
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
# What a truncated, forged or foreign pickle raises while it is read.
HARMLESS = (
    pickle.UnpicklingError,
    EOFError,
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return ALLOWED[module, name]


def read_pickle(path: Path) -> Any:
    """Read one pickled object of an allowed kind."""
    with path.open("rb") as file:
        return _read(file, path)


def read_pickled_npz(path: Path) -> dict[str, Any]:
    """Read an npz file whose members may be pickled objects of an allowed kind."""
    with zipfile.ZipFile(path) as archive:
        return {Path(name).stem: _read_member(archive, name, path) for name in archive.namelist()}


def _read_member(archive: zipfile.ZipFile, name: str, path: Path) -> Any:
    with archive.open(name) as file:
        version = npy.read_magic(file)
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        _, _, dtype = reader(file)
        if dtype.hasobject:
            return _read(file, path)
    with archive.open(name) as file:
        return npy.read_array(file, allow_pickle=False)


def _read(file: IO[bytes], path: Path) -> Any:
    try:
        return _checked(_Unpickler(file, encoding="latin1").load())
    except HARMLESS as error:
        reason = " ".join(str(error).split())
        raise HeterophilyError(f"{path} is refused: {reason}") from error


def _checked(content: Any) -> Any:
    # An npz wraps an object in an array of one.
    if isinstance(content, np.ndarray) and content.dtype.hasobject:
        content = content.item()
    # A pickled matrix may claim indices that it does not have.
    if sp.issparse(content):
        content.check_format(full_check=True)  # type: ignore[attr-defined]
    return content
