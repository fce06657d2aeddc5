"""The README keeps its promises: its code prints what it shows, and its commands exist."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

from heterophily.commands.main import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^\$ (.*)$", README, re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
TOLERANCE = 0.01  # relative: the last digits of results depend on the processor


def test_the_code_prints_what_the_readme_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code, shown in CODE.findall(README):
        exec(code, names)
        printed = capsys.readouterr().out
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (printed, shown)]
        assert numbers[0] == pytest.approx(numbers[1], rel=TOLERANCE), printed


def test_the_first_screen_is_short():
    first = README[: README.index("\n## ")]
    code, shown = CODE.search(first).groups()
    assert len([line for line in code.splitlines() if line]) == 5
    assert shown
    order = [first.index(text) for text in ("$ pip install", "```python", "report.png", "$ make demo", "$ make test")]
    assert order == sorted(order)
    assert "No compiler is needed" in README
    picture = ROOT / re.search(r"\((docs/figures/report\.\w+)\)", first)[1]
    assert picture.stat().st_size < 300_000


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("heterophily ")])
def test_a_command_has_valid_arguments(command):
    words = shlex.split(command, comments=True)[1:]
    group = typer.main.get_command(app)
    while hasattr(group, "list_commands"):
        group = group.get_command(None, words.pop(0))
        assert group is not None
    group.make_context("heterophily", words)  # raises an error for unknown options, and for wrong or missing values


def test_other_commands_exist():
    others = [shlex.split(c, comments=True) for c in COMMANDS if not c.startswith("heterophily ")]
    assert {words[0] for words in others} == {"make", "pip"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [words[1] for words in others if words[0] == "make"]
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    mentioned = re.findall(r"heterophily\[([\w,]+)\]", README)
    assert mentioned
    assert {extra for each in mentioned for extra in each.split(",")} <= set(extras)
    table = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", README[README.index("| extra |") :], re.MULTILINE)
    listed = {name for row in table for name in re.findall(r"\w+", row)}
    assert set(extras) - {"dev", "docs"} <= listed
