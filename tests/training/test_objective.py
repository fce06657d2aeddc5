"""The scoring of a run if none is given, and what follows from it."""

import pytest
import torch
from sklearn.metrics import average_precision_score

from heterophily import Graph, HeterophilyError, Split
from heterophily.data.loading import load
from heterophily.training.objective import choose_scoring, explain_scoring, resolve_scoring
from heterophily.training.scoring import accuracy
from heterophily.training.splits import resolve_split, with_validation
from heterophily.training.trainer import WARM_UP, train


def labels(*sizes):
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((50, 50), "accuracy"),
        ((75, 25), "accuracy"),
        ((76, 24), "average_precision"),
        ((5, 95), "average_precision"),
        ((40, 30, 30), "accuracy"),
        ((50, 25, 25), "accuracy"),
        ((51, 25, 24), "f1_macro"),
        ((40, 40, 17, 3), "f1_macro"),
        ((40, 40, 16, 4), "accuracy"),
        ((100,), "accuracy"),
        ((80, 0, 20), "average_precision"),
    ],
)
def test_the_scoring_follows_from_the_sizes_of_the_classes(sizes, expected):
    assert choose_scoring(labels(*sizes)).name == expected
    unknown = torch.full((1000,), -1)
    assert choose_scoring(torch.cat([labels(*sizes), unknown])).name == expected


def test_the_reason_contains_the_shares():
    assert "5.0%" in explain_scoring(labels(95, 5))
    assert "the 3 classes have 10.0% to 60.0%" in explain_scoring(labels(60, 30, 10))


def fraud_split(graph):
    return with_validation(graph, resolve_split(graph, None), seed=0)


def test_only_labels_of_training_and_validation_nodes_are_read(fraud_graph):
    split = Split.from_nodes(range(0, 60, 2), range(1, 60, 2), range(60, 600))  # half of these are fraud
    assert resolve_scoring(None, fraud_graph, split).name == "accuracy"
    assert resolve_scoring(None, fraud_graph, fraud_split(fraud_graph)).name == "average_precision"


def test_the_default_on_datasets_of_the_catalog_is_accuracy(fraud_graph):
    split = fraud_split(fraud_graph)
    assert resolve_scoring(None, fraud_graph.replace(name="actor"), split) is not None
    assert resolve_scoring(None, fraud_graph.replace(name="actor"), split).name == accuracy.name
    digits = load("digits")
    assert resolve_scoring(None, digits, digits.split("0")).name == accuracy.name


def test_the_default_is_accuracy_if_the_other_is_not_defined(fraud_graph):
    split = Split.from_nodes(range(400), range(400, 600))  # no fraud to validate on
    assert resolve_scoring(None, fraud_graph, split).name == "accuracy"


def test_the_positive_class_is_the_rarer_one_or_the_given_one(fraud_graph):
    split = fraud_split(fraud_graph)
    assert resolve_scoring(None, fraud_graph, split).positive == 1
    for positive in ("honest", "0"):
        other = fraud_graph if positive == "honest" else fraud_graph.replace(class_names=None)
        assert resolve_scoring("roc_auc", other, split, positive=positive).positive == 0
    with pytest.raises(HeterophilyError, match='unknown positive class "frud"; did you mean "fraud"'):
        resolve_scoring(None, fraud_graph, split, positive="frud")


def test_held_out_validation_nodes_are_stratified(fraud_graph):
    split = fraud_split(fraud_graph)
    counts = {part: torch.bincount(fraud_graph.labels[nodes]).tolist() for part, nodes in split.parts.items()}
    assert counts == {"train": [427, 23], "val": [143, 7], "test": []}
    again, other = fraud_split(fraud_graph), with_validation(fraud_graph, resolve_split(fraud_graph, None), seed=1)
    assert torch.equal(split.val, again.val)
    assert not torch.equal(split.val, other.val)


@pytest.mark.parametrize("classes", [[0, 1], [0, 0], [0, 1, 2, 3, 4], [0, 0, 1]])
def test_few_labeled_nodes_are_divided_too(classes):
    graph = Graph.from_edges([], labels=classes)
    split = with_validation(graph, resolve_split(graph, None), seed=0)
    assert len(split.train) >= 1
    assert len(split.val) >= 1
    assert sorted([*split.train.tolist(), *split.val.tolist()]) == list(range(len(classes)))


@pytest.mark.parametrize("model", ["mlp", "gcn"])
def test_training_by_average_precision_finds_fraud(fraud_graph, model):
    split = fraud_split(fraud_graph)
    scoring = resolve_scoring(None, fraud_graph, split)
    options = {"split": split, "progress": False, "max_epochs": 120}
    network, run = train(model, fraud_graph, scoring=scoring, **options)
    assert run.history.scoring == "average_precision"
    assert run.best_epoch >= WARM_UP
    with torch.no_grad():
        fraud = network(fraud_graph).softmax(dim=1)[split.val, 1].numpy()
    truth = fraud_graph.labels[split.val].numpy()
    assert run.score("val", "average_precision") == pytest.approx(average_precision_score(truth, fraud))
    assert run.score("val", "average_precision") == pytest.approx(max(run.history.val_scores[WARM_UP:]))
    by_accuracy = train(model, fraud_graph, **options)[1]
    assert by_accuracy.score("val", "roc_auc") < 0.5  # the first epochs have the best accuracy: no fraud at all
    assert run.score("val", "roc_auc") > 0.65
