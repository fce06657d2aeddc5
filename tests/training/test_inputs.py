"""Graphs of several libraries and labels of any type as inputs of a classifier."""

import networkx as nx
import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, NodeClassifier, Split
from heterophily.training.inputs import align_labels, known_labels

QUICK = {"max_epochs": 3, "width": 4, "device": "cpu"}


@pytest.mark.parametrize(
    "names", [["red", "green", "blue"], [10, 20, 30], [True, False, True], [0.5, 1.5, 2.5]], ids=str
)
def test_predictions_are_labels_as_the_user_wrote_them(graph, split, names):
    y = np.array(names)[graph.labels.numpy()]
    model = NodeClassifier("gcn", scoring="accuracy", **QUICK).fit(graph, y, split=split)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.predict().dtype == y.dtype
    assert set(model.predict()) <= set(y)
    test = split.test.numpy()
    assert model.score() == pytest.approx((model.predict()[test] == y[test]).mean())


@pytest.mark.parametrize("missing", [None, np.nan, "integer"], ids=str)
def test_nodes_with_missing_labels_are_not_used(graph, missing):
    y = graph.labels.numpy() + 5 if missing == "integer" else (graph.labels.numpy() + 5).astype(object)
    y[:20] = -1 if missing == "integer" else missing
    model = NodeClassifier("mlp", **QUICK).fit(graph, y)
    used = torch.cat([model.split_.train, model.split_.val])
    assert sorted(used.tolist()) == list(range(20, 60))
    assert model.classes_.tolist() == [5, 6, 7]


def test_invalid_labels_are_rejected(graph):
    with pytest.raises(HeterophilyError, match=r"one label for each of the 60 nodes, got shape \(3,\)"):
        NodeClassifier("mlp").fit(graph, [0, 1, 0])
    with pytest.raises(HeterophilyError, match="must be text or numbers"):
        NodeClassifier("mlp").fit(graph, np.array([{}] * 60, dtype=object))
    assert known_labels(np.array(["a", None], dtype=object)).tolist() == [True, False]


def test_a_networkx_graph_is_an_input(graph, split):
    edges = zip(graph.adjacency.rows.tolist(), graph.adjacency.indices.tolist(), strict=True)
    other = nx.Graph()
    for node, (x, label) in enumerate(zip(graph.features.tolist(), graph.labels.tolist(), strict=True)):
        other.add_node(node, x=x, label=100 + label)
    other.add_edges_from(edges)
    model = NodeClassifier("gcn", **QUICK).fit(other, split=split)
    assert model.classes_.tolist() == [100, 101, 102]
    expected = NodeClassifier("gcn", **QUICK).fit(graph, split=split)
    np.testing.assert_array_equal(model.predict(other), expected.predict() + 100)


def test_a_pyg_graph_is_an_input(graph, split):
    pytest.importorskip("torch_geometric")
    data = graph.replace(splits={"0": split}).to_pyg()
    model = NodeClassifier("gcn", **QUICK).fit(data)
    expected = NodeClassifier("gcn", **QUICK).fit(graph, split=split)
    np.testing.assert_array_equal(model.predict_proba(data), expected.predict_proba())
    assert len(model.split_.train) == 30


def test_other_inputs_are_rejected():
    with pytest.raises(HeterophilyError, match=r"expected a Graph, .* got list; create a graph with Graph.from_edges"):
        NodeClassifier("mlp").fit([[0, 1]])
    data = pytest.importorskip("torch_geometric.data").HeteroData(a={"x": torch.ones(3, 1)})
    with pytest.raises(HeterophilyError, match="got a HeteroData; convert it"):
        NodeClassifier("mlp").fit(data)


def test_the_score_on_another_graph_compares_classes_by_name(graph, split):
    named = graph.replace(class_names=("a", "b", "c"))
    model = NodeClassifier("gcn", **QUICK).fit(named, split=split)
    other = graph.replace(class_names=("c", "b", "a"), labels=2 - graph.labels)
    assert model.score(other) == model.score(named)
    assert align_labels(other, ("a", "b", "c")).labels.equal(graph.labels)
    with pytest.raises(HeterophilyError, match="has the class 'd', but the classifier was fitted with a, b, c"):
        model.score(graph.replace(class_names=("a", "b", "d")))


def test_unknown_labels_stay_unknown_when_classes_are_aligned():
    graph = Graph.from_edges([(0, 1)], labels=[1, -1], n_classes=2, class_names=("b", "a"))
    assert align_labels(graph, ("a", "b")).labels.tolist() == [0, -1]


def test_features_are_known_after_fitting(graph, split):
    model = NodeClassifier("mlp", **QUICK).fit(graph, split=split)
    assert (model.n_features_in_, model.n_nodes_in_) == (12, 60)
    assert not hasattr(model, "feature_names_in_")


def test_a_random_state_determines_the_result(graph):
    def probabilities(state):
        return NodeClassifier("mlp", random_state=state, **QUICK).fit(graph).predict_proba()

    np.testing.assert_array_equal(probabilities(np.random.RandomState(1)), probabilities(np.random.RandomState(1)))
    np.testing.assert_array_equal(probabilities(np.int64(3)), probabilities(3))
    assert not np.array_equal(probabilities(None), probabilities(None))


def test_a_split_of_the_labels_is_checked(graph):
    with pytest.raises(HeterophilyError):
        NodeClassifier("mlp").fit(graph, np.full(60, -1), split=Split.from_nodes([0, 1], [2]))


def test_numbered_labels_of_other_classes_are_unknown(graph):
    assert align_labels(graph, ("0", "1", "2")) is graph
    assert align_labels(graph, ("a", "b")).labels.eq(-1).all()
    more = align_labels(graph, ("0", "1", "2", "3"))
    assert (more.n_classes, more.labels.tolist()) == (4, graph.labels.tolist())
