"""The command `heterophily search`."""

import re
import sys
import tomllib

import pytest

from heterophily.commands.main import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command; its exit code and what it prints."""
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["heterophily", "search", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        return end.value.code or 0, *(re.sub(r"\x1b\[[\d;]*m", "", text) for text in printed)

    return call


@pytest.fixture
def source(graph, tmp_path):
    return graph.save(tmp_path / "ring.safetensors")


def test_a_search_prints_its_trials_and_its_winner(run, source, tmp_path):
    out = tmp_path / "out"
    words = ("gcn", source, "--out", out, "--set", "max_epochs=3", "--splits", "0,2")
    code, printed, log = run(*words, "--trials", 2, "--settings-out", tmp_path / "mine.toml")
    assert code == 0
    lines = log.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"\[1/2\] trial 0: validation \d+\.\d\d%, \d+\.\d s, the best so far", lines[0])
    assert lines[1].startswith("[2/2] trial 1: validation ")
    assert "gcn on ring: " in printed
    assert f"wrote {tmp_path / 'mine.toml'}" in printed.replace("\n", "")
    table = tomllib.loads((tmp_path / "mine.toml").read_text())["ring"]
    assert table["source"] == "search"
    assert table["max_epochs"] == 3
    code, _, log = run(*words, "--trials", 3)
    assert log.startswith("2 of 3 trials are already finished, best ")
    assert "[3/3] trial 2: " in log
    assert len(log.splitlines()) == 2


def test_a_search_by_another_scoring_names_it(run, source, tmp_path):
    out = tmp_path / "out"
    options = ("--scoring", "neg_log_loss", "--set", "max_epochs=2", "--splits", "0")
    code, printed, log = run("gcn", source, "--trials", 1, "--out", out, *options)
    assert code == 0
    assert re.fullmatch(r"\[1/1\] trial 0: validation -\d\.\d{3}, \d+\.\d s, the best so far\n", log)
    assert re.search(r"gcn on ring: -\d\.\d{3} validation negative log loss", printed)
    assert "with a mean validation negative log loss of -" in (out / "summary.md").read_text()
    code, _, err = run("gcn", source, "--trials", 1, "--out", out, "--scoring", "f1")
    assert code == 2
    assert 'unknown scoring "f1"' in err


def test_a_component_search_prints_its_row(run, source, tmp_path):
    options = ("--trials", 1, "--out", tmp_path / "out", "--set", "max_epochs=2", "--splits", "0")
    code, printed, _ = run("htmp", source, *options)
    assert code == 0
    assert "htmp-ring" in printed
    assert "[I, A, A_sup]" in printed
    assert "[I, B^d, B_sup]" in printed
    assert (tmp_path / "out" / "method.py").exists()


def test_pruned_and_failed_trials_are_told(run, source, tmp_path, scored):
    def score(settings, split):
        if settings["feature_norm"] == "l2":
            raise ValueError("first line\nno such norm")
        return settings["width"] / 1000

    scored(score)
    code, _, log = run("gcn", source, "--trials", 25, "--out", tmp_path / "out")
    assert code == 0
    assert re.search(r"trial \d+: pruned after 1 of 3 splits, validation \d+\.\d\d%", log)
    assert re.search(r"trial \d+: failed, no such norm\n", log)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("gnc",), 'unknown model "gnc"; did you mean "gcn"?'),
        (("gcn", "--set", "widht=3"), 'unknown setting of gcn "widht"; did you mean "width"?'),
        (("gcn", "--set", "width"), "--set must have the form name=value, got 'width'"),
        (("gcn", "--splits", "9"), 'unknown split of ring "9"; available: 0, 1, 2, 3'),
        (("htmp", "--set", "fuse=first"), "fuse must be one of last, concat, adaptive"),
        (("gcn", "--storage", "nothing://here"), "cannot open the storage 'nothing://here'"),
    ],
)
def test_a_mistake_ends_with_one_sentence(run, source, tmp_path, words, sentence):
    model, *rest = words
    code, _, err = run(model, source, "--trials", 1, "--out", tmp_path / "out", *rest)
    assert code == 2
    assert sentence in err
    assert err.startswith("heterophily: ")


def test_trials_and_workers_are_at_least_one(run, source, tmp_path):
    code, _, err = run("gcn", source, "--trials", 0, "--out", tmp_path / "out")
    assert code == 2
    assert "--trials" in err
