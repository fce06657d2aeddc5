import json
import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeClassifier
from sklearn.preprocessing import StandardScaler

from heterophily.analysis.diagnosis import diagnose
from heterophily.analysis.verdict import MODELS
from heterophily.core.compatibility import cmd, edge_compatibility, observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.homophily import measure_homophily

CASES = {
    (0.8, "easy", 18): "homophily",
    (0.8, "hard", 4): "homophily",
    (0.2, "easy", 18): "helpful heterophily",
    (0.2, "hard", 18): "edges mislead plain averaging",
    (0.1, "hard", 18): "edges add nothing measurable",  # ten classes, so these edges are random
}
SAMPLE = 400  # labeled nodes for tests that do not depend on the verdict


@pytest.fixture(scope="module")
def good(drawn):
    return diagnose(drawn(0.2, "easy", 18), sample=SAMPLE)


@pytest.mark.parametrize(("case", "kind"), CASES.items(), ids=str)
def test_the_kind_follows_from_what_edges_add(drawn, case, kind):
    diagnosis = diagnose(drawn(*case), sample=1_000)
    assert diagnosis.kind == kind
    assert diagnosis.confidence in ("high", "moderate")
    assert diagnosis.verdict.startswith(f"{kind.capitalize()} ({diagnosis.confidence} confidence). ")
    assert all(model in diagnosis.verdict for model in MODELS[kind][:3])
    assert f"{case[0]:.0%} of the edges connect nodes of the same class" in diagnosis.verdict


def test_random_edges_of_a_fraud_graph_do_not_help(fraud_graph):
    for seed in range(5):
        order = torch.randperm(600, generator=torch.Generator().manual_seed(seed))
        pairs = torch.stack([order[fraud_graph.adjacency.rows.long()], fraud_graph.adjacency.indices.long()], dim=1)
        graph = Graph.from_edges(pairs, fraud_graph.features, labels=fraud_graph.labels, name="accounts")
        diagnosis = diagnose(graph)
        assert diagnosis.kind in ("edges add nothing measurable", "not enough labels to tell")
        assert "mlp" in diagnosis.decision.models


@pytest.mark.real
@pytest.mark.parametrize("name", ["chameleon", "tolokers", "blogcatalog"])
def test_edges_of_real_graphs_that_were_called_bad_help(real_graph, name):
    diagnosis = diagnose(real_graph(name))
    assert diagnosis.kind in ("helpful heterophily", "edges mislead plain averaging")
    assert diagnosis.confidence == "high"
    gain = max(diagnosis.probes.difference(s, "features").mean for s in diagnosis.probes.scores)
    assert gain > 0.05


@pytest.mark.real
def test_edges_of_actor_add_nothing(real_graph):
    assert diagnose(real_graph("actor")).kind == "edges add nothing measurable"


def test_measurements_are_those_of_their_modules(good, drawn):
    graph = drawn(0.2, "easy", 18)
    matrix = observed_compatibility(graph.symmetric, graph.labels, 10).numpy()
    np.testing.assert_array_equal(good.compatibility, matrix)
    assert good.homophily == measure_homophily(graph.adjacency, graph.labels, 10)
    assert good.homophily_symmetric == measure_homophily(graph.symmetric, graph.labels, 10)
    assert good.cmd == pytest.approx(cmd(torch.as_tensor(matrix)))
    assert good.cmd_of_edges == pytest.approx(cmd(edge_compatibility(graph.symmetric, graph.labels, 10)))
    assert good.mean_overlap == pytest.approx(good.overlap[~np.eye(10, dtype=bool)].mean())
    degrees = graph.degrees.numpy()
    assert good.degrees["mean"] == pytest.approx(degrees.mean())
    assert good.degrees["median"] == np.median(degrees)
    assert good.degrees["maximum"] == degrees.max()


def test_the_closest_classes_have_the_most_similar_rows(good):
    rows = good.compatibility / np.linalg.norm(good.compatibility, axis=1, keepdims=True)
    cosines = rows @ rows.T - 2 * np.eye(10)
    assert {int(name) for name in good.closest_classes} == set(np.argwhere(cosines.max() == cosines)[0])


def test_feature_accuracy_is_that_of_a_linear_classifier(good, drawn):
    graph = drawn(0.2, "easy", 18)
    x = StandardScaler().fit_transform(graph.features.numpy())
    order = np.random.default_rng(1).permutation(len(x))
    train, test = order[:900], order[900:]
    labels = graph.labels.numpy()
    accuracy = RidgeClassifier().fit(x[train], labels[train]).score(x[test], labels[test])
    assert good.feature_accuracy == pytest.approx(accuracy, abs=0.03)


def test_without_features_the_edges_are_compared_with_chance(drawn):
    diagnosis = diagnose(drawn(0.2, "easy", 18).replace(features=torch.zeros(1_797, 0)), sample=SAMPLE)
    assert diagnosis.feature_accuracy is None
    assert diagnosis.kind == "helpful heterophily"
    assert set(diagnosis.probes.scores) == {"features and neighbors' labels", "all", "position"}
    json.dumps(diagnosis.to_dict(), allow_nan=False)


def test_partial_labels_are_mentioned_and_alone_measured(drawn):
    graph = drawn(0.8, "easy", 18)
    labels = torch.where(torch.arange(1_797) % 3 == 0, graph.labels, -1)
    diagnosis = diagnose(graph.replace(labels=labels), sample=SAMPLE)
    assert diagnosis.n_labeled == 599
    assert "measured on the 599 labeled nodes of 1,797" in diagnosis.verdict
    assert diagnosis.homophily_symmetric.edge == pytest.approx(0.8, abs=0.05)
    assert "labeled nodes" not in diagnose(graph, sample=50).verdict


def test_edges_within_one_class_are_valid_json():
    diagnosis = diagnose(Graph.from_edges([(0, 1)], labels=[0, 0, 1]))
    assert math.isnan(diagnosis.homophily.adjusted)
    assert diagnosis.kind == "not enough labels to tell"
    assert diagnosis.probes is None
    assert diagnosis.to_dict()["homophily"]["adjusted"] is None
    json.dumps(diagnosis.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([-1, -1, -1, -1], "graph has 0 labeled nodes of 0"),
        ([0, 0, 0, -1], "graph has 3 labeled nodes of 1; label nodes of another class"),
    ],
    ids=["no labels", "one class"],
)
def test_what_cannot_be_diagnosed_is_explained(labels, reason):
    with pytest.raises(HeterophilyError, match=reason):
        diagnose(Graph.from_edges([(0, 1), (1, 2), (2, 3)], labels=labels))


def test_a_diagnosis_is_plain_data(good, drawn):
    content = json.loads(json.dumps(good.to_dict(), allow_nan=False))
    graph = drawn(0.2, "easy", 18)
    assert content["n_nodes"] == graph.n_nodes
    assert content["n_edges"] == graph.n_edges
    assert content["n_features"] == 64
    assert content["n_classes"] == 10
    assert set(content["homophily"]) == {"edge", "node", "class_insensitive", "adjusted"}
    assert content["homophily"]["edge"] == pytest.approx(good.homophily.edge)
    assert content["label_informativeness"] == pytest.approx(good.homophily.label_informativeness)
    assert np.shape(content["compatibility"]) == (10, 10)
    np.testing.assert_allclose(content["compatibility"], good.compatibility)
    assert content["discriminability"] == pytest.approx(good.discriminability)
    assert content["audit"] == good.audit.to_dict()
    assert content["kind"] == "helpful heterophily"
    assert content["confidence"] == "high"
    assert content["probability"] > 0.99
    assert content["recommended_models"] == list(good.decision.models)
    assert content["reason"] in content["verdict"]
    assert content["cmd"] == pytest.approx(good.cmd)
    sets = content["probes"]["sets"]
    assert content["probes"]["n_nodes"] == SAMPLE
    assert "difference" not in sets["features"]
    gain = sets["all"]["difference"]
    assert gain["mean"] == pytest.approx(sets["all"]["score"] - sets["features"]["score"])
    assert gain["low"] < gain["mean"] < gain["high"]


def test_plain_data_does_not_depend_on_what_was_asked_before(good):
    before = good.to_dict()
    assert good.mean_overlap == before["mean_overlap"]
    assert good.to_dict() == before
