"""The structural multigraph equals a transcription of its rules, node by node."""

import math
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.sparse import edge_softmax
from heterophily.htmp.algorithms import warping
from heterophily.htmp.algorithms.structural import candidates, structural_relations
from heterophily.htmp.algorithms.warping import warping_distances


def warp(left, right):
    """DTW of two lists [(degree, how many), ..], cell by cell."""
    best = np.full((len(left) + 1, len(right) + 1), np.inf)
    best[0, 0] = 0
    for i, (a, m) in enumerate(left, start=1):
        for j, (b, n) in enumerate(right, start=1):
            cost = ((max(a, b) + 0.5) / (min(a, b) + 0.5) - 1) * max(m, n)
            best[i, j] = cost + min(best[i - 1, j], best[i, j - 1], best[i - 1, j - 1])
    return best[-1, -1]


def choose(v, degree):
    """Nodes of equal degree first, then the degree above or below that is closer, ties go up."""
    wanted = math.floor(2 * math.log2(len(degree))) + 1
    of_degree = {d: [u for u in range(len(degree)) if degree[u] == d] for d in set(degree)}
    found = []
    for d in sorted(of_degree, key=lambda d: (abs(d - degree[v]), -d)):
        found += [u for u in of_degree[d] if u != v]
    return found[:wanted]


def transcription(graph, depth, *, duplicates):
    """Per depth, how often and with what weight v receives messages from u, two (N, N) arrays each."""
    network = graph.to_networkx().to_undirected()
    network.remove_edges_from(nx.selfloop_edges(network))
    degree = [network.degree(v) for v in range(graph.n_nodes)]
    chosen = Counter(frozenset((v, u)) for v in network for u in choose(v, degree))
    distances = dict(nx.all_pairs_shortest_path_length(network))
    rings = [{v: [u for u, d in distances[v].items() if d == t] for v in network} for t in range(depth + 1)]
    f, result = dict.fromkeys(chosen, 0.0), []
    for ring in rings:
        lists = {v: sorted(Counter(degree[u] for u in ring[v]).items()) for v in network}
        f = {pair: f[pair] + warp(*(lists[v] for v in pair)) for pair in f if all(lists[v] for v in pair)}
        times, weights = np.zeros((2, graph.n_nodes, graph.n_nodes))
        for pair, distance in f.items():
            for u, v in (tuple(pair), tuple(pair)[::-1]):
                times[v, u] = chosen[pair] if duplicates else 1
                weights[v, u] = math.exp(-distance)
        sums = (times * weights).sum(axis=0)
        result.append((times, weights / np.where(sums > 0, sums, 1)))
    return result


@pytest.mark.parametrize("duplicates", [False, True])
def test_relations_follow_the_rules(random_graph, duplicates):
    found = structural_relations(random_graph.symmetric, depth=3, duplicates=duplicates)
    expected = transcription(random_graph, 3, duplicates=duplicates)
    assert len(found) == len(expected) == 4
    for matrix, (times, weights) in zip(found, expected, strict=True):
        dense, counted = np.zeros((2, *matrix.shape))
        at = matrix.pattern.rows.numpy(), matrix.pattern.indices.numpy()
        np.add.at(counted, at, 1)
        dense[at] = matrix.values
        assert (counted == times).all()
        assert (times == times.T).all()
        np.testing.assert_allclose(dense, weights, atol=1e-6)


def test_every_sender_spreads_a_weight_of_one(random_graph):
    for duplicates in (False, True):
        for matrix in structural_relations(random_graph.symmetric, duplicates=duplicates):
            sent = torch.zeros(40).index_add(0, matrix.pattern.indices, matrix.values)
            present = matrix.pattern.T.degrees > 0
            torch.testing.assert_close(sent, present.float())


def test_repeated_entries_are_added_in_products_and_apart_in_a_softmax(random_graph):
    matrix = structural_relations(random_graph.symmetric, depth=0, duplicates=True)[0]
    pattern, state = matrix.pattern, torch.randn(40, 3)
    dense = torch.from_numpy(matrix.to_scipy().toarray())
    assert pattern.n_entries > len(torch.unique(pattern.rows.long() * 40 + pattern.indices))
    torch.testing.assert_close(matrix @ state, dense @ state)
    torch.testing.assert_close(matrix.T @ state, dense.T @ state)
    even = edge_softmax(pattern, torch.zeros(pattern.n_entries))
    torch.testing.assert_close(even, 1 / pattern.degrees[pattern.rows.long()].float())


def test_candidates_follow_the_degrees():
    rng = np.random.default_rng(0)
    for n, top in ((1, 1), (2, 2), (3, 5), (50, 4), (50, 200), (300, 12)):
        degree = rng.integers(0, top, size=n)
        found = candidates(degree)
        for v in range(n):
            assert found[v].tolist() == choose(v, degree.tolist())


@pytest.mark.parametrize("band", [1, 3, 100])
@pytest.mark.parametrize("batch", [1, 100, 2**15])
def test_warping_is_exact_in_every_band(band, batch, monkeypatch):
    monkeypatch.setattr(warping, "INITIAL_BAND", band)
    monkeypatch.setattr(warping, "MAX_BATCH_CELLS", batch)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, size=(12, 40)) * (rng.random((12, 40)) < rng.random((12, 1)))
    counts[0, :], counts[1, :] = np.arange(40) == 39, np.arange(40) == 0
    degrees = np.sort(rng.choice(200, size=40, replace=False))
    pairs = np.array([(i, j) for i in range(12) for j in range(12)])
    found = warping_distances(sp.csr_array(counts), degrees, pairs)
    lists = [[(degrees[c], row[c]) for c in np.flatnonzero(row)] for row in counts]
    expected = [warp(lists[i], lists[j]) for i, j in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_distances_beyond_the_range_of_exp_keep_their_order():
    hub = [(0, i) for i in range(1, 4000)]
    chain = [(4000 + i, 4001 + i) for i in range(3)]
    matrix = structural_relations(Graph.from_edges(hub + chain).symmetric, depth=1)[1]
    assert torch.isfinite(matrix.values).all()
    sent = torch.zeros(4004).index_add(0, matrix.pattern.indices, matrix.values)
    torch.testing.assert_close(sent, torch.ones(4004), atol=1e-4, rtol=0)


def test_graphs_with_little_in_them():
    lonely = structural_relations(Graph.from_edges([], n_nodes=1).symmetric)
    assert [m.pattern.n_entries for m in lonely] == [0, 0, 0]
    edgeless = structural_relations(Graph.from_edges([], n_nodes=4).symmetric)
    assert [m.pattern.n_entries for m in edgeless] == [12, 0, 0]
    assert edgeless[0].values.tolist() == pytest.approx([1 / 3] * 12)
    with pytest.raises(HeterophilyError, match="depth must not be negative, got -1"):
        structural_relations(Graph.from_edges([(0, 1)]).symmetric, depth=-1)


@pytest.mark.real
def test_a_real_graph_follows_the_rules(real_graph):
    graph = real_graph("chameleon-f")
    found = structural_relations(graph.symmetric, depth=1)
    for matrix, (_, weights) in zip(found, transcription(graph, 1, duplicates=False), strict=True):
        np.testing.assert_allclose(matrix.to_dense(), weights, atol=1e-4)
