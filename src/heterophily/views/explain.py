"""An explanation as text in a terminal, and as charts."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from heterophily.core.chart import Axis, Chart, Mark, number_text
from heterophily.training.explanation import GateShare, Importance, ModelExplanation, NodeExplanation
from heterophily.training.scoring import SCORINGS, title_of

MAX_ROWS = 10
MAX_BARS = 15
BAR = 16  # characters of the longest bar
PART_TITLES = {"ego": "own columns", "neighbors": "edges to neighbors", "supplementary": "stored soft label"}
MESSAGES = {"ego": "ego", "neighbors": "neighbors", "supplementary": "supplementary"}


def node_view(explanation: NodeExplanation) -> RenderableType:
    """Return the explanation of a node as text."""
    e = explanation
    sections: list[RenderableType] = [Text(f"{e.graph}: node {e.id}", style="bold"), _facts(e)]
    parts = [(PART_TITLES[each.part], each.effect, each.probability) for each in e.parts]
    sections += _section("What the prediction depends on", _effects(("part",), [((n,), x, p) for n, x, p in parts]))
    sections += _gate_lines(e.gates)
    classes = [((c.name, f"{c.n_neighbors:,}"), c.effect, c.probability) for c in e.neighbor_classes]
    sections += _section("Neighbors by class", _effects(("class", "neighbors"), classes))
    neighbors = [((n.id, n.label or f"{n.predicted} (predicted)"), n.effect, n.probability) for n in e.neighbors]
    title = _counted("Neighbors", len(neighbors), e.n_neighbors)
    sections += _section(title, _effects(("id", "class"), neighbors[:MAX_ROWS]))
    columns = [((c.name, c.value), c.effect, c.probability) for c in e.columns]
    errors = [c.standard_error for c in e.columns]
    title = _counted("Columns", len(columns), e.n_columns)
    sections += _section(title, _effects(("column", "value"), columns[:MAX_ROWS], errors[:MAX_ROWS]))
    return Group(*sections, *_footnotes(e))


def _facts(e: NodeExplanation) -> Padding:
    rows = {"model": e.model, "predicted": e.predicted, "label": e.label or "unknown"}
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), Text(value))
    explained = "probability" if e.target == e.predicted else f"probability of {e.target}"
    table.add_row(Text(explained, style="dim"), Text(percent(e.probability)))
    return Padding(table, (0, 0, 1, 1))


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.8312), percent(0.9997)
    ('83.1%', '> 99.9%')
    """
    if 0 < share < 0.001 or 0.999 < share < 1:
        return "< 0.1%" if share < 0.5 else "> 99.9%"
    return f"{100 * share:.1f}%"


def effect_text(effect: float) -> str:
    """Return an effect with its sign.

    >>> effect_text(0.426), effect_text(-0.001)
    ('+0.43', '0.00')
    """
    text = f"{effect:+.2f}".replace("-", "−")
    return text if text[1:] != "0.00" else "0.00"


def _counted(title: str, n_measured: int, total: int) -> str:
    shown = min(MAX_ROWS, n_measured)
    if shown == total:
        return title
    most = f"the {shown} of {total:,} that matter most"
    return f"{title}: {most}" + ("" if n_measured == total else f" ({n_measured} measured one by one)")


def _section(title: str, table: Table) -> list[RenderableType]:
    return [Text(title, style="bold"), Padding(table, (0, 0, 1, 1))] if table.row_count else []


Row = tuple[tuple[str, ...], float, float]


def _effects(names: Sequence[str], rows: Sequence[Row], errors: Sequence[float | None] = ()) -> Table:
    """Return a table of effects, with a bar for each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        is_count = name == "neighbors"
        table.add_column(name, justify="right" if is_count else "left", overflow="fold")
    table.add_column("effect", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("probability without it", justify="right")
    peak = max((abs(effect) for _, effect, _ in rows), default=0.0)
    spread = errors or [None] * len(rows)
    for (cells, effect, probability), error in zip(rows, spread, strict=True):
        text = effect_text(effect) + ("" if error is None else f" ± {error:.2f}")
        table.add_row(*map(Text, cells), text, _bar(effect, peak), percent(probability))
    return table


def _bar(effect: float, peak: float) -> Text:
    length = round(BAR * abs(effect) / peak) if peak else 0
    return Text("█" * length, style="blue" if effect > 0 else "yellow")


def _gate_lines(gates: Sequence[GateShare]) -> list[RenderableType]:
    if not gates:
        return []
    lines = [Text(f" {line}") for line in gate_texts(gates)]
    return [Text("Weights of messages", style="bold"), *lines, Text("")]


def gate_texts(gates: Sequence[GateShare]) -> list[str]:
    """Return the weights of messages, one line per model."""
    lines = []
    for model in dict.fromkeys(gate.model for gate in gates):
        shares = [f"{MESSAGES[g.part]} {100 * g.share:.0f}%" for g in gates if g.model == model]
        lines.append(f"{model}: {', '.join(shares)}")
    return lines


def _footnotes(e: NodeExplanation) -> list[RenderableType]:
    return [Text(line, style="dim") for line in footnotes(e)]


def footnotes(e: NodeExplanation) -> list[str]:
    """Return what an effect is, how it was computed, and what it does not include."""
    text = (
        f"An effect is a difference of log-odds of {e.target}: positive if it speaks for {e.target}, negative if it "
        "speaks against it. Edges are removed, and columns receive the values of other nodes, or zero if they are "
        "sparse. Effects do not add up."
    )
    used = "the full graph" if e.n_hops is None else f"the {e.n_hops}-hop neighborhood, which determines the prediction"
    return [text, f"{e.n_evaluations:,} predictions on {used}.", *(f"Note: {note}." for note in e.notes)]


def model_view(explanation: ModelExplanation) -> RenderableType:
    """Return the explanation of a model as text."""
    e = explanation
    score = score_line(e)
    sections: list[RenderableType] = [Text(f"{e.model} on {e.graph}", style="bold"), Padding(Text(score), (0, 0, 1, 1))]
    edges = [Importance(f"edges {each.name}", each.importance, each.standard_error) for each in e.edges]
    sections += _section("Edges", _importances(e, "change", edges))
    sections += _gate_lines(e.gates)
    shown = [each for each in e.columns if each.importance][: 2 * MAX_ROWS]
    sections += _section("Columns", _importances(e, "column", shown))
    notes = _rest(e, shown)
    notes += [importance_note(e), *(f"Note: {each}." for each in e.notes)]
    return Group(*sections, *(Text(line, style="dim") for line in notes))


def _rest(e: ModelExplanation, shown: Sequence[Importance]) -> list[str]:
    """Return what the table of columns does not show."""
    n_zero = sum(each.importance == 0 for each in e.columns)
    n_less = len(e.columns) - n_zero - len(shown)
    lines = [f"{_columns(n_less, 'other column')} a smaller importance."] if n_less else []
    lines += [f"{_columns(n_zero, 'column')} no effect on the score."] if n_zero else []
    n_groups = e.n_columns - len(e.columns)
    return lines + ([f"{n_groups:,} columns were measured only in groups, which had less effect."] if n_groups else [])


def _columns(count: int, noun: str) -> str:
    return f"1 {noun} has" if count == 1 else f"{count:,} {noun}s have"


def importance_note(e: ModelExplanation) -> str:
    """Return what an importance is."""
    return (
        f"An importance is the decrease of the {_title(e)} if the values of a column are shuffled among all nodes, or "
        f"if edges are removed or rewired, with the standard error of {e.n_repeats} repetitions. Columns that contain "
        "the same information hide each other's importance."
    )


def score_line(e: ModelExplanation) -> str:
    """Return the score on unchanged data."""
    return f"{_title(e)} {_score_text(e, e.score)} on {e.n_nodes:,} {e.nodes} nodes"


def _title(e: ModelExplanation) -> str:
    return title_of(e.scoring)


def _score_text(e: ModelExplanation, value: float) -> str:
    is_share = e.scoring in SCORINGS and SCORINGS[e.scoring].is_share
    return f"{100 * value:.1f}%" if is_share else f"{value:.3f}"


def _importances(e: ModelExplanation, name: str, rows: Sequence[Importance]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(name, overflow="fold")
    table.add_column("importance", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    peak = max((abs(each.importance) for each in rows), default=0.0)
    for each in rows:
        table.add_row(Text(each.name), importance_text(e, each), _bar(each.importance, peak))
    return table


def importance_text(e: ModelExplanation, row: Importance) -> str:
    """Return an importance with its standard error, in percentage points if the score is a share."""
    is_share = e.scoring in SCORINGS and SCORINGS[e.scoring].is_share
    factor, digits = (100, 1) if is_share else (1, 3)
    error = "" if row.standard_error is None else f" ± {factor * row.standard_error:.{digits}f}"
    return number_text(factor * row.importance, digits) + error


def effect_charts(explanation: NodeExplanation) -> list[Chart]:
    """Return the effects of parts, of neighbors by class, and of columns as bars."""
    e = explanation
    axis = f"effect on the log-odds of {e.target}"
    charts = [_bars("Parts", [(PART_TITLES[each.part], each.effect) for each in e.parts], axis)]
    classes = [(f"{c.name} ({c.n_neighbors:,})", c.effect) for c in e.neighbor_classes]
    charts.append(_bars("Neighbors by class", classes, axis))
    columns = [(f"{c.name} = {c.value}" if c.value else c.name, c.effect) for c in e.columns[:MAX_BARS]]
    charts.append(_bars("Columns", columns, axis))
    return [chart for chart in charts if chart.marks[0].x]


def importance_charts(explanation: ModelExplanation) -> list[Chart]:
    """Return the importance of columns and edges as bars with standard errors."""
    e = explanation
    is_share = e.scoring in SCORINGS and SCORINGS[e.scoring].is_share
    factor = 100 if is_share else 1
    axis = f"decrease of the {_title(e)}" + (", percentage points" if is_share else "")
    rows = [*(Importance(f"edges {each.name}", each.importance, each.standard_error) for each in e.edges)]
    rows += [each for each in e.columns if each.importance][:MAX_BARS]
    names = _unique([each.name for each in rows])
    errors = [None if each.standard_error is None else factor * each.standard_error for each in rows]
    mark = Mark("bar", [factor * each.importance for each in rows], names, errors=errors)
    caption = f"Decrease of the {_title(e)} on {e.n_nodes:,} {e.nodes} nodes without edges, or with shuffled values."
    title = "Importance of edges and columns"
    return [Chart(title, [mark], Axis(axis), Axis(categories=names, reverse=True), caption=caption)] if rows else []


def _unique(names: Sequence[str]) -> list[str]:
    """Return names of which repeated ones receive a number."""
    found: list[str] = []
    for name in names:
        found.append(name if name not in found else f"{name} ({len(found) + 1})")
    return found


def _bars(title: str, rows: Sequence[tuple[str, float]], axis: str) -> Chart:
    names, values = _unique([name for name, _ in rows]), [value for _, value in rows]
    return Chart(title, [Mark("bar", values, names)], Axis(axis), Axis(categories=names, reverse=True))
