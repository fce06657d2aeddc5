"""Invalid graphs are rejected with what was expected, what was received, and what to do next."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix, Pattern

EDGES = [(0, 1), (1, 2)]
LABELS = [0, 1, -1]


def refused(words):
    return pytest.raises(HeterophilyError, match=words)


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([(0, 1), (1, 3)], r"edge 1 has node 3, but nodes are numbered 0 to 2; renumber"),
        ([(0, -1)], r"edge 0 has node -1"),
        ([[0, 1, 2], [1, 2, 0]], r"\(E, 2\) pairs .* got shape \(2, 3\); transpose a \(2, E\)"),
        ([0, 1], r"\(E, 2\) pairs .* got shape \(2,\)"),
        ([(0, 1), (1,)], r"\(E, 2\) pairs .* different length"),
        ([(0.0, 1.0)], r"integer node numbers, got float64"),
        ([("a", "b")], r"integer node numbers, got <U1; for string ids, read tables"),
    ],
)
def test_edges_must_be_pairs_of_known_nodes(edges, words):
    with refused(words):
        Graph.from_edges(edges, n_nodes=3)


@pytest.mark.parametrize("edge", [(0, -1), (-5, -3)])
def test_negative_nodes_are_refused_also_where_the_edges_alone_count_the_nodes(edge):
    with refused(r"edge 0 has node -"):
        Graph.from_edges([edge])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, torch.tensor])
def test_features_must_be_finite(kind, value):
    x = np.eye(3)
    x[2, 1] = value
    with refused(rf"finite, but node 2 has {value} in column 1 \(1 such values\); replace or remove"):
        Graph.from_edges(EDGES, kind(x))


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ([1.0, 2.0, 3.0], r"\(N, F\) matrix, got shape \(3,\)"),
        ([["a"], ["b"], ["c"]], r"matrix of numbers .*; encode"),
        ([[1.0], [2.0, 3.0], [4.0]], r"matrix of numbers"),
    ],
)
def test_features_must_be_a_matrix_of_numbers(features, words):
    with refused(words):
        Graph.from_edges(EDGES, features)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"features": np.eye(3), "labels": [0, 1]}, "must have the same length, got features 3, labels 2"),
        ({"features": sp.eye_array(2), "n_nodes": 3}, "must have the same length, got features 2, n_nodes 3"),
        ({"labels": LABELS, "n_nodes": 4}, "must have the same length, got labels 3, n_nodes 4"),
        ({"labels": LABELS, "class_names": ["a"]}, "class_names must have 2 names, got 1"),
        ({"labels": LABELS, "node_ids": "abcd"}, "node_ids must have 3 names, got 4"),
    ],
)
def test_lengths_must_agree(fields, words):
    with refused(words):
        Graph.from_edges(EDGES, **fields)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, -2, 1], "-1 for unknown, got -2 at node 1; number the classes from 0"),
        ([0, 1.5, 2], "must be integers, with -1 for unknown, got 1.5"),
        ([0, np.nan, 2], "must be integers, with -1 for unknown, got nan"),
        ([0, np.inf, 2], "must be integers, with -1 for unknown, got inf"),
        (["cat", "dog", "cat"], "must be integers, with -1 for unknown, got 'cat'; for class names"),
        ([[0, 1], [1, 0], [0, 1]], r"one integer per node, got shape \(3, 2\)"),
        ([[0], [1, 0], [0]], "one integer per node, got rows of different length"),
    ],
)
def test_labels_must_be_class_numbers(labels, words):
    with refused(words):
        Graph.from_edges(EDGES, labels=labels)


def test_labels_must_be_below_the_number_of_classes():
    with refused("below n_classes = 2, got 4 at node 1"):
        Graph.from_edges(EDGES, labels=[0, 4, 1], n_classes=2)


@pytest.mark.parametrize("fields", [{}, {"features": np.zeros((0, 4))}, {"labels": []}, {"n_nodes": 0}])
def test_an_empty_graph_is_refused(fields):
    with refused("no nodes; pass edges, features, or labels"):
        Graph.from_edges([], **fields)


@pytest.mark.parametrize(
    ("split", "words"),
    [
        (([0], [1], [0]), "node 0 is in train and in test .* must not overlap"),
        (([0, 3],), "train has node 3, but nodes are numbered 0 to 2"),
        (([0], [-1]), "val has node -1"),
        (([0], [], [1, 2, 1]), "test lists a node twice"),
        (([], [0], [1]), "has no training nodes"),
        (([0, 2],), "train has nodes without a label; remove them"),
        (([0], [2]), "val has nodes without a label"),
        (([0.5],), "node numbers or a boolean mask, got float64"),
    ],
)
def test_a_split_must_partition_labelled_nodes(split, words):
    with refused(words):
        Graph.from_edges(EDGES, labels=LABELS, splits={"s": split})


def test_a_test_node_may_lack_its_label():
    graph = Graph.from_edges(EDGES, labels=LABELS, splits={"s": ([0], [1], [2])})
    assert graph.split("s").test.tolist() == [2]


@pytest.mark.parametrize(
    ("indptr", "indices", "n_columns"),
    [
        ([0, 1, 2, 2], [1, 3], 3),
        ([0, 1, 2, 2], [1, -1], 3),
        ([0, 2, 1, 2], [1, 2], 3),
        ([0, 1, 2, 3], [1, 2], 3),
        ([1, 1, 2, 2], [1, 2], 3),
        ([0, 1, 2, 2], [1, 2], 4),
    ],
    ids=["beyond", "negative", "falling", "short", "late", "wide"],
)
def test_a_broken_adjacency_is_refused(indptr, indices, n_columns):
    pattern = Pattern.from_arrays(indptr, indices, n_columns=n_columns)
    with refused("adjacency is not a valid compressed matrix with 3 columns; create graphs with"):
        Graph.from_edges(EDGES).replace(adjacency=pattern)


def test_broken_features_are_refused():
    graph = Graph.from_edges(EDGES)
    beyond = Pattern.from_arrays([0, 1, 1, 1], [2], n_columns=2)
    with refused("features is not a valid compressed matrix with 2 columns"):
        graph.replace(features=beyond * torch.ones(1))
    inside = Pattern.from_arrays([0, 1, 2, 2], [0, 1], n_columns=2)
    with refused(r"one value per stored entry, got values of shape \(3,\)"):
        graph.replace(features=Matrix(inside, torch.ones(3)))
    with refused(r"features must have one row per node \(3\), got 2"):
        graph.replace(features=torch.ones(2, 2))


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("chamelon-f", ["chameleon-f", "cora"], 'unknown dataset "chamelon-f"; did you mean "chamel'),
        ("zzz", ["cora", "actor"], 'unknown dataset "zzz"; available: actor, cora'),
        ("zzz", [], 'unknown dataset "zzz"; available: none'),
    ],
)
def test_a_misspelt_name_gets_a_hint(name, known, words):
    with refused(words):
        raise unknown_name("dataset", name, known)
