"""Options that several commands share, and commands whose options are the fields of a dataclass."""

import json
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar, cast, get_args, get_type_hints

from typer import Argument, Option
from typer.models import ParameterInfo

from heterophily.commands.output import OutputOptions
from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    from heterophily.core.frames import Roles
    from heterophily.core.types import Value
    from heterophily.training.class_weight import ClassWeight

TABLE_OPTIONS = {
    "source_column": "--source",
    "target_column": "--target",
    "weight_column": "--weight",
    "id_column": "--id",
    "label_column": "--label",
    "split_column": "--split-column",
    "ignore": "--ignore",
    "categorical": "--categorical",
    "numeric": "--numeric",
    "label_bins": "--label-bins",
    "positions": "--positions",
}
# Parameters of commands and classifiers, which --set does not change.
NO_SETTINGS = {
    *("batch_size", "checkpoint", "class_weight", "device", "display", "graph", "model", "neighbors", "origin", "out"),
    *("progress", "random_state", "scoring", "seed", "settings", "source", "split", "splits", "storage", "trials"),
    *("user_tables", "verbose", "workers", "write"),
}
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
Report = Annotated[Path | None, Option(help="HTML file for a report with charts.")]
Device = Annotated[str, Option(help="`auto`, `cpu`, `cuda`, or `mps`.")]
Settings = Annotated[list[str], Option("--set", help="Setting such as `width=128`; can be repeated.")]


def _column(name: str) -> ParameterInfo:
    """Return an option for the name of a column."""
    return cast("ParameterInfo", Option(name, metavar="COLUMN", rich_help_panel="Tables"))


@dataclass(frozen=True, kw_only=True)
class RoleOptions(OutputOptions):
    """The columns of tables with a role, for commands that read a graph."""

    source_column: Annotated[str | None, _column("--source"), "Column of edges; `source` by default."] = None
    target_column: Annotated[str | None, _column("--target"), "Column of edges; `target` by default."] = None
    weight_column: Annotated[str | None, _column("--weight"), "Column of edges with their weights."] = None
    id_column: Annotated[str | None, _column("--id"), "Column of nodes; `id` by default."] = None
    label_column: Annotated[str | None, _column("--label"), "Column of nodes; `label` by default."] = None
    split_column: Annotated[
        str | None,
        _column("--split-column"),
        "Column of nodes with `train`, `val`, `test`, or nothing; `split` by default.",
    ] = None

    @property
    def roles(self) -> "Roles | None":
        """The options as an argument of `open_graph`; None if there are none."""
        from heterophily.core.frames import Roles

        values = {name.removesuffix("_column"): getattr(self, name, None) for name in TABLE_OPTIONS}
        given = {field.name: values[field.name] for field in fields(Roles) if values[field.name]}
        return Roles(**given) if given else None  # type: ignore[arg-type]

    @property
    def table_words(self) -> list[str]:
        """The options that are not defaults, as words of a command."""
        words: list[str] = []
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in TABLE_OPTIONS and value != each.default:
                for item in value if isinstance(value, list) else [value]:
                    words += [TABLE_OPTIONS[each.name], str(item)]
        return words


@dataclass(frozen=True, kw_only=True)
class TableOptions(RoleOptions):
    """The columns of tables with a role, and the treatment of the other columns of the node table."""

    ignore: Annotated[list[str], _column("--ignore"), "Column of nodes that is not a feature; can be repeated."] = (
        field(default_factory=list)
    )
    categorical: Annotated[list[str], _column("--categorical"), "Column of nodes with categories; can be repeated."] = (
        field(default_factory=list)
    )
    numeric: Annotated[list[str], _column("--numeric"), "Column of nodes with numbers; can be repeated."] = field(
        default_factory=list
    )
    label_bins: Annotated[
        int | None,
        Option(min=2, rich_help_panel="Tables"),
        "Number of classes of equal size into which a numeric label is divided.",
    ] = None


def with_options(options: type[O]) -> Callable[[Callable[[O], None]], Command]:
    """Let Typer call a function of one dataclass with one parameter for each field.

    `seed: Annotated[int, Option(min=0), "Seed of the weights."] = 0` defines the type, bounds, help
    text, and default of the option `--seed`. A field without `Option` or `Argument` is an option.
    """
    parameters = parameters_of(options)

    def decorate(run: Callable[[O], None]) -> Command:
        def command(**values: object) -> None:
            run(options(**values))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        return give_signature(command, parameters)

    return decorate


def parameters_of(options: type) -> list[Parameter]:
    """Return the parameters for the fields of a dataclass, for Typer."""
    assert is_dataclass(options)
    hints = get_type_hints(options, include_extras=True)
    return [_parameter(field, hints[field.name]) for field in fields(options)]


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
    if not (equals and name):
        raise HeterophilyError(f"--set must have the form name=value, got {text!r}")
    if name in NO_SETTINGS:
        raise HeterophilyError(f"{name} is not a setting of a method; see --help for an option with this purpose")
    try:
        return name, json.loads(value.lower() if value in ("True", "False") else value)
    except (ValueError, RecursionError):  # also for integers with thousands of digits
        return name, value


def parse_class_weight(text: str) -> "ClassWeight":
    """Parse weights of classes: `none`, `balanced`, JSON, or pairs such as `fraud=5,honest=1`.

    >>> parse_class_weight("fraud=5,honest=1"), parse_class_weight("none")
    ({'fraud': 5.0, 'honest': 1.0}, None)
    """
    if text in ("none", "balanced"):
        return None if text == "none" else text
    try:
        if text.lstrip().startswith("{"):
            return {str(name): float(value) for name, value in json.loads(text).items()}
        pairs = (pair.rpartition("=") for pair in parse_names(text))
        return {name: float(value) for name, equals, value in pairs if equals or value}
    except (TypeError, ValueError) as error:
        raise HeterophilyError(
            f"--class-weight must be none, balanced, JSON, or pairs such as fraud=5,honest=1, got {text!r}"
        ) from error


def parse_neighbors(text: str) -> list[int] | str:
    """Parse the number of neighbors to sample per hop, such as `10,5`, or `all`."""
    if text == "all":
        return text
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(0 < number < 2**31 for number in numbers):
        raise HeterophilyError(f"--neighbors must be positive integers such as 10,5, or all, got {text[:80]!r}")
    return numbers


def check_report(path: Path | None) -> None:
    """Reject a wrong file extension before the computation starts."""
    if path is not None:
        from heterophily.views.page.build import check_name

        check_name(path)
