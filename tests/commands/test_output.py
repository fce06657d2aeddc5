"""`--json` and `--quiet` work for every command: the tests enumerate the commands of the application."""

import json
import sys

import numpy as np
import pytest
import typer

from heterophily.commands.main import app, main
from heterophily.commands.output import print_json

QUICK = "--set max_epochs=2"
STUDY = "graph --splits 1 --set max_epochs=2 --figures none"
# A call of every command. They run in this order and share a folder.
CALLS = {
    "datasets": "datasets",
    "download": "download tiny",
    "diagnose": "diagnose graph",
    "audit": "audit graph",
    "synthesize": "synthesize g.safetensors --degree 4",
    "models": "models",
    "show": "show gcn",
    "fit": f"fit graph --model gcn --out fitted {QUICK}",
    "predict": "predict fitted graph --out p.csv",
    "explain": "explain fitted 3 --plot why.svg",
    "search": "search mlp graph --trials 1 --out best",
    "tune": f"tune --models mlp --datasets graph --trials 1 --out tuned {QUICK}",
    "bench": f"bench --models mlp,gcn --datasets graph --out results --workers 1 {QUICK}",
    "table": "table results",
    "report": "report results --out page.html --no-diagnose",
    "pack": "pack results all.jsonl",
    "unpack": "unpack all.jsonl copy",
    "study ablation": f"study ablation {STUDY} --out s/a --model mlp",
    "study compatibility": f"study compatibility {STUDY} --out s/b",
    "study degrees": f"study degrees {STUDY} --out s/c --models mlp",
    "study desired": f"study desired {STUDY} --out s/d --models mlp",
    "study overlap": "study overlap graph --figures none --out s/e",
    "study runtime": "study runtime graph --models mlp --sizes 100 --epochs 1 --figures none --out s/f",
    "study synthetic": f"study synthetic {STUDY} --out s/g --models mlp",
}
# A key of the JSON document of every command, or 0 for the first item of a list.
KEYS = {
    **dict.fromkeys(("datasets", "download", "models", "table"), 0),
    **dict.fromkeys(("synthesize", "predict", "report", "pack"), "file"),
    **{"diagnose": "verdict", "audit": "isolated_nodes", "show": "settings", "fit": "scores", "explain": "node"},
    **{"search": "best", "tune": "searches", "bench": "runs", "unpack": "new"},
}


def commands(group, path=()):
    """Yield the words of every command and the command."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        nested = hasattr(command, "list_commands")
        yield from commands(command, (*path, name)) if nested else [(" ".join((*path, name)), command)]


ALL = dict(commands(typer.main.get_command(app)))


def test_every_command_is_called():
    assert set(CALLS) == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_the_options(name):
    options = {word for each in ALL[name].params for word in each.opts}
    assert {"--json", "--quiet", "-q"} <= options


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the tables of 60 nodes in two classes, of which odd ones are connected to even ones."""
    path = tmp_path_factory.mktemp("output")
    (path / "graph").mkdir()
    edges = [f"{i},{(i + step) % 60}" for i in range(60) for step in (1, 3)]
    (path / "graph" / "edges.csv").write_text("\n".join(["source,target", *edges]))
    noise = np.random.default_rng(0).normal(size=60)
    parts = np.repeat(["train", "val", "test"], 20)
    nodes = [f"{i},{i % 2},{i % 2 + noise[i]:.3f},{parts[i]}" for i in range(60)]
    (path / "graph" / "nodes.csv").write_text("\n".join(["id,label,amount,split", *nodes]))
    return path


@pytest.fixture
def run(folder, tiny, monkeypatch, capsys):
    """Run a command in the folder; returns what it prints to stdout and stderr."""
    monkeypatch.chdir(folder)

    def call(words):
        monkeypatch.setattr(sys, "argv", ["heterophily", *words.split()])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        assert not end.value.code, printed.err
        return printed

    return call


def test_json_is_one_document(run):
    for name, words in CALLS.items():
        content = json.loads(run(f"{words} --json").out, parse_constant=pytest.fail)
        content[KEYS.get(name, "findings")]


def test_quiet_prints_nothing_but_warnings(run):
    for words in CALLS.values():
        out, err = run(f"{words} --quiet")
        assert out == "", words
        assert [line for line in err.splitlines() if not line.startswith("heterophily: ")] == [], words
    out, err = run(f"{CALLS['explain']} --json -q")
    assert (json.loads(out)["node"], err) == (3, "")


def test_table_writes_a_file_and_prints_json(run, folder):
    run(CALLS["bench"])
    out, err = run("table results --out t.csv --json")
    assert [row["model"] for row in json.loads(out)] == ["mlp", "gcn"]
    assert (folder / "t.csv").read_text().startswith("model,dataset,")
    assert err == "wrote t.csv\n"
    assert run("table results --out t.json -q") == ("", "")
    assert run("table results --format json -q").out == (folder / "t.json").read_text()


def test_numbers_that_are_not_finite_are_null(capsys):
    print_json({"a": [float("nan"), 1.5], "b": (float("inf"),)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": [None]}
