"""Example nodes, uncertain nodes, and the map of nodes."""

import numpy as np
import pytest
import torch

from heterophily import Graph, NodeClassifier, load
from heterophily.views.example_nodes import N_UNCERTAIN, Predictions, example_charts, uncertain_nodes
from heterophily.views.fit import scored_nodes
from heterophily.views.node_map import MAX_POINTS, node_map

FAST = {"max_epochs": 20}


@pytest.fixture(scope="module")
def fitted():
    return NodeClassifier("h2gcn", random_state=0, **FAST).fit(load("digits"))


def star():
    """Node 0 is next to 1 to 4, and node 5 only to 1; node 6 is alone."""
    edges = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 5)]
    return Graph.from_edges(edges, labels=[0, 1, 1, 1, 0, 0, 1], n_nodes=7, node_ids=[f"n{i}" for i in range(7)])


def known(graph, predicted=None):
    labels = graph.labels.numpy()
    if predicted is None:
        return Predictions(("a", "b"), labels)
    probabilities = np.full((len(labels), 2), 0.3)
    probabilities[np.arange(len(labels)), predicted] = 0.7
    return Predictions(("a", "b"), labels, np.array(predicted), probabilities)


def test_examples_are_a_typical_a_low_degree_and_a_wrong_node():
    graph = star()
    charts = example_charts(graph, known(graph, [0, 1, 1, 0, 0, 0, 1]), np.arange(7))
    assert [chart.title for chart in charts] == [
        "A typical node: n0",
        "A node with few neighbors: n2",
        "A confident wrong prediction: n3",
    ]
    assert charts[0].caption == "Label a, predicted a (70.0%). 4 neighbors: 3 of class b, 1 of class a."
    assert charts[2].caption.startswith("Label b, predicted a (70.0%).")
    assert charts[0].table.rows == [["n4", "a"], ["n1", "b"], ["n2", "b"], ["n3", "b"]]


def test_without_predictions_there_is_no_wrong_one():
    graph = star()
    charts = example_charts(graph, known(graph), np.arange(7))
    assert [chart.title for chart in charts] == ["A typical node: n0", "A node with few neighbors: n2"]
    assert charts[1].caption == "Label b. 1 neighbor: 1 of class a."


def test_classes_have_the_color_of_their_number():
    graph = star()
    for chart in example_charts(graph, known(graph), np.arange(7)):
        assert {mark.name: mark.color for mark in chart.marks if mark.name} == {"class a": 0, "class b": 1}


def test_uncertain_nodes_are_those_with_the_smallest_margin(fitted):
    graph = load("digits")
    nodes = scored_nodes(fitted, graph)
    sentence, (head, *rows) = uncertain_nodes(graph, Predictions.of(fitted, graph), nodes)
    probabilities = np.sort(fitted.predict_proba()[nodes], axis=1)
    margins = probabilities[:, -1] - probabilities[:, -2]
    assert len(rows) == N_UNCERTAIN
    assert {row[0] for row in rows} == {str(nodes[i]) for i in np.argsort(margins, kind="stable")[:N_UNCERTAIN]}
    assert head == ["node", "most probable", "second", "neighbors", "label"]
    assert f"For {(margins < 0.1).sum()} of the {len(nodes)}" in sentence


def test_with_a_threshold_uncertain_nodes_are_close_to_it():
    graph = star()
    probabilities = np.array([0.05, 0.1, 0.2, 0.5, 0.45, 0.12, 0.9])
    predicted = (probabilities >= 0.11).astype(int)
    both = np.stack([1 - probabilities, probabilities], axis=1)
    close = Predictions(["a", "b"], graph.labels.numpy(), predicted, both, 0.11)
    sentence, (head, *rows) = uncertain_nodes(graph, close, np.arange(7))
    assert head == ["node", "predicted", "probability of b", "neighbors", "label"]
    assert [row[1:3] for row in rows[:3]] == [["a", "10.0%"], ["b", "12.0%"], ["a", "5.0%"]]
    assert sentence.endswith("whose probability of b is the closest to the threshold of 11.0%.")


def test_nodes_without_a_label_come_first():
    graph = star()
    hidden = graph.replace(labels=torch.tensor([0, 1, 1, 1, 0, -1, -1]))
    sentence, (head, *rows) = uncertain_nodes(hidden, known(hidden, [0, 1, 1, 1, 0, 0, 1]), np.arange(5))
    assert [row[:3] for row in rows] == [["n5", "a 70.0%", "b 30.0%"], ["n6", "b 70.0%", "a 30.0%"]]
    assert "2 of 2 nodes without a label" in sentence
    assert "label" not in head


def test_the_map_has_a_point_per_node_and_a_cross_per_error(fitted):
    graph = load("digits")
    nodes = scored_nodes(fitted, graph)
    chart = node_map(fitted, graph, nodes)
    crosses = sum(len(mark.x) for mark in chart.marks if mark.symbol == "cross")
    assert sum(len(mark.x) for mark in chart.marks) == len(nodes)
    wrong = fitted.predict()[nodes].astype(int) != graph.labels.numpy()[nodes]
    assert crosses == wrong.sum() > 0
    assert sum(len(mark.x) for mark in node_map(fitted, graph, np.arange(1797)).marks) == MAX_POINTS
    assert f"{MAX_POINTS} of 1,797 held-out nodes" in node_map(fitted, graph, np.arange(1797)).caption


def test_nodes_of_a_class_are_close_on_the_map(fitted):
    graph = load("digits")
    marks = [m for m in node_map(fitted, graph, scored_nodes(fitted, graph)).marks if m.name and len(m.x)]
    spread = np.mean([np.var(mark.x) + np.var(mark.y) for mark in marks])
    everyone = [np.concatenate([getattr(mark, axis) for mark in marks]) for axis in "xy"]
    assert spread < 0.5 * sum(map(np.var, everyone))


def test_trees_with_two_classes_are_shown_by_probability_and_degree():
    graph = load("digits")
    two = graph.replace(labels=(graph.labels > 4).long(), class_names=("low", "high"), class_values=None, n_classes=2)
    fitted = NodeClassifier("boosting", random_state=0, max_epochs=5).fit(two)
    chart = node_map(fitted, two, scored_nodes(fitted, two))
    assert chart.x.title.startswith("probability of ")
    assert chart.y.log
    assert all(0 <= value <= 100 for mark in chart.marks for value in mark.x)
