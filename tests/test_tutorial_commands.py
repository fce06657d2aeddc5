"""The commands of two tutorials run in the order of the page, with small budgets, and print what the page shows."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from heterophily.commands.main import main

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
SMALLER = {"max_epochs=50": "max_epochs=2", "max_epochs=20": "max_epochs=2", "max_epochs=10": "max_epochs=2",
           "--splits 0-2": "--splits 0-1", "mlp,gcn,cmgnn": "mlp,gcn", "--trials 2": "--trials 1"}  # fmt: skip
EXPECTED = {
    "first-graph": ["diagnose", "fit", "explain"],
    "compare": ["tune", "bench", "table", "table", "table", "report", "pack"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_commands_of_a_tutorial_run(name, tmp_path, monkeypatch, capsys):
    page = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"^\$ (heterophily .*)\n((?:(?!```|\$).*\n)*)", page, re.MULTILINE)
    assert [shlex.split(command)[1] for command, _ in commands] == EXPECTED[name]
    monkeypatch.chdir(tmp_path)
    for command, shown in commands:
        smaller = re.sub("|".join(SMALLER), lambda match: SMALLER[match[0]], command)
        monkeypatch.setattr(sys, "argv", shlex.split(smaller))
        with pytest.raises(SystemExit) as stop:
            main()
        printed, errors = capsys.readouterr()
        assert (stop.value.code or 0) == 0, errors
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        assert [line for line in map(" ".join, map(str.split, shown.splitlines())) if line not in lines] == []
