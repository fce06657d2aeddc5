"""The runs of studies: their settings, seeds, and splits, and that equal runs are trained once."""

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heterophily import Split
from heterophily.core.errors import HeterophilyError
from heterophily.htmp.method import make_method, replace_architecture
from heterophily.models import REGISTRY
from heterophily.models.cmgnn.method import CMGNN, ablation_variants
from heterophily.models.settings import tuned
from heterophily.models.simp_gcn import SimPGCN
from heterophily.runs import worker
from heterophily.runs.measures import FinalMeasure
from heterophily.studies.ablation import STUDY as ABLATION
from heterophily.studies.study import ACCURACY, Study, TrainingOptions, make_jobs, run_study, with_splits
from heterophily.studies.synthetic import uses_edges, without_edges
from heterophily.studies.tidy import StudyData, filter_rows
from heterophily.training.trainer import train

SHORT = {"max_epochs": 3, "width": 8}


def two_tables(job, graph, split):
    """Measure the accuracy, the process, and two rows of a second table."""
    return FinalMeasure(
        lambda trained: [
            {"table": "", "test_accuracy": trained.test_accuracy, "process": os.getpid()},
            *({"table": "more", "epoch": epoch} for epoch in range(2)),
        ]
    )


def rows(job, record):
    found = {}
    for row in record.rows("two_tables"):
        columns = dict(row)
        found.setdefault(columns.pop("table"), []).append(columns)
    return found


def make_study(*models, variants=None):
    def jobs(options, graph):
        measures = (f"{__name__}:two_tables",)
        return [job for model in models for job in make_jobs(graph, model, options, table="s", measures=measures)]

    return Study(
        name="s", title="", description="", usage="", topic=ACCURACY, options=TrainingOptions,
        jobs=jobs, rows=rows, charts=lambda _: (), tables=lambda _: (), files=("s",),
    )  # fmt: skip


def options_of(graph, **options):
    settings = {**SHORT, **options.pop("settings", {})}
    return TrainingOptions(graphs=(graph,), settings=settings, device="cpu", **options)


def go(study, graph, **options):
    return run_study(study, options_of(graph, **options))


def first_job(graph, model, **settings):
    return make_jobs(graph, model, options_of(graph, settings=settings), table="s")[0]


def test_a_job_per_split_with_the_split_number_as_seed(graph):
    options = options_of(graph, splits=3, seed=5)
    jobs = make_jobs(graph, "gcn", options, table="s", columns={"note": "x"})
    assert [j.job.split for j in jobs] == ["0", "1", "2"]
    assert [j.job.seed for j in jobs] == [5, 6, 7]
    assert [j.first for j in jobs] == [True, False, False]
    assert jobs[0].labels | {"run": ""} == {
        "dataset": "zoo", "model": "gcn", "note": "x", "split": "0", "seed": 5, "run": ""
    }  # fmt: skip


def test_settings_come_from_the_committed_table_then_from_the_caller(graph):
    real = graph.replace(name="actor")
    options = TrainingOptions(graphs=(real,), splits=1, settings={"width": 7})
    (made,) = make_jobs(real, "gcn", options, table="s")
    known, settings = tuned("gcn", "actor"), made.job.empty_record.settings
    assert known["preset"] == "reference"
    assert settings["learning_rate"] == known["learning_rate"]
    assert settings["loss"] == "ce_of_probabilities"
    assert settings["width"] == 7
    options = TrainingOptions(graphs=(real,), splits=1)
    (other,) = make_jobs(real, "mlp", options, table="s", tuned_as=("gcn", "actor"))
    assert other.job.settings == known


def test_splits_without_labelled_test_nodes_are_replaced(graph):
    assert list(with_splits(graph, 2).splits) == ["0", "1"]
    blind = graph.replace(splits={"mine": Split.from_nodes(range(50), range(50, 60))})
    drawn = with_splits(blind, 4).splits
    assert len(drawn) == 4
    assert all(len(split.test) > 10 for split in drawn.values())
    with pytest.raises(HeterophilyError, match="at least one split, got 0"):
        with_splits(graph, 0)


def test_rows_are_those_of_the_trainer(graph):
    tables = go(make_study("gcn"), graph, splits=2)
    for row in tables["s"]:
        split = graph.split(row["split"])
        _, run = train("gcn", graph, split=split, seed=row["seed"], **SHORT)
        assert row["test_accuracy"] == pytest.approx(100 * run.scores["test"]["accuracy"], rel=1e-5)
    assert len(tables["s"]) == 2
    assert [row["epoch"] for row in tables["s-more"]] == [0, 1, 0, 1]


def test_what_is_there_is_not_run_again(graph, tmp_path, no_training):
    study = make_study("gcn")
    first = go(study, graph, splits=2, out=tmp_path)
    no_training()
    assert go(study, graph, splits=2, out=tmp_path) == first
    assert len(go(study, graph, splits=1, out=tmp_path)["s"]) == 2  # other splits stay
    with pytest.raises(HeterophilyError, match=r"1 of 3 runs failed.*nothing should be trained"):
        go(study, graph, splits=3, out=tmp_path)
    with pytest.raises(HeterophilyError, match=r"2 of 2 runs failed.*nothing should be trained"):
        go(study, graph, splits=2, out=tmp_path, settings={"width": 9})


def test_rows_under_other_settings_are_dropped_and_other_cells_stay(graph, tmp_path):
    go(make_study("mlp"), graph, splits=1, out=tmp_path)
    go(make_study("gcn"), graph, splits=3, out=tmp_path)
    tables = go(make_study("gcn"), graph, splits=1, out=tmp_path, settings={"width": 9})
    assert [row["model"] for row in tables["s"]] == ["mlp", "gcn"]
    assert len(filter_rows(tables["s-more"], model="gcn")) == 2
    assert StudyData.opened("s", tmp_path).by_file == tables


def test_another_graph_of_the_same_name_is_another_run(graph):
    def run_of(on, model):
        used = on if uses_edges(model, on.name) else without_edges(on, graph)
        return first_job(used, model).labels["run"]

    edges = graph.replace(adjacency=graph.symmetric)
    assert run_of(graph, "gcn") != run_of(edges, "gcn")
    assert run_of(graph, "mlp") == run_of(edges, "mlp")
    assert run_of(graph, "linkx") != run_of(edges, "linkx")
    labels = graph.replace(labels=(graph.labels + 1) % 3)
    assert run_of(graph, "mlp") != run_of(labels, "mlp")


def ablation_runs(graph, variants):
    options = ABLATION.options(graphs=(graph,), variants=variants, splits=1)
    return [job.labels["run"] for job in ABLATION.jobs(options, graph)]


def test_a_loss_of_weight_zero_makes_no_other_run(graph):
    def runs(weight):
        full = make_method(CMGNN, {"discrimination_weight": weight})
        return ablation_runs(graph, {"full": full, **ablation_variants(full)})

    assert len(set(runs(0.1))) == 4
    full, no_messages, no_loss, neither = runs(0.0)
    assert full == no_loss != no_messages == neither


def test_a_loss_with_weights_of_its_own_makes_another_run_even_at_weight_zero(graph):
    """Its weights are drawn before training, so that all later draws differ."""
    full = SimPGCN(**SHORT, similarity_weight=0.0, n_neighbors=3)
    variants = {"full": full, "bare": replace_architecture(full, "without loss", losses=())}
    runs = ablation_runs(graph, variants)
    assert runs[0] != runs[1]
    logits = []
    for method in variants.values():
        network, _ = train(method, graph, split=graph.split("0"), seed=0)
        with torch.no_grad():
            logits.append(network.eval()(graph))
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
        return first_job(graph, own_method(tmp_path / "own.py", factor)).labels["run"]

    assert run(2) != run(3)
    assert run(2) == run(2)
    REGISTRY.pop("mine")


def test_equal_runs_are_trained_once_and_told_twice(graph, monkeypatch):
    counted = []
    once = worker.run_job
    monkeypatch.setattr(worker, "run_job", lambda *job: counted.append(job) or once(*job))
    method = make_method(CMGNN, {**SHORT, "discrimination_weight": 0.0})
    bare = ablation_variants(method)["without discrimination loss"]
    variants = {"full": method, "without loss": bare}
    options = ABLATION.options(graphs=(graph,), variants=variants, splits=2, device="cpu")
    paper = {"full": 1.0, "without loss": 2.0}
    study = replace(ABLATION, paper=lambda row: paper[row["variant"]])
    found = run_study(study, options)["ablation"]
    assert len(counted) == 2
    assert len(found) == 4
    full, other = (filter_rows(found, variant=variant) for variant in variants)
    assert [r["test_accuracy"] for r in full] == [r["test_accuracy"] for r in other]
    assert {r["paper"] for r in full} == {1.0}
    assert {r["paper"] for r in other} == {2.0}


def test_processes_give_the_same_rows_also_of_a_recipe_in_a_file(graph, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *_paths()]))
    mine, found = own_method(tmp_path / "own.py", 2), []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        rows = go(make_study("gcn", mine), graph, splits=2, out=out, workers=workers)["s"]
        pids = {row.pop("process") for row in rows}
        assert (os.getpid() in pids) == (workers == 1)
        assert [(row["model"], row["split"]) for row in rows] == [
            ("gcn", "0"), ("gcn", "1"), ("mine", "0"), ("mine", "1")
        ]  # fmt: skip
        found.append(rows)
    assert found[0] == found[1]
    REGISTRY.pop("mine")


def _paths():
    return filter(None, [os.environ.get("PYTHONPATH")])


def test_a_job_travels_to_a_worker(graph):
    made = first_job(graph, replace_architecture(CMGNN(), "changed", activate_last=True))
    sent = pickle.loads(pickle.dumps(made.job))
    assert sent.key == made.job.key
    assert worker.run_job(sent).run["scores"] == worker.run_job(made.job).run["scores"]
