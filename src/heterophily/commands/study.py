"""The command `heterophily study NAME`. The options of a study are the fields of its dataclass."""

from dataclasses import MISSING, Field, fields
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer
from typer.core import TyperGroup
from typing_extensions import override

from heterophily.commands.options import (
    TableOptions,
    give_signature,
    parameters_of,
    parse_names,
    parse_numbers,
    parse_settings,
)
from heterophily.core.extras import require

if TYPE_CHECKING:
    from typer._click import Command, Context

    from heterophily.studies.study import GraphOptions, Study
    from heterophily.studies.study import Option as StudyOption

OUT = Path("studies")
Format = Literal["png", "pdf", "svg", "none"]


class StudyGroup(TyperGroup):
    """One command per study. The studies are imported only when this group is used."""

    @override
    def list_commands(self, ctx: "Context") -> list[str]:
        from heterophily.studies import STUDIES

        return list(STUDIES)

    @override
    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        from heterophily.studies import STUDIES

        return make_command(STUDIES[cmd_name]) if cmd_name in STUDIES else None


app = typer.Typer(
    name="study",
    cls=StudyGroup,
    help="Repeat the studies of the paper on any graph, with any method.",
    no_args_is_help=True,
    rich_help_panel="Experiments",
)


@app.callback()
def _study() -> None:
    """Repeat the studies of the paper on any graph, with any method."""


def make_command(study: "Study[Any]") -> "Command":
    """Return a command whose parameters are the options of a study and the format of the figures."""
    options = {f.name: f for f in fields(study.options) if hasattr(f.type, "__metadata__")}
    figures = Annotated[Format, typer.Option(help="Format of the figures.")]
    parameters = [
        *map(_parameter, options.values()),
        Parameter("figures", Parameter.KEYWORD_ONLY, default="png", annotation=figures),
        *parameters_of(TableOptions),
    ]

    def command(figures: Format, **values: object) -> None:
        parsed = {name: _parse(_option(options[name]).form, v) for name, v in values.items() if name in options}
        tables = TableOptions(**{name: v for name, v in values.items() if name not in options})  # type: ignore[arg-type]
        _run(study, study.options(**parsed, roles=tables.roles), figures)

    group = typer.Typer(add_completion=False)
    group.command(study.name, help=study.description)(give_signature(command, parameters))
    return typer.main.get_command(group)


def _option(field: "Field[object]") -> "StudyOption":
    return get_args(field.type)[1]


def _parameter(field: "Field[object]") -> Parameter:
    """Return the parameter for a field: graphs are arguments, and lists are text."""
    option, default = _option(field), field.default
    kind: Any = get_args(field.type)[0]
    name = "set" if option.form == "settings" else field.name.replace("_", "-")
    info = typer.Option(f"--{name}", help=option.help, min=option.min)
    if option.form == "graphs":
        kind, info = list[str], typer.Argument(metavar="GRAPH", help=option.help)
        default = list(default) if isinstance(default, tuple) else default
    elif option.form == "settings":
        kind, default = list[str], []
    elif option.form == "path":
        kind, default = Path, OUT
    elif isinstance(default, tuple):
        kind = str
        default = ",".join(f"{v:g}" if isinstance(v, int | float) else str(v) for v in default)
    elif str in get_args(kind):
        kind = str  # the name of a method, or the method itself
    default = Parameter.empty if default is MISSING else default
    annotation = Annotated[kind, info]
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parse(form: str, value: object) -> object:
    """Convert the value of an option to the value of a field."""
    if form == "settings":
        return parse_settings(cast("list[str]", value))
    if form == "graphs":
        return tuple(cast("list[str]", value))
    if form in ("names", "numbers"):
        parse = parse_names if form == "names" else parse_numbers
        return tuple(parse(str(value))) if value else ()
    return value


def _run(study: "Study[GraphOptions]", options: "GraphOptions", figures: Format) -> None:
    from heterophily.studies.run import run_options
    from heterophily.views.matplotlib import save_figures
    from heterophily.views.progress import show_progress

    if figures != "none":
        require("plotting", "matplotlib")
    result = run_options(study, options, display=show_progress)
    for line in result.summary:
        typer.echo(line)
    paths = [*result.files]
    if figures != "none":
        paths += save_figures(result.charts, options.out or OUT, extension=figures)
    for path in paths:
        typer.echo(f"wrote {path}", err=True)
