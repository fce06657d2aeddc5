"""M, M̂, and the measures derived from them equal naive loops over nodes and neighbors."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics.pairwise import cosine_similarity

from heterophily.core.compatibility import (
    cmd,
    confidence,
    degree_weights,
    discriminability,
    edge_compatibility,
    estimated_compatibility,
    neighborhood_accuracy,
    neighborhood_overlap,
    norm1,
    observed_compatibility,
    semantic_neighborhoods,
    similarity,
    weighted_compatibility,
)
from heterophily.core.graph import Graph

BIPARTITE = Graph.from_edges([(i, j) for i in range(4) for j in range(4, 7)], labels=[0] * 4 + [1] * 3)


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
    labels = torch.where(random_graph.labeled, order[random_graph.labels], -1)
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
    torch.testing.assert_close(observed_compatibility(*parts(renumbered)), observed_compatibility(*parts(random_graph)))


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
    nodes = random_graph.labeled.nonzero().flatten().tolist()
    hits = [naive_guess(random_graph, i) == int(random_graph.labels[i]) for i in nodes]
    sizes = np.bincount(random_graph.labels[random_graph.labeled])
    accuracy, largest = neighborhood_accuracy(*parts(random_graph))
    assert accuracy == pytest.approx(np.mean(hits))
    assert largest == pytest.approx(sizes.max() / sizes.sum())


def test_a_node_is_not_recognised_by_its_own_neighborhood():
    # Node 0 alone in class 2 has neighbors of class 1; nothing else indicates that class 2 does.
    graph = Graph.from_edges([(0, 1), (0, 2), (3, 4)], labels=[2, 1, 1, 0, 0])
    assert naive_guess(graph, 0) != 2
    accuracy, _ = neighborhood_accuracy(*parts(graph))
    assert accuracy == pytest.approx(np.mean([naive_guess(graph, i) == y for i, y in enumerate([2, 1, 1, 0, 0])]))


def soft_labels(graph, seed=0):
    """Soft labels of all nodes, some of them certain and some uniform."""
    n, k = graph.n_nodes, graph.n_classes
    soft = np.random.default_rng(seed).dirichlet(np.ones(k), size=n)
    soft[: n // 3] = np.eye(k)[np.arange(n // 3) % k]
    soft[-n // 4 :] = 1 / k
    return torch.as_tensor(soft)


def naive_estimate(graph, soft, weights):
    """M̂ by loops: the weighted mean over nodes of the confident classes of their neighbors."""
    adjacency = graph.to_scipy().toarray()
    adjacency = (adjacency + adjacency.T > 0) & ~np.eye(graph.n_nodes, dtype=bool)
    soft, weights, k = soft.numpy(), weights.numpy(), graph.n_classes
    g = np.array([np.log(k) + sum(p * np.log(p + 1e-8) for p in row) for row in soft])
    g[g < 1e-6] = 0
    sums = np.zeros((k, k))
    for i in range(graph.n_nodes):
        heard = sum((g[j] * soft[j] for j in np.flatnonzero(adjacency[i])), np.zeros(k))
        if heard.sum():
            sums += np.outer(weights[i] * g[i] * soft[i], heard / heard.sum())
    return sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-12)


def dense_graph(n_nodes=60, k=3, seed=0):
    """Every node has more than 3 K neighbors and a label."""
    rng = np.random.default_rng(seed)
    edges = np.argwhere(rng.random((n_nodes, n_nodes)) < 0.3)
    graph = Graph.from_edges(edges, labels=rng.integers(k, size=n_nodes))
    assert int(graph.degrees.min()) > 3 * k
    return graph


@pytest.mark.parametrize("k", [2, 3, 5, 6, 10, 18])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_confidence_runs_from_exactly_zero_to_log_k(k, dtype):
    rows = torch.cat([torch.full((1, k), 1 / k), torch.eye(k)]).to(dtype)
    found = confidence(rows)
    assert found[0] == 0
    torch.testing.assert_close(found[1:], torch.full((k,), np.log(k), dtype=dtype))


def test_confidence_is_what_entropy_leaves(random_graph):
    soft = soft_labels(random_graph)
    expected = np.log(5) - stats.entropy(soft.numpy(), axis=1)
    np.testing.assert_allclose(confidence(soft), expected, atol=1e-6)
    assert confidence(soft).min() >= 0


def test_the_weight_of_a_degree_has_three_branches_that_meet():
    degrees = torch.tensor([0, 1, 4, 5, 8, 12, 13, 100])
    expected = [0, 1 / 8, 1 / 2, 0.25 + 5 / 16, 0.75, 1, 1, 1]
    assert degree_weights(degrees, 4).tolist() == expected
    near = degree_weights(torch.tensor([4 - 1e-3, 4 + 1e-3, 12 - 1e-3, 12 + 1e-3]), 4)
    assert near.tolist() == pytest.approx([0.5, 0.5, 1, 1], abs=1e-3)


def test_the_program_overwrites_the_first_branch():
    degrees = torch.tensor([0, 1, 4, 5, 12, 13])
    found = degree_weights(degrees, 4, rule="overwritten").tolist()
    assert found == [0.25, 0.25 + 1 / 16, 0.5, 0.25 + 5 / 16, 1, 1]


@pytest.mark.parametrize("rule", ["three_branches", "overwritten"])
def test_estimated_compatibility_equals_loops(random_graph, rule):
    soft = soft_labels(random_graph)
    weights = degree_weights(random_graph.degrees, 5, rule=rule).double()
    found = estimated_compatibility(random_graph.symmetric, soft, weights)
    np.testing.assert_allclose(found, naive_estimate(random_graph, soft, weights), atol=1e-9)
    torch.testing.assert_close(found.sum(dim=1), torch.ones(5).double())


def test_with_all_labels_and_many_neighbors_the_estimate_is_what_is_observed():
    graph = dense_graph()
    soft = torch.eye(3).double()[graph.labels]
    weights = degree_weights(graph.degrees, 3).double()
    assert bool((weights == 1).all())
    found = estimated_compatibility(graph.symmetric, soft, weights)
    torch.testing.assert_close(found, observed_compatibility(*parts(graph)))


def test_nodes_of_few_neighbors_count_less_in_the_estimate(random_graph):
    soft = soft_labels(random_graph)
    by_degree = estimated_compatibility(random_graph.symmetric, soft, degree_weights(random_graph.degrees, 5).double())
    alike = estimated_compatibility(random_graph.symmetric, soft, torch.ones(40).double())
    assert not torch.allclose(by_degree, alike)


def test_isolated_nodes_do_not_change_the_estimate(random_graph):
    soft = soft_labels(random_graph)
    edges = torch.stack([random_graph.adjacency.rows, random_graph.adjacency.indices], dim=1)
    more = Graph.from_edges(edges, n_nodes=47, n_classes=5)
    wider = torch.cat([soft, torch.eye(5).double()[[0, 0, 1, 2, 2, 3, 4]]])
    estimates = [
        estimated_compatibility(g.symmetric, c, degree_weights(g.degrees.clamp_min(1), 5).double())
        for g, c in ((random_graph, soft), (more, wider))
    ]
    torch.testing.assert_close(*estimates)


def test_classes_keep_their_estimate_under_other_numbers(random_graph):
    order, soft = torch.tensor([2, 0, 4, 1, 3]), soft_labels(random_graph)
    weights = degree_weights(random_graph.degrees, 5).double()
    original = estimated_compatibility(random_graph.symmetric, soft, weights)
    renumbered = estimated_compatibility(random_graph.symmetric, soft[:, order.argsort()], weights)
    torch.testing.assert_close(renumbered[order][:, order], original)


def test_cmd_is_the_mean_distance_of_different_rows():
    assert cmd(torch.eye(4)) == pytest.approx(2.0)
    assert cmd(torch.full((3, 3), 1 / 3)) == 0.0
    matrix = torch.tensor([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [0.1, -0.4, 1.3]], dtype=torch.double)
    distances = [(matrix[i] - matrix[j]).abs().sum() for i in range(3) for j in range(3) if i != j]
    assert cmd(matrix) == pytest.approx(float(sum(distances)) / 6)
    assert cmd(torch.cat([matrix, torch.zeros(1, 3)])) == pytest.approx(cmd(matrix))
    assert cmd(torch.zeros(3, 3)) == 0.0


def test_edges_have_equal_weight_in_the_matrix_of_edge_counts(random_graph):
    graph = random_graph
    counts = np.zeros((5, 5))
    for i, j in zip(graph.symmetric.rows.tolist(), graph.symmetric.indices.tolist(), strict=True):
        a, b = int(graph.labels[i]), int(graph.labels[j])
        if a >= 0 and b >= 0:
            counts[a, b] += 1
    expected = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)
    np.testing.assert_allclose(edge_compatibility(*parts(graph)).numpy(), expected)


@pytest.mark.real
@pytest.mark.parametrize(("name", "published"), [("chameleon-f", 0.274), ("squirrel-f", 0.076)])
def test_cmd_of_real_graphs_is_the_published_one(real_graph, name, published):
    matrix = edge_compatibility(*parts(real_graph(name)))
    assert cmd(matrix) == pytest.approx(published, abs=5e-4)


def test_the_weighted_matrix_of_known_operators():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], labels=[0, 1, 0, 1, 1])
    classes = torch.eye(2, dtype=torch.double)[graph.labels]
    mean = norm1(torch.as_tensor(graph.to_scipy().toarray()).double() + torch.as_tensor(graph.to_scipy().toarray()).T)
    observed = observed_compatibility(*parts(graph))
    torch.testing.assert_close(weighted_compatibility(classes, graph.labels), torch.eye(2, dtype=torch.double))
    torch.testing.assert_close(weighted_compatibility(mean @ classes, graph.labels), observed)
    difference = weighted_compatibility(classes - mean @ classes, graph.labels)
    torch.testing.assert_close(difference, torch.eye(2, dtype=torch.double) - observed)
    assert difference.min() < 0


def test_the_weighted_matrix_ignores_receivers_without_a_label():
    sums = torch.tensor([[1.0, 0.0], [5.0, 5.0], [0.0, -2.0]])
    expected = torch.tensor([[1.0, 0.0], [0.0, -2.0]], dtype=torch.double)
    torch.testing.assert_close(weighted_compatibility(sums, torch.tensor([0, -1, 1])), expected)
