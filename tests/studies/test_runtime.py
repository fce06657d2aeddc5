import json
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from heterophily import Graph, build
from heterophily.core.errors import HeterophilyError
from heterophily.studies import runtime
from heterophily.studies.runtime import (
    exponent,
    exponents,
    measure_here,
    memory,
    scaling_graph,
    study_runtime,
    study_scaling,
)
from heterophily.studies.tidy import StudyData, filter_rows, unique_values
from heterophily.views.matplotlib import save_figures


@pytest.fixture
def here(monkeypatch):
    """Measure in this process; lists the jobs."""
    jobs = []

    def run(job):
        jobs.append(json.loads(json.dumps(job)))
        return {**measure_here(jobs[-1]), "failure": None}

    monkeypatch.setattr(runtime, "in_own_process", run)
    return jobs


def test_a_process_of_its_own(graph, tmp_path):
    """The one test that starts a process."""
    path = tmp_path / "graph.safetensors"
    graph.save(path)
    job = {
        "model": "gcn",
        "graph": str(path),
        "n_epochs": 2,
        "threads": 1,
        "settings": {"width": 8},
    }
    row = runtime.in_own_process(job)
    assert row["failure"] is None
    assert row["threads"] == 1
    assert row["parameters"] == sum(p.numel() for p in build("gcn", graph, width=8).parameters())
    assert 0 <= row["training_mb"] < row["peak_mb"] < 5_000


@pytest.mark.parametrize(
    ("code", "said", "reason"),
    [
        (1, "Traceback\n  ..\nMemoryError: no room\n", "MemoryError: no room"),
        (-9, "half\n", "killed"),
    ],
)
def test_a_process_that_fails_leaves_its_reason(monkeypatch, code, said, reason):
    ended = subprocess.CompletedProcess([], code, stdout="", stderr=said)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    row = runtime.in_own_process({})
    assert row["failure"] == reason
    assert row["milliseconds"] is row["peak_mb"] is None


def test_rows_of_methods(graph, here, tmp_path):
    study = study_runtime(
        graph, ["mlp", "gcn"], n_epochs=2, threads=1, settings={"width": 8}, out=tmp_path
    )
    assert [row["model"] for row in study.rows] == ["mlp", "gcn"]
    for row in study.rows:
        assert (row["n_nodes"], row["n_edges"]) == (graph.n_nodes, graph.symmetric.n_entries)
        assert row["n_epochs"] == 2
        assert row["milliseconds"] > 0
        assert row["paper"] is None
    assert [job["settings"] for job in here] == [{"width": 8}] * 2
    assert StudyData.opened("runtime", tmp_path).rows == study.rows
    (path,) = save_figures(runtime.charts(StudyData.opened("runtime", tmp_path).by_file), tmp_path)
    assert path.stat().st_size > 5_000


def test_a_rerun_continues(graph, here, tmp_path):
    def go(models, *, on=graph, **changes):
        here.clear()
        options = {
            "n_epochs": 1,
            "threads": 1,
            "settings": {"width": 4},
            "out": tmp_path,
            **changes,
        }
        study = study_runtime(on, models, **options)
        return study, [job["model"] for job in here]

    first, measured = go(["mlp"])
    assert measured == ["mlp"]
    both, measured = go(["mlp", "gcn"])
    assert measured == ["gcn"]
    assert both.rows[0] == first.rows[0]
    assert go(["gcn", "mlp"])[1] == []
    assert go(["mlp"], on=graph.replace(name="copy"))[1] == ["mlp"]
    for changes in ({"settings": {"width": 5}}, {"threads": 0}, {"n_epochs": 2}):
        assert go(["mlp"], **changes)[1] == ["mlp"]
    other = graph.replace(adjacency=graph.symmetric)
    assert go(["gcn"], on=other)[1] == ["gcn"]
    rows = StudyData.opened("runtime", tmp_path).rows
    assert sorted((r["dataset"], r["model"]) for r in rows) == [
        ("copy", "mlp"), ("zoo", "gcn"), ("zoo", "mlp")
    ]  # fmt: skip


def test_what_failed_is_measured_again(graph, tmp_path, monkeypatch):
    told = iter(
        [{"milliseconds": None, "failure": "killed"}, {"milliseconds": 2.0, "failure": None}]
    )
    monkeypatch.setattr(runtime, "in_own_process", lambda job: next(told))
    for failure in ("killed", None, None):
        (row,) = study_runtime(graph, ["mlp"], out=tmp_path).rows
        assert row["failure"] == failure


def test_a_wrong_setting_is_named_before_anything_is_measured(graph, here):
    with pytest.raises(HeterophilyError, match='did you mean "width"'):
        study_runtime(graph, ["mlp"], settings={"wdth": 3})
    assert not here


def test_the_first_epochs_are_not_counted(graph, tmp_path, monkeypatch):
    seconds = [9.0, 9.0, 9.0, 0.001, 0.002, 0.006]

    history = SimpleNamespace(seconds=seconds)
    run = SimpleNamespace(device="cpu", seconds=30.0, history=history)
    asked = []

    def fake(model, graph, **options):
        asked.append(options)
        return build("mlp", graph, width=4), run

    monkeypatch.setattr("heterophily.training.trainer.train", fake)
    graph.save(tmp_path / "g.safetensors")
    path = str(tmp_path / "g.safetensors")
    job = {"model": "mlp", "graph": path, "n_epochs": 3, "threads": 0, "settings": {}}
    row = measure_here(job)
    assert row["milliseconds"] == pytest.approx(3.0)
    assert row["median_milliseconds"] == pytest.approx(2.0)
    assert row["n_epochs"] == 3
    assert row["setup_seconds"] == pytest.approx(30 - sum(seconds))
    assert (asked[-1]["max_epochs"], asked[-1]["patience"]) == (6, 6)


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


def test_the_scaling_study_has_a_row_per_size_and_method(here, tmp_path):
    study = study_scaling(
        [100, 300], ["mlp", "gcn"], n_epochs=1, settings={"width": 4}, out=tmp_path
    )
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


def test_a_graph_without_splits_can_be_measured(here):
    bare = Graph.from_edges([(0, 1), (1, 2)] * 5, np.eye(20), labels=np.arange(20) % 2, name="bare")
    study = study_runtime(bare, ["mlp"], n_epochs=1)
    assert filter_rows(study.rows, dataset="bare")[0]["milliseconds"] > 0
