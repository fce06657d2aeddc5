"""Finding 10: a pickle of allowed types cannot crash the interpreter or take more memory than its file holds."""

import pickle
import struct
import sys
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp

from heterophily.core.errors import HeterophilyError
from heterophily.data.pickles import read_pickle
from tests.robustness.limits import run_limited

ARRAY = np.zeros(0).__reduce__()[0]


class Rebuilt:
    """Is pickled as a call of an allowed function, and a state that the result receives."""

    def __init__(self, call, arguments, state):
        self.facts = call, arguments, state

    def __reduce__(self):
        return self.facts


def type_with(*state, code="V8"):
    return Rebuilt(np.dtype, (code, False, True), state)


def array_with(*state):
    return Rebuilt(ARRAY, (np.ndarray, (0,), b"b"), state)


def matrix_with(**state):
    good = {"_shape": (2, 2), "data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    return Rebuilt(sp.csr_matrix, (), {**good, **state})


POINTER = struct.pack("<Q", 0x4141414141414141)
CRASHES = {
    "objects from bytes": array_with(1, (1,), np.dtype("O"), False, POINTER),
    "objects of another number": array_with(1, (10**9,), np.dtype("O"), False, [1]),
    "a type that hides objects": array_with(
        1, (1,), type_with(3, "|", None, None, None, 8, 1, 0, code="O8"), False, b""
    ),
    "a type with fields": type_with(3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0),
    "a type with a subarray": type_with(3, "|", (np.dtype("f8"), (10**9,)), None, None, 8, 1, 0),
    "a type of a huge size": type_with(3, "|", None, None, None, 2**31 - 1, 1, 0, code="V2147483647"),
    "a shape of terabytes": array_with(1, (2**40,), np.dtype("f8"), False, b"12345678"),
    "a shape that overflows": array_with(1, (2**62, 2**62), np.dtype("f8"), False, b"12345678"),
    "a number instead of bytes": array_with(1, (2**31,), np.dtype("u1"), False, 2**31),
    "a negative shape": array_with(1, (-1,), np.dtype("f8"), False, b"12345678"),
    "a shape of texts": array_with(1, ("a",), np.dtype("f8"), False, b"12345678"),
    "an array without a state": array_with(1),
    "an array allocated by its shape": Rebuilt(np.ndarray, ((2**36,),), None),
    "a matrix of objects": matrix_with(data=np.array([[], []], dtype=object)),
    "a matrix with indices out of range": matrix_with(indices=np.array([0, 2**31])),
    "a matrix with negative indices": matrix_with(indices=np.array([0, -5])),
    "a matrix with bounds out of range": matrix_with(indptr=np.array([0, 2**40, 2])),
    "a matrix of another shape": matrix_with(_shape=(2**40, 2)),
    "a matrix without data": matrix_with(data=None),
    "a matrix in a list": [matrix_with(indices=np.array([0, 2**31]))],
}
READ = """
import sys
from pathlib import Path
from heterophily.core.errors import HeterophilyError
from heterophily.data.pickles import read_pickle
for path in sys.argv[1:]:
    try:
        read_pickle(Path(path))
    except HeterophilyError:
        print("rejected", flush=True)
"""
# Opcodes of a file that claims to need gigabytes: an entry 2^32 - 1 of its memory, and bytes that it does not have.
CLAIMS = [b"\x80\x02]r\xff\xff\xff\xff.", b"\x80\x04\x8e" + struct.pack("<Q", 2**42) + b"x."]


@pytest.mark.parametrize("name", CRASHES)
@pytest.mark.parametrize("protocol", [3, 4])
def test_finding_10_a_pickle_with_damaged_arrays_is_refused(tmp_path, name, protocol):
    path = tmp_path / "evil"
    path.write_bytes(pickle.dumps(CRASHES[name], protocol=protocol))
    with pytest.raises(HeterophilyError, match="cannot read"):
        read_pickle(path)


def test_finding_10_no_pickle_ends_the_interpreter_or_takes_gigabytes(tmp_path):
    paths = [tmp_path / str(i) for i in range(len(CLAIMS))]
    for path, content in zip(paths, CLAIMS, strict=True):
        path.write_bytes(content)
    deep: list = []
    for _ in range(20):
        deep = [deep] * 10
    paths += [tmp_path / "shared", tmp_path / "deep"]
    paths[-2].write_bytes(pickle.dumps(deep))  # 10^20 lists, each of which is stored once
    paths[-1].write_bytes(b"\x80\x02" + b"]" * 500 + b"a" * 499 + b".")
    command = [sys.executable, "-c", READ, *map(str, paths)]
    end = run_limited(command, gigabytes=1.5, seconds=120)
    assert end.code == 0, end.text
    assert end.text.split() == ["rejected"]  # bytes that the file does not have; the others are valid


def test_finding_10_damaged_bytes_of_a_pickle_are_a_sentence(tmp_path):
    content = pickle.dumps([sp.csr_matrix(np.eye(3)), np.arange(5), defaultdict(list, {0: [1]})], protocol=3)
    rng, path = np.random.default_rng(0), tmp_path / "file"
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(len(content), size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            read_pickle(path)
        except HeterophilyError as error:
            assert "cannot read" in str(error)  # noqa: PT017


@pytest.mark.parametrize("protocol", [3, 4])
def test_valid_pickles_are_read_as_by_python(tmp_path, protocol):
    content = {
        "matrix": sp.csr_matrix(np.arange(6.0).reshape(2, 3)),
        "array": np.arange(6, dtype=">i4").reshape(2, 3, order="F"),
        "flags": np.array([True, False]),
        "texts": np.array(["a", "bc"]),
        "objects": np.array(["a", None, [1]], dtype=object),
        "lists": defaultdict(list, {0: [1, 2]}),
        "scalar": np.array(3.5),
    }
    (tmp_path / "file").write_bytes(pickle.dumps(content, protocol=protocol))
    found = read_pickle(tmp_path / "file")
    assert (found.pop("matrix") != content.pop("matrix")).nnz == 0
    assert found.pop("lists") == content.pop("lists")
    for name, expected in content.items():
        assert found[name].dtype == expected.dtype
        np.testing.assert_array_equal(found[name], expected)
