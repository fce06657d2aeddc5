"""Thresholds: tuned ones are the best of all possible ones, and they change predictions and scores."""

import json

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from heterophily import HeterophilyError, NodeClassifier
from heterophily.training.decision import Decision, parse_threshold, tune_threshold


def youden(truth, predicted):
    return balanced_accuracy_score(truth, predicted)  # (1 + J) / 2


@pytest.mark.parametrize(("rule", "quality"), [("f1", f1_score), ("youden", youden)])
@pytest.mark.parametrize("seed", range(5))
def test_a_tuned_threshold_is_the_best_of_all(rule, quality, seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(80) < 0.2
    probabilities = np.clip(rng.normal(0.3 + 0.2 * truth, 0.2), 0.001, 0.999).round(2)  # with ties
    found = tune_threshold(rule, probabilities, truth)
    best = max(quality(truth, probabilities >= t) for t in np.unique(probabilities))
    assert quality(truth, probabilities >= found) == pytest.approx(best)
    assert 0 < found < 1


@pytest.mark.parametrize("positive", [0, 1])
def test_logits_can_be_shifted_to_the_decision(positive):
    logits = torch.randn(50, 2, generator=torch.Generator().manual_seed(1))
    decision = Decision(0.2, positive)
    predicted = decision.predict(logits.softmax(dim=1).numpy())
    np.testing.assert_array_equal(predicted, decision.shift(logits).argmax(dim=1).numpy())
    np.testing.assert_array_equal(predicted == positive, logits.softmax(dim=1)[:, positive].numpy() >= 0.2)


@pytest.mark.parametrize("threshold", ["f2", 0, 1, "1.5", -0.1, float("nan"), []])
def test_an_invalid_threshold_is_rejected(threshold, fraud_graph):
    with pytest.raises(HeterophilyError, match="threshold must be f1, youden, or a number between 0 and 1"):
        parse_threshold(threshold)
    with pytest.raises(HeterophilyError, match="threshold must be"):
        NodeClassifier("mlp", threshold=threshold, max_epochs=1).fit(fraud_graph)


def test_a_threshold_requires_two_classes(graph, split):
    with pytest.raises(HeterophilyError, match=r"a threshold requires two classes, but .* has 3"):
        NodeClassifier("mlp", threshold="f1", max_epochs=1).fit(graph, split=split)


@pytest.mark.parametrize("threshold", ["f1", "youden", 0.1])
def test_predictions_and_scores_follow_from_the_threshold(fraud_graph, tmp_path, threshold):
    plain = NodeClassifier("mlp", max_epochs=40, width=16).fit(fraud_graph)
    fitted = NodeClassifier("mlp", max_epochs=40, width=16, threshold=threshold).fit(fraud_graph)
    np.testing.assert_array_equal(plain.predict_proba(), fitted.predict_proba())
    expected = np.where(fitted.predict_proba()[:, 1] >= fitted.threshold_, "fraud", "honest")
    np.testing.assert_array_equal(fitted.predict(), expected)
    assert (fitted.predict() == "fraud").sum() > (plain.predict() == "fraud").sum()
    val = fitted.split_.val.numpy()
    truth = fitted.classes_[fraud_graph.labels.numpy()][val]
    scores = fitted.run_.scores["val"]
    assert scores["f1_macro"] == pytest.approx(f1_score(truth, expected[val], average="macro"))
    assert scores["accuracy"] == pytest.approx(accuracy_score(truth, expected[val]))
    assert scores["roc_auc"] == plain.run_.scores["val"]["roc_auc"]
    assert fitted.score(nodes=val, scoring="accuracy") == pytest.approx(scores["accuracy"])
    loaded = NodeClassifier.load(fitted.save(tmp_path))
    assert loaded.threshold_ == fitted.threshold_
    np.testing.assert_array_equal(loaded.predict(fraud_graph), expected)
    assert json.loads((tmp_path / "model.json").read_text())["judgment"]["threshold"] == fitted.threshold_


def test_the_positive_class_can_be_chosen(fraud_graph):
    fitted = NodeClassifier("mlp", max_epochs=5, threshold=0.99, positive="honest").fit(fraud_graph)
    expected = np.where(fitted.predict_proba()[:, 0] >= 0.99, "honest", "fraud")
    np.testing.assert_array_equal(fitted.predict(), expected)
