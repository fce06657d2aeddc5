"""Changed copies of graphs equal the same changes of their dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core import edits
from heterophily.core.sparse import Matrix


def dense(x):
    return x if isinstance(x, torch.Tensor) else x @ torch.eye(x.shape[1])


@pytest.fixture(params=["dense", "sparse", "weighted", "undirected", "undirected and weighted"])
def graph(request, random_graph):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=(random_graph.n_nodes, 4)).astype(np.float32)
    features = Matrix.from_scipy(sp.csr_array(x)) if request.param == "sparse" else torch.from_numpy(x)
    graph = random_graph.replace(features=features)
    if "undirected" in request.param:
        graph = graph.replace(adjacency=graph.symmetric)
    if "weighted" in request.param:
        weights = torch.from_numpy(rng.integers(1, 9, graph.n_edges).astype(np.float32))
        graph = graph.replace(weights=weights)
    if request.param == "undirected and weighted":
        graph = graph.replace(weights=graph.symmetric_weights)
    assert graph.is_directed == ("undirected" not in request.param)
    return graph


def matrix(graph):
    """The dense matrix of weights, or of ones."""
    return torch.from_numpy(graph.to_scipy().toarray())


def symmetrized(adjacency):
    """The mean of both directions, or the weight of the only one, without loops."""
    total, count = adjacency + adjacency.T, (adjacency > 0).float() + (adjacency.T > 0).float()
    return (total / count.clamp_min(1)).fill_diagonal_(0)


def assert_same(changed, graph, adjacency, features, labels):
    assert torch.equal(matrix(changed), adjacency)
    weights = torch.ones(changed.symmetric.n_entries) if graph.weights is None else changed.symmetric_weights
    assert torch.equal(dense(changed.symmetric * weights), symmetrized(adjacency))
    assert (changed.weights is None) == (graph.weights is None)
    assert changed.is_directed == graph.is_directed
    assert torch.equal(dense(changed.features), features)
    assert torch.equal(changed.labels, labels)


def test_edges_of_one_node_are_removed_in_both_directions(graph):
    node = int(graph.degrees.argmax())
    neighbors = dense(graph.symmetric)[node].nonzero().squeeze(1)[:3]
    expected = matrix(graph)
    expected[node, neighbors] = expected[neighbors, node] = 0
    changed = edits.remove_edges(graph, node, neighbors)
    assert_same(changed, graph, expected, dense(graph.features), graph.labels)
    assert int(graph.degrees[node]) - int(changed.degrees[node]) == 3


def test_a_graph_without_edges_has_the_same_nodes(graph):
    zeros = torch.zeros(graph.n_nodes, graph.n_nodes)
    assert_same(edits.remove_all_edges(graph), graph, zeros, dense(graph.features), graph.labels)


def test_a_subgraph_contains_the_edges_between_its_nodes(graph):
    nodes = edits.nodes_within(graph.symmetric, int(graph.degrees.argmax()), 1)
    part = edits.subgraph(graph, nodes)
    assert_same(part, graph, matrix(graph)[nodes][:, nodes], dense(graph.features)[nodes], graph.labels[nodes])


def test_nodes_within_some_hops_are_those_of_powers_of_the_matrix(graph):
    reached, edges = torch.eye(graph.n_nodes), dense(graph.symmetric)
    for n_hops in range(4):
        for node in (0, 3, 20):
            expected = reached[node].nonzero().squeeze(1)
            assert torch.equal(edits.nodes_within(graph.symmetric, node, n_hops), expected)
        reached = ((reached + reached @ edges) > 0).float()


def test_a_union_has_diagonal_blocks(graph):
    other = edits.remove_edges(graph, 20, torch.arange(40))
    union = edits.disjoint_union([graph, other, graph])
    blocks = torch.block_diag(*(matrix(each) for each in (graph, other, graph)))
    assert_same(union, graph, blocks, dense(graph.features).repeat(3, 1), graph.labels.repeat(3))


def test_rewired_edges_are_others_between_nodes_of_similar_degrees(graph):
    rewired = edits.rewire_edges(graph, np.random.default_rng(0))
    before, after = matrix(graph).fill_diagonal_(0), matrix(rewired)
    assert rewired.is_directed == graph.is_directed
    assert not after.diagonal().any()
    n_before, n_after, n_same = (int((m > 0).sum()) for m in (before, after, before * after))
    assert n_same < 0.6 * n_before
    assert 0.7 * n_before < n_after <= n_before
    for axis in (0, 1):
        assert (after.sum(axis) <= before.sum(axis)).all() or graph.weights is not None
        assert ((after > 0).sum(axis) <= (before > 0).sum(axis)).all()
    assert after.sum() <= before.sum()
    assert not torch.equal(after, matrix(edits.rewire_edges(graph, np.random.default_rng(1))))
