"""The commands of the tutorial on own tables run, and the report of the columns is the printed one."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from heterophily.commands.main import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorials" / "own-graph.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (heterophily .*)\n((?:(?!```|\$).*\n)*)", PAGE, re.MULTILINE)


def lines_of(text):
    """Return the lines without rules and with single spaces."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in lines if line and not set(line) <= set("─ ")]


def test_the_commands_of_the_tutorial_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(ROOT / "examples" / "own_graph.py"))
    example["write_marketplace"](tmp_path)
    for name in ("accounts.csv", "transactions.csv"):
        shown = PAGE.split(f"==> {name} <==\n")[1].splitlines()[:3]
        assert (tmp_path / name).read_text().splitlines()[:3] == shown
    assert [shlex.split(command)[1] for command, _ in COMMANDS] == ["diagnose", "fit", "predict"]
    for command, output in COMMANDS:
        words = shlex.split(command)
        quick = ["--set", "max_epochs=2"] if words[1] == "fit" else []
        monkeypatch.setattr(sys, "argv", [*words, *quick])
        with pytest.raises(SystemExit) as stop:
            main()
        printed, errors = capsys.readouterr()
        assert (stop.value.code or 0, errors) == (0, "")
        assert [line for line in lines_of(output) if line not in lines_of(printed)] == []
    assert (tmp_path / "predictions.csv").read_text() == (tmp_path / "results" / "predictions.csv").read_text()
