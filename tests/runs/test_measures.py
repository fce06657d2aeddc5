"""Measures: their rows are part of the record of the run."""

import pytest

from heterophily.runs.execute import run_jobs
from heterophily.runs.job import make_job
from heterophily.runs.measures import FinalMeasure
from heterophily.runs.record import read_records

MEASURES = '''
from heterophily.runs.measures import FinalMeasure

class Epochs:
    """The epochs in which validation improved."""

    def __init__(self, job, graph, split):
        self.epochs = []

    def on_improvement(self, epoch, network, logits):
        self.epochs.append(epoch)

    def rows(self, trained):
        return [{"epoch": epoch} for epoch in self.epochs]

def predictions(job, graph, split):
    return FinalMeasure(lambda trained: [{"n_nodes": len(trained.logits), "accuracy": trained.test_accuracy}])
'''


@pytest.fixture
def measure(tmp_path, monkeypatch, graph):
    """Run a job with measures of a module that worker processes import."""
    (tmp_path / "my_measures.py").write_text(MEASURES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    def call(*names, **options):
        measures = tuple(f"my_measures:{name}" for name in names)
        job = make_job("gcn", graph, "0", seed=0, settings={"max_epochs": 3}, measures=measures)
        (record,) = run_jobs([job], tmp_path / "results", **options)
        assert record.done, record.reason
        return record

    return call


def test_rows_of_measures_are_in_the_details(measure, graph):
    record = measure("Epochs", "predictions", engine="inline")
    assert record.rows("Epochs")[0] == {"epoch": 0}
    assert record.rows("Epochs")[-1] == {"epoch": record.run["best_epoch"]}
    accuracy = pytest.approx(100 * record.score())
    assert record.rows("predictions") == [{"n_nodes": graph.n_nodes, "accuracy": accuracy}]


def test_a_run_without_a_measure_runs_again_and_retains_other_measures(measure, tmp_path):
    first = measure("Epochs", engine="inline")
    assert measure("Epochs", engine="inline") == first
    second = measure("predictions", engine="inline")
    assert second.run["scores"] == first.run["scores"]
    assert second.rows("Epochs") == first.rows("Epochs")
    assert measure("Epochs", "predictions", engine="inline") == second
    assert read_records(tmp_path / "results") == [second]


def test_a_graph_in_memory_is_sent_to_processes(graph, tmp_path):
    jobs = [make_job("gcn", graph, split, seed=0, settings={"max_epochs": 2}) for split in "01"]
    records = run_jobs(jobs, tmp_path / "results", workers=2)
    assert [record.done for record in records] == [True, True]
    assert not list((tmp_path / "results").glob(".graphs-*"))


def test_a_measure_of_the_result_ignores_epochs():
    measure = FinalMeasure(lambda trained: [{"value": trained}])
    measure.on_improvement(0, None, None)
    assert measure.rows(3) == [{"value": 3}]
