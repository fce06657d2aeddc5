"""The commands, run in this process on the embedded graph and on a graph of one's own."""

import json
import re
import sys
from dataclasses import replace

import pytest

from heterophily.commands.main import main
from heterophily.core.errors import HeterophilyError
from heterophily.studies import runtime

FAST = ("--splits", "1", "--set", "max_epochs=2", "--set", "width=8", "--device", "cpu")


@pytest.fixture
def study(monkeypatch, capsys, tmp_path):
    """Run `heterophily study ...`; returns exit code, output, complaints and the folder."""
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["heterophily", "study", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = (re.sub(r"\x1b\[[\d;]*m", "", text) for text in capsys.readouterr())
        return end.value.code or 0, out, err

    return call


@pytest.fixture
def own(graph, tmp_path):
    """A graph of one's own, in a file."""
    return graph.save(tmp_path / "own.safetensors")


@pytest.mark.parametrize(
    ("words", "files", "says"),
    [
        (["ablation", "--model", "h2gcn", *FAST], ["ablation-h2gcn.png"], "h2gcn without A_h2: "),
        (["degrees", "--models", "gcn, mlp", *FAST], ["degrees.png", "degrees.csv"], ""),
        (
            ["compatibility", *FAST],
            ["compatibility-zoo-cmgnn.png", "compatibility-trace.csv", "compatibility-matrices.json"],
            "zoo, cmgnn: mean |M̂ − M| goes from ",
        ),
        (["desired", "--models", "gpr-gnn", *FAST], ["desired-zoo.png"], "gpr-gnn: discriminability"),
        (["overlap", "--classes", "cat,ape"], ["overlap-zoo.png"], "zoo: mean overlap "),
        (
            ["synthetic", "--models", "mlp", "--figures", "none", *FAST],
            ["synthetic.json", "synthetic.csv"],
            "",
        ),
    ],
)  # fmt: skip
def test_a_study_of_ones_own_graph(study, own, tmp_path, words, files, says):
    folder = tmp_path / "found"
    code, out, err = study(words[0], own, *words[1:], "--out", folder)
    assert code == 0
    assert says in out
    for name in (f"{words[0]}.json", *files):
        assert (folder / name).stat().st_size > 10
    assert f"wrote {folder / words[0]}.json" in err
    rows = json.loads((folder / f"{words[0]}.json").read_text())
    assert {row["dataset"] for row in rows} == {"zoo"}
    if "none" in words:
        assert not list(folder.glob("*.png"))


@pytest.mark.parametrize("name", ["ablation", "degrees", "compatibility", "desired", "synthetic"])
def test_workers_reach_the_runs(study, own, tmp_path, monkeypatch, name):
    asked = []

    def run_jobs(jobs, folder, *, workers, engine, **_):
        asked.append((workers, engine))
        raise HeterophilyError("enough")

    monkeypatch.setattr("heterophily.studies.study.run_jobs", run_jobs)
    words = ("--workers", "2", "--figures", "none", "--out", tmp_path / "found")
    assert study(name, own, *FAST, *words)[0] == 2
    assert asked == [(2, "local")]


def test_several_graphs_share_a_folder_and_figures_may_be_vectors(study, own, tmp_path):
    code, out, _ = study("overlap", own, "digits", "--out", tmp_path / "o", "--figures", "svg")
    assert code == 0
    assert [line.split(":")[0] for line in out.splitlines()] == ["zoo", "digits"]
    assert sorted(p.name for p in (tmp_path / "o").glob("*.svg")) == ["overlap-digits.svg", "overlap-zoo.svg"]


def test_the_sweep_takes_its_grid_from_the_command(study, tmp_path):
    grid = ("--homophilies", "0.1,0.6", "--off-ring-preferences", "0.02", "--degrees", "6")
    code, *_ = study("synthetic", "digits", "--sweep", *grid, "--models", "gcn", *FAST, "--out", tmp_path)
    assert code == 0
    rows = json.loads((tmp_path / "sweep.json").read_text())
    assert [(r["homophily"], r["rest"], r["degree"]) for r in rows] == [(0.1, 0.02, 6), (0.6, 0.02, 6)]
    assert (tmp_path / "sweep-digits.png").exists()


def test_run_time_and_the_fitted_exponents(study, own, tmp_path, monkeypatch):
    def measured(job):
        assert job.settings["max_epochs"] == 2 + runtime.WARM_UP
        time = float(job.source.symmetric.n_entries) ** 1.5
        row = {"milliseconds": time, "median_milliseconds": time, "peak_mb": 300.0, "training_mb": time,
               "device": "cpu", "threads": 1}  # fmt: skip
        return replace(job.empty_record, details={"RuntimeMeasure": [row]})

    monkeypatch.setattr("heterophily.studies.study.run_jobs", lambda jobs, *_, **__: list(map(measured, jobs)))
    code, out, err = study(
        "runtime", own, "--models", "gcn", "--epochs", "2", "--sizes", "200,400,800", "--out", tmp_path
    )
    assert code == 0
    assert out == "gcn: time ~ E^1.50, memory ~ E^1.50\n"
    for name in ("runtime.json", "runtime.png", "scaling.json", "scaling.png"):
        assert (tmp_path / name).exists()
        assert name in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["degrees", "chamelon-f"], 'did you mean "chameleon-f"?'),
        (["degrees", "digits", "--models", "gnc"], 'unknown model "gnc"; did you mean "gcn"?'),
        (["degrees", "digits", "--set", "wdth=3", "--models", "gcn"], 'did you mean "width"?'),
        (["desired", "digits", "--models", "gat"], "gat does not mix fixed filters"),
        (["overlap", "digits", "--classes", "1"], "expected two classes separated by a comma, got '1'"),
        (["synthetic", "digits", "--sweep", "--degrees", "few"], "comma-separated numbers"),
        (["runtime"], "expected a graph to measure, or --sizes"),
        (["runtime", "--sizes", "7"], "starts at 100 nodes, got 7"),
    ],
)
def test_problems_end_with_one_sentence(study, tmp_path, words, sentence):
    code, _, err = study(*words, "--out", tmp_path / "none")
    assert code == 2
    assert sentence in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "none").exists()


def test_help_names_every_study(study):
    code, out, _ = study("--help")
    assert code == 0
    for name in ("ablation", "degrees", "compatibility", "desired", "synthetic", "overlap", "runtime"):
        assert re.search(rf"\b{name} ", out)
