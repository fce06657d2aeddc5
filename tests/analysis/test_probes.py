"""The probes: labels never leak, scores are those of scikit-learn, intervals are those of the published test."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.preprocessing import StandardScaler

from heterophily import Graph
from heterophily.analysis import probes as module
from heterophily.analysis.probe_columns import probe_columns
from heterophily.analysis.probes import (
    MAX_PROBED_NODES,
    Difference,
    corrected_difference,
    measure_probes,
    ranking_score,
    ridge_scores,
    tree_scores,
)

N, K = 90, 3


@pytest.fixture
def graph():
    """Random edges, some unlabeled and isolated nodes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(K, size=N)
    labels[::7] = -1
    return Graph.from_edges(rng.integers(5, N, size=(250, 2)), rng.normal(size=(N, 4)), labels=labels, n_classes=K)


def brute_force_counts(graph, hidden):
    """Count the labels one and two hops away, without those of hidden nodes and without a node's own label."""
    a = np.zeros((N, N))
    a[graph.symmetric.rows.numpy(), graph.symmetric.indices.numpy()] = 1
    walk = a / np.maximum(a.sum(axis=1, keepdims=True), 1)
    labels = graph.labels.numpy().copy()
    labels[hidden] = -1
    one, two = np.zeros((N, K)), np.zeros((N, K))
    for i in range(N):
        for j in range(N):
            if labels[j] >= 0 and i != j:
                one[i, labels[j]] += a[i, j]
                two[i, labels[j]] += (a @ walk)[i, j]
    return one, two


def test_label_columns_depend_neither_on_the_own_label_nor_on_hidden_ones(graph):
    nodes = np.flatnonzero(graph.labeled.numpy())[::2]
    columns = probe_columns(graph, nodes)
    hidden = np.arange(0, len(nodes), 3)
    one, two = brute_force_counts(graph, nodes[hidden])
    prior = np.bincount(graph.labels[graph.labeled].numpy()) / int(graph.labeled.sum())
    expected = [(c[nodes] + prior) / (c[nodes].sum(axis=1, keepdims=True) + 1) for c in (one, two)]
    found = columns.label_columns(hidden)
    np.testing.assert_allclose(found[:, : 2 * K], np.hstack(expected), atol=1e-6)
    np.testing.assert_allclose(found[:, -1], np.log1p(one[nodes].sum(axis=1)), atol=1e-6)


def test_the_score_is_the_mean_area_under_the_curve():
    rng = np.random.default_rng(0)
    classes, scores = rng.integers(4, size=200), rng.normal(size=(200, 4)).round(1)
    expected = [2 * roc_auc_score(classes == k, scores[:, k]) - 1 for k in range(4)]
    assert ranking_score(classes, scores) == pytest.approx(np.mean(expected))
    assert ranking_score(np.zeros(5, dtype=int), scores[:5]) == 0.0


def test_the_linear_probe_is_ridge_regression_with_the_best_penalty():
    rng = np.random.default_rng(0)
    x, classes = rng.normal(size=(60, 5)), rng.integers(3, size=60)
    x[:, 1] *= 1e6
    scaler = StandardScaler().fit(x)
    targets = np.eye(3)[classes]
    errors = {
        penalty: (
            (cross_val_predict(Ridge(penalty), scaler.transform(x), targets, cv=LeaveOneOut()) - targets) ** 2
        ).mean()
        for penalty in module.PENALTIES
    }
    best = Ridge(min(errors, key=errors.get)).fit(scaler.transform(x), targets)
    new = rng.normal(size=(7, 5)) * [1, 1e6, 1, 1, 1]
    expected = best.predict(scaler.transform(new)) - best.intercept_
    np.testing.assert_allclose(ridge_scores(x, classes, new, n_classes=3), expected, atol=1e-8)
    constant = np.ones((60, 2))
    assert not ridge_scores(constant, classes, constant[:4], n_classes=3).any()


def test_trees_learn_what_is_not_linear_and_skip_missing_classes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    classes = 2 * (x[:, 0] * x[:, 1] > 0)
    scores = tree_scores(x[:300], classes[:300], x[300:], n_classes=3)
    assert scores.shape == (100, 3)
    assert not scores[:, 1].any()
    assert ranking_score(classes[300:], scores) > 0.7
    linear = ridge_scores(x[:300], classes[:300], x[300:], n_classes=3)
    assert abs(ranking_score(classes[300:], linear)) < 0.3


def test_intervals_are_those_of_the_corrected_test():
    values = np.array([0.1, 0.05, 0.2, 0.0, 0.15, 0.12, 0.03, 0.18, 0.08, 0.09])
    difference = corrected_difference(values, 5)
    error = np.sqrt(values.var(ddof=1) * (1 / 10 + 0.2 / 0.8))
    assert difference.error == pytest.approx(error)
    assert difference.interval() == pytest.approx(stats.t.interval(0.95, 9, values.mean(), error))
    assert difference.probability_above() == pytest.approx(stats.t.cdf(values.mean() / error, 9))
    assert difference.points == "+10.0"


def test_equal_scores_are_a_tie():
    tie = corrected_difference(np.zeros(10), 5)
    assert tie.interval() == (0.0, 0.0)
    assert tie.probability_above() == 0.5
    assert Difference(0.1, 0.0, 9).probability_above() == 1.0


def test_too_few_labels_are_not_probed(graph):
    labels = torch.full((N,), -1)
    labels[:3] = torch.tensor([0, 0, 1])
    assert measure_probes(graph.replace(labels=labels)) is None


def test_probes_are_reproducible_and_bounded_by_the_sample(drawn):
    graph = drawn(0.2, "easy", 18)
    first, second = (measure_probes(graph, sample=120) for _ in range(2))
    assert first.n_sampled == 120 < MAX_PROBED_NODES
    assert first.to_dict() == second.to_dict()
    assert {len(values) for values in first.scores.values()} == {10}


def test_position_predicts_communities_without_features():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    edges = rng.integers(300, size=(12_000, 2))
    same = labels[edges[:, 0]] == labels[edges[:, 1]]
    graph = Graph.from_edges(edges[same | (rng.random(12_000) < 0.1)], labels=labels)
    probes = measure_probes(graph)
    assert probes.scores["position"].mean() > 0.9
    assert probes.difference("position", "features").mean == pytest.approx(probes.scores["position"].mean())
