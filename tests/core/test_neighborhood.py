"""Neighborhood features: equal to a dense transcription, and independent of a node's own label."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily.core import neighborhood as nb
from heterophily.core.graph import Graph

N, K = 40, 3


@pytest.fixture(scope="module")
def graph():
    generator = np.random.default_rng(0)
    edges = generator.integers(0, N - 2, (90, 2))  # the last two nodes have no neighbors
    labels = generator.integers(-1, K, N)
    return Graph.from_edges(edges, generator.normal(size=(N, 4)), labels=labels, n_nodes=N, n_classes=K)


@pytest.fixture(scope="module")
def dense(graph):
    return nb.as_scipy(graph.symmetric).toarray()


def statistics(values):
    return values.mean(axis=0), values.min(axis=0), values.max(axis=0), values.std(axis=0)


def test_statistics_of_neighbors_equal_numpy(graph, dense):
    x = graph.features.numpy()
    result = nb.neighbor_statistics(graph.symmetric, x)
    for node in range(N):
        neighbors = dense[node] > 0
        expected = statistics(x[neighbors]) if neighbors.any() else np.zeros((4, 4))
        for name, value in zip(nb.STATISTICS, expected, strict=True):
            np.testing.assert_allclose(result[name][node], value, atol=1e-5)


def test_statistics_of_two_hops_are_those_of_walks(graph, dense):
    x = graph.features.numpy()
    result = nb.neighbor_statistics(graph.symmetric, x, n_hops=2)
    for node in range(N):
        ends = [end for step in np.flatnonzero(dense[node]) for end in np.flatnonzero(dense[step])]
        weights = [1 / dense[step].sum() for step in np.flatnonzero(dense[node]) for _ in range(int(dense[step].sum()))]
        if not ends:
            assert not any(result[name][node].any() for name in nb.STATISTICS)
            continue
        mean = np.average(x[ends], axis=0, weights=weights)
        np.testing.assert_allclose(result["mean"][node], mean, atol=1e-5)
        np.testing.assert_allclose(result["max"][node], x[ends].max(axis=0), atol=1e-6)
        variance = np.average((x[ends] - mean) ** 2, axis=0, weights=weights)
        np.testing.assert_allclose(result["std"][node], np.sqrt(variance), atol=1e-4)


def test_shares_count_labeled_neighbors(graph, dense):
    labels = graph.labels.numpy()
    shares, counts = nb.label_shares(graph.symmetric, labels, K, smoothing=0.0)
    expected = np.stack([dense[:, labels == k].sum(axis=1) for k in range(K)], axis=1)
    np.testing.assert_allclose(counts, expected.sum(axis=1))
    known = counts > 0
    np.testing.assert_allclose(
        shares[known], (expected / expected.sum(axis=1, keepdims=True).clip(1))[known], atol=1e-6
    )


def test_shares_without_labeled_neighbors_are_class_frequencies(graph):
    shares, counts = nb.label_shares(graph.symmetric, graph.labels.numpy(), K)
    sizes = np.bincount(graph.labels[graph.labels >= 0], minlength=K)
    assert counts[-1] == 0
    np.testing.assert_allclose(shares[-1], sizes / sizes.sum(), atol=1e-6)


@pytest.mark.parametrize("compute", [nb.two_hop_label_shares, nb.propagated_labels])
def test_shares_out_of_fold_do_not_depend_on_the_own_label(graph, compute):
    def rows(labels):
        result = compute(graph.symmetric, labels, K)
        return result[0] if isinstance(result, tuple) else result

    labels = graph.labels.numpy()
    folds = nb.make_folds(labels, n_folds=4)
    result = nb.out_of_fold(rows, labels, folds)
    for node in np.flatnonzero(labels >= 0):
        changed = labels.copy()
        changed[node] = (labels[node] + 1) % K
        np.testing.assert_array_equal(nb.out_of_fold(rows, changed, folds)[node], result[node])
    unknown = labels < 0
    np.testing.assert_array_equal(result[unknown], rows(labels)[unknown])


def test_folds_are_stratified_and_reproducible():
    labels = np.repeat([0, 1, -1], [60, 15, 5])
    folds = nb.make_folds(labels, n_folds=5, seed=1)
    assert (folds[labels < 0] == -1).all()
    assert np.bincount(folds[labels == 0]).tolist() == [12] * 5
    assert np.bincount(folds[labels == 1]).tolist() == [3] * 5
    np.testing.assert_array_equal(folds, nb.make_folds(labels, n_folds=5, seed=1))


def test_positions_are_eigenvectors_with_a_fixed_sign(graph, dense):
    positions = nb.spectral_positions(graph.symmetric, width=3)
    degrees = dense.sum(axis=1) + dense.sum() / N
    normalized = dense / np.sqrt(degrees[:, None] * degrees)
    values = np.linalg.eigvalsh(normalized)[::-1]
    np.testing.assert_allclose((positions[:, 0] ** 2).mean(), values[0] ** 2, rtol=1e-3)
    np.testing.assert_allclose(normalized @ positions[:, 0], values[0] * positions[:, 0], atol=1e-2)
    assert (positions.max(axis=0) >= -positions.min(axis=0)).all()
    assert not positions[-2:].any()
    np.testing.assert_array_equal(positions, nb.spectral_positions(graph.symmetric, width=3))


@pytest.mark.parametrize("n_nodes", [1, 3])
def test_graphs_without_edges_give_finite_numbers(n_nodes):
    graph = Graph.from_edges([], torch.ones(n_nodes, 2), labels=[0] * n_nodes, n_nodes=n_nodes, n_classes=2)
    labels, pattern = graph.labels.numpy(), graph.symmetric
    blocks = [
        *nb.neighbor_statistics(pattern, graph.features.numpy(), n_hops=2).values(),
        *nb.degree_columns(pattern).values(),
        nb.spectral_positions(pattern, width=4),
        *nb.label_shares(pattern, labels, 2),
        *nb.two_hop_label_shares(pattern, labels, 2),
        nb.propagated_labels(pattern, labels, 2),
    ]
    assert all(len(block) == n_nodes and np.isfinite(block).all() for block in blocks)


def test_wide_features_are_projected_without_a_dense_copy():
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(rng.random((50, 300)) * (rng.random((50, 300)) < 0.05))
    sparse = Graph.from_edges([], matrix, n_nodes=50).features
    projection = nb.feature_projection(sparse, width=8)
    assert projection.shape == (300, 8)
    np.testing.assert_allclose(nb.project_features(sparse, projection), matrix @ projection, atol=1e-5)
    assert nb.feature_projection(sparse, width=300) is None
    np.testing.assert_allclose(nb.project_features(sparse, None), matrix.toarray(), atol=1e-6)
