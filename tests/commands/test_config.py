"""`--config FILE`: the file has the keys of the flags, flags override it, and unknown keys are errors."""

import json
import re
import sys
from pathlib import Path

import pytest

from heterophily.commands.main import main

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "benchmark.md"

RUN = """
models = ["mlp", "gcn"]
datasets = "digits"
splits = "0-1"
out = "results"
workers = 1
defaults = true

[set]
max_epochs = 2
width = 8
activation = "relu"
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write `run.toml`, and run a command with it; returns its exit code, output, and errors."""
    monkeypatch.chdir(tmp_path)

    def call(text, *words):
        (tmp_path / "run.toml").write_text(text)
        monkeypatch.setattr(sys, "argv", ["heterophily", *words, "--config", "run.toml"])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return call


def test_bench_reads_the_options(run, tmp_path):
    code, out, _ = run(RUN, "bench", "--json")
    assert code == 0
    runs = json.loads(out)["runs"]
    assert sorted((r["model"], r["split"]) for r in runs) == [(m, s) for m in ("gcn", "mlp") for s in "01"]
    record = json.loads(next(tmp_path.glob("results/digits/gcn/0-*.json")).read_text())
    assert (record["settings"]["width"], record["run"]["n_epochs"]) == (8, 2)


def test_flags_override_the_file(run, tmp_path):
    words = ("--models", "mlp", "--splits", "0", "--out", "other", "--set", "width=4")
    code, out, _ = run(RUN, "bench", "--json", *words)
    assert code == 0
    assert [(r["model"], r["split"]) for r in json.loads(out)["runs"]] == [("mlp", "0")]
    record = json.loads(next(tmp_path.glob("other/digits/mlp/*.json")).read_text())
    assert (record["settings"]["width"], record["run"]["n_epochs"]) == (4, 2)  # --set overrides only its settings


def test_the_file_of_the_documentation_runs(run):
    text = re.search(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[1]
    code, out, _ = run(text, "bench", "--json", "--splits", "0", "--set", "max_epochs=1", "--workers", "1")
    assert (code, [r["model"] for r in json.loads(out)["runs"]]) == (0, ["mlp", "gcn", "cmgnn"])


def test_search_reads_its_arguments(run):
    text = (
        'model = "mlp"\ngraph = "digits"\ntrials = 1\nsplits = 0\nout = "best"\nset = { max_epochs = 2 }\njson = true\n'
    )
    code, out, _ = run(text, "search")
    assert code == 0
    assert (json.loads(out)["model"], list(json.loads(out)["splits"])) == ("mlp", ["0"])


def test_study_reads_lists(run):
    text = 'graph = ["digits"]\nclasses = ["0", "1"]\nfigures = "none"\nout = "studies"\n'
    code, out, err = run(text, "study", "overlap", "--json")
    assert code == 0, err
    assert json.loads(out)["study"] == "overlap"
    assert "wrote studies/overlap.json" in err


@pytest.mark.parametrize(
    ("command", "text", "sentence"),
    [
        (
            "bench",
            "model = 1",
            "run.toml has the unknown key 'model'; the keys of this command are address, categorical",
        ),
        ("bench", "time_limit = 1", "unknown key 'time_limit'"),
        ("bench", "set = 1", "--set must have the form name=value, got '1'"),
        ("bench", "out = []", "out in run.toml must be a number, a text, or a list of them, got []"),
        ("bench", "out = { a = 1 }", "must be a number, a text, or a list of them, got {'a': 1}"),
        ("bench", "retry = 1", "retry in run.toml must be true or false, got 1"),
        ("bench", "out = ", "--config must be a TOML file, but run.toml is invalid: Invalid value"),
        (
            "search",
            "models = 'gcn'",
            "the keys of this command are categorical, graph, id, ignore, json, label, label-bins,",
        ),
        ("study overlap", "splits = 1", "classes, figures, graph,"),
    ],
)
def test_a_wrong_file_is_one_sentence(run, command, text, sentence):
    code, out, err = run(text, *command.split(), *(["--out", "x"] if command == "bench" and "set" in text else []))
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.startswith("heterophily: ")
    assert err.count("\n") == 1


def test_values_are_checked_like_flags(run):
    code, _, err = run("seed = 1.5\nout = 'x'", "bench")
    assert code == 2
    assert "--seed" in err


def test_a_missing_file_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["heterophily", "bench", "--config", str(tmp_path / "no.toml")])
    with pytest.raises(SystemExit):
        main()
    assert "must be a readable TOML file" in capsys.readouterr().err
