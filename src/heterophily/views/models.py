"""The paper's table from the registry, and one method in full, on a terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.core.spaces import Choice, Space, setting_infos
from heterophily.core.types import Json, JsonObject, Value
from heterophily.htmp.method import (
    Method,
    MethodLike,
    equation_of,
    make_method,
    reference_settings,
    search_space,
    settings_of,
    summary_of,
)


def row_of(model: MethodLike) -> dict[str, Json]:
    """Return the row of a method with its default settings."""
    symbols = make_method(model).architecture().symbols
    return {"name": model.name, **symbols, "citation": model.paper}


def model_table(models: Sequence[MethodLike]) -> RenderableType:
    """Return the table of methods with their neighborhoods, guidance, COMBINE, and FUSE."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("method", "kind", "neighborhoods", "kind", "guidance", "COMBINE", "FUSE"):
        table.add_column(heading, no_wrap=True)
    table.add_column("paper")
    for model in models:
        architecture = make_method(model).architecture()
        symbols, channels = architecture.symbols, architecture.channels
        table.add_row(
            model.name,
            _leading([c.neighborhood.kind for c in channels], ("Dis", "ReDef", "Raw")),
            _bracket(symbols["neighborhoods"]),
            _leading([c.guidance.kind for c in channels], ("RelaEst", "AdaWeight", "DegAvg")),
            _bracket(symbols["guidance"]),
            architecture.combine.symbol,
            architecture.fuse.symbol,
            model.paper.split(",")[0] + ", " + model.paper.rsplit(" ", 1)[-1],
        )
    return table


def _leading(kinds: Sequence[str], order: Sequence[str]) -> str:
    return next(kind for kind in order if kind in kinds)


def _bracket(symbols: Sequence[str]) -> str:
    shown = symbols if len(symbols) <= 4 else (symbols[0], symbols[1], "..", symbols[-1])
    return "[" + ", ".join(shown) + "]"


def model_view(model: MethodLike) -> RenderableType:
    """Return the row, equation, citation, settings, search space, and deviations of one method."""
    symbols = make_method(model).architecture().symbols
    facts = Table.grid(padding=(0, 2))
    for name in ("neighborhoods", "guidance"):
        facts.add_row(Text(name, style="dim"), Text(_bracket(symbols[name])))
    for name, key in (("COMBINE", "combine"), ("FUSE", "fuse")):
        facts.add_row(Text(name, style="dim"), Text(str(symbols[key])))
    facts.add_row(Text("summary", style="dim"), Text(summary_of(model)))
    facts.add_row(Text("equation", style="dim"), Text(equation_of(model)))
    facts.add_row(Text("paper", style="dim"), Text(model.paper))
    parts: list[RenderableType] = [
        Text(model.title or model.name, style="bold"),
        Padding(facts, (0, 0, 1, 1)),
        Text("Settings", style="bold"),
        Padding(_settings(model), (0, 0, 1, 1)),
    ]
    if model.deviations:
        listed = Group(*(Text(f"• {sentence}") for sentence in deviations_of(model)))
        parts += [Text("Deviations", style="bold"), Padding(listed, (0, 0, 1, 1))]
    return Group(*parts)


def _settings(model: MethodLike) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("setting", "default", "reference", "search", "description"):
        table.add_column(heading)
    infos = setting_infos(model if isinstance(model, type) else type(model))
    defaults, reference, space = _defaults(model), reference_settings(model), search_space(model)
    for name, default in defaults.items():
        table.add_row(
            name,
            "" if default is None else str(default),
            str(reference.get(name, "")),
            _range(space[name]) if name in space else "",
            infos[name].help,
        )
    return table


def _defaults(model: MethodLike) -> dict[str, Value]:
    """Return the default settings, the method's own before the common ones."""
    values, common = settings_of(make_method(model)), setting_infos(Method)
    own = {name: value for name, value in values.items() if name not in common}
    return own | {name: values[name] for name in common}


def _range(space: Space) -> str:
    if isinstance(space, Choice):
        return ", ".join(map(str, space.values))
    return f"{space.low} to {space.high}"


def deviations_of(model: MethodLike) -> list[str]:
    """Return the deviations of a method as text, each with the settings of the reference implementation."""
    texts = []
    for deviation in model.deviations:
        settings = ", ".join(f"{k} = {setting_text(v)}" for k, v in deviation.reference_settings.items())
        texts.append(f"{deviation.description} ({settings})" if settings else deviation.description)
    return texts


def setting_text(value: Value) -> str:
    """Return a value as it is written in a settings file, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def model_facts(model: MethodLike) -> JsonObject:
    """Return the same facts as plain data."""
    return {
        **row_of(model),
        "summary": summary_of(model),
        "equation": equation_of(model),
        "settings": _defaults(model),
        "reference": reference_settings(model),
        "space": {name: _range(space) for name, space in search_space(model).items()},
        "deviations": deviations_of(model),
    }
