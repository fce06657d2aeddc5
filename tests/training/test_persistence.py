"""Saved classifiers contain everything, for every kind of predictor, and damaged ones are rejected."""

import json

import numpy as np
import pytest
import torch

from heterophily import HeterophilyError, NodeClassifier
from heterophily.models.ensemble import Ensemble
from heterophily.models.gcn import GCN
from heterophily.training.persistence import from_json, to_json

QUICK = {"max_epochs": 3, "width": 4, "device": "cpu"}


@pytest.fixture
def fitted(graph, split):
    return NodeClassifier("gcn", **QUICK).fit(graph, split=split)


def test_an_ensemble_is_saved_with_its_members(graph, split, fitted, tmp_path):
    other = NodeClassifier("cmgnn", **QUICK).fit(graph, split=split)
    fitted.predictor_ = Ensemble([fitted.predictor_, other.predictor_], [1.0, 2.0], temperature=1.5)
    loaded = NodeClassifier.load(fitted.save(tmp_path))
    np.testing.assert_array_equal(loaded.predict_proba(graph), fitted.predict_proba())
    content = json.loads((tmp_path / "model.json").read_text())
    assert [member["method"] for member in content["predictor"]["members"]] == ["gcn", "cmgnn"]
    with pytest.raises(HeterophilyError, match="only a single network has embeddings"):
        loaded.embed(graph)


@pytest.mark.parametrize("model", ["gcn", GCN, GCN(width=3, n_layers=1)], ids=str)
@pytest.mark.parametrize(
    "params",
    [{}, {"neighbors": (3, 2)}, {"neighbors": [3, 2]}, {"class_weight": {0: 1.0, 1: 2.0, 2: 3.0}}, {"verbose": True}],
    ids=str,
)
def test_parameters_keep_their_values_and_types(graph, split, tmp_path, model, params):
    one = NodeClassifier(model, max_epochs=1, **params).fit(graph, split=split)
    two = NodeClassifier.load(one.save(tmp_path))
    assert two.get_params() == one.get_params()
    assert {name: type(value) for name, value in two.get_params().items()} == {
        name: type(value) for name, value in one.get_params().items()
    }
    assert two.predictor_.method == one.predictor_.method
    np.testing.assert_array_equal(two.predict_proba(graph), one.predict_proba())


def test_parameters_that_are_not_plain_become_plain(graph, split, tmp_path):
    state = np.random.RandomState(0)
    one = NodeClassifier("mlp", random_state=state, scoring=mean_of_first, **QUICK).fit(graph, split=split)
    two = NodeClassifier.load(one.save(tmp_path), graph=graph)
    assert two.random_state == one.run_.seed
    with pytest.raises(HeterophilyError, match='unknown scoring "mean_of_first"'):
        two.score()
    assert two.set_params(scoring=mean_of_first).score() == one.score()


def mean_of_first(y_true, y_proba):
    return y_proba[:, 0].mean()


@pytest.mark.parametrize("classes", [["a", "b", "c"], [3, 5, 9], [0.5, 1.0, 2.0]], ids=str)
def test_classes_keep_their_type(graph, split, tmp_path, classes):
    y = np.array(classes)[graph.labels.numpy()]
    one = NodeClassifier("mlp", **QUICK).fit(graph, y, split=split)
    two = NodeClassifier.load(one.save(tmp_path))
    assert two.classes_.dtype == one.classes_.dtype == y.dtype
    np.testing.assert_array_equal(two.predict(graph), one.predict())
    assert (two.n_features_in_, two.n_nodes_in_) == (12, 60)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "heterophily-model-1"}, "not a saved classifier of format heterophily-model-2; fit and save it"),
        ({"classes": None}, "model.json has no classes"),
        ({"n_features": 5}, "do not fit its model.json"),
    ],
    ids=str,
)
def test_damaged_files_are_rejected(fitted, tmp_path, change, message):
    path = fitted.save(tmp_path) / "model.json"
    content = {**json.loads(path.read_text()), **change}
    if content["classes"] is None:
        del content["classes"]
    path.write_text(json.dumps(content))
    with pytest.raises(HeterophilyError, match=message):
        NodeClassifier.load(tmp_path)


def test_plain_data_is_restored():
    value = {"a": [1, (2.0, None)], 3: "x", (4, 5): {}}
    assert from_json(json.loads(json.dumps(to_json(value)))) == value
    assert to_json(np.float64(0.5)) == 0.5
    assert torch.tensor(from_json(to_json([1, 2]))).tolist() == [1, 2]
