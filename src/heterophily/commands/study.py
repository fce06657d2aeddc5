"""The command `heterophily study NAME`. The options of a study are the fields of its dataclass."""

from dataclasses import MISSING, Field, fields
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer
from typer.core import TyperGroup
from typing_extensions import override

from heterophily.commands.config import RunOptions, settings_option
from heterophily.commands.options import give_signature, parameters_of, parse_names, parse_numbers, parse_settings
from heterophily.commands.output import OutputOptions
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
        *parameters_of(RunOptions),
    ]

    def command(figures: Format, **values: object) -> None:
        parsed = {name: _parse(_option(options[name]).form, v) for name, v in values.items() if name in options}
        shared = RunOptions(**{name: v for name, v in values.items() if name not in options})  # type: ignore[arg-type]
        _run(study, study.options(**parsed, roles=shared.roles), figures, shared)

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
        kind, default, info = list[str], [], settings_option()
        info.help = option.help
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


def _run(study: "Study[GraphOptions]", options: "GraphOptions", figures: Format, output: OutputOptions) -> None:
    from heterophily.studies.run import run_options
    from heterophily.views.matplotlib import save_figures
    from heterophily.views.progress import show_progress

    if figures != "none":
        require("plotting", "matplotlib")
    result = run_options(study, options, display=partial(show_progress, quiet=output.quiet))
    paths = [*result.files]

    def facts() -> dict[str, object]:
        files = [str(path) for path in paths]
        return {"study": study.name, "summary": result.summary, "findings": result.findings, "files": files}

    if figures != "none":
        paths += save_figures(result.charts, options.out or OUT, extension=figures)
    output.show(lambda: "\n".join(result.summary), facts)
    for path in paths:
        output.note(f"wrote {path}")
