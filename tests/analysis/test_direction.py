"""The direction report equals its definitions, and recognizes graphs in which direction matters or has no meaning."""

import json
import math

import numpy as np
import pytest

from heterophily import Graph, diagnose
from heterophily.analysis.direction import measure_direction
from heterophily.core.compatibility import cmd, correct_predictions, directed_compatibility, neighborhood_accuracy
from heterophily.models.building import build
from heterophily.views.direction import direction_notice
from heterophily.views.page.graph_report import write_diagnosis

N, K = 60, 3


@pytest.fixture
def graph():
    """A random directed graph with a self-loop, an edge in both directions, and unknown labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(K, size=N)
    labels[:5] = -1
    edges = [*rng.integers(N, size=(150, 2)).tolist(), (1, 1), (7, 8), (8, 7)]
    return Graph.from_edges(edges, rng.random((N, 4)), labels=labels, n_classes=K)


def circle(n=40, *, k=4, reverse=False):
    """A cycle through the classes: all nodes of a class have the same successor class and predecessor class."""
    edges = [(i, (i + 1) % n) for i in range(n)]
    return Graph.from_edges([(b, a) for a, b in edges] if reverse else edges, labels=[i % k for i in range(n)])


def directed(graph):
    return graph.to_scipy().toarray() * (1 - np.eye(graph.n_nodes))


def average_neighborhood(a, labels):
    rows = np.zeros((K, K))
    for i in range(N):
        near = [labels[j] for j in range(N) if a[i, j] and labels[j] >= 0]
        if labels[i] >= 0 and near:
            rows[labels[i]] += np.bincount(near, minlength=K) / len(near)
    return rows / rows.sum(axis=1, keepdims=True)


def test_directed_matrices_are_those_of_incoming_and_of_outgoing_edges(graph):
    a, labels = directed(graph), graph.labels.numpy()
    incoming, outgoing = directed_compatibility(graph.adjacency, graph.labels, K)
    np.testing.assert_allclose(outgoing, average_neighborhood(a, labels))
    np.testing.assert_allclose(incoming, average_neighborhood(a.T, labels))
    report = measure_direction(graph)
    assert (report.cmd_incoming, report.cmd_outgoing) == (cmd(incoming), cmd(outgoing))


def predicted(matrices, labels):
    """The naive Bayes prediction of every labeled node, pair by pair."""
    known = [i for i in range(N) if labels[i] >= 0]
    correct = []
    for i in known:
        scores = []
        for k in range(K):
            score = math.log(sum(labels[m] == k for m in known if m != i))
            for a in matrices:
                totals = np.ones(K)  # one more edge of every kind
                for m in known:
                    if labels[m] == k and m != i:
                        totals += [sum(a[m, j] * (labels[j] == c) for j in known) for c in range(K)]
                counts = [sum(a[i, j] * (labels[j] == c) for j in known) for c in range(K)]
                score += float(np.dot(counts, np.log(totals / totals.sum())))
            scores.append(score)
        correct.append(int(np.argmax(scores)) == labels[i])
    return correct


def test_predictions_add_the_evidence_of_both_directions(graph):
    a, labels, out = directed(graph), graph.labels.tolist(), graph.adjacency.without_diagonal()
    found = correct_predictions([out.T, out], graph.labels, K)
    assert found.tolist() == predicted([a.T, a], labels)
    alone = correct_predictions([graph.symmetric], graph.labels, K)
    assert alone.tolist() == predicted([np.maximum(a, a.T)], labels)
    assert neighborhood_accuracy(graph.symmetric, graph.labels, K)[0] == pytest.approx(np.mean(alone.numpy()))


def test_the_advantage_is_paired(graph):
    report, out = measure_direction(graph), graph.adjacency.without_diagonal()
    kinds = {"in": [out.T], "out": [out], "both": [out.T, out]}
    right = {name: correct_predictions(kind, graph.labels, K).double() for name, kind in kinds.items()}
    gain = right[report.best] - correct_predictions([graph.symmetric], graph.labels, K).double()
    assert report.accuracy[report.best] == max(float(each.mean()) for each in right.values())
    assert report.advantage == pytest.approx(float(gain.mean()))
    assert report.standard_error == pytest.approx(float(gain.std()) / len(gain) ** 0.5)


@pytest.mark.parametrize("reverse", [False, True])
def test_direction_carries_information_in_a_directed_cycle_of_classes(reverse):
    report = measure_direction(circle(reverse=reverse))
    assert report.carries_information
    assert report.accuracy["both"] == 1.0
    assert report.accuracy["symmetric"] < 1.0
    assert report.one_sided == 1.0
    assert "carries information" in report.sentence
    assert json.loads(json.dumps(report.to_dict()))["best"] == report.best


def test_direction_adds_little_in_a_random_graph(graph):
    report = measure_direction(graph)
    assert not report.is_sorted
    assert report.one_sided == pytest.approx(
        np.sum((directed(graph) > 0) != (directed(graph).T > 0)) / graph.symmetric.n_entries
    )
    assert report.carries_information == (report.advantage >= max(0.01, 2 * report.standard_error))


@pytest.mark.parametrize("swap", [False, True])
def test_sorted_edges_have_no_direction(swap):
    cycle = circle().symmetric
    pairs = [(i, j) for i, j in zip(cycle.rows.tolist(), cycle.indices.tolist(), strict=True) if (i < j) != swap]
    report = measure_direction(Graph.from_edges(pairs, labels=[i % 4 for i in range(40)]))
    assert report.is_sorted
    assert not report.carries_information
    assert "probably undirected" in report.sentence


def test_an_undirected_graph_has_no_report():
    graph = circle()
    assert measure_direction(graph.replace(adjacency=graph.symmetric)) is None


@pytest.mark.parametrize(
    ("name", "settings", "is_reported"),
    [("gcn", {}, True), ("gcn", {"direction": "both"}, False), ("dir-sage", {}, False), ("mlp", {}, False)],
)
def test_a_method_that_ignores_the_direction_is_reported(graph, name, settings, is_reported):
    method = build(name, graph, **settings).method
    assert ("uses each edge in both directions" in direction_notice(method, graph)) == is_reported
    assert direction_notice(method, graph.replace(adjacency=graph.symmetric)) == ""


@pytest.mark.real
@pytest.mark.parametrize("name", ["chameleon-f", "chameleon", "wisconsin", "tolokers"])
def test_sorted_datasets_are_recognized(real_graph, name):
    assert measure_direction(real_graph(name)).is_sorted == (name in ("wisconsin", "tolokers"))


def test_a_diagnosis_contains_the_direction(graph, tmp_path):
    diagnosis = diagnose(graph)
    assert diagnosis.direction.sentence == measure_direction(graph).sentence
    assert json.loads(json.dumps(diagnosis.to_dict()["direction"]))["sentence"] == diagnosis.direction.sentence
    page = write_diagnosis(diagnosis, tmp_path / "report.html", source="graph").read_text()
    assert "Direction of edges" in page
    assert diagnosis.direction.sentence in page
    undirected = diagnose(graph.replace(adjacency=graph.symmetric))
    assert undirected.direction is None
    assert undirected.to_dict()["direction"] is None
    assert "carries information" in diagnose(circle()).verdict
