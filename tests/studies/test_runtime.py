from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from heterophily import Graph, build
from heterophily.core.errors import HeterophilyError
from heterophily.runs import worker
from heterophily.runs.execute import run_jobs
from heterophily.studies import runtime
from heterophily.studies.runtime import (
    STUDY,
    RuntimeMeasure,
    RuntimeOptions,
    exponent,
    exponents,
    memory,
    scaling_graph,
)
from heterophily.studies.tidy import StudyData, filter_rows, unique_values
from heterophily.views.matplotlib import save_figures


@pytest.fixture
def here(monkeypatch):
    """Measure in this process; lists the jobs."""
    jobs = []
    train = worker.run_job

    def record(job, checkpoint=None):
        jobs.append(job)
        return train(job, checkpoint)

    def inline(jobs, folder, **options):
        return run_jobs(jobs, folder, **{**options, "engine": "inline"})

    monkeypatch.setattr(worker, "run_job", record)
    monkeypatch.setattr("heterophily.studies.study.run_jobs", inline)
    return jobs


def test_a_process_of_its_own(graph, run):
    """The one test that starts a process."""
    options = {"models": ("gcn",), "epochs": 2, "threads": 1, "settings": {"width": 8}}
    (row,) = run(STUDY, graph, **options).rows
    assert row["failure"] is None
    assert row["threads"] == 1
    assert row["parameters"] == sum(p.numel() for p in build("gcn", graph, width=8).parameters())
    assert 0 <= row["training_mb"] < row["peak_mb"] < 5_000


@pytest.mark.parametrize(
    ("status", "said", "reason"),
    [("memory", "Traceback\n  ..\nMemoryError: no room\n", "MemoryError: no room"), ("killed", "", "killed")],
)
def test_a_process_that_fails_leaves_its_reason(graph, status, said, reason):
    (job,) = runtime.jobs(RuntimeOptions(models=("mlp",)), graph)
    (row,) = runtime.rows(job, replace(job.job.empty_record, status=status, reason=said))[""]
    assert row["failure"] == reason
    assert row["milliseconds"] is row["peak_mb"] is None


def test_rows_of_methods(graph, here, tmp_path, run):
    options = {"epochs": 2, "threads": 1, "settings": {"width": 8}, "out": tmp_path}
    study = run(STUDY, graph, models=("mlp", "gcn"), **options)
    assert [row["model"] for row in study.rows] == ["mlp", "gcn"]
    for row in study.rows:
        assert (row["n_nodes"], row["n_edges"]) == (graph.n_nodes, graph.symmetric.n_entries)
        assert row["n_epochs"] == 2
        assert row["milliseconds"] > 0
        assert row["paper"] is None
    assert [job.settings["width"] for job in here] == [8] * 2
    assert StudyData.opened("runtime", tmp_path).rows == study.rows
    (path,) = save_figures(runtime.charts(StudyData.opened("runtime", tmp_path).by_file), tmp_path)
    assert path.stat().st_size > 5_000


def test_a_rerun_continues(graph, here, tmp_path, run):
    def go(*models, on=graph, **changes):
        here.clear()
        options = {"epochs": 1, "threads": 1, "settings": {"width": 4}, "out": tmp_path, **changes}
        study = run(STUDY, on, models=models, **options)
        return study, [job.empty_record.model for job in here]

    first, measured = go("mlp")
    assert measured == ["mlp"]
    both, measured = go("mlp", "gcn")
    assert measured == ["gcn"]
    assert filter_rows(both.rows, model="mlp") == first.rows
    assert go("gcn", "mlp")[1] == []
    assert go("mlp", on=graph.replace(name="copy"))[1] == ["mlp"]
    for changes in ({"settings": {"width": 5}}, {"threads": 0}, {"epochs": 2}):
        assert go("mlp", **changes)[1] == ["mlp"]
    other = graph.replace(adjacency=graph.symmetric)
    assert go("gcn", on=other)[1] == ["gcn"]
    rows = StudyData.opened("runtime", tmp_path).rows
    assert sorted((r["dataset"], r["model"]) for r in rows) == [
        ("copy", "mlp"), ("zoo", "gcn"), ("zoo", "mlp")
    ]  # fmt: skip


def test_what_failed_is_measured_again(graph, here, tmp_path, monkeypatch, run):
    def fail(*_, **__):
        raise MemoryError("no room")

    go = partial(run, STUDY, graph, models=("mlp",), epochs=1, out=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "train", fail)
        assert go().rows[0]["failure"] == "no room"
    for _ in range(2):
        assert go().rows[0]["failure"] is None
    assert len(here) == 2


def test_a_wrong_setting_is_named_before_anything_is_measured(graph, here, run):
    with pytest.raises(HeterophilyError, match='did you mean "width"'):
        run(STUDY, graph, models=("mlp",), settings={"wdth": 3})
    assert not here


def test_the_first_epochs_are_not_counted(graph):
    seconds = [9.0, 9.0, 9.0, 0.001, 0.002, 0.006]
    result = SimpleNamespace(device="cpu", seconds=30.0, history=SimpleNamespace(seconds=seconds))
    (job,) = runtime.jobs(RuntimeOptions(models=("mlp",), epochs=3), graph)
    measure = RuntimeMeasure(job.job, graph, graph.split("0"))
    (row,) = measure.rows(SimpleNamespace(run=result))
    assert row["milliseconds"] == pytest.approx(3.0)
    assert row["median_milliseconds"] == pytest.approx(2.0)
    assert row["n_epochs"] == 3
    assert row["setup_seconds"] == pytest.approx(30 - sum(seconds))
    assert (job.job.settings["max_epochs"], job.job.settings["patience"]) == (6, 6)


def test_memory_sees_a_large_array():
    before = memory("VmRSS")
    array = np.ones(2**24)  # 128 MB
    assert memory("VmRSS") - before > 100
    del array
    assert memory("VmHWM") >= before + 100


def test_a_graph_of_the_scaling_law():
    graph = scaling_graph(1000)
    assert graph.n_nodes == 1000
    assert graph.symmetric.n_entries == pytest.approx(10_000, rel=0.02)
    assert (graph.n_features, graph.n_classes) == (64, 5)
    assert len(graph.split("0").val) == 320
    with pytest.raises(HeterophilyError, match="starts at 100 nodes, got 50"):
        scaling_graph(50)


def test_the_scaling_study_has_a_row_per_size_and_method(here, tmp_path, run):
    options = {"sizes": (100, 300), "epochs": 1, "settings": {"width": 4}, "out": tmp_path}
    study = run(STUDY, models=("mlp", "gcn"), table="scaling", **options)
    assert [(r["n_nodes"], r["model"]) for r in study.rows] == [
        (100, "mlp"), (100, "gcn"), (300, "mlp"), (300, "gcn")
    ]  # fmt: skip
    assert unique_values(study.rows, "dataset") == ["100 nodes", "300 nodes"]
    (path,) = save_figures(runtime.charts(StudyData.opened("scaling", tmp_path).by_file), tmp_path)
    assert path.stat().st_size > 5_000


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law(power):
    x = np.array([1e3, 1e4, 1e5, 1e6])
    assert exponent(x, 7 * x**power) == pytest.approx(power)
    assert exponent(x[:1], x[:1]) is None
    assert exponent([10, 100, 1000], [0, 5, 50]) == pytest.approx(1)


def test_exponents_per_method_leave_out_what_failed():
    rows = [
        {"model": m, "n_edges": e, "milliseconds": 1.0, "median_milliseconds": e**t, "training_mb": e / 50}
        for m, t in (("a", 1.0), ("b", 1.5)) for e in (10, 100, 1000)
    ]  # fmt: skip
    rows.append({"model": "b", "n_edges": 10**4, "milliseconds": None, "median_milliseconds": None,
                 "training_mb": None})  # fmt: skip
    first, second = exponents(rows)
    assert (first["model"], second["model"]) == ("a", "b")
    assert (first["time"], second["time"]) == (pytest.approx(1), pytest.approx(1.5))
    assert second["memory"] == pytest.approx(1)
    assert second["n_sizes"] == 3


def test_the_papers_times_stand_beside():
    assert runtime.in_paper("cmgnn", "actor") == 19.0
    assert runtime.in_paper("cmgnn", "zoo") is None


def test_a_graph_without_splits_can_be_measured(here, run):
    bare = Graph.from_edges([(0, 1), (1, 2)] * 5, np.eye(20), labels=np.arange(20) % 2, name="bare")
    study = run(STUDY, bare, models=("mlp",), epochs=1)
    assert filter_rows(study.rows, dataset="bare")[0]["milliseconds"] > 0
