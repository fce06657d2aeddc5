"""Scores equal those of scikit-learn."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    get_scorer,
    log_loss,
    make_scorer,
    roc_auc_score,
)

import heterophily
from heterophily import HeterophilyError
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import RENAMED, SCORINGS, Scoring, accuracy, all_scores, find_scoring
from heterophily.training.trainer import WARM_UP, train

SOURCE = Path(heterophily.__file__).parent


def draw(k, n=50, seed=0):
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(size=(n, k)), dtype=torch.float32)
    labels = torch.tensor(rng.integers(k, size=n))
    return logits, labels, torch.tensor(np.sort(rng.permutation(n)[:30]))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_scores_equal_scikit_learn(k):
    logits, labels, nodes = draw(k)
    truth, predicted = labels[nodes].numpy(), logits[nodes].argmax(dim=1).numpy()
    probabilities = logits.double().softmax(dim=1)[nodes].numpy()
    shown = probabilities[:, 1] if k == 2 else probabilities
    expected = {
        "accuracy": accuracy_score(truth, predicted),
        "balanced_accuracy": balanced_accuracy_score(truth, predicted),
        "f1_macro": f1_score(truth, predicted, average="macro"),
        "roc_auc": roc_auc_score(truth, shown, multi_class="ovr"),
        "average_precision": average_precision_score(truth, shown),
        "neg_log_loss": -log_loss(truth, probabilities),
    }
    assert all_scores(logits, labels, nodes) == pytest.approx(expected)
    assert accuracy(logits, labels, nodes) == pytest.approx(expected["accuracy"])


def test_only_the_given_nodes_count():
    logits, labels, nodes = draw(3)
    before = all_scores(logits, labels, nodes)
    outside = torch.ones(50, dtype=torch.bool)
    outside[nodes] = False
    labels[outside] = (labels[outside] + 1) % 3
    assert all_scores(logits, labels, nodes) == before


def test_a_class_that_does_not_occur_has_no_share_in_a_mean_over_classes():
    labels, nodes = torch.tensor([0, 0, 1, 1]), torch.arange(4)
    logits = torch.eye(3)[[0, 0, 1, 2]]
    found = all_scores(logits, labels, nodes)
    assert found["f1_macro"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["balanced_accuracy"] == pytest.approx((1 + 1 / 2) / 2)
    areas = [roc_auc_score(labels == k, logits.softmax(dim=1)[:, k]) for k in (0, 1)]
    assert found["roc_auc"] == pytest.approx(np.mean(areas))


def test_ranking_scores_require_two_classes():
    logits, labels, nodes = draw(2)
    assert not {"roc_auc", "average_precision"} & set(all_scores(logits, torch.zeros_like(labels), nodes))
    perfect = all_scores(100 * torch.eye(2)[labels], labels, nodes)
    assert perfect == {**dict.fromkeys(SCORINGS, 1.0), "neg_log_loss": 0.0}


def test_the_positive_class_of_two_can_be_the_first():
    logits, labels, nodes = draw(2)
    truth, probabilities = labels[nodes].numpy(), logits.softmax(dim=1)[nodes].numpy()
    scoring = replace(find_scoring("average_precision"), positive=0)
    expected = average_precision_score(truth == 0, probabilities[:, 0])
    assert scoring(logits, labels, nodes) == pytest.approx(expected)
    usual, found = all_scores(logits, labels, nodes), all_scores(logits, labels, nodes, scoring=scoring)
    changed = [name for name in usual if usual[name] != found[name]]
    assert changed == ["average_precision"]
    assert found["average_precision"] == pytest.approx(expected)


def test_the_rarer_one_of_two_classes_is_positive():
    scoring = find_scoring("average_precision")
    for labels, positive in (([0, 1, 1, 1], 0), ([0, 0, 1, -1, -1], 1), ([0, 0, 1, 1], 1)):
        assert scoring.with_positive(torch.tensor(labels), 2).positive == positive
    assert replace(scoring, positive=1).with_positive(torch.tensor([0, 1, 1]), 2).positive == 1
    assert scoring.with_positive(torch.tensor([0, 1, 1, 2]), 3) is scoring


def test_no_nodes_have_no_scores():
    logits, labels, _ = draw(3)
    assert all_scores(logits, labels, torch.tensor([], dtype=torch.long)) == {}


def test_scorings_are_found_by_name():
    assert find_scoring("accuracy") is find_scoring(accuracy) is accuracy
    with pytest.raises(HeterophilyError, match='unknown scoring "acuracy"; did you mean "accuracy"'):
        find_scoring("acuracy")


def brier(y_true, y_proba):
    return -brier_score_loss(y_true, y_proba[:, 1])


@pytest.mark.parametrize(
    ("scorer", "name", "expected"),
    [
        (brier, "brier", lambda truth, p: -brier_score_loss(truth, p[:, 1])),
        (get_scorer("f1"), "f1_score", lambda truth, p: f1_score(truth, p.argmax(axis=1))),
        (get_scorer("neg_log_loss"), "log_loss", lambda truth, p: -log_loss(truth, p)),
        (make_scorer(accuracy_score), "accuracy_score", lambda truth, p: accuracy_score(truth, p.argmax(axis=1))),
    ],
)
def test_a_function_or_a_scorer_of_scikit_learn_is_a_scoring(scorer, name, expected):
    logits, labels, nodes = draw(2)
    scoring = pickle.loads(pickle.dumps(find_scoring(scorer)))
    assert scoring.name == name
    probabilities = logits.double().softmax(dim=1)[nodes].numpy()
    assert scoring(logits, labels, nodes) == pytest.approx(expected(labels[nodes].numpy(), probabilities))


def test_a_function_with_other_parameters_is_rejected():
    with pytest.raises(HeterophilyError, match=r"must have the parameters \(y_true, y_proba\).*got \(x\)"):
        find_scoring(lambda x: 0.0)


def test_only_training_knows_the_scorings_by_name():
    names = set(SCORINGS) - {"accuracy"}  # an English word
    files = [path for path in SOURCE.rglob("*.py") if SOURCE / "training" not in path.parents]
    assert not [path for path in files if any(f'"{name}"' in path.read_text() for name in names)]


def neg_error(y_true, y_proba):
    return float(np.mean(y_true == y_proba.argmax(axis=1))) - 1


def test_early_stopping_uses_the_given_scoring(graph, split):
    options = {"split": split, "max_epochs": 20, "progress": False}
    _, result = train("gcn", graph, scoring=neg_error, **options)
    _, usual = train("gcn", graph, **options)
    assert result.history.val_scores == [score - 1 for score in usual.history.val_scores]
    later = result.history.val_scores[WARM_UP:]
    assert result.best_epoch >= WARM_UP
    assert result.score("val", "neg_error") == result.score("val") - 1 == max(later)
    assert "val_neg_error" in result.to_dict()["curve"]
    assert TrainingResult.from_dict(result.to_dict()) == result


def test_scores_of_earlier_versions_have_the_current_names(graph, split):
    _, result = train("gcn", graph, split=split, scoring="f1_macro", max_epochs=2, progress=False)
    old = result.to_dict()
    former = {new: name for name, new in RENAMED.items()}
    old["scores"] = {p: {former.get(n, n): v for n, v in s.items()} for p, s in old["scores"].items()}
    old["curve"] = {key.replace("f1_macro", "macro_f1"): values for key, values in old["curve"].items()}
    assert TrainingResult.from_dict(old) == result
    assert find_scoring("macro_f1") is SCORINGS["f1_macro"]


def test_a_scoring_that_is_not_defined_for_the_graph_is_rejected(graph, split):
    one = graph.replace(labels=torch.zeros_like(graph.labels))
    with pytest.raises(HeterophilyError, match="'roc_auc' requires nodes of at least two classes"):
        train("gcn", one, split=split, scoring="roc_auc")


def test_a_scoring_can_be_any_value_of_its_class(graph, split):
    scoring = Scoring("first", "first", lambda logits, labels: float((labels == 0).double().mean()))
    _, result = train("gcn", graph, split=split, scoring=scoring, max_epochs=2, progress=False)
    assert set(result.history.val_scores) == {float((graph.labels[split.val] == 0).double().mean())}
