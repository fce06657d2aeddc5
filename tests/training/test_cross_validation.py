"""Cross-validation over labeled nodes, and model selection of scikit-learn over node numbers."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.utils import estimator_checks

from heterophily import HeterophilyError, NodeClassifier, NodeIndexClassifier, Split, cross_validate

QUICK = {"max_epochs": 5, "width": 8, "device": "cpu"}


def test_folds_are_stratified_and_disjoint(graph):
    partly = graph.replace(labels=torch.where(torch.arange(60) < 50, graph.labels, -1))
    results = cross_validate(
        NodeClassifier("mlp", **QUICK), partly, cv=5, return_estimator=True, return_train_score=True
    )
    assert sorted(results) == ["estimator", "fit_time", "score_time", "test_score", "train_score"]
    splits = [model.split_ for model in results["estimator"]]
    assert sorted(node for split in splits for node in split.test.tolist()) == list(range(50))
    counts = np.array([np.bincount(partly.labels[split.test], minlength=3) for split in splits])
    assert np.ptp(counts, axis=0).max() <= 1
    for split in splits:
        assert len(split.val)
        assert sum(map(len, split.parts.values())) == 50
    assert [model.score() for model in results["estimator"]] == results["test_score"].tolist()


def test_test_labels_have_no_influence_on_the_predictions(graph):
    folds = [Split.from_nodes(range(30), range(30, 45), range(45, 60))]
    other = graph.replace(labels=torch.where(torch.arange(60) < 45, graph.labels, 2 - graph.labels))
    one, two = (
        cross_validate(NodeClassifier("cmgnn", **QUICK), each, cv=folds, return_estimator=True)["estimator"][0]
        for each in (graph, other)
    )
    np.testing.assert_array_equal(one.predict_proba(), two.predict_proba())


def test_several_scores_and_functions_are_supported(graph):
    model = NodeClassifier("gcn", **QUICK)
    results = cross_validate(model, graph, cv=StratifiedKFold(3), scoring=["accuracy", "f1_macro"])
    assert {"test_accuracy", "test_f1_macro"} < set(results)
    recall = make_scorer(recall_score, average="macro")
    named = cross_validate(
        model, graph, cv=StratifiedKFold(3), scoring={"recall": recall, "balanced": "balanced_accuracy"}
    )
    np.testing.assert_allclose(named["test_recall"], named["test_balanced"])


def test_own_labels_are_supported(graph):
    y = np.array(["low", "middle", "high"])[graph.labels.numpy()]
    pairs = [(np.arange(40), np.arange(40, 60))]
    results = cross_validate(NodeClassifier("mlp", **QUICK), graph, y, cv=pairs, return_estimator=True)
    fitted = results["estimator"][0]
    assert fitted.classes_.tolist() == ["high", "low", "middle"]
    assert results["test_score"][0] == pytest.approx((fitted.predict() == y)[40:].mean())


def test_a_grid_search_over_node_numbers_finds_the_better_setting(graph):
    X, y = np.arange(60), np.array(["a", "b", "c"])[graph.labels.numpy()]
    model = NodeIndexClassifier(NodeClassifier("mlp", max_epochs=60, device="cpu"), graph)
    grid = {"estimator__width": [16], "estimator__learning_rate": [1e-7, 0.05]}
    search = GridSearchCV(model, grid, cv=StratifiedKFold(3), scoring="balanced_accuracy", error_score="raise")
    search.fit(X, y)
    assert search.best_params_ == {"estimator__width": 16, "estimator__learning_rate": 0.05}
    assert set(search.predict(X[:5])) <= {"a", "b", "c"}
    assert search.best_estimator_.graph is graph
    assert cross_val_score(model, X[:, None], y, cv=3).shape == (3,)


def test_only_the_given_labels_are_used(graph):
    X, y = np.arange(0, 60, 2), graph.labels.numpy()[::2]
    one = NodeIndexClassifier(NodeClassifier("cmgnn", **QUICK), graph).fit(X, y)
    hidden = graph.replace(labels=torch.full((60,), -1))
    two = NodeIndexClassifier(NodeClassifier("cmgnn", **QUICK), hidden).fit(X, y)
    nodes = np.arange(1, 60, 2)
    np.testing.assert_array_equal(one.predict_proba(nodes), two.predict_proba(nodes))
    assert one.predict_proba(nodes).shape == (30, 3)
    np.testing.assert_array_equal(one.predict(nodes), one.estimator_.predict()[nodes])


def test_invalid_node_numbers_are_rejected(graph):
    model = NodeIndexClassifier(NodeClassifier("mlp", **QUICK), graph)
    with pytest.raises(NotFittedError):
        model.predict([0])
    for X in ([60], [-1], [0.5], [[0, 1]]):
        with pytest.raises(HeterophilyError, match="X must contain node numbers from 0 to 59"):
            model.fit(X, [0])
    with pytest.raises(HeterophilyError, match="y must contain one label for each of 2 nodes"):
        model.fit([0, 1], [0])


# Checks that fit arrays are not applicable, because their X does not contain node numbers.
@pytest.mark.parametrize(
    "name",
    [
        "check_estimator_cloneable", "check_estimator_repr", "check_estimator_tags_renamed",
        "check_get_params_invariance", "check_mixin_order", "check_no_attributes_set_in_init", "check_set_params",
        "check_valid_tag_types",
    ],
)  # fmt: skip
def test_a_check_of_scikit_learn_passes(graph, name):
    getattr(estimator_checks, name)("NodeIndexClassifier", NodeIndexClassifier(NodeClassifier("gcn"), graph))


def test_a_clone_shares_the_graph(graph):
    model = NodeIndexClassifier(NodeClassifier("gcn", width=3), graph)
    copy = clone(model)
    assert copy.graph is graph
    assert copy.estimator is not model.estimator
    assert copy.estimator.width == 3
