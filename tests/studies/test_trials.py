import os
import pickle

import pytest
import torch

from heterophily import Split
from heterophily.core.errors import HeterophilyError
from heterophily.htmp.method import make_method, replace_architecture
from heterophily.models import REGISTRY
from heterophily.models.cmgnn import CMGNN, ablation_variants
from heterophily.models.settings import tuned
from heterophily.models.simp_gcn import SimPGCN
from heterophily.studies.tidy import StudyData, filter_rows
from heterophily.studies.trials import run_trials, splits_of, trials_of
from heterophily.training.trainer import train

SHORT = {"max_epochs": 3, "width": 8}


def measure(trial):
    trained = trial.train()
    return {"": [{"test_accuracy": trained.test_accuracy}], "more": [{"epoch": 0}, {"epoch": 1}]}


def test_a_trial_per_split_with_the_split_number_as_seed(graph):
    trials = trials_of(graph, "gcn", n_splits=3, seed=5, settings=SHORT, note="x")
    assert [t.split for t in trials] == ["0", "1", "2"]
    assert [t.seed for t in trials] == [5, 6, 7]
    assert [t.first for t in trials] == [True, False, False]
    assert all(torch.equal(t.split_nodes.test, graph.split(t.split).test) for t in trials)
    assert trials[0].labels | {"run": ""} == {
        "dataset": "zoo", "model": "gcn", "note": "x", "split": "0", "seed": 5, "run": ""
    }  # fmt: skip


def test_settings_come_from_the_committed_table_then_from_the_caller(graph):
    real = graph.replace(name="actor")
    (trial,) = trials_of(real, "gcn", n_splits=1, settings={"width": 7})
    known = tuned("gcn", "actor")
    assert known["preset"] == "reference"
    assert trial.method.learning_rate == known["learning_rate"]
    assert trial.method.loss == "ce_of_probabilities"
    assert trial.method.width == 7
    (other,) = trials_of(real, "mlp", n_splits=1, tuned_as=("gcn", "actor"))
    assert other.method == make_method(REGISTRY["mlp"], known)


def test_splits_without_labelled_test_nodes_are_replaced(graph):
    assert list(splits_of(graph, 2)) == ["0", "1"]
    blind = graph.replace(splits={"mine": Split.from_nodes(range(50), range(50, 60))})
    drawn = splits_of(blind, 4)
    assert len(drawn) == 4
    assert all(len(split.test) > 10 for split in drawn.values())
    with pytest.raises(HeterophilyError, match="at least one split, got 0"):
        splits_of(graph, 0)


def test_rows_are_those_of_the_trainer(graph):
    study = StudyData.opened("s")
    run_trials(trials_of(graph, "gcn", n_splits=2, settings=SHORT), measure, study)
    for row in study.rows:
        split = graph.split(row["split"])
        _, run = train("gcn", graph, split=split, seed=row["seed"], **SHORT)
        assert row["test_accuracy"] == pytest.approx(100 * run.scores["test"]["accuracy"], rel=1e-5)
    assert len(study.rows) == 2
    assert [row["epoch"] for row in study.tables["more"]] == [0, 1, 0, 1]


def test_what_is_there_is_not_run_again(graph, tmp_path, no_training):
    def go(n_splits, **settings):
        study = StudyData.opened("s", tmp_path)
        trials = trials_of(graph, "gcn", n_splits=n_splits, settings={**SHORT, **settings})
        run_trials(trials, measure, study)
        return study

    first = go(2)
    no_training()
    assert go(2).tables == first.tables
    assert len(go(1).rows) == 2  # other splits of the same kind stay
    with pytest.raises(AssertionError, match="nothing should be trained"):
        go(3)
    with pytest.raises(AssertionError, match="nothing should be trained"):
        go(2, width=9)


def test_rows_under_other_settings_are_dropped_and_other_cells_stay(graph, tmp_path):
    def go(model, n_splits, **settings):
        study = StudyData.opened("s", tmp_path)
        trials = trials_of(graph, model, n_splits=n_splits, settings={**SHORT, **settings})
        run_trials(trials, measure, study)
        return study

    go("mlp", 1)
    go("gcn", 3)
    study = go("gcn", 1, width=9)
    assert [row["model"] for row in study.rows] == ["mlp", "gcn"]
    assert len(filter_rows(study.tables["more"], model="gcn")) == 2
    assert StudyData.opened("s", tmp_path).tables == study.tables


def test_two_commands_with_other_settings_leave_the_rows_of_one(graph, tmp_path):
    both = [StudyData.opened("s", tmp_path) for _ in range(2)]
    for study, width, n_splits in zip(both, (8, 9), (2, 1), strict=True):
        settings = {**SHORT, "width": width}
        trials = trials_of(graph, "gcn", n_splits=n_splits, settings=settings)
        run_trials(trials, measure, study)
    assert [row["run"] for row in StudyData.opened("s", tmp_path).rows] == [trials[0].run_id]


def test_another_graph_of_the_same_name_is_another_run(graph):
    edges = graph.replace(adjacency=graph.symmetric)
    assert trials_of(graph, "gcn")[0].run_id != trials_of(edges, "gcn")[0].run_id
    assert trials_of(graph, "mlp")[0].run_id == trials_of(edges, "mlp")[0].run_id
    assert trials_of(graph, "linkx")[0].run_id != trials_of(edges, "linkx")[0].run_id
    labels = graph.replace(labels=(graph.labels + 1) % 3)
    assert trials_of(graph, "mlp")[0].run_id != trials_of(labels, "mlp")[0].run_id


def test_a_loss_of_weight_zero_makes_no_other_run(graph):
    def ids(weight):
        full = CMGNN(discrimination_weight=weight)
        methods = (full, *ablation_variants(full).values())
        return [trials_of(graph, method)[0].run_id for method in methods]

    assert len(set(ids(0.1))) == 4
    full, no_messages, no_loss, neither = ids(0.0)
    assert full == no_loss != no_messages == neither


def test_a_loss_with_weights_of_its_own_makes_another_run_even_at_weight_zero(graph):
    """Its weights are drawn before training, so that all later draws differ."""
    full = SimPGCN(**SHORT, similarity_weight=0.0, n_neighbors=3)
    bare = replace_architecture(full, "without loss", losses=())
    runs = [trials_of(graph, method)[0] for method in (full, bare)]
    assert runs[0].run_id != runs[1].run_id
    logits = [run.train().logits for run in runs]
    assert not torch.equal(*logits)


def own_method(path, factor):
    """Write a file with a method and its part."""
    path.write_text(OWN.replace("FACTOR", str(factor)))
    os.utime(path, ns=(factor, factor))  # files are read again when their time changes
    return str(path)


OWN = '''
from dataclasses import dataclass

from heterophily import Architecture, CustomMethod
from heterophily.htmp.guidance import RowMean
from heterophily.htmp.neighborhoods import WithSelf


@dataclass(frozen=True)
class Scaled(RowMean):
    """Averages, made larger."""

    def matrix(self, indicator):
        mean = super().matrix(indicator)
        return mean.pattern * (FACTOR * mean.values)


MINE = CustomMethod("mine", Architecture(channels=(WithSelf() * Scaled(),)))
'''


def test_a_part_of_ones_own_that_changed_is_another_run(graph, tmp_path):
    def run(factor):
        return trials_of(graph, own_method(tmp_path / "own.py", factor), settings=SHORT)[0].run_id

    assert run(2) != run(3)
    assert run(2) == run(2)
    REGISTRY.pop("mine")


def test_equal_runs_are_trained_once_and_told_twice(graph):
    counted = []

    def count(trial):
        counted.append(trial)
        return measure(trial)

    study = StudyData.opened("s")
    method = CMGNN(**SHORT, discrimination_weight=0.0)
    bare = ablation_variants(method)["without discrimination loss"]
    trials = [
        trial
        for variant, each in {"full": method, "without loss": bare}.items()
        for trial in trials_of(graph, each, n_splits=2, model="cmgnn", variant=variant)
    ]
    run_trials(trials, count, study, paper=lambda row: {"full": 1.0}.get(row["variant"], 2.0))
    assert len(counted) == 2
    assert len(study.rows) == 4
    full, other = (
        filter_rows(study.rows, variant="full"),
        filter_rows(study.rows, variant="without loss"),
    )
    assert [r["test_accuracy"] for r in full] == [r["test_accuracy"] for r in other]
    assert {r["paper"] for r in full} == {1.0}
    assert {r["paper"] for r in other} == {2.0}


def test_processes_give_the_same_rows_also_of_a_method_in_a_file(graph, tmp_path):
    mine = own_method(tmp_path / "own.py", 2)
    found = []
    for workers in (1, 2):
        study = StudyData.opened("s", tmp_path / str(workers))
        trials = [
            trial
            for model in ("gcn", mine)
            for trial in trials_of(graph, model, n_splits=2, settings=SHORT, device="cpu")
        ]
        run_trials(trials, measure_with_process, study, workers=workers)
        rows = sorted(study.rows, key=lambda row: (row["model"], row["split"]))
        pids = {row.pop("process") for row in rows}
        assert (os.getpid() in pids) == (workers == 1)
        assert [(row["model"], row["split"]) for row in rows] == [
            ("gcn", "0"), ("gcn", "1"), ("mine", "0"), ("mine", "1")
        ]  # fmt: skip
        found.append(rows)
    assert found[0] == found[1]
    REGISTRY.pop("mine")


def measure_with_process(trial):
    return {"": [{"test_accuracy": trial.train().test_accuracy, "process": os.getpid()}]}


def test_a_trial_travels_to_a_worker(graph):
    own = replace_architecture(CMGNN(), "changed", activate_last=True)
    (trial,) = trials_of(graph, own, n_splits=1, settings=SHORT)
    sent = pickle.loads(pickle.dumps(trial))
    assert sent.run_id == trial.run_id
    assert measure(sent) == measure(trial)


def test_kept_weights_serve_another_study(graph, tmp_path, no_training):
    options = {"n_splits": 1, "settings": SHORT, "keep": tmp_path, "device": "cpu"}
    (trial,) = trials_of(graph, "cmgnn", **options)
    first = trial.train()
    assert [p.stem for p in tmp_path.iterdir()] == [trial.run_id]
    no_training()
    again = trials_of(graph, "cmgnn", **options)[0].train()
    assert again.run == first.run
    assert torch.equal(again.logits, first.logits)
    assert not again.network.training
    for changed in ({"seed": 1}, {"settings": {**SHORT, "width": 9}}, {"keep": tmp_path / "other"}):
        with pytest.raises(AssertionError, match="nothing should be trained"):
            trials_of(graph, "cmgnn", **{**options, **changed})[0].train()
    with pytest.raises(AssertionError, match="nothing should be trained"):
        trial.train(on_improvement=lambda *_: None)  # a watcher wants to see it happen
