"""A graph has the weights of every source, in every form, and rejects weights that are not positive and finite."""

import pickle
import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import save_file

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.graph import Graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG uses deprecated functions of PyTorch
    Data = pytest.importorskip("torch_geometric.data").Data

# Both directions with different weights, a repeated edge, a self-loop, and an edge in one direction.
EDGES = [(0, 1), (3, 0), (1, 0), (2, 2), (0, 1)]
WEIGHTS = [0.5, 4.0, 3.0, 7.0, 0.25]
DENSE = [[0, 0.75, 0, 0], [3, 0, 0, 0], [0, 0, 7, 0], [4, 0, 0, 0]]
SYMMETRIC = [[0, 1.875, 0, 4], [1.875, 0, 0, 0], [0, 0, 0, 0], [4, 0, 0, 0]]


def build(weights=WEIGHTS, **fields):
    return Graph.from_edges(EDGES, np.eye(4), weights=weights, labels=[0, 1, 0, 1], **fields)


def dense(graph):
    return graph.to_scipy().toarray().tolist()


@pytest.mark.parametrize(
    "kind", [list, np.asarray, torch.tensor, lambda w: np.array(w)[:, None]], ids=["list", "numpy", "torch", "column"]
)
def test_weights_of_repeated_edges_are_added(kind):
    graph = build(kind(WEIGHTS))
    assert graph.weights.dtype == torch.float32
    assert dense(graph) == DENSE
    assert repr(graph) == "Graph(4 nodes, 4 weighted edges as stored, 4 features, 2 classes)"


def test_the_symmetrized_weight_is_the_mean_of_both_directions_or_the_only_one():
    graph = build()
    assert (graph.symmetric * graph.symmetric_weights).to_dense().tolist() == SYMMETRIC
    assert Graph.from_edges(EDGES).symmetric_weights is None


def test_symmetrizing_a_symmetric_graph_does_not_change_its_weights():
    matrix = np.random.default_rng(0).random((6, 6)).astype(np.float32)
    graph = Graph.from_scipy(sp.csr_array(np.triu(matrix, 1) + np.triu(matrix, 1).T))
    assert not graph.is_directed
    assert torch.equal(graph.symmetric_weights, graph.weights)


def test_gradients_reach_the_weights_through_the_symmetrized_graph():
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    graph = build().replace(weights=weights)
    graph.symmetric_weights.sum().backward()
    assert weights.grad.tolist() == [1.0, 1.0, 0.0, 2.0]  # (0, 1), (1, 0), the self-loop, and (3, 0)


def test_weights_of_one_are_no_weights():
    graph = Graph.from_edges(EDGES[:4], weights=np.ones(4))
    assert graph.weights is None
    assert graph.checksum == Graph.from_edges(EDGES[:4]).checksum


def test_a_checksum_contains_the_weights():
    other = [*WEIGHTS[:-1], 0.5]
    assert len({build(w).structure_checksum for w in (None, WEIGHTS, other)}) == 3
    assert build().checksum == build().checksum


@pytest.mark.parametrize(
    ("edges", "weights", "directed"),
    [
        ([(0, 1), (1, 0), (1, 1)], None, False),
        ([(0, 1), (1, 0)], [2, 2], False),
        ([(0, 1), (1, 0)], [2, 3], True),
        ([(0, 1), (1, 0), (1, 2)], None, True),
        ([], None, False),
    ],
)
def test_a_graph_is_directed_if_edges_or_weights_differ_in_both_directions(edges, weights, directed):
    assert Graph.from_edges(edges, weights=weights, n_nodes=3).is_directed == directed


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, 1e-60, 1e60])
@pytest.mark.parametrize("source", ["edges", "scipy", "pyg", "networkx", "frames", "npz"])
def test_weights_must_be_positive_and_finite(source, value, tmp_path):
    if source == "scipy" and value == 0:
        return  # a stored zero is not an edge
    with pytest.raises(HeterophilyError, match=r"must (be|contain) positive (and )?finite"):
        read(source, [(0, 1), (1, 0), (1, 2)], [1.0, value, 2.0], tmp_path)


def read(source, edges, weights, folder):
    """Return a graph with weights from one of the sources."""
    index, ends = np.array(edges).T, list(zip(*edges, strict=True))
    if source == "pyg":
        return Graph.from_pyg(Data(edge_index=torch.tensor(index), edge_weight=torch.tensor(weights)))
    if source == "scipy":
        return Graph.from_scipy(sp.coo_array((weights, tuple(index)), shape=(3, 3)))
    if source == "networkx":
        graph = nx.DiGraph()
        graph.add_nodes_from(range(3))
        graph.add_weighted_edges_from((*edge, w) for edge, w in zip(edges, weights, strict=True))
        return Graph.from_networkx(graph)
    if source == "frames":
        return Graph.from_frames(None, {"source": ends[0], "target": ends[1], "weight": weights})
    if source == "npz":
        np.savez(folder / "graph.npz", edges=edges, edge_weights=weights)
        return Graph.from_files(folder / "graph.npz")
    return Graph.from_edges(edges, weights=weights)


@pytest.mark.parametrize("source", ["edges", "scipy", "pyg", "networkx", "frames", "npz"])
def test_every_source_has_weights(source, tmp_path):
    graph = read(source, [(0, 1), (1, 0), (1, 2)], [1.0, 0.5, 2.0], tmp_path)
    assert dense(graph) == [[0, 1, 0], [0.5, 0, 2], [0, 0, 0]]
    assert read(source, [(0, 1), (1, 2)], [1.0, 1.0], tmp_path).weights is None


@pytest.mark.parametrize("weights", [[1.0], [1.0] * 6, [[1.0, 2.0]] * 5, ["a"] * 5, [None] * 5, 1.0])
def test_weights_must_be_one_number_per_edge(weights):
    with pytest.raises(HeterophilyError, match="weights must be"):
        build(weights)


def test_copies_and_files_have_the_weights(tmp_path):
    graph = build(splits={"mine": ([0], [1])})
    copies = [
        graph.replace(name="other"),
        graph.to("cpu"),
        graph.with_labels_only(torch.tensor([0])),
        pickle.loads(pickle.dumps(graph)),
        Graph.load(graph.save(tmp_path / "g.safetensors")),
        Graph.load(tmp_path / "g.safetensors", mmap=True),
        Graph.from_pyg(graph.to_pyg()),
        Graph.from_networkx(graph.to_networkx()),
        Graph.from_scipy(graph.to_scipy(), np.eye(4)),
    ]
    assert {copy.structure_checksum for copy in copies} == {graph.structure_checksum}


def test_the_copy_without_labels_shares_the_symmetrized_weights():
    graph = build()
    weights = graph.symmetric_weights
    assert graph.with_labels_only(torch.tensor([0])).symmetric_weights is weights


def test_a_changed_adjacency_needs_its_weights():
    graph, other = build(), Graph.from_edges([(0, 1)], n_nodes=4)
    with pytest.raises(TypeError, match="pass weights, too, or weights=None"):
        graph.replace(adjacency=other.adjacency)
    assert graph.replace(adjacency=other.adjacency, weights=None).weights is None
    with pytest.raises(HeterophilyError, match=r"one value per stored edge, \(4,\), got shape \(1,\)"):
        graph.replace(weights=torch.ones(1))


def test_a_saved_graph_with_wrong_weights_is_rejected(tmp_path):
    from safetensors import safe_open

    path = build().save(tmp_path / "g.safetensors")
    with safe_open(path, framework="pt") as file:
        tensors, facts = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    save_file(tensors | {"weights": -tensors["weights"]}, path, facts)
    with pytest.raises(HeterophilyError, match="must be positive and finite"):
        Graph.load(path)


def test_one_column_of_edge_attributes_is_a_weight_and_this_is_reported():
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_attr=torch.tensor([[2.0], [3.0]]), num_nodes=3)
    with pytest.warns(HeterophilyWarning, match="edge_attr of the PyG Data will be used as edge weights"):
        assert Graph.from_pyg(data).weights.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        (torch.ones(2, 3), "because edges can have a weight, but no features"),
        (torch.arange(2), "not a positive weight"),
    ],
)
def test_other_edge_attributes_are_not_used_and_this_is_reported(attributes, reason):
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_attr=attributes, num_nodes=3)
    with pytest.warns(HeterophilyWarning, match=f"edge_attr of the PyG Data will not be used, .*{reason}"):
        assert Graph.from_pyg(data).weights is None


def test_edge_weights_take_precedence_over_edge_attributes():
    data = Data(
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        edge_attr=torch.ones(2, 3),
        edge_weight=torch.ones(2) * 2,
        num_nodes=3,
    )
    assert Graph.from_pyg(data).weights.tolist() == [2.0, 2.0]


def test_undirected_networkx_edges_have_their_weight_in_both_directions_and_self_loops_once():
    graph = nx.Graph([(0, 1, {"weight": 2.0}), (1, 1, {"weight": 3.0}), (1, 2)])
    assert dense(Graph.from_networkx(graph)) == [[0, 2, 0], [2, 3, 1], [0, 1, 0]]
    assert Graph.from_networkx(graph, weight=None).weights is None
    nx.set_edge_attributes(graph, 5, "strength")
    assert Graph.from_networkx(graph, weight="strength").weights.tolist() == [5.0] * 5


def test_parallel_networkx_edges_are_added():
    graph = nx.MultiDiGraph([(0, 1, {"weight": 2.0}), (0, 1, {"weight": 3.0})])
    assert Graph.from_networkx(graph).weights.tolist() == [5.0]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_have_a_column_of_weights(tmp_path, suffix):
    import pyarrow as pa
    from pyarrow import csv, parquet

    edges = pa.table({"source": ["a", "b"], "target": ["b", "c"], "amount": [2.5, 1.5]})
    (csv.write_csv if suffix == "csv" else parquet.write_table)(edges, tmp_path / f"edges.{suffix}")
    from heterophily.core.frames import Roles

    graph = Graph.from_files(tmp_path / f"edges.{suffix}", roles=Roles(weight="amount"))
    assert graph.weights.tolist() == [2.5, 1.5]
    nodes = {"id": ["c", "b", "a"], "age": [1.0, 2.0, 3.0]}
    assert Graph.from_frames(nodes, edges, weight="amount").to_scipy().toarray().tolist() == [
        [0, 0, 0],
        [1.5, 0, 0],
        [0, 2.5, 0],
    ]


@pytest.mark.parametrize("cell", [None, "strong", -2.0])
def test_a_cell_that_is_no_weight_is_reported_with_its_row(cell):
    edges = {"source": ["a", "b"], "target": ["b", "c"], "weight": ["1.5", None if cell is None else str(cell)]}
    with pytest.raises(
        HeterophilyError, match=r"column 'weight' must contain positive finite weights, got .* in row 2"
    ):
        Graph.from_frames(None, edges)
