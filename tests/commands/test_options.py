"""Commands from dataclasses, and the parsing of options."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from heterophily.commands.options import parse_names, parse_neighbors, parse_numbers, parse_settings, with_options
from heterophily.core.errors import HeterophilyError


@dataclass(frozen=True, kw_only=True)
class Common:
    seed: Annotated[int, typer.Option(min=0), "Seed of everything."] = 3
    names: Annotated[list[str], typer.Option("--name")] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Options(Common):
    source: Annotated[str, typer.Argument(metavar="GRAPH")]
    out: Annotated[Path | None, "File for the result."] = None
    seed: Common.__annotations__["seed"] = 4


@pytest.fixture
def run():
    received = []
    app = typer.Typer()

    @app.command()
    @with_options(Options)
    def act(options: Options) -> None:
        """Act on a graph."""
        received.append(options)

    def call(*words):
        result = CliRunner().invoke(app, words)
        return result.exit_code, received[-1] if received else None, result.output

    return call


def test_a_command_has_one_parameter_for_each_field(run):
    assert run("g")[1] == Options(source="g", seed=4, names=[], out=None)
    words = ("g", "--seed", "7", "--name", "a", "--name", "b", "--out", "x")
    assert run(*words)[1] == Options(source="g", seed=7, names=["a", "b"], out=Path("x"))


def test_bounds_and_required_parameters_are_checked(run):
    assert run("g", "--seed", "-1")[:2] == (2, None)
    assert run()[:2] == (2, None)


def test_the_help_comes_from_the_docstring_and_the_annotations(run):
    code, _, text = run("--help")
    assert code == 0
    assert "Act on a graph." in text
    assert "Seed of everything." in text
    assert "File for the result." in text
    assert "default: 4" in text


@pytest.mark.parametrize("text", ["", " , "])
def test_a_list_without_names_is_an_error(text):
    with pytest.raises(HeterophilyError, match="expected a comma-separated list of names"):
        parse_names(text)


@pytest.mark.parametrize(
    ("parse", "text", "problem"),
    [
        (parse_numbers, "a,1", "expected comma-separated numbers such as 0.1,0.5, got 'a,1'"),
        (parse_neighbors, "few", "--neighbors must be positive integers such as 10,5, or all, got 'few'"),
        (parse_settings, ["width"], "must have the form name=value, got 'width'"),
    ],
)
def test_a_value_of_the_wrong_form_is_an_error(parse, text, problem):
    with pytest.raises(HeterophilyError, match=problem):
        parse(text)


def test_neighbors_are_numbers_or_all():
    assert parse_neighbors("10,5") == [10, 5]
    assert parse_neighbors("all") == "all"
