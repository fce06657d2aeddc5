"""A graph contains its arguments, computes its documented properties, and cannot be changed."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.sparse import Matrix

EDGES = [(0, 1), (2, 2), (1, 0), (3, 0), (0, 1)]  # both directions, a self-loop, one direction, a duplicate
X = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, 0]], dtype=np.float32)
Y = [1, 0, -1, 1]
SPLITS = {"first": ([0, 1], [3], [2]), "second": ([3], [0], [1])}


def build(edges=EDGES, features=X, labels=Y, **fields):
    return Graph.from_edges(edges, features, labels=labels, **fields)


def pairs(pattern):
    return list(zip(pattern.rows.tolist(), pattern.indices.tolist(), strict=True))


def test_edges_are_directed_sorted_int32_and_a_repeat_counts_once():
    graph = build()
    assert pairs(graph.adjacency) == [(0, 1), (1, 0), (2, 2), (3, 0)]
    assert graph.adjacency.indptr.tolist() == [0, 1, 2, 3, 4]
    assert graph.adjacency.indptr.dtype == graph.adjacency.indices.dtype == torch.int32


def test_sizes_count_what_is_stored():
    graph = build()
    assert (graph.n_nodes, graph.n_edges, graph.n_features, graph.n_classes) == (4, 4, 3, 2)
    assert repr(graph) == "Graph(4 nodes, 4 edges as stored, 3 features, 2 classes)"


def test_the_symmetric_form_has_each_edge_both_ways_and_no_self_loops():
    graph = build()
    assert pairs(graph.symmetric) == [(0, 1), (0, 3), (1, 0), (3, 0)]
    assert graph.degrees.tolist() == [2, 1, 0, 1]


def test_transposes_and_the_symmetric_form_are_computed_once():
    graph = build()
    assert pairs(graph.adjacency.T) == [(0, 1), (0, 3), (1, 0), (2, 2)]
    assert graph.adjacency.T is graph.adjacency.T
    assert graph.symmetric is graph.symmetric
    assert graph.symmetric.T is graph.symmetric.T


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, torch.from_numpy, np.asfortranarray])
def test_dense_features_become_float32_whatever_holds_them(kind):
    graph = build(features=kind(X.astype(np.float64)))
    assert not graph.is_sparse
    assert graph.features.dtype == torch.float32
    assert graph.features.tolist() == X.tolist()


@pytest.mark.parametrize(
    "kind",
    [sp.csr_array, sp.coo_matrix, lambda x: torch.from_numpy(x).to_sparse(), Matrix.from_scipy],
    ids=["csr", "coo", "torch", "matrix"],
)
def test_sparse_features_stay_sparse(kind):
    graph = build(features=kind(X))
    assert isinstance(graph.features, Matrix)
    assert graph.is_sparse
    assert graph.features.pattern.n_entries == 4
    assert graph.features.pattern.indices.dtype == torch.int32
    assert graph.features.to_dense().tolist() == X.tolist()


def test_labels_are_integers_and_minus_one_is_unknown():
    graph = build(labels=np.array([[1.0], [0.0], [-1.0], [1.0]]))
    assert graph.labels.dtype == torch.int64
    assert graph.labels.tolist() == Y
    assert graph.labeled.tolist() == [True, True, False, True]


def test_a_graph_of_edges_alone_has_no_features_and_no_labels():
    graph = Graph.from_edges([(0, 2)])
    assert (graph.n_nodes, graph.n_features, graph.n_classes) == (3, 0, 0)
    assert graph.labels.tolist() == [-1, -1, -1]


def test_a_graph_may_have_no_edges():
    graph = Graph.from_edges([], n_nodes=2)
    assert (graph.n_edges, graph.symmetric.n_entries) == (0, 0)
    assert graph.degrees.tolist() == [0, 0]


@pytest.mark.parametrize(
    "split",
    [
        ([1, 0], [3], [2]),
        ([True, True, False, False], torch.tensor([3]), np.array([0, 0, 1, 0], dtype=bool)),
        Split.from_nodes([0, 1], [3], [2]),
    ],
    ids=["numbers", "masks", "split"],
)
def test_splits_are_node_numbers_in_order_whatever_they_came_as(split):
    found = build(splits={"s": split}).split("s")
    assert [part.tolist() for part in found.parts.values()] == [[0, 1], [3], [2]]
    assert found.mask("train", 4).tolist() == [True, True, False, False]
    assert found.origin == "given"


def test_an_unknown_split_is_an_error_with_a_hint():
    graph = build(splits=SPLITS)
    with pytest.raises(HeterophilyError, match='unknown split of graph "frist"; did you mean "first"'):
        graph.split("frist")
    with pytest.raises(HeterophilyError, match="available: none"):
        build().split("first")


@pytest.mark.parametrize("field", ["labels", "features", "adjacency", "splits", "name"])
def test_fields_cannot_be_assigned(field):
    with pytest.raises(FrozenInstanceError):
        setattr(build(), field, None)


def test_splits_cannot_be_assigned_or_added():
    graph = build(splits=SPLITS)
    with pytest.raises(TypeError, match="does not support item assignment"):
        graph.splits["third"] = graph.split("first")
    with pytest.raises(FrozenInstanceError):
        graph.split("first").train = torch.tensor([2])


@pytest.mark.parametrize("of", [np.array, torch.tensor], ids=["numpy", "torch"])
def test_changing_what_was_given_does_not_change_the_graph(of):
    given = [of(EDGES), of(X.tolist()), of(Y), of([0, 1])]
    splits = {"s": (given[3],)}
    graph = build(*given[:3], splits=splits)
    for array in given:
        array[:] = 0
    splits.clear()
    assert graph.replace(name="hashed again").checksum == build().checksum
    assert graph.split("s").train.tolist() == [0, 1]


def test_changing_sparse_features_that_were_given_does_not_change_the_graph():
    given = sp.csr_array(X)
    graph = build(features=given)
    given.data[:] = 0
    given.indices[:] = 0
    assert graph.features.to_dense().tolist() == X.tolist()


def test_changing_what_the_graph_gave_away_does_not_change_it():
    graph = build()
    matrix = graph.to_scipy()
    matrix.indices[:] = 0
    assert pairs(graph.adjacency) == [(0, 1), (1, 0), (2, 2), (3, 0)]


def test_read_only_arrays_are_welcome_and_gradients_are_left_behind():
    fixed = X.copy()
    fixed.setflags(write=False)
    assert build(features=fixed).features.tolist() == X.tolist()
    assert not build(features=torch.from_numpy(X).requires_grad_()).features.requires_grad


def test_replace_changes_a_copy_and_checks_it():
    graph = build(splits=SPLITS, name="old")
    changed = graph.replace(name="new", n_classes=5)
    assert (graph.name, graph.n_classes) == ("old", 2)
    assert (changed.name, changed.n_classes) == ("new", 5)
    with pytest.raises(HeterophilyError, match="below n_classes = 1"):
        graph.replace(n_classes=1)


@pytest.mark.parametrize("features", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_moving_to_a_device_keeps_everything(features):
    graph = build(features=features, splits=SPLITS)
    moved = graph.to("cpu")
    assert moved.checksum == graph.checksum
    assert moved.splits == graph.splits


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_equal_graphs_have_equal_checksums_whatever_the_order_of_the_edges(kind):
    first = build(features=kind(X))
    assert len(first.checksum) == 64
    assert build(EDGES[::-1], kind(X), splits=SPLITS, name="other").checksum == first.checksum


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "change",
    [
        {"edges": [*EDGES, (1, 2)]},
        {"edges": [(j, i) for i, j in EDGES]},
        {"features": X + np.eye(4, 3)},
        {"features": np.vstack([X[:3], X[3, ::-1]])},
        {"labels": [1, 0, -1, 0]},
    ],
    ids=["edge", "direction", "value", "column", "label"],
)
def test_another_edge_feature_or_label_is_another_checksum(kind, change):
    fields = {"edges": EDGES, "features": X, "labels": Y}
    changed = fields | change
    changed["features"], fields["features"] = kind(changed["features"]), kind(X)
    assert build(**changed).checksum != build(**fields).checksum


def test_a_graph_survives_pickling_between_processes_without_its_caches():
    graph = Graph.from_edges([(0, 1)], labels=[0, 1], splits={"a": ([0], [1], [])})
    graph.cached("large", lambda: "object")
    copy = pickle.loads(pickle.dumps(graph))
    assert copy.checksum == graph.checksum
    assert copy.split("a").train.tolist() == [0]
    assert copy.cached("large", lambda: "computed again") == "computed again"
