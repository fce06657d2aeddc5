import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from heterophily.core.errors import HeterophilyError
from heterophily.data.pickles import read_pickle, read_pickled_npz


class Evil:
    """Runs a shell command when unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.system, (f"touch {self.trace}",)


@pytest.fixture
def trace(tmp_path):
    return tmp_path / "trace"


def save_pickle(path, content):
    path.write_bytes(pickle.dumps(content))
    return read_pickle


def save_npz(path, content):
    with path.open("wb") as file:
        np.savez(file, harmless=np.arange(3), content=np.array(content, dtype=object))
    return read_pickled_npz


both = pytest.mark.parametrize("save", [save_pickle, save_npz])


@both
def test_code_in_a_pickle_is_refused_and_not_run(save, tmp_path, trace):
    read = save(tmp_path / "evil", Evil(trace))
    with pytest.raises(HeterophilyError, match=r"cannot read .*evil: posix\.system is not allowed"):
        read(tmp_path / "evil")
    assert not trace.exists()


def test_the_same_pickle_does_harm_elsewhere(trace):
    pickle.loads(pickle.dumps(Evil(trace)))
    assert trace.exists()


@both
@pytest.mark.parametrize("innocent", [eval, getattr, np.load, sp.load_npz, pickle.loads])
def test_other_globals_are_refused_too(save, tmp_path, innocent):
    read = save(tmp_path / "file", innocent)
    with pytest.raises(HeterophilyError, match="is not allowed"):
        read(tmp_path / "file")


@both
@pytest.mark.parametrize("index", [-1, 3, 10**6])
def test_a_matrix_with_columns_out_of_range_is_refused(save, tmp_path, index):
    matrix = sp.csr_matrix(np.eye(3))
    matrix.indices[1] = index
    read = save(tmp_path / "file", matrix)
    with pytest.raises(HeterophilyError, match="cannot read"):
        read(tmp_path / "file")


def test_a_matrix_with_row_bounds_beyond_its_entries_is_refused(tmp_path):
    matrix = sp.csr_matrix(np.eye(3))
    matrix.indptr[:] = [0, 10**6, 10**6, 3]
    save_pickle(tmp_path / "file", matrix)
    with pytest.raises(HeterophilyError, match="cannot read"):
        read_pickle(tmp_path / "file")


@pytest.mark.parametrize("cut", [0, 1, 20, 100])
def test_a_truncated_pickle_is_refused(tmp_path, cut):
    content = pickle.dumps(sp.csr_matrix(np.eye(3)))
    (tmp_path / "file").write_bytes(content[:cut])
    with pytest.raises(HeterophilyError, match="cannot read"):
        read_pickle(tmp_path / "file")


def test_arrays_matrices_lists_and_dictionaries_are_read(tmp_path):
    matrix = sp.csr_matrix(np.arange(6.0).reshape(2, 3))
    save_npz(tmp_path / "file", matrix)
    content = read_pickled_npz(tmp_path / "file")
    assert content["harmless"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(content["content"].toarray(), matrix.toarray())
