"""Options that several commands share, and commands whose options are the fields of a dataclass."""

import json
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar, get_args, get_type_hints

import typer
from typer import Argument, Option
from typer.models import ParameterInfo

from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    from heterophily.core.types import Value

O = TypeVar("O")  # noqa: E741
Command: TypeAlias = Callable[..., None]

Source = Annotated[
    str,
    Argument(
        metavar="GRAPH",
        help="Name of a dataset (see `heterophily datasets`), the embedded graph `digits`, a folder "
        "with edges.csv and nodes.csv, or a .csv, .tsv, .parquet, .npz, .graphml, or .safetensors "
        "file.",
    ),
]
Nodes = Annotated[Path | None, Option("--nodes", help="Table of the nodes, if GRAPH is a table of edges.")]
Json = Annotated[bool, Option("--json", help="Print JSON instead of text.")]
Report = Annotated[Path | None, Option(help="HTML file for a report with charts.")]
Device = Annotated[str, Option(help="`auto`, `cpu`, `cuda`, or `mps`.")]
Settings = Annotated[list[str], Option("--set", help="Setting such as `width=128`; can be repeated.")]


def with_options(options: type[O]) -> Callable[[Callable[[O], None]], Command]:
    """Let Typer call a function of one dataclass with one parameter for each field.

    `seed: Annotated[int, Option(min=0), "Seed of the weights."] = 0` defines the type, bounds, help
    text, and default of the option `--seed`. A field without `Option` or `Argument` is an option.
    """
    assert is_dataclass(options)
    hints = get_type_hints(options, include_extras=True)
    parameters = [_parameter(field, hints[field.name]) for field in fields(options)]

    def decorate(run: Callable[[O], None]) -> Command:
        def command(**values: object) -> None:
            run(options(**values))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        return give_signature(command, parameters)

    return decorate


def give_signature(command: Command, parameters: Sequence[Parameter]) -> Command:
    """Let Typer read the parameters of a function with keyword arguments from its signature."""
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameter(field: "Field[object]", hint: object) -> Parameter:
    kind, *metadata = get_args(hint)
    infos = [item for item in metadata if isinstance(item, ParameterInfo)]
    info = copy(infos[0]) if infos else Option()
    info.help = next((item for item in metadata if isinstance(item, str)), info.help)
    default = field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    return Parameter(
        field.name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, info],
    )


def parse_names(text: str, all_names: Iterable[str] = ("all",)) -> list[str]:
    """Split a comma-separated list and remove duplicates; `all` represents all names.

    >>> parse_names("gcn, mlp,gcn"), parse_names("all", ["mlp", "gat"])
    (['gcn', 'mlp'], ['mlp', 'gat'])
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise HeterophilyError(f"expected a comma-separated list of names or 'all', got {text!r}")
    return list(dict.fromkeys(n for name in names for n in (all_names if name == "all" else [name])))


def parse_numbers(text: str) -> list[float]:
    """Split a comma-separated list of numbers.

    >>> parse_numbers("0.1, 2")
    [0.1, 2.0]
    """
    try:
        return [float(name) for name in parse_names(text)]
    except ValueError as error:
        raise HeterophilyError(f"expected comma-separated numbers such as 0.1,0.5, got {text!r}") from error


def parse_settings(settings: Iterable[str]) -> "dict[str, Value]":
    """Parse settings in the form name=value. A value is JSON or text.

    >>> parse_settings(["width=128", "activation=relu", "star=True"])
    {'width': 128, 'activation': 'relu', 'star': True}
    """
    return dict(map(_parse_setting, settings))


def _parse_setting(text: str) -> "tuple[str, Value]":
    name, equals, value = text.partition("=")
    if not equals:
        raise HeterophilyError(f"--set must have the form name=value, got {text!r}")
    try:
        return name, json.loads(value.lower() if value in ("True", "False") else value)
    except json.JSONDecodeError:
        return name, value


def parse_neighbors(text: str) -> list[int] | str:
    """Parse the number of neighbors to sample per hop, such as `10,5`, or `all`."""
    if text == "all":
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise HeterophilyError(
            f"--neighbors must be comma-separated integers such as 10,5, or all, got {text!r}"
        ) from error


def check_report(path: Path | None) -> None:
    """Reject a wrong file extension before the computation starts."""
    if path is not None:
        from heterophily.views.page.build import check_name

        check_name(path)


def print_json(content: object) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))
