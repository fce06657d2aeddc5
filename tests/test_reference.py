"""The generated pages and figures are current, and all commands of the documentation are valid."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer

import heterophily
from heterophily.commands.main import INTERRUPTED, INVALID, app

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
BLOCK = re.compile(r"^( *)```(?:console|sh)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["command-line.md", "settings.md", "datasets.md"])
def test_a_generated_page_is_current(name):
    tool = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert (REFERENCE / name).read_text(encoding="utf-8") == tool["PAGES"][name](), "run python tools/reference.py"


def test_figures_are_current(tmp_path):
    tool = runpy.run_path(str(ROOT / "tools" / "figures.py"))
    tool["main"](tmp_path)
    for path in sorted(tmp_path.glob("*.svg")):
        committed = (ROOT / "docs" / "figures" / path.name).read_text(encoding="utf-8")
        assert committed == path.read_text(encoding="utf-8"), f"{path.name} differs; run python tools/figures.py"


def test_all_public_names_are_in_the_reference():
    pages = [path.read_text(encoding="utf-8") for path in (REFERENCE / "api").glob("*.md")]
    headings = [name for page in pages for name in re.findall(r"^## (.+)$", page, re.MULTILINE)]
    assert sorted(headings) == sorted(set(heterophily.__all__) - {"__version__"})
    overview = (REFERENCE / "api.md").read_text(encoding="utf-8")
    assert [name for name in headings if f"[`{name}`]" not in overview] == []


def test_the_page_of_exit_codes_lists_those_of_the_code():
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)]
    assert listed == [0, 1, INVALID, INTERRUPTED]


def commands(page):
    """Yield the words of all heterophily commands in the code blocks of a page."""
    for _, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            text = line.strip().removeprefix("$ ").partition("    #")[0]
            match = re.search(r"(?:^|-m )heterophily (.*)", re.split(r" [|>]| && |; ", text)[0])
            if match:
                yield shlex.split(match[1], comments=True)


def known_options(command):
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_of_a_page_exist(page):
    root = typer.main.get_command(app)
    problems = []
    for words in commands(page):
        name, *rest = words
        command = root if name.startswith("-") else root.commands.get(name)
        if name == "study" and rest and not rest[0].isupper():
            command = command.get_command(None, rest[0])
        if name.isupper() or "..." in words:
            continue
        options = {word.partition("=")[0] for word in rest if word.startswith("--")}
        if command is None or options - known_options(command) - {"--help"}:
            problems.append(" ".join(words))
    assert problems == []


def test_commands_are_found():
    tutorial = ROOT / "docs" / "tutorials" / "compare.md"
    assert [words[0] for words in commands(tutorial)][:4] == ["tune", "bench", "table", "table"]
