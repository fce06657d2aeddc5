"""Each loader reads a small graph that the test writes in the loader's format."""

import json
import pickle
from collections import defaultdict

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from heterophily.core.errors import HeterophilyError
from heterophily.core.sparse import Matrix
from heterophily.data.formats import FORMATS, read_format, sparse_if_worth

N, F = 7, 6
A = np.zeros((N, N), dtype=bool)
A[[0, 0, 1, 2, 4, 5, 6], [1, 4, 2, 1, 4, 0, 3]] = True
X = np.eye(N, F) + np.eye(N, F, 2) + np.eye(N, F, -1)
Y = np.array([0, 2, 1, 0, 2, 1, 0])
NEIGHBORS = [np.flatnonzero(row).tolist() for row in A]
TEST_INDEX = [6, 4, 5]  # row i of tx belongs to node TEST_INDEX[i]


def heterophilous_npz(folder):
    np.savez(folder / "a.npz", edges=np.argwhere(A), node_features=X, node_labels=Y)


def geom_gcn_text(folder):
    edges = [f"{i}\t{j}" for i, j in [*np.argwhere(A), (0, 1)]]  # one edge twice
    words = [",".join(map(str, np.flatnonzero(row))) for row in X]
    nodes = [f"{i}\t{words[i]}\t{Y[i]}" for i in reversed(range(N))]
    write_lines(folder / "out1_graph_edges.txt", ["node_id\tnode_id", *edges])
    write_lines(folder / "out1_node_feature_label.txt", ["node_id\tfeature\tlabel", *nodes])


def matlab(folder):
    content = {"Network": sp.csc_matrix(A * 1.0), "Attributes": sp.csc_matrix(X)}
    scipy.io.savemat(folder / "a.mat", {**content, "Label": Y[:, None] + 1})


def planetoid(folder, order=TEST_INDEX):
    one_hot = np.eye(3, dtype=np.int32)[Y]
    graph = defaultdict(list, dict(enumerate(NEIGHBORS)))
    graph[0] = [*graph[0], 1]  # one edge twice
    parts = {
        "x": sp.csr_matrix(X[:2]),
        "tx": sp.csr_matrix(X[order]),
        "allx": sp.csr_matrix(X[:4]),
        "y": one_hot[:2],
        "ty": one_hot[order],
        "ally": one_hot[:4],
        "graph": graph,
    }
    for part, content in parts.items():
        (folder / f"ind.a.{part}").write_bytes(old_pickle(content))
    write_lines(folder / "ind.a.test.index", order)


def gnn_benchmark_npz(folder):
    parts = {
        f"{kind}_{part}": getattr(sp.csr_array(matrix), part)
        for kind, matrix in (("adj", A * 1.0), ("attr", X))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(folder / "a.npz", labels=Y, **parts)


def pickled_npz(folder):
    np.savez(
        folder / "a.npz",
        adj_matrix=sp.csr_matrix(A * 1.0),
        node_attr=sp.csr_matrix(X),
        node_label=Y,
        metadata={"class_names": ["red", "green", "blue"]},
    )


def wikics_json(folder):
    content = {"features": X.tolist(), "labels": Y.tolist(), "links": NEIGHBORS}
    (folder / "data.json").write_text(json.dumps(content))


WRITERS = {
    writer.__name__: writer
    for writer in (heterophilous_npz, geom_gcn_text, matlab, planetoid, gnn_benchmark_npz, pickled_npz, wikics_json)
}


def old_pickle(content):
    """Pickle with the names that modules had when Planetoid was published."""
    text = pickle.dumps(content, protocol=3)
    for new, old in (
        (b"numpy._core.multiarray", b"numpy.core.multiarray"),
        (b"scipy.sparse._csr", b"scipy.sparse.csr"),
        (b"cbuiltins\nlist", b"c__builtin__\nlist"),
    ):
        text = text.replace(new, old)
    return text


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))


def files_in(folder):
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def dense(features):
    return (features.to_dense() if isinstance(features, Matrix) else features).numpy()


def test_every_format_is_tested():
    assert set(WRITERS) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_loader_reads_what_the_file_says(name, folder):
    WRITERS[name](folder)
    graph = read_format(name, files_in(folder))
    np.testing.assert_array_equal(graph.to_scipy().toarray(), A)
    np.testing.assert_array_equal(dense(graph.features), X)
    assert graph.labels.tolist() == Y.tolist()
    assert graph.n_classes == 3


def test_test_nodes_that_planetoid_omits_have_no_features_and_no_label(folder):
    planetoid(folder, order=[6, 4])
    graph = read_format("planetoid", files_in(folder))
    np.testing.assert_array_equal(dense(graph.features), np.where(np.arange(N)[:, None] == 5, 0, X))
    assert graph.labels.tolist() == [0, 2, 1, 0, 2, -1, 0]
    np.testing.assert_array_equal(graph.to_scipy().toarray(), A)


def test_the_pickled_npz_names_its_classes(folder):
    pickled_npz(folder)
    graph = read_format("pickled_npz", files_in(folder))
    assert graph.class_names == ("red", "green", "blue")


@pytest.mark.parametrize(("nonzero", "sparse"), [(10, True), (11, False)])
def test_features_are_sparse_up_to_a_tenth_of_nonzeros(nonzero, sparse):
    features = (np.arange(100) < nonzero).astype(float).reshape(10, 10)
    assert sp.issparse(sparse_if_worth(features)) == sparse


def array_bytes(tmp_path, save, **arrays):
    with (tmp_path / "junk").open("wb") as file:
        save(file, **arrays)
    return (tmp_path / "junk").read_bytes()


@pytest.fixture(params=["empty", "text", "zip", "json", "pickle", "npy", "npz", "cut npz", "cut mat"])
def junk(request, tmp_path):
    npz = array_bytes(tmp_path, np.savez, x=np.arange(3))
    return {
        "empty": b"",
        "text": b"certainly\nnot a graph\n",
        "zip": b"PK\x03\x04 and no more",
        "json": b"[1, 2]",
        "pickle": pickle.dumps([1, 2]),
        "npy": array_bytes(tmp_path, np.save, arr=np.arange(3)),
        "npz": npz,
        "cut npz": npz[:-30],
        "cut mat": b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM\x0e\x00\x00\x00",
    }[request.param]


@pytest.mark.filterwarnings("ignore:loadtxt")
@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_file_is_one_clear_error(name, folder, junk):
    WRITERS[name](folder)
    for path in folder.iterdir():
        path.write_bytes(junk)
    with pytest.raises(HeterophilyError, match="cannot read") as caught:
        read_format(name, files_in(folder))
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
