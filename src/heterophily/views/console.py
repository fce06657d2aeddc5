"""Terminal output of the commands, as rich tables and text."""

import sys
from collections.abc import Sequence
from io import TextIOBase
from typing import TextIO, cast

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from heterophily.analysis.audit import Audit
from heterophily.analysis.diagnosis import Diagnosis
from heterophily.analysis.probes import Probes
from heterophily.analysis.verdict import NOT_ENOUGH
from heterophily.core.spaces import Choice, Space, setting_infos
from heterophily.core.types import Json, JsonObject, Value
from heterophily.data.loading import Statistics
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
from heterophily.views.direction import direction_view

VERDICT_STYLES = {
    "homophily": "green",
    "helpful heterophily": "green",
    "edges mislead plain averaging": "yellow",
    "edges add nothing measurable": "yellow",
    NOT_ENOUGH: "",
}
MAX_CLASSES = 12  # larger matrices do not fit in a terminal of 100 columns


class StrippedOutput(TextIOBase):
    """The standard output, without blanks at the end of lines."""

    @override
    def write(self, text: str) -> int:
        sys.stdout.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    @override
    def flush(self) -> None:
        sys.stdout.flush()


def console() -> Console:
    """Return a console that is 140 columns wide if the output is a pipe, to avoid wrapped tables."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=140, file=cast("TextIO", StrippedOutput()))


def dataset_table(rows: Sequence[Statistics]) -> RenderableType:
    """Return the paper's table of datasets. Rows without files are dim and show the catalog's numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("dataset", no_wrap=True)
    for heading in ("nodes", "edges", "features", "classes", "degree"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("undirected", justify="center", no_wrap=True)
    table.add_column("homophily", justify="right", no_wrap=True)
    table.add_column("train / val / test", justify="right", no_wrap=True)
    table.add_column("splits", no_wrap=True)
    for row in rows:
        sizes = (row.n_nodes, row.n_edges, row.n_features)
        parts = " / ".join(f"{n:,}" for n in row.train_val_test) if row.train_val_test else "–"
        table.add_row(
            row.name,
            *(f"{n:,}" for n in sizes),
            str(row.n_classes),
            f"{row.average_degree:.1f}",
            "yes" if row.undirected else "no",
            f"{row.edge_homophily:.2f}",
            parts,
            (row.splits or "").split(",")[0] if row.present else "not downloaded",
            style="" if row.present else "dim",
        )
    return table


def diagnosis_view(diagnosis: Diagnosis) -> RenderableType:
    """Return the verdict, measurements, compatibility matrix, and audit of a diagnosis."""
    d = diagnosis
    return Group(
        Text(d.name, style="bold"),
        *(Text(f" Alarm: {sentence}", style="bold yellow") for sentence in d.alarms),
        Padding(_verdict(d), (0, 0, 1, 1)),
        Padding(_facts(d), (0, 0, 1, 1)),
        Group(_evidence(d.probes), Text("")) if d.probes else Group(),
        _compatibility(d),
        direction_view(d.direction) if d.direction else Group(),
        Text("Audit", style="bold"),
        Padding(audit_view(d.audit), (0, 0, 0, 1)),
    )


def _verdict(d: Diagnosis) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    known = d.kind != NOT_ENOUGH
    rows = {
        "verdict": Text(d.headline, style=f"bold {VERDICT_STYLES[d.decision.kind]}"),
        "reason": Text(d.decision.reason),
        "how sure": Text(f"{d.confidence}, probability {d.decision.probability_text}" if known else "undecided"),
        "advice": Text(d.decision.advice),
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), value)
    return table


def _evidence(probes: Probes) -> Table:
    title = f"What edges add (score 2 AUC - 1 in percent, {probes.n_sampled:,} labeled nodes)"
    table = Table(box=None, title=title, title_style="bold", title_justify="left", pad_edge=False, padding=(0, 2, 0, 1))
    table.add_column(Text("class predicted from", style="dim"))
    table.add_column(Text("score", style="dim"), justify="right")
    table.add_column(Text("change", style="dim"), justify="right")
    table.add_column(Text("95% interval", style="dim"), justify="right")
    for row in probes.rows:
        table.add_row(*map(Text, row))
    return table


def _facts(d: Diagnosis) -> Table:
    table = Table.grid(padding=(0, 2))
    stored, symmetric = d.homophily, d.homophily_symmetric
    profile = d.degrees
    features = "" if d.feature_accuracy is None else f"features {d.feature_accuracy:.1%}, "
    rows = {
        "nodes": f"{d.n_nodes:,}, {d.n_labeled:,} of them labeled",
        "edges": f"{d.n_edges:,} as stored, {d.n_edges_symmetric:,} symmetrized (each edge twice)",
        "features, classes": f"{d.n_features:,}, {d.n_classes}",
        "degree": f"mean {profile['mean']:.1f}, median {profile['median']:.0f}, "
        f"half of the nodes {profile['quarter']:.0f} to {profile['three_quarters']:.0f}, "
        f"maximum {profile['maximum']:.0f}",
        "edge homophily": f"{stored.edge:.3f} as stored, {symmetric.edge:.3f} symmetrized",
        "node homophily": f"{symmetric.node:.3f}",
        "class-insensitive": f"{symmetric.class_insensitive:.3f}",
        "adjusted": f"{symmetric.adjusted:.3f}  (0 for random edges, 1 for perfect homophily)",
        "label informativeness": f"{symmetric.label_informativeness:.3f}",
        "discriminability": f"{d.discriminability:.3f}  "
        f"(0 if all classes have the same neighbors; closest: {' and '.join(d.closest_classes)})",
        "CMD": f"{d.cmd:.3f}, {d.cmd_of_edges:.3f} from edge counts  (0 to 2: distance of the rows of the matrix)",
        "overlap": f"{d.mean_overlap:.3f}  (mean over pairs of classes)",
        "class predicted by": f"neighbors {d.neighborhood_accuracy:.1%}, {features}"
        f"guessing the largest class {d.largest_class:.1%}",
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), Text(value))
    return table


def _compatibility(d: Diagnosis) -> RenderableType:
    if d.n_classes > MAX_CLASSES:
        return Text(f"The compatibility matrix has {d.n_classes} classes; use --plot or --json to show it.\n")
    table = Table(box=None, title="Compatibility matrix", title_style="bold", title_justify="left")
    table.add_column("")
    for name in d.class_names:
        table.add_column(Text(name[:10]), justify="right")
    peak = d.compatibility.max() or 1.0
    for name, row in zip(d.class_names, d.compatibility, strict=True):
        table.add_row(Text(name[:18]), *(_shaded(value, value / peak) for value in row))
    return Group(table, Text(""))


def _shaded(value: float, strength: float) -> Text:
    style = "bold" if strength > 0.6 else "" if strength > 0.25 else "dim"
    return Text(f"{value:.2f}", style=style)


def audit_view(audit: Audit) -> RenderableType:
    """Return the findings as a list."""
    if not audit.findings:
        return Text("no problems found")
    return Group(*(Text(f"• {sentence}") for sentence in audit.findings))


def row_of(model: MethodLike) -> dict[str, Json]:
    """Return the row of a method with its default settings."""
    return {"name": model.name, **_symbols(model), "citation": model.paper}


def _symbols(model: MethodLike) -> dict[str, Json]:
    """Return neighborhoods, guidance, COMBINE, and FUSE, which are empty for a method that is not a network."""
    if not model.is_network:
        return {"neighborhoods": [], "guidance": [], "combine": "", "fuse": ""}
    return dict(make_method(model).architecture().symbols)


def model_table(models: Sequence[MethodLike]) -> RenderableType:
    """Return the table of methods with their neighborhoods, guidance, COMBINE, and FUSE."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("method", "kind", "neighborhoods", "kind", "guidance", "COMBINE", "FUSE"):
        table.add_column(heading, no_wrap=True)
    table.add_column("paper")
    for model in models:
        citation = model.paper.split(",")[0] + ", " + model.paper.rsplit(" ", 1)[-1]
        table.add_row(model.name, *(_columns(make_method(model)) if model.is_network else [""] * 6), citation)
    return table


def _columns(method: Method) -> list[str]:
    architecture = method.architecture()
    symbols, channels = architecture.symbols, architecture.channels
    return [
        _leading([c.neighborhood.kind for c in channels], ("Dis", "ReDef", "Raw")),
        _bracket(symbols["neighborhoods"]),
        _leading([c.guidance.kind for c in channels], ("RelaEst", "AdaWeight", "DegAvg")),
        _bracket(symbols["guidance"]),
        architecture.combine.symbol,
        architecture.fuse.symbol,
    ]


def _leading(kinds: Sequence[str], order: Sequence[str]) -> str:
    return next(kind for kind in order if kind in kinds)


def _bracket(symbols: Sequence[str]) -> str:
    shown = symbols if len(symbols) <= 4 else (symbols[0], symbols[1], "..", symbols[-1])
    return "[" + ", ".join(shown) + "]"


def model_view(model: MethodLike) -> RenderableType:
    """Return the row, equation, citation, settings, search space, and deviations of one method."""
    facts = Table.grid(padding=(0, 2))
    if model.is_network:
        symbols = make_method(model).architecture().symbols
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
    return own | {name: values[name] for name in common if name in values}


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
