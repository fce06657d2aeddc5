"""Safe reading of pickled arrays, with an allow-list.

The files of Planetoid and GraphData contain pickled NumPy arrays, SciPy matrices, lists, and default
dictionaries. A pickle that refers to anything else is rejected, so a malicious file cannot run code.

NumPy and SciPy restore arrays, types, and matrices from a pickle without validating them, which can crash the
interpreter. Here, placeholders receive their content, and valid arrays and matrices are built from it. The unpickler is
that of Python, because the faster one allocates as much memory as a file claims to need.
"""

import math
import pickle
import re
import struct
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from heterophily.core.errors import HeterophilyError

Unpickled: TypeAlias = Any  # an array, matrix, list, or dictionary; the reader knows which

# Exceptions that a truncated or malicious pickle raises while it is read.
READ_ERRORS = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OverflowError,
    RecursionError,
    struct.error,
    TypeError,
    ValueError,
)


class _Type:
    """Placeholder of a type: a letter and a size without fields."""

    def __init__(self, code: str, *_: object) -> None:
        if not (isinstance(code, str) and re.fullmatch(r"[biufSUO]\d{0,6}", code)):
            raise pickle.UnpicklingError(f"arrays of type {code!r} are not allowed")
        self.value = np.dtype(code)

    def __setstate__(self, state: tuple[object, ...]) -> None:
        _, order, *fields = state
        if order not in ("<", ">", "|", "=") or any(field is not None for field in fields[:3]):
            raise pickle.UnpicklingError("types with fields are not allowed")
        self.value = self.value.newbyteorder(order)


class _Array:
    """Placeholder of an array. Its content must have exactly the size that its shape and type require."""

    def __init__(self, *_: object) -> None:
        self.value: Unpickled = None

    def __setstate__(self, state: tuple[Unpickled, ...]) -> None:
        shape, kind, is_fortran, content = state[-4:]
        if not isinstance(kind, _Type) or any(not isinstance(n, int) or n < 0 for n in shape):
            raise pickle.UnpicklingError("the type or shape of an array is invalid")
        count = math.prod(shape)
        if kind.value.hasobject:
            _check_size(len(content), count if isinstance(content, list) else -1)
            flat = np.empty(count, dtype=object)
            flat[:] = content
        else:
            content = content.encode("latin1") if isinstance(content, str) else content
            _check_size(len(content) if isinstance(content, bytes) else -1, count * kind.value.itemsize)
            flat = np.frombuffer(bytearray(content), "u1" if kind.value.kind == "b" else kind.value, count)
            flat = flat != 0 if kind.value.kind == "b" else flat
        self.value = flat.reshape(shape, order="F" if is_fortran else "C")


def _check_size(size: int, expected: int) -> None:
    if size != expected:
        raise pickle.UnpicklingError("the content of an array does not have the size of its shape")


class _Matrix:
    """Placeholder of a compressed sparse matrix, whose indices must be in range."""

    value: Unpickled = None

    def __setstate__(self, state: dict[str, Unpickled]) -> None:
        shape = state.get("_shape", state.get("shape"))
        parts = [_plain(state[name], {}) for name in ("data", "indices", "indptr")]
        if any(not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf" for part in parts):
            raise pickle.UnpicklingError("the parts of a matrix must be arrays of numbers")
        self.value = sp.csr_matrix(tuple(parts), shape=shape)
        self.value.check_format(full_check=True)


ALLOWED: dict[tuple[str, str], object] = {
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("numpy", "ndarray"): "an argument of _reconstruct",
    ("numpy", "dtype"): _Type,
    ("numpy.core.multiarray", "_reconstruct"): _Array,  # its module depends on the version of NumPy
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("scipy.sparse._csr", "csr_matrix"): _Matrix,
}


class _Unpickler(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> object:
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
        content = _plain(_Unpickler(file, encoding="latin1").load(), {})
        # An npz file stores an object as an array with one element.
        is_object = isinstance(content, np.ndarray) and content.dtype.hasobject
        return _plain(content.item(), {}) if is_object else content
    except READ_ERRORS as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise HeterophilyError(f"cannot read {path}: {reason}") from error


def _plain(content: Unpickled, seen: dict[int, Unpickled]) -> Unpickled:
    """Replace placeholders by their values. Content that occurs several times is visited once."""
    if isinstance(content, _Array | _Matrix | _Type):
        return content.value
    if id(content) in seen or not isinstance(content, list | dict):
        return content
    seen[id(content)] = content
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        content[key] = _plain(value, seen)
    return content
