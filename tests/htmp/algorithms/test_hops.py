"""Neighborhoods by distance equal their dense definitions, for all sizes of blocks."""

from fractions import Fraction

import numpy as np
import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.htmp.algorithms import hops
from heterophily.htmp.algorithms.hops import common_neighbors, k_hop, path_counts, second_hop

SIZES = {  # nnz((A°)²), strict second hop, fraction of edges that the threshold retains
    "chameleon-f": (130_698, 112_100, 0.12),
    "squirrel-f": (1_332_587, 1_236_368, 0.21),
    "actor": (2_590_054, 2_529_136, 0.001),
    "pubmed": (1_184_067, 1_075_702, 0.004),
    "photo": (6_141_876, 5_896_064, 0.04),
    "blogcatalog": (12_877_844, 12_529_162, 0.001),
    "flickr": (33_185_513, 32_698_462, 0.029),
}


@pytest.fixture(params=[60, 2**22])
def _blocks(request, monkeypatch):
    monkeypatch.setattr(hops, "MAX_BLOCK_ENTRIES", request.param)


def dense(pattern):
    mask = np.zeros(pattern.shape, dtype=bool)
    mask[pattern.rows.numpy(), pattern.indices.numpy()] = True
    assert mask.sum() == pattern.n_entries
    within_row = np.diff(pattern.rows.numpy()) == 0
    assert (np.diff(pattern.indices.numpy())[within_row] > 0).all()
    return mask


def distances(a):
    reached, result = np.eye(len(a), dtype=bool), np.full(a.shape, -1)
    for k in range(len(a)):
        result[reached & (result < 0)] = k
        reached = reached | (reached.astype(int) @ a > 0)
    return result


def edgeless(n=5):
    return Graph.from_edges([], n_nodes=n).symmetric


@pytest.mark.usefixtures("_blocks")
def test_hops_are_pairs_at_exact_distance(random_graph):
    a = dense(random_graph.symmetric)
    for k in (1, 2, 3, 4):
        assert (dense(k_hop(random_graph.symmetric, k)) == (distances(a) == k)).all()


def test_the_strict_second_hop_completes_two_steps(random_graph):
    a = dense(random_graph.symmetric)
    closed, strict = a | np.eye(len(a), dtype=bool), dense(second_hop(random_graph.symmetric))
    assert not (strict & closed).any()
    assert ((strict | closed) == (closed.astype(int) @ closed > 0)).all()


@pytest.fixture
def hubs(random_graph):
    """A random graph with two more nodes that are connected to each other and to almost every node."""
    joined = [(hub, i) for hub in (40, 41) for i in range(2, hub)]
    stored = random_graph.adjacency
    return Graph.from_edges(np.array([*zip(stored.rows, stored.indices, strict=True), *joined]))


@pytest.mark.usefixtures("_blocks")
def test_the_threshold_leaves_in_edges_with_heavy_common_neighbors(hubs):
    a = dense(hubs.symmetric)
    closed = a | np.eye(len(a), dtype=bool)
    degree = closed.sum(axis=1).tolist()
    thresholded = dense(second_hop(hubs.symmetric, rule="thresholded"))
    added = thresholded & ~dense(second_hop(hubs.symmetric))
    assert added.any()
    for i, j in np.argwhere(a):
        common = np.flatnonzero(closed[i] & closed[j])
        assert added[i, j] == (sum(Fraction(1, degree[k]) for k in common) > 1)
    assert not (added & ~a).any()
    s = closed / np.sqrt(np.outer(degree, degree))
    assert (thresholded == (s @ s - s - np.eye(len(s)) > 1e-9)).all()


def test_an_edge_whose_sum_is_one_is_not_above_the_threshold():
    triangle = Graph.from_edges([(0, 1), (1, 2), (2, 0)]).symmetric
    assert second_hop(triangle, rule="thresholded").n_entries == 0


@pytest.mark.usefixtures("_blocks")
def test_common_neighbors_are_counted_outside_the_graph(random_graph):
    a = dense(random_graph.symmetric)
    outside = ~(a | np.eye(len(a), dtype=bool))
    counts = a.astype(int) @ a
    for n in (1, 2, 3):
        found = dense(common_neighbors(random_graph.symmetric, at_least=n))
        assert (found == ((counts >= n) & outside)).all()


@pytest.mark.usefixtures("_blocks")
def test_paths_are_counted(random_graph):
    closed = dense(random_graph.symmetric) + np.eye(random_graph.n_nodes)
    for k in (1, 2, 3):
        counts = path_counts(random_graph.symmetric, k=k)
        assert (counts.to_dense().numpy() == np.linalg.matrix_power(closed, k)).all()
        assert (counts.values > 0).all()


def test_stored_loops_change_nothing(random_graph):
    stored = random_graph.adjacency.symmetrized()
    assert (stored.rows == stored.indices).any()
    for neighborhood in (second_hop, common_neighbors, lambda a: path_counts(a).pattern):
        plain = neighborhood(random_graph.symmetric)
        assert (dense(neighborhood(stored)) == dense(plain)).all()


def test_a_graph_without_edges_has_only_paths_that_stay():
    for neighborhood in (second_hop, common_neighbors, lambda a: k_hop(a, 3)):
        assert neighborhood(edgeless()).n_entries == 0
        assert neighborhood(edgeless()).shape == (5, 5)
    assert second_hop(edgeless(), rule="thresholded").n_entries == 0
    assert path_counts(edgeless()).to_dense().equal(path_counts(edgeless(), k=1).to_dense())


def test_what_cannot_be_is_refused():
    with pytest.raises(HeterophilyError, match="k must be a positive integer, got 0"):
        k_hop(edgeless(), 0)
    with pytest.raises(HeterophilyError, match=r"got 1\.5"):
        path_counts(edgeless(), k=1.5)
    with pytest.raises(HeterophilyError, match='unknown second hop "strikt"; did you mean "strict"'):
        second_hop(edgeless(), rule="strikt")


@pytest.mark.real
@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_the_real_graphs(name, real_graph):
    adjacency = real_graph(name).symmetric
    n_paths, n_strict, share = SIZES[name]
    assert path_counts(adjacency).pattern.n_entries == n_paths
    assert second_hop(adjacency).n_entries == n_strict
    heavy = second_hop(adjacency, rule="thresholded").n_entries - n_strict
    assert heavy / adjacency.n_entries == pytest.approx(share, abs=0.005)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("rule", ["strict", "thresholded"])
def test_a_limit_keeps_some_of_the_second_hop(random_graph, rule):
    whole = dense(second_hop(random_graph.symmetric, rule=rule))
    cut = dense(second_hop(random_graph.symmetric, rule=rule, limit=3))
    assert not (cut & ~whole).any()
    assert (cut.sum(axis=1) == np.minimum(whole.sum(axis=1), 3)).all()
    assert (whole.sum(axis=1) > 3).any()
    again = dense(second_hop(random_graph.symmetric, rule=rule, limit=3))
    assert (cut == again).all()
    wide = dense(second_hop(random_graph.symmetric, rule=rule, limit=40))
    assert (wide == whole).all()
