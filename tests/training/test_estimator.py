"""The classifier for anyone's graph: fit, predict, score, embed, save and load."""

import dataclasses

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, NodeClassifier, Split
from heterophily.data.splits import random_splits
from heterophily.data.synthetic import digits, synthetic_graph
from heterophily.htmp.method import replace_architecture
from heterophily.models import NETWORKS, REGISTRY

QUICK = {"max_epochs": 12, "width": 16}
BOUND = {"glognn", "linkx", "hog-gcn"}


@pytest.fixture(scope="module")
def graph():
    """A tenth of the digits, with edges along the ring of classes."""
    base = digits()
    few = Graph.from_edges([], base.features[:180], labels=base.labels[:180], name="few")
    drawn = synthetic_graph(few, homophily=0.2, degree=6)
    return drawn.replace(splits=random_splits(drawn, count=2))


@pytest.fixture(scope="module")
def larger(graph):
    """The same graph with five more nodes and some edges to them."""
    x = torch.cat([graph.features, graph.features[:5]])
    rows, columns = graph.symmetric.rows.tolist(), graph.symmetric.indices.tolist()
    edges = [*zip(rows, columns, strict=True), *((180 + i, i + 1) for i in range(5))]
    return Graph.from_edges(edges, x, n_nodes=185, n_classes=10, name="larger")


def fitted(graph, model="cmgnn", **settings):
    return NodeClassifier(model, **{**QUICK, **settings}).fit(graph, split="0")


def test_predictions_probabilities_and_embeddings_have_a_row_per_node(graph):
    model = fitted(graph)
    assert model.predict().shape == (180,)
    np.testing.assert_allclose(model.predict_proba().sum(axis=1), 1, rtol=1e-5)
    assert model.embed().shape == (180, 3 * 16)
    assert (model.predict() == model.predict_proba().argmax(axis=1)).all()


def test_the_score_is_the_accuracy_on_the_test_nodes(graph):
    model = fitted(graph, "mlp", max_epochs=60)
    test = graph.split("0").test
    expected = (model.predict()[test] == graph.labels[test].numpy()).mean()
    assert model.score() == pytest.approx(expected)
    assert model.score() == pytest.approx(model.run_.scores["test"]["accuracy"])
    assert model.score(nodes=[0, 1]) in {0.0, 0.5, 1.0}
    assert model.score() > 0.5


@pytest.mark.parametrize("name", ["cmgnn", "mlp"])
def test_rows_of_the_estimated_compatibility_matrix_sum_to_one(graph, name):
    matrix = fitted(graph, name, max_epochs=60).compatibility_
    assert matrix.shape == (10, 10)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-4)


@pytest.mark.parametrize("name", ["cmgnn", "gcn", "h2gcn", "acm-gcn"])
def test_saving_and_loading_changes_nothing(graph, tmp_path, name):
    model = fitted(graph, name)
    again = NodeClassifier.load(model.save(tmp_path / "model"), graph=graph)
    np.testing.assert_array_equal(model.predict_proba(), again.predict_proba())
    assert again.run_ == model.run_
    assert again.class_names_ == model.class_names_
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == ["model.json", "weights.safetensors"]


def test_a_loaded_classifier_predicts_on_a_graph_that_is_passed(graph, tmp_path):
    model = fitted(graph)
    again = NodeClassifier.load(model.save(tmp_path))
    np.testing.assert_array_equal(model.predict(), again.predict(graph))
    with pytest.raises(HeterophilyError, match="a loaded classifier has no graph; pass one"):
        again.predict()


@pytest.mark.parametrize("name", sorted(set(NETWORKS) - BOUND))
def test_new_nodes_are_predicted_by_every_method_whose_mathematics_allows_it(graph, larger, name):
    assert fitted(graph, name, max_epochs=2, width=64).predict(larger).shape == (185,)


@pytest.mark.parametrize(
    ("name", "settings"), [*((name, {}) for name in sorted(BOUND)), ("cmgnn", {"structure": True})]
)
def test_new_nodes_are_refused_where_every_node_has_a_weight(graph, larger, name, settings):
    model = fitted(graph, name, max_epochs=2, **settings)
    with pytest.raises(HeterophilyError, match="but graph 'larger' has 185; refit it on this graph"):
        model.predict(larger)


def test_without_validation_nodes_some_training_nodes_are_held_out(graph):
    split = Split.from_nodes(range(100), [], range(100, 180))
    model = NodeClassifier("mlp", **QUICK).fit(graph, split=split)
    assert (len(model.split_.train), len(model.split_.val)) == (75, 25)
    assert "25 held out" in model.split_.origin
    assert set(model.split_.train.tolist()) | set(model.split_.val.tolist()) == set(range(100))


def test_without_a_split_all_labelled_nodes_are_used(graph):
    labels = torch.where(torch.arange(180) < 120, graph.labels, -1)
    partly = graph.replace(labels=labels, splits={})
    model = NodeClassifier("mlp", **QUICK).fit(partly)
    assert len(model.split_.train) + len(model.split_.val) == 120
    assert model.predict().shape == (180,)


def test_what_cannot_work_is_refused_before_any_work(graph, tmp_path):
    with pytest.raises(HeterophilyError, match='unknown setting of mlp "widht"'):
        NodeClassifier("mlp", widht=3).fit(graph, split="0")
    with pytest.raises(HeterophilyError, match="not fitted yet"):
        NodeClassifier("mlp").predict()
    with pytest.raises(HeterophilyError, match="has no labeled nodes"):
        NodeClassifier("mlp").fit(graph.replace(labels=graph.labels * 0 - 1, splits={}))
    with pytest.raises(HeterophilyError, match="is not a saved classifier"):
        NodeClassifier.load(tmp_path)


OWN = """
from heterophily import define_method
from heterophily.models.gcn import GCN

@define_method
class Own(GCN):
    name, title = "own", "Own"
    activation: str = "none"
"""
OTHER = (
    OWN.replace("from heterophily import", "import dataclasses\nfrom heterophily import")
    + """
    def architecture(self):
        return dataclasses.replace(super().architecture(), activation="relu")
"""
)


def test_a_custom_method_is_passed_again(graph, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "other.py").write_text(OTHER)
    model = fitted(graph, str(tmp_path / "own.py"))
    model.save(tmp_path / "saved")
    again = NodeClassifier.load(tmp_path / "saved", model=str(tmp_path / "own.py"))
    np.testing.assert_array_equal(again.predict_proba(graph), model.predict_proba())
    with pytest.raises(HeterophilyError, match='another version of "own"; pass its method'):
        NodeClassifier.load(tmp_path / "saved", model=str(tmp_path / "other.py"))
    del REGISTRY["own"]
    with pytest.raises(HeterophilyError, match='"own", which is not part of the library; pass'):
        NodeClassifier.load(tmp_path / "saved")


def test_a_variant_under_a_known_name_is_not_taken_for_it(graph, tmp_path):
    changed = replace_architecture(REGISTRY["gcn"](), "linear", activation="none")
    variant = dataclasses.replace(changed, name="gcn")
    model = fitted(graph, variant)
    model.save(tmp_path)
    with pytest.raises(HeterophilyError, match="another version"):
        NodeClassifier.load(tmp_path)
    again = NodeClassifier.load(tmp_path, model=variant)
    np.testing.assert_array_equal(again.predict_proba(graph), model.predict_proba())
