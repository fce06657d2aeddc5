"""M and what is read off it equal naive loops over nodes and neighbors."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics.pairwise import cosine_similarity

from heterophily.compatibility import (
    discriminability,
    neighborhood_accuracy,
    neighborhood_overlap,
    norm1,
    observed_compatibility,
    semantic_neighborhoods,
    similarity,
)
from heterophily.graph import Graph

BIPARTITE = Graph.from_edges(
    [(i, j) for i in range(4) for j in range(4, 7)], labels=[0] * 4 + [1] * 3
)


def parts(graph):
    return graph.symmetric, graph.labels, graph.n_classes


def naive_neighborhoods(graph):
    shares = np.zeros((graph.n_nodes, graph.n_classes))
    labels, adjacency = graph.labels.tolist(), graph.to_scipy().toarray()
    for i in range(graph.n_nodes):
        neighbors = [j for j in range(graph.n_nodes) if adjacency[i, j] or adjacency[j, i]]
        known = [labels[j] for j in neighbors if j != i and labels[j] >= 0]
        for k in known:
            shares[i, k] += 1 / len(known)
    return shares


def naive_compatibility(graph):
    shares, labels = naive_neighborhoods(graph), graph.labels.numpy()
    matrix = np.zeros((graph.n_classes, graph.n_classes))
    for k in range(graph.n_classes):
        members = shares[(labels == k) & (shares.sum(axis=1) > 0)]
        matrix[k] = members.mean(axis=0) if len(members) else 0
    return matrix


def test_norm1_makes_rows_of_length_one_and_leaves_zeros():
    rows = norm1(torch.tensor([[1.0, -3.0], [0.0, 0.0], [2.0, 0.0]]))
    assert rows.tolist() == [[0.25, -0.75], [0.0, 0.0], [1.0, 0.0]]


def test_semantic_neighborhoods_equal_loops(random_graph):
    found = semantic_neighborhoods(*parts(random_graph)).numpy()
    np.testing.assert_allclose(found, naive_neighborhoods(random_graph), atol=1e-12)
    assert not found[:3].any()  # isolated nodes


def test_compatibility_equals_loops(random_graph):
    found = observed_compatibility(*parts(random_graph)).numpy()
    np.testing.assert_allclose(found, naive_compatibility(random_graph), atol=1e-12)
    assert not found[4].any()  # the class without nodes


def test_classes_keep_their_compatibility_under_other_numbers(random_graph):
    order = torch.tensor([2, 0, 4, 1, 3])
    labels = torch.where(random_graph.labelled, order[random_graph.labels], -1)
    renumbered = observed_compatibility(random_graph.symmetric, labels, 5)
    original = observed_compatibility(*parts(random_graph))
    torch.testing.assert_close(renumbered[order][:, order], original)
    assert discriminability(renumbered) == pytest.approx(discriminability(original))


def test_nodes_keep_their_neighborhoods_under_other_numbers(random_graph):
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    edges = torch.stack([random_graph.adjacency.rows, random_graph.adjacency.indices], dim=1)
    labels = torch.empty_like(random_graph.labels)
    labels[order] = random_graph.labels
    renumbered = Graph.from_edges(order[edges.long()], labels=labels, n_classes=5)
    torch.testing.assert_close(
        observed_compatibility(*parts(renumbered)), observed_compatibility(*parts(random_graph))
    )


def test_discriminability_is_one_less_mean_cosine_similarity(random_graph):
    matrix = observed_compatibility(*parts(random_graph))
    rows = matrix[matrix.sum(dim=1) > 0].numpy()
    cosines = cosine_similarity(rows)[np.triu_indices(len(rows), 1)]
    assert discriminability(matrix) == pytest.approx(1 - cosines.mean())
    np.testing.assert_allclose(similarity(matrix), cosine_similarity(matrix), atol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "value"),
    [
        (np.eye(3), 1),
        (np.eye(3)[[1, 2, 0]], 1),
        (np.full((3, 3), 1 / 3), 0),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 0]], 1),
        ([[1, 0], [0, 0]], 0),
        ([[1.0, 0.0], [0.5, 0.5]], 1 - np.sqrt(0.5)),
    ],
)
def test_discriminability_has_known_values(matrix, value):
    assert discriminability(torch.as_tensor(matrix).double()) == pytest.approx(value)


def test_a_complete_bipartite_graph_is_heterophilous_and_discriminable():
    matrix = observed_compatibility(*parts(BIPARTITE))
    assert matrix.tolist() == [[0, 1], [1, 0]]
    assert discriminability(matrix) == 1
    assert neighborhood_overlap(*parts(BIPARTITE)).tolist() == [[1, 0], [0, 1]]
    assert neighborhood_accuracy(*parts(BIPARTITE)) == (1, pytest.approx(4 / 7))


def test_overlap_is_one_less_the_kolmogorov_smirnov_distance(random_graph):
    shares, labels = naive_neighborhoods(random_graph), random_graph.labels.numpy()
    means = naive_compatibility(random_graph)
    members = [shares[(labels == k) & (shares.sum(axis=1) > 0)] for k in range(5)]
    expected = np.ones((5, 5))
    for a, b in np.argwhere(~np.eye(5, dtype=bool)):
        if len(members[a]) and len(members[b]):
            line = means[a] - means[b]
            sides = [np.round(members[k] @ line, 9) for k in (a, b)]
            expected[a, b] = 1 - stats.ks_2samp(*sides).statistic
    np.testing.assert_allclose(neighborhood_overlap(*parts(random_graph)), expected, atol=1e-6)


def naive_guess(graph, node):
    """The class that all other nodes and the classes of its neighbors suggest for a node."""
    adjacency = graph.to_scipy().toarray()
    adjacency = (adjacency + adjacency.T > 0) & ~np.eye(graph.n_nodes, dtype=bool)
    labels, k = graph.labels.numpy(), graph.n_classes
    counts = adjacency.astype(int) @ (labels[:, None] == np.arange(k))
    scores = []
    for c in range(k):
        others = [i for i in range(graph.n_nodes) if labels[i] == c and i != node]
        shares = counts[others].sum(axis=0) + 1
        with np.errstate(divide="ignore"):
            scores.append(np.log(len(others)) + counts[node] @ np.log(shares / shares.sum()))
    return int(np.argmax(scores))


def test_neighborhood_accuracy_judges_each_node_without_itself(random_graph):
    nodes = random_graph.labelled.nonzero().flatten().tolist()
    hits = [naive_guess(random_graph, i) == int(random_graph.labels[i]) for i in nodes]
    sizes = np.bincount(random_graph.labels[random_graph.labelled])
    accuracy, largest = neighborhood_accuracy(*parts(random_graph))
    assert accuracy == pytest.approx(np.mean(hits))
    assert largest == pytest.approx(sizes.max() / sizes.sum())


def test_a_node_is_not_recognised_by_its_own_neighborhood():
    # Node 0 alone in class 2 has neighbors of class 1; nothing else tells that class 2 does.
    graph = Graph.from_edges([(0, 1), (0, 2), (3, 4)], labels=[2, 1, 1, 0, 0])
    assert naive_guess(graph, 0) != 2
    accuracy, _ = neighborhood_accuracy(*parts(graph))
    assert accuracy == pytest.approx(
        np.mean([naive_guess(graph, i) == y for i, y in enumerate([2, 1, 1, 0, 0])])
    )
