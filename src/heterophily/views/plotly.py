"""Charts as figures of plotly.js, in plain data.

The page chooses the colors, because it can be light or dark: in `meta`, a trace has its method and the
number of its color, or a role, and the script of the page paints it.
"""

from collections.abc import Mapping, Sequence
from html import escape

from heterophily.core.chart import Axis, Chart, Mark
from heterophily.views.matplotlib import cell_text

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Figure = dict[str, Json]
MAX_POINTS = 160  # of one line
MAX_NUMBERS = 12  # rows of a heat map up to which every cell shows its number
MAX_LABEL = 14  # characters of a class on an axis
MAX_TEXT = 30  # characters of text in a chart
DIAMOND: Figure = {"symbol": "diamond-open", "size": 9, "line": {"width": 1.5}}
DASHES = {"dashed": "dash", "dotted": "dot"}


def draw_chart(chart: Chart, methods: Sequence[str] = ()) -> Figure:
    """Return the traces and the layout of a chart. Methods have the color of their position."""
    traces = [t for mark in chart.marks if (t := _trace(chart, mark, methods)) is not None]
    notes = [note for mark in chart.marks if mark.kind == "text" for note in _notes(chart, mark)]
    layout: dict[str, Json] = {"xaxis": _axis(chart.x, chart, "x"), "yaxis": _axis(chart.y, chart, "y")}
    if notes:
        layout["annotations"] = notes
    if not chart.x.visible:
        layout["margin"] = _margin(chart)
    return {"data": traces, "layout": layout}


def _trace(chart: Chart, mark: Mark, methods: Sequence[str]) -> Figure | None:
    if mark.kind == "text":
        return None
    if mark.kind == "heat map":
        return _heat_map(chart, mark)
    x, y = chart.positions(mark)
    places = thin(len(x))
    trace: Figure = {
        "name": label(mark.key),
        "x": [x[i] for i in places],
        "y": [y[i] for i in places],
        "meta": meta(mark, methods),
    }
    trace |= _hover(chart, mark, places)
    if mark.kind == "bar":
        width = 0.9 * chart.bar_width
        return trace | {"type": "bar", "orientation": "h" if chart.horizontal else "v", "width": width}
    return trace | {"type": "scatter"} | (_line(mark) if mark.kind == "line" else _points(mark))


def _line(mark: Mark) -> Figure:
    points = (mark.points and len(mark.x) <= MAX_POINTS) or mark.paper
    line: dict[str, Json] = {"width": 1.2 if mark.paper else mark.width + 0.25}
    if mark.paper or mark.style != "solid":
        line["dash"] = "dash" if mark.paper else DASHES[mark.style]
    if mark.steps:
        line["shape"] = "hv"
    look: Figure = {"mode": "lines+markers" if points else "lines", "line": line}
    if points:
        look["marker"] = {**DIAMOND, "size": 6} if mark.paper else {"size": 7}
    if mark.fill:
        look["fill"] = "tozeroy"
    return look


def _points(mark: Mark) -> Figure:
    look: Figure = {"mode": "markers", "marker": DIAMOND if mark.paper else {"size": mark.size or 10}}
    if mark.labels:
        look |= {"mode": "markers+text", "text": list(map(label, mark.labels))}
        side = "bottom left" if mark.anchor == "right" else "top center"
        look |= {"textposition": side, "cliponaxis": False}
    if mark.errors:
        errors = [error or 0 for error in mark.errors]
        look["error_x"] = {"type": "data", "array": errors, "thickness": 1.5, "width": 0}
    return look


def _hover(chart: Chart, mark: Mark, places: Sequence[int]) -> Figure:
    if not (mark.key or mark.labels or chart.x.categories) or mark.color == "ink":
        return {"hoverinfo": "skip"}
    source = " in the paper" if mark.paper else ""
    texts = [
        label(f"{chart.format(mark.y[i])}{source} ({chart.format(mark.x[i])})")
        if not chart.horizontal
        else label(f"{chart.format(mark.x[i])}{source} ({chart.format(mark.y[i])})")
        for i in places
    ]
    return {"customdata": texts, "hovertemplate": f"%{{customdata}}<extra>{label(mark.key)}</extra>"}


def meta(mark: Mark, methods: Sequence[str]) -> Figure:
    """Return what the page needs to know to paint a mark, and to hide it with its method."""
    if mark.method:
        number = methods.index(mark.method) if mark.method in methods else len(methods)
        kind: Figure = {"method": mark.method, "series": number}
    else:
        kind = {"series": mark.color} if isinstance(mark.color, int) else {"role": mark.color}
    return kind | ({"role": "paper"} if mark.paper and mark.kind == "point" else {})


def _heat_map(chart: Chart, mark: Mark) -> Figure:
    low, high = mark.limits
    values = [[None if v is None else float(v) for v in row] for row in mark.values]
    kind: Figure = {"scale": "signed" if low < 0 else "plain"}
    rows, columns = chart.y.title, chart.x.title
    heat: Figure = {
        "type": "heatmap",
        "z": [[_log(v) if mark.log else v for v in row] for row in values],
        "zmin": _log(low) if mark.log else low,
        "zmax": _log(high) if mark.log else high,
        "xgap": 1,
        "ygap": 1,
        "showscale": False,
        "meta": kind | ({"method": mark.method} if mark.method else {}),
        "customdata": [
            [[label(str(a)), label(str(b)), chart.format(v)] for b, v in zip(mark.x, row, strict=True)]
            for a, row in zip(mark.y, values, strict=True)
        ],
        "hovertemplate": f"%{{customdata[2]}}<br>{rows} %{{customdata[0]}}<br>"
        f"{columns} %{{customdata[1]}}<extra></extra>",
    }
    if len(mark.y) <= MAX_NUMBERS:
        heat["text"] = [["" if v is None else cell_text(v, chart.digits) for v in row] for row in values]
        heat |= {"texttemplate": "%{text}", "textfont": {"size": 12 if len(mark.y) <= 7 else 10}}
    return heat


def _log(value: float | None) -> float | None:
    from math import log10

    return None if value is None or value <= 0 else log10(value)


def _axis(axis: Axis, chart: Chart, name: str) -> Figure:
    found: Figure = {"title": {"text": axis.title}} if axis.title else {}
    heat = bool(chart.marks) and chart.marks[0].kind == "heat map"
    if axis.categories:
        names = [short(n) if heat else n for n in axis.categories]
        length = max(map(len, names), default=0)
        found |= {"tickvals": list(range(len(names))), "ticktext": [label(n) for n in names]}
        found |= {"ticks": "", "showgrid": not heat and name == "y"}
        found |= {"tickangle": -45} if heat and name == "x" and length > 3 else {}
        found["range"] = [-0.5, len(names) - 0.5][:: -1 if axis.reverse else 1]
        return found
    low, high = axis.limits
    if not axis.visible:
        return {"range": [high, low] if axis.reverse else [low, high], "visible": False}
    if axis.log:
        return found | log_ticks(_values(chart, name), axis.ticks)
    if low is not None and high is not None:
        found["range"] = [low, high]
    elif low == 0:
        found["rangemode"] = "tozero"
    if any(mark.kind == "bar" for mark in chart.marks):
        found["zeroline"] = True
    return found


def _values(chart: Chart, name: str) -> list[float]:
    found = [chart.positions(mark)["xy".index(name)] for mark in chart.marks]
    return [value for values in found for value in values if value is not None]


def log_ticks(values: Sequence[float], ticks: Mapping[float, str] | None = None) -> Figure:
    """Return a logarithmic axis with ticks at 1, 2, and 5, or only at powers of ten if there are many.

    Examples
    --------
    >>> log_ticks([1.5, 30])["ticktext"]
    ['1', '2', '5', '10', '20', '50']
    """
    if ticks:
        return {"type": "log", "tickvals": list(ticks), "ticktext": list(ticks.values())}
    low, high = min(values), max(values)
    steps = (1, 2, 5) if high / low < 300 else (1,)
    known = [float(f"{s}e{p}") for p in range(-6, 13) for s in steps]
    below = max((t for t in known if t <= low), default=low)
    above = min((t for t in known if t >= high), default=high)
    inside = [tick for tick in known if below <= tick <= above]
    return {"type": "log", "tickvals": inside, "ticktext": [f"{tick:,g}" for tick in inside]}


def _notes(chart: Chart, mark: Mark) -> list[Figure]:
    x, y = chart.positions(mark)
    return [
        {
            "text": label(short(text, MAX_TEXT)),
            "x": a,
            "y": b,
            "showarrow": False,
            "xanchor": mark.anchor,
            "yanchor": "middle",
        }
        for a, b, text in zip(x, y, mark.labels, strict=True)
    ]


def _margin(chart: Chart) -> Figure:
    """Margins that leave room for text next to the limits of the x-axis."""
    room = {"left": 4, "right": 4}
    for mark in chart.marks:
        if mark.kind == "text" and mark.anchor != "center" and mark.x[0] in chart.x.limits:
            side = "right" if mark.anchor == "left" else "left"
            length = max(min(MAX_TEXT, len(text)) for text in mark.labels)
            room[side] = max(room[side], round(6.4 * length) + 12)
    return {"l": room["left"], "r": room["right"], "t": 4, "b": 4}


def label(text: str) -> str:
    """Return text for plotly.js, which interprets tags and entities in labels.

    Examples
    --------
    >>> label("a<b>&c")
    'a&lt;b&gt;&amp;c'
    """
    return escape(text, quote=False)


def short(text: str, length: int = MAX_LABEL) -> str:
    """Return the beginning of a long name.

    Examples
    --------
    >>> short("Conjunctive adverbs"), short("noun")
    ('Conjunctive a…', 'noun')
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"


def thin(count: int, most: int = MAX_POINTS) -> list[int]:
    """Return at most so many evenly spaced positions, including the first and the last.

    Examples
    --------
    >>> thin(5, most=3)
    [0, 2, 4]
    """
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
