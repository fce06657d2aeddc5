"""No test label reaches a model: with other labels of the test nodes, everything but test scores is the same.

Each test compares two graphs that differ only in the labels of the test nodes. `diagnose` and `audit` are descriptions
of all labels, so they have no test nodes.
"""

import numpy as np
import pytest
import torch

import heterophily
from heterophily import Graph, NodeClassifier, Split, cross_validate
from heterophily.benchmark.plan import plan
from heterophily.data.splits import cross_validation_splits
from heterophily.models import BUILT_IN, NETWORKS
from heterophily.runs.execute import run_jobs
from heterophily.runs.record import read_records
from heterophily.studies import STUDIES
from heterophily.studies.study import run_study
from heterophily.training.auto import fit as auto
from heterophily.training.auto.portfolio import Candidate
from tests.robustness.inputs import small_graph

QUICK = {"max_epochs": 3, "patience": 3}
ORDER = np.random.default_rng(1).permutation(36)
PARTS = {"train": ORDER[:15], "val": ORDER[15:24], "test": ORDER[24:]}
CLEAN = small_graph(n=36, splits={"0": Split.from_nodes(*PARTS.values())})


def poisoned(part):
    """The graph with another class for every node of a part, which also changes the sizes of the classes."""
    labels = CLEAN.labels.clone()
    labels[PARTS[part]] = torch.tensor([1, 2, 1])[labels[PARTS[part]]]
    return CLEAN.replace(labels=labels)


BOTH = CLEAN, poisoned("test")


def settings_of(model):
    return QUICK if model in NETWORKS else {}


def without_test_scores(run):
    """All of a run that must not depend on test labels."""
    scores = {part: values for part, values in run["scores"].items() if part != "test"}
    curve = {name: values for name, values in run["curve"].items() if name != "seconds"}
    return scores, curve, run["best_epoch"], run["n_epochs"]


def fitted_facts(model):
    return model.predict_proba().tolist(), without_test_scores(model.run_.to_dict())


def test_the_graphs_differ_in_every_test_label_only():
    clean, other = (graph.labels.numpy() for graph in BOTH)
    assert set(np.flatnonzero(clean != other)) == set(PARTS["test"])
    assert sorted(np.bincount(clean)) != sorted(np.bincount(other))


@pytest.mark.parametrize("part", ["train", "val"])
def test_other_labels_do_matter(part):
    """The comparison of the tests below finds labels that a model does use."""
    one, two = (NodeClassifier("gcn", **QUICK).fit(graph, split="0") for graph in (CLEAN, poisoned(part)))
    assert fitted_facts(one) != fitted_facts(two)


@pytest.mark.parametrize("model", BUILT_IN)
def test_fit_and_cross_validate_do_not_use_test_labels(model):
    fits, folds = [], []
    pairs = [(np.concatenate([PARTS["train"], PARTS["val"]]), PARTS["test"])]
    for graph in BOTH:
        classifier = NodeClassifier(model, random_state=0, calibrate=True, **settings_of(model))
        fits.append(fitted_facts(classifier.fit(graph, split="0")))
        found = cross_validate(classifier, graph, cv=pairs, return_estimator=True)
        folds.append([fitted_facts(each) for each in found["estimator"]])
    assert fits[0] == fits[1]
    assert folds[0] == folds[1]


def facts_of(records):
    return [(record.model, without_test_scores(record.run), record.parameters) for record in records]


def test_bench_does_not_use_test_labels(tmp_path):
    found = []
    for i, graph in enumerate(BOTH):
        source = str(graph.save(tmp_path / f"{i}.safetensors"))
        jobs = [job for model in BUILT_IN for job in plan([model], {source: graph}, settings=settings_of(model))]
        found.append(run_jobs(jobs, tmp_path / str(i), engine="inline", workers=1))
        assert [record.reason for record in found[-1]] == [""] * len(BUILT_IN)
    assert facts_of(found[0]) == facts_of(found[1])
    assert any(one.score() != two.score() for one, two in zip(*found, strict=True))


def trials_of(result):
    return [(trial.value, trial.scores, trial.answers, trial.reason) for trial in result.trials]


def test_search_and_tune_do_not_use_test_labels(tmp_path):
    found = []
    for i, graph in enumerate(BOTH):
        out = tmp_path / str(i)
        tuned = heterophily.tune(NETWORKS, graph, trials=1, out=out / "tune", settings=QUICK)
        one = heterophily.search("gcn", graph, trials=3, out=out / "search", settings=QUICK)
        other = heterophily.search("htmp", graph, trials=3, out=out / "htmp", settings=QUICK)
        found.append([trials_of(result) for result in (*tuned.searches.values(), one, other)])
        records = [record for folder in out.rglob("runs") for record in read_records(folder)]
        assert not any(record.has_test_scores for record in records)
    assert len(found[0]) == len(NETWORKS) + 2
    assert found[0] == found[1]
    assert all(trial[0] is not None for trials in found[0] for trial in trials)


def test_auto_does_not_use_test_labels(monkeypatch):
    portfolio = tuple(Candidate(model, model, settings_of(model)) for model in BUILT_IN)
    monkeypatch.setattr(auto, "read_portfolio", lambda: portfolio)
    found = []
    for graph in BOTH:
        model = NodeClassifier("auto", budget=600, random_state=0, workers=1).fit(graph, split="0")
        board = [(entry.name, entry.status, entry.score, entry.weight) for entry in model.leaderboard_.entries]
        assert sum(score is not None for _, _, score, _ in board) > len(NETWORKS) / 2
        found.append((board, model.predict_proba().tolist(), str(model.scoring_.name)))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["ablation", "degrees"])
def test_studies_do_not_use_test_labels(name, tmp_path):
    found = []
    for i, graph in enumerate(BOTH):
        options = STUDIES[name].options(graphs=(graph,), splits=1, settings=QUICK, device="cpu", out=tmp_path / str(i))
        run_study(STUDIES[name], options)
        found.append([record for folder in (tmp_path / str(i)).glob("*/") for record in read_records(folder)])
    assert len(found[0]) > 1
    assert facts_of(found[0]) == facts_of(found[1])


def test_splits_for_cross_validation_hide_the_labels_of_their_test_nodes():
    """A fold of a graph whose split is not given has its own test nodes, which are hidden, too."""
    splits = cross_validation_splits(CLEAN)
    for split in list(splits.values())[:2]:
        labels = CLEAN.labels.clone()
        labels[split.test] = (labels[split.test] + 1) % 3
        graphs = [CLEAN.replace(splits={"0": split}), Graph.replace(CLEAN, labels=labels, splits={"0": split})]
        one, two = (fitted_facts(NodeClassifier("cmgnn", **QUICK).fit(graph, split="0")) for graph in graphs)
        assert one == two
