"""Metrics equal those of scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

import heterophily
from heterophily import HeterophilyError
from heterophily.training.metrics import METRICS, Metric, accuracy, all_metrics, find_metric
from heterophily.training.trainer import train

SOURCE = Path(heterophily.__file__).parent


def draw(k, n=50, seed=0):
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(size=(n, k)), dtype=torch.float32)
    labels = torch.tensor(rng.integers(k, size=n))
    return logits, labels, torch.tensor(np.sort(rng.permutation(n)[:30]))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_metrics_equal_scikit_learn(k):
    logits, labels, nodes = draw(k)
    truth, predicted = labels[nodes].numpy(), logits[nodes].argmax(dim=1).numpy()
    expected = {"accuracy": accuracy_score(truth, predicted), "macro_f1": f1_score(truth, predicted, average="macro")}
    if k == 2:
        expected["roc_auc"] = roc_auc_score(truth, (logits[:, 1] - logits[:, 0])[nodes].numpy())
    assert all_metrics(logits, labels, nodes) == pytest.approx(expected)
    assert accuracy(logits, labels, nodes) == pytest.approx(expected["accuracy"])


def test_only_the_given_nodes_count():
    logits, labels, nodes = draw(3)
    before = all_metrics(logits, labels, nodes)
    outside = torch.ones(50, dtype=torch.bool)
    outside[nodes] = False
    labels[outside] = (labels[outside] + 1) % 3
    assert all_metrics(logits, labels, nodes) == before


def test_a_class_that_does_not_occur_has_no_share_in_macro_f1():
    labels, nodes = torch.tensor([0, 0, 1, 1]), torch.arange(4)
    logits = torch.eye(3)[[0, 0, 1, 2]]
    found = all_metrics(logits, labels, nodes)
    assert found["macro_f1"] == pytest.approx((1 + 2 / 3) / 2)


def test_roc_auc_needs_both_classes():
    logits, labels, nodes = draw(2)
    assert "roc_auc" not in all_metrics(logits, torch.zeros_like(labels), nodes)
    perfect = all_metrics(torch.eye(2)[labels], labels, nodes)
    assert perfect == {"accuracy": 1.0, "macro_f1": 1.0, "roc_auc": 1.0}


def test_no_nodes_have_no_metrics():
    logits, labels, _ = draw(3)
    assert all_metrics(logits, labels, torch.tensor([], dtype=torch.long)) == {}


def test_metrics_are_found_by_name():
    assert find_metric("accuracy") is find_metric(accuracy) is accuracy
    with pytest.raises(HeterophilyError, match='unknown metric "acuracy"; did you mean "accuracy"'):
        find_metric("acuracy")


def test_a_metric_is_defined_in_one_file():
    names = set(METRICS) - {"accuracy"}  # an English word
    files = [path for path in SOURCE.rglob("*.py") if path.name != "metrics.py"]
    assert not [path for path in files if any(name in path.read_text() for name in names)]


def test_early_stopping_uses_the_given_metric(graph, split, monkeypatch):
    error = Metric("error", "error", lambda logits, labels: 1 - accuracy.function(logits, labels), False)
    monkeypatch.setitem(METRICS, "error", error)
    options = {"split": split, "max_epochs": 8, "progress": False}
    _, result = train("gcn", graph, metric=error, **options)
    _, usual = train("gcn", graph, **options)
    assert result.history.val_scores == [1 - score for score in usual.history.val_scores]
    assert result.best_epoch == usual.best_epoch
    assert result.score("val", "error") == 1 - usual.score("val")
    assert "val_error" in result.to_dict()["curve"]
    assert type(result).from_dict(result.to_dict()) == result


def test_a_metric_that_is_not_defined_for_the_graph_is_rejected(graph, split):
    with pytest.raises(HeterophilyError, match="'roc_auc' requires nodes of exactly two classes"):
        train("gcn", graph, split=split, metric="roc_auc")
