"""Converting a graph to PyTorch Geometric, NetworkX, or SciPy and back does not change it."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG uses deprecated functions of PyTorch
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Data, HeteroData, TemporalData

EDGES = [(0, 1), (1, 0), (2, 2), (3, 0)]
INDEX = torch.tensor(EDGES).T
X = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, 0]], dtype=np.float32)
Y = [1, 0, -1, 1]
SPLITS = {"0": ([0, 1], [3], [2]), "1": ([3], [0], [1])}


def build(features=X, **fields):
    return Graph.from_edges(EDGES, features, labels=Y, **fields)


def parts(graph):
    return {name: [part.tolist() for part in split.parts.values()] for name, split in graph.splits.items()}


def columns(*nodes):
    """Masks of shape (4, S), one column per list of nodes."""
    return torch.stack([torch.isin(torch.arange(4), torch.tensor(n)) for n in nodes], dim=1)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_pyg_round_trip(kind):
    graph = build(kind(X), splits=SPLITS)
    data = graph.to_pyg()
    assert data.edge_index.tolist() == INDEX.tolist()
    assert data.train_mask.tolist() == columns([0, 1], [3]).tolist()
    again = Graph.from_pyg(data, name="again")
    assert again.is_sparse == graph.is_sparse == data.x.is_sparse
    assert again.checksum == graph.checksum
    assert parts(again) == parts(graph)
    assert again.name == "again"


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_pyg_data_owns_its_numbers(kind):
    graph = build(kind(X))
    data = graph.to_pyg()
    (data.x.values() if data.x.is_sparse else data.x)[:] = 0
    data.y[:] = 0
    assert graph.replace(name="hashed again").checksum == build(kind(X)).checksum


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8])
def test_one_pyg_mask_is_one_split(dtype):
    train, test = (columns(nodes)[:, 0].to(dtype) for nodes in ([0, 3], [1]))
    data = Data(torch.tensor(X), INDEX, y=torch.tensor(Y), train_mask=train, test_mask=test)
    assert parts(Graph.from_pyg(data)) == {"0": [[0, 3], [], [1]]}


def test_one_pyg_test_mask_serves_all_training_masks():
    data = Data(torch.tensor(X), INDEX, y=torch.tensor(Y))
    data.train_mask, data.val_mask = columns([0], [1]), columns([1], [0])
    data.test_mask = columns([2, 3])[:, 0]
    assert parts(Graph.from_pyg(data)) == {"0": [[0], [1], [2, 3]], "1": [[1], [0], [2, 3]]}


@pytest.mark.parametrize(
    ("fields", "n_nodes"), [({"y": torch.tensor([0, 1, 0, 1, 1])}, 5), ({"num_nodes": 7}, 7), ({}, 4)]
)
def test_pyg_labels_or_num_nodes_or_edges_count_the_nodes(fields, n_nodes):
    assert Graph.from_pyg(Data(edge_index=INDEX, **fields)).n_nodes == n_nodes


def test_pyg_data_needs_an_edge_index():
    with pytest.raises(HeterophilyError, match=r"no edge_index; set data.edge_index, \(2, E\)"):
        Graph.from_pyg(Data(x=torch.ones(3, 1)))


def test_pyg_data_with_types_or_times_is_rejected():
    zero = torch.zeros(1, dtype=torch.long)
    with pytest.raises(HeterophilyError, match=r"got a HeteroData; convert it with data\.to_homogeneous\(\)"):
        Graph.from_pyg(HeteroData(a={"x": torch.ones(3, 1)}))
    with pytest.raises(HeterophilyError, match="got a TemporalData; pass the edges up to a point in time as Data"):
        Graph.from_pyg(TemporalData(src=zero, dst=zero, t=zero))


@pytest.mark.parametrize("names", [None, ["cat", "dog"]], ids=["numbers", "names"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_networkx_round_trip(kind, names):
    graph = build(kind(X), node_ids="abcd", class_names=names)
    there = graph.to_networkx()
    assert list(there.edges) == [("a", "b"), ("b", "a"), ("c", "c"), ("d", "a")]
    assert there.nodes["a"] == {"x": [1, 0, 2], "label": names[1] if names else 1}
    assert "label" not in there.nodes["c"]
    again = Graph.from_networkx(there)
    assert again.checksum == build().checksum
    assert again.node_ids == ("a", "b", "c", "d")
    assert again.class_names == (("cat", "dog") if names else ("0", "1"))


def test_an_undirected_networkx_edge_is_stored_both_ways():
    graph = Graph.from_networkx(nx.Graph([("u", "v"), ("v", "v")]))
    assert graph.to_scipy().toarray().tolist() == [[0, 1], [1, 1]]
    assert (graph.n_features, graph.n_classes, graph.labels.tolist()) == (0, 0, [-1, -1])


def test_numeric_networkx_attributes_are_features_in_alphabetical_order():
    source = nx.DiGraph([("u", "v")])
    source.add_node("u", size=2, age=np.float32(0.5), title="text", kind=10)
    source.add_node("v", size=np.int64(3), age=1.5, x=4.0, kind=2)
    source.nodes["u"]["x"] = 5.0
    graph = Graph.from_networkx(source, label="kind")
    assert graph.features.tolist() == [[0.5, 2, 5], [1.5, 3, 4]]
    assert graph.class_names == ("2", "10")
    assert graph.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("u", "v", "words"),
    [
        ({"age": 1}, {}, "node 'v' has no numeric attribute 'age'"),
        ({"age": 1}, {"age": "old"}, "node 'v' has no numeric attribute 'age'"),
        ({"x": [1, 2]}, {}, 'all nodes or no node must have a vector in attribute "x"'),
        ({"x": [1, 2]}, {"x": [1]}, "all of the same length"),
    ],
)
def test_a_networkx_node_without_a_feature_is_named(u, v, words):
    source = nx.Graph([("u", "v")])
    source.nodes["u"].update(u)
    source.nodes["v"].update(v)
    with pytest.raises(HeterophilyError, match=words):
        Graph.from_networkx(source)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_scipy_round_trip(kind):
    graph = build(kind(X))
    matrix = graph.to_scipy()
    assert matrix.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]
    again = Graph.from_scipy(matrix, kind(X), labels=Y)
    assert again.is_sparse == graph.is_sparse
    assert again.checksum == graph.checksum


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csr_matrix, sp.csc_array])
def test_scipy_values_are_weights_and_stored_zeros_are_no_edges(kind):
    entries = ([2.0, 0.0, 0.5], ([0, 1, 2], [1, 2, 0]))
    graph = Graph.from_scipy(kind(sp.coo_array(entries, shape=(3, 3))))
    assert graph.to_scipy().toarray().tolist() == [[0, 2, 0], [0, 0, 0], [0.5, 0, 0]]


def test_a_scipy_adjacency_must_be_square():
    with pytest.raises(HeterophilyError, match=r"must be square, got \(2, 3\)"):
        Graph.from_scipy(sp.csr_array((2, 3)))


@pytest.mark.parametrize("stored_sparse", [False, True])
def test_pyg_features_are_dense_or_sparse_as_asked(stored_sparse):
    pytest.importorskip("torch_geometric")
    x = torch.tensor(X)
    graph = Graph.from_edges([(0, 1)], x.to_sparse() if stored_sparse else x)
    assert graph.to_pyg().x.is_sparse == stored_sparse
    for sparse in (False, True):
        found = graph.to_pyg(sparse=sparse).x
        assert found.is_sparse == sparse
        assert torch.equal(found.to_dense(), x)
