"""Alarms: each has a case in which it is raised and one in which it is not."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from heterophily import NodeClassifier, Split
from heterophily.training.alarms import AlarmWarning, Evidence, find_alarms, trivial_score
from heterophily.training.objective import resolve_scoring
from heterophily.training.result import History, TrainingResult
from heterophily.training.scoring import find_scoring

LABELS = torch.tensor([0] * 40 + [1] * 40)
SPLIT = Split.from_nodes(range(0, 80, 2), range(1, 80, 2))


def evidence(**changes):
    """A model without alarms: 90 % correct, best in epoch 7 of 9."""
    logits = torch.nn.functional.one_hot(LABELS, 2).double()
    logits[::10] = logits[::10].flip(1)
    logits[1::10] = logits[1::10].flip(1)
    history = History("accuracy", [1.0] * 9, [0.5] * 9, [0.1] * 9)
    run = TrainingResult({"val": {"accuracy": 0.8}}, 7, 9, "patience", 1.0, 1.0, 1.0, history, 0, "cpu")
    plain = Evidence(
        logits, logits.argmax(dim=1).numpy(), LABELS, SPLIT, run, find_scoring("accuracy"), ("honest", "fraud")
    )
    return dataclasses.replace(plain, **changes)


def kinds(e):
    return [alarm.kind for alarm in find_alarms(e)]


def with_run(**changes):
    e = evidence()
    return dataclasses.replace(e, run=dataclasses.replace(e.run, **changes))


def test_a_good_model_has_no_alarm():
    assert find_alarms(evidence()) == ()


@pytest.mark.parametrize("epoch", [0, -1])
def test_the_first_epoch_is_the_best(epoch):
    assert kinds(with_run(best_epoch=epoch)) == ["untrained"]
    assert kinds(with_run(best_epoch=1)) == []


def test_epochs_of_the_warm_up_are_the_best():
    e = with_run(best_epoch=5)
    assert kinds(e) == []
    assert kinds(dataclasses.replace(e, warm_up=5)) == ["untrained"]


def test_models_without_epochs_are_not_untrained():
    assert kinds(with_run(best_epoch=0, history=History())) == []
    assert kinds(with_run(best_epoch=-1, history=History(), stopped="interrupted")) == ["untrained"]


def test_a_single_class_is_predicted():
    (alarm,) = find_alarms(evidence(predicted=np.zeros(80, dtype=int)))
    assert alarm.kind == "one_class"
    assert "all 80 nodes are predicted as 'honest'; tune the threshold" in alarm.text


def test_a_single_class_of_all_validation_nodes_is_predicted():
    found = evidence()
    predicted = found.labels.numpy().copy()
    assert kinds(dataclasses.replace(found, predicted=predicted)) == []
    predicted[found.split.val] = 0
    (alarm,) = find_alarms(dataclasses.replace(found, predicted=predicted))
    assert alarm.kind == "one_class"
    assert f"all {len(found.split.val)} validation nodes are predicted as 'honest'" in alarm.text


def test_a_model_is_not_better_than_the_shares_of_the_classes():
    assert trivial_score(evidence()) == 0.5
    assert kinds(with_run(scores={"val": {"accuracy": 0.5}})) == ["trivial"]
    assert kinds(with_run(scores={"val": {"accuracy": 0.51}})) == []


def test_the_trivial_score_of_average_precision_is_the_share_of_the_positive_class():
    labels = torch.tensor([0] * 72 + [1] * 8)
    scoring = dataclasses.replace(find_scoring("average_precision"), positive=1)
    assert trivial_score(evidence(labels=labels, scoring=scoring)) == pytest.approx(0.1)


def test_a_perfect_score_is_no_alarm_even_if_the_trivial_one_is_perfect():
    e = with_run(scores={"val": {"accuracy": 1.0}})
    e = dataclasses.replace(e, labels=torch.zeros(80, dtype=torch.long), class_names=("honest",))
    assert kinds(e) == []


@pytest.mark.parametrize(("n_rare", "expected"), [(9, ["few_validation_nodes"]), (10, [])])
def test_few_validation_nodes_of_a_class(n_rare, expected):
    labels = torch.zeros(80, dtype=torch.long)
    labels[SPLIT.val[:n_rare]] = 1
    labels[SPLIT.train[:20]] = 1
    e = evidence(labels=labels)
    assert kinds(e) == expected
    if expected:
        assert "'fraud' has 9" in find_alarms(e)[0].text


def test_numbers_that_are_not_finite():
    logits = evidence().logits.clone()
    logits[3, 0] = math.nan
    (alarm,) = find_alarms(evidence(logits=logits))
    assert alarm.kind == "not_finite"
    assert "predictions of 1 node;" in alarm.text
    history = History("accuracy", [1.0, math.inf], [0.5, math.nan], [0.1, 0.1])
    (alarm,) = find_alarms(with_run(history=history))
    assert alarm.text.startswith("not finite: loss, validation accuracy;")


def test_a_classifier_warns_and_keeps_its_alarms(fraud_graph, tmp_path):
    """By accuracy, the first epochs are the best: no fraud at all."""
    classifier = NodeClassifier("mlp", scoring="accuracy", max_epochs=30)
    with pytest.warns(AlarmWarning, match="all 600 nodes are predicted as 'honest'"):
        classifier.fit(fraud_graph)
    found = [alarm.kind for alarm in classifier.alarms_]
    assert {"one_class", "trivial", "few_validation_nodes"} <= set(found)
    assert NodeClassifier.load(classifier.save(tmp_path)).alarms_ == classifier.alarms_


def test_the_default_scoring_of_rare_classes_avoids_a_degenerate_model(fraud_graph):
    fitted = NodeClassifier("mlp", max_epochs=150).fit(fraud_graph)
    assert fitted.scoring_ == resolve_scoring(None, fraud_graph, fitted.split_)
    assert not {"untrained", "trivial"} & {alarm.kind for alarm in fitted.alarms_}
