"""Changed copies of graphs equal the same changes of their dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core import edits
from heterophily.core.sparse import Matrix


def dense(x):
    return x if isinstance(x, torch.Tensor) else x @ torch.eye(x.shape[1])


@pytest.fixture(params=["dense", "sparse"])
def graph(request, random_graph):
    x = np.random.default_rng(0).integers(0, 3, size=(random_graph.n_nodes, 4)).astype(np.float32)
    return random_graph.replace(
        features=torch.from_numpy(x) if request.param == "dense" else Matrix.from_scipy(sp.csr_array(x))
    )


def assert_same(graph, adjacency, features, labels):
    assert torch.equal(dense(graph.adjacency), adjacency)
    expected = ((adjacency + adjacency.T) > 0).float().fill_diagonal_(0)
    assert torch.equal(dense(graph.symmetric), expected)
    assert torch.equal(dense(graph.features), features)
    assert torch.equal(graph.labels, labels)


def test_edges_of_one_node_are_removed_in_both_directions(graph):
    node = int(graph.degrees.argmax())
    neighbors = dense(graph.symmetric)[node].nonzero().squeeze(1)[:3]
    expected = dense(graph.adjacency)
    expected[node, neighbors] = expected[neighbors, node] = 0
    changed = edits.remove_edges(graph, node, neighbors)
    assert_same(changed, expected, dense(graph.features), graph.labels)
    assert int(graph.degrees[node]) - int(changed.degrees[node]) == 3


def test_a_graph_without_edges_has_the_same_nodes(graph):
    zeros = torch.zeros(graph.n_nodes, graph.n_nodes)
    assert_same(edits.remove_all_edges(graph), zeros, dense(graph.features), graph.labels)


def test_a_subgraph_contains_the_edges_between_its_nodes(graph):
    nodes = edits.nodes_within(graph.symmetric, int(graph.degrees.argmax()), 1)
    part = edits.subgraph(graph, nodes)
    assert_same(part, dense(graph.adjacency)[nodes][:, nodes], dense(graph.features)[nodes], graph.labels[nodes])


def test_nodes_within_some_hops_are_those_of_powers_of_the_matrix(graph):
    reached, matrix = torch.eye(graph.n_nodes), dense(graph.symmetric)
    for n_hops in range(4):
        for node in (0, 3, 20):
            expected = reached[node].nonzero().squeeze(1)
            assert torch.equal(edits.nodes_within(graph.symmetric, node, n_hops), expected)
        reached = ((reached + reached @ matrix) > 0).float()


def test_a_union_has_diagonal_blocks(graph):
    other = edits.remove_edges(graph, 20, torch.arange(40))
    union = edits.disjoint_union([graph, other, graph])
    blocks = torch.block_diag(*(dense(each.adjacency) for each in (graph, other, graph)))
    assert_same(union, blocks, dense(graph.features).repeat(3, 1), graph.labels.repeat(3))


def test_rewired_edges_are_others_between_nodes_of_similar_degrees(graph):
    rewired = edits.rewire_edges(graph, np.random.default_rng(0))
    before, after = dense(graph.symmetric), dense(rewired.symmetric)
    assert torch.equal(after, after.T)
    assert not after.diagonal().any()
    assert torch.equal(after, dense(rewired.adjacency))
    assert (before * after).sum() < 0.6 * before.sum()
    assert 0.7 * before.sum() < after.sum() <= before.sum()
    assert (after.sum(1) <= before.sum(1)).all()
    assert not torch.equal(after, dense(edits.rewire_edges(graph, np.random.default_rng(1)).symmetric))
