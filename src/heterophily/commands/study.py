"""The command `heterophily study NAME`. The options of a study are the fields of its dataclass."""

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from heterophily.commands.options import parse_names, parse_numbers, parse_settings

if TYPE_CHECKING:
    from typer._click import Command, Context

    from heterophily.studies.options import Option as StudyOption
    from heterophily.studies.study import Study

OUT = Path("studies")


class Format(StrEnum):
    """Formats of figures."""

    png = "png"
    pdf = "pdf"
    svg = "svg"
    none = "none"


class StudyGroup(TyperGroup):
    """One command per study. The studies are imported only when this group is used."""

    def list_commands(self, ctx: "Context") -> list[str]:
        """Return the names of the studies."""
        from heterophily.studies import STUDIES

        return list(STUDIES)

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """Create the command of a study."""
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
    found = [(f, getattr(f.type, "__metadata__", ())) for f in fields(study.options)]
    options = {f.name: (f, metadata[0]) for f, metadata in found if metadata}
    figures = Annotated[Format, typer.Option(help="Format of the figures.")]
    parameters = [
        *(_parameter(field, option) for field, option in options.values()),
        Parameter("figures", Parameter.KEYWORD_ONLY, default=Format.png, annotation=figures),
    ]

    def command(figures: Format, **values: Any) -> None:
        parsed = {name: PARSERS[options[name][1].form](value) for name, value in values.items()}
        _run(study, study.options(**parsed), figures)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    inner = typer.Typer()
    inner.command(study.name, help=study.description)(command)
    return typer.main.get_command(inner)


PARSERS: dict[str, Callable[[Any], Any]] = {
    "value": lambda value: value,
    "path": Path,
    "graphs": tuple,
    "names": lambda text: tuple(parse_names(text)) if text else (),
    "numbers": lambda text: tuple(parse_numbers(text)) if text else (),
    "settings": parse_settings,
}


def _parameter(field: "Field[Any]", option: "StudyOption") -> Parameter:
    """The parameter of a command for a field: graphs are arguments, and lists are text."""
    default: Any = Parameter.empty if field.default is MISSING else field.default
    kind: Any = get_args(field.type)[0]
    name = "set" if option.form == "settings" else field.name.replace("_", "-")
    info: Any = typer.Option(f"--{name}", help=option.help, min=option.min)
    if option.form == "graphs":
        kind, info = list[str], typer.Argument(metavar="GRAPH...", help=option.help)
        default = default if default is Parameter.empty else list(default)
    elif option.form == "settings":
        kind, default = list[str], []
    elif option.form == "path":
        kind, default = Path, OUT
    elif option.form != "value":
        kind = str
        default = ",".join(f"{v:g}" if isinstance(v, int | float) else str(v) for v in default)
    elif str in get_args(kind):
        kind = str  # the name of a method, or the method itself
    annotation = Annotated[kind, info]
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _run(study: "Study[Any]", options: Any, figures: Format) -> None:
    from heterophily.studies.study import run_study
    from heterophily.views.matplotlib import save_figures
    from heterophily.views.progress import show_progress

    tables = run_study(study, options, display=show_progress)
    for line in study.summary(tables):
        typer.echo(line)
    paths = [options.out / f"{name}.json" for name in tables]
    if figures is not Format.none:
        paths += save_figures(study.charts(tables), options.out, extension=figures.value)
    for path in paths:
        typer.echo(f"wrote {path}", err=True)
