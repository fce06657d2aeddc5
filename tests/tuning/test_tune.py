"""`tune` gives every method the same budget, hides test labels and scores, and continues where it stopped."""

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace

import pytest

from heterophily.benchmark.columns import build_columns
from heterophily.commands.main import main
from heterophily.core.errors import HeterophilyError
from heterophily.runs import worker
from heterophily.runs.record import read_records
from heterophily.tuning.equal_budget import Budget, tune
from heterophily.views.progress import format_outcome
from heterophily.views.tables import render_table

FAST = {"max_epochs": 3}


@pytest.fixture
def go(graph, tmp_path):
    """Tune on the small graph."""

    def call(models=("mlp", "gcn"), *, on=None, **options):
        options = {"trials": 2, "splits": "0-1", "device": "cpu", "settings": FAST, **options}
        return tune(models, graph if on is None else on, out=tmp_path / "out", **options)

    return call


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command; its exit code and what it prints."""
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["heterophily", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return end.value.code or 0, *(re.sub(r"\x1b\[[\d;]*m", "", text) for text in printed)

    return call


def scored_parts(value):
    """Yield every object below a key `test` in JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "test":
                yield inner
            yield from scored_parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scored_parts(inner)


def test_every_method_has_the_same_number_of_trials(go, tmp_path):
    result = go()
    assert {cell: search.n_finished for cell, search in result.searches.items()} == {
        ("mlp", "ring"): 2,
        ("gcn", "ring"): 2,
    }
    for (model, _), search in result.searches.items():
        table = tomllib.loads(result.settings[model].read_text())["ring"]
        assert table == {"source": "tune", "trials": 2, **search.settings}
    summary = json.loads((tmp_path / "out" / "tune.json").read_text())
    assert [row["model"] for row in summary["searches"]] == ["mlp", "gcn"]


def test_a_search_starts_with_the_defaults_and_not_with_bundled_settings(go, graph):
    bundled = graph.replace(name="chameleon-f")
    result = go(["cmgnn"], on=bundled, trials=1)
    (search,) = result.searches.values()
    assert search.preset == "published"
    assert search.settings["width"] == 64


def test_no_file_and_no_output_has_a_test_score(run, graph, tmp_path):
    source, out = graph.save(tmp_path / "ring.safetensors"), tmp_path / "out"
    words = ("--models", "mlp,boosting", "--datasets", source, "--trials", 2, "--out", out)
    code, printed, log = run("tune", *words, "--splits", "0-1", "--set", "max_epochs=3")
    assert code == 0
    assert "test 0" not in printed
    assert not re.search(r"test \d", printed + log)
    records = read_records(out / "trials" / "runs")
    assert len(records) == 8
    assert not any(record.has_test_scores for record in records)
    files = [path for path in out.rglob("*") if path.suffix in (".json", ".journal", ".csv", ".toml", ".md")]
    assert len(files) > 8
    for path in files:
        lines = path.read_text().splitlines() if path.suffix == ".journal" else [path.read_text()]
        for line in lines if path.suffix in (".json", ".journal") else []:
            assert [part for part in scored_parts(json.loads(line)) if part] == [], path
        assert "test_" not in path.read_text()
        assert '"test":' not in re.sub(r'"test": ?(\{\}|0)', "", path.read_text())


def test_a_search_stores_no_test_score(find, tmp_path):
    find("gcn", trials=2)
    records = read_records(tmp_path / "out" / "runs")
    assert [record.run["scores"]["test"] for record in records] == [{}] * 4
    assert not any(record.has_test_scores for record in records)
    with pytest.raises(HeterophilyError, match="has no test scores, because it is a trial of `search` or `tune`"):
        build_columns(records)
    outcome = worker.Outcome(next(iter(_jobs(records))), records[0])
    assert "test" not in format_outcome(outcome)


def _jobs(records):
    return [f"{record.model} on {record.dataset}" for record in records]


def test_the_same_call_adds_only_the_missing_trials(go, monkeypatch):
    first = go()
    asked = []
    train = worker.train
    monkeypatch.setattr(worker, "train", lambda *a, **k: asked.append(1) or train(*a, **k))
    assert go().searches["gcn", "ring"].trials == first.searches["gcn", "ring"].trials
    assert not asked
    more = go(trials=3)
    assert more.searches["gcn", "ring"].trials[:2] == first.searches["gcn", "ring"].trials
    assert len(asked) == 4


def test_a_time_budget_ends_each_search(go, monkeypatch):
    train = worker._train

    def slow(job, checkpoint):
        record = train(job, checkpoint)
        return replace(record, run={**record.run, "seconds": 2.0})

    monkeypatch.setattr(worker, "_train", slow)
    result = go(trials=None, budget="10s")
    assert {search.n_finished for search in result.searches.values()} == {3}  # 4 seconds per trial
    assert str(result.budget) == "10 seconds of training"
    assert go(trials=2, budget=100).searches["mlp", "ring"].n_finished == 3


def test_workers_share_all_searches(go):
    alone, together = go(trials=3), go(trials=3, workers=2)
    assert together.searches.keys() == alone.searches.keys()
    assert {search.n_finished for search in together.searches.values()} == {3}


def test_a_method_without_a_finished_trial_does_not_stop_the_others(go, monkeypatch):
    train = worker.train

    def fail(method, *arguments, **options):
        if method.name == "mlp":
            raise HeterophilyError("too large")
        return train(method, *arguments, **options)

    monkeypatch.setattr(worker, "train", fail)
    result = go()
    assert list(result.searches) == [("gcn", "ring")]
    assert result.failed["mlp", "ring"] == "none of 2 trials finished: too large"


def test_the_table_has_default_and_tuned_columns_and_the_budget(run, graph, tmp_path):
    source, out = graph.save(tmp_path / "ring.safetensors"), tmp_path / "out"
    words = ("--models", "mlp,gcn", "--datasets", source, "--out", out)
    code, printed, _ = run("tune", *words, "--trials", 2, "--splits", "0", "--set", "max_epochs=3")
    assert code == 0
    commands = [line.strip() for line in printed.splitlines() if line.startswith("  heterophily")]
    assert len(commands) == 3
    for command in commands[:2]:
        code, *_ = run(*command.split()[1:], "--workers", 1, "--splits", "0-1")
        assert code == 0
    code, printed, _ = run(*commands[2].split()[1:])
    assert code == 0
    assert "ring (default)" in printed
    assert "ring (tuned)" in printed
    assert "2 trials per method and dataset" in re.sub(r"\s+", " ", printed)
    table = build_columns(read_records(out))
    assert table.datasets == ("ring (default)", "ring (tuned)")
    assert [(e.settings, e.trials, e.n) for e in table] == [("default", 0, 2), ("tuned", 2, 2)] * 2
    for kind in ("md", "latex", "html", "csv", "json"):
        assert "ring (tuned)" in render_table(table, kind) or '"tuned"' in render_table(table, kind) or kind == "csv"
    code, printed, _ = run("table", out, "--pairs", "--format", "json")
    assert code == 0
    pairs = json.loads(printed)["pairs"]
    assert [(p["dataset"], p["first"], p["second"]) for p in pairs] == [(n, "mlp", "gcn") for n in table.datasets]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"trials": None}, "tuning needs a budget; pass trials, budget, or both"),
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"budget": "soon"}, "budget must be a positive time such as 30s, 5m, or 1h"),
        ({"models": ["htmp"]}, "use `search htmp` to search for architectures"),
        ({"models": ["gcn", "gcn"]}, "two of the models and datasets are gcn on ring"),
    ],
)
def test_a_mistake_is_one_sentence(go, options, sentence):
    with pytest.raises(HeterophilyError, match=sentence):
        go(**options)


def test_budgets_are_described():
    assert str(Budget(trials=1)) == "1 trial"
    assert str(Budget(seconds=60)) == "60 seconds of training"


KILLED = """
import os, signal, sys
from heterophily import Graph
from heterophily.training.trainer import Trainer
from heterophily.tuning import trials
from heterophily.tuning.equal_budget import tune
trials.importances_of = lambda study: {}
epoch, count = Trainer._epoch, [0]
def deadly(self, number):
    count[0] += 1
    if count[0] == 16:
        os.kill(os.getpid(), signal.SIGKILL)
    epoch(self, number)
Trainer._epoch = deadly
options = {"trials": 3, "splits": "0-1", "device": "cpu", "settings": {"max_epochs": 3}}
tune(["mlp", "gcn"], Graph.load(sys.argv[1]), out=sys.argv[2], **options)
"""


def test_a_killed_command_continues_with_the_same_trials(go, graph, tmp_path):
    words = [sys.executable, "-c", KILLED, graph.save(tmp_path / "ring.safetensors"), tmp_path / "out"]
    assert subprocess.run(words, check=False, capture_output=True).returncode == -9
    resumed = go(trials=3)
    assert {search.n_finished for search in resumed.searches.values()} == {3}
    undisturbed = tune(
        ["mlp", "gcn"], graph, out=tmp_path / "other", trials=3, splits="0-1", device="cpu", settings=FAST
    )
    for cell, search in undisturbed.searches.items():
        assert [t.answers for t in resumed.searches[cell].trials] == [t.answers for t in search.trials]
