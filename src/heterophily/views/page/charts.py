"""The charts of a dataset and of single fits, from plain numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from heterophily.bench.table import Entry
from heterophily.views.page.chart import (
    DIAMOND,
    HOVER,
    LINE_HEIGHT,
    Chart,
    Series,
    Trace,
    axis,
    label,
    log_axis,
    short,
    shown,
)

MOST_NUMBERS = 12  # classes up to which the cells of a heat map carry numbers


def accuracy_chart(column: Sequence[Entry], series: Series) -> Chart | None:
    """Means with their spread, best on top, the paper's as diamonds."""
    known = sorted(
        (e for e in column if e.mean is not None), key=lambda e: e.mean or 0, reverse=True
    )
    if not known:
        return None
    traces: list[Trace] = []
    for entry in known:
        name, published = label(entry.model), entry.published
        meta = series.meta(entry.model)
        bar = {"type": "data", "array": [entry.std or 0], "thickness": 1.5, "width": 0}
        point = {"type": "scatter", "name": name, "y": [name], "mode": "markers"}
        ours = {"x": [entry.mean], "error_x": bar, "meta": meta, "marker": {"size": 10}}
        traces.append({**point, **ours, "hovertemplate": f"%{{x:.2f}} %{HOVER}"})
        if published is not None and published.mean is not None:
            theirs = {"x": [published.mean], "meta": {**meta, "role": "paper"}, "marker": DIAMOND}
            traces.append({**point, **theirs, "hovertemplate": f"%{{x:.2f}} % in the paper{HOVER}"})
    printed = any(t["meta"].get("role") for t in traces)
    return Chart(
        "Accuracy",
        traces,
        {
            "xaxis": axis("test accuracy, %"),
            "yaxis": {"autorange": "reversed", "type": "category", "showgrid": True},
        },
        ["method", "mean", "std", "runs", "paper"],
        [[e.model, shown(e.mean), shown(e.std), str(e.n), shown(_printed(e))] for e in known],
        caption="Mean and sample standard deviation over the runs.",
        height=LINE_HEIGHT * len(known) + 70,
        paper=printed,
    )


def _printed(entry: Entry) -> float | None:
    return None if entry.published is None else entry.published.mean


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The methods of which no other is both faster and better; cheapest first.

    >>> pareto_front({"a": (1.0, 50.0), "b": (2.0, 40.0), "c": (3.0, 60.0), "d": (3.0, 55.0)})
    ['a', 'c']
    """
    front: list[str] = []
    best = float("-inf")
    for name, (_, score) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if score > best:
            front.append(name)
            best = score
    return front


def runtime_chart(
    points: Mapping[str, tuple[float, float]], series: Series, *, source: str
) -> Chart | None:
    """Milliseconds per epoch against accuracy, the Pareto front as a line."""
    if len(points) < 2:
        return None
    front = pareto_front(points)
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": [points[name][0] for name in front],
        "y": [points[name][1] for name in front],
        "line": {"shape": "hv", "width": 1.5, "dash": "dot"},
        "meta": {"role": "quiet"},
        "hoverinfo": "skip",
    }
    dots = [
        {
            "type": "scatter",
            "mode": "markers+text" if name in front else "markers",
            "name": label(name),
            "x": [points[name][0]],
            "y": [points[name][1]],
            "text": [label(name)],
            "textposition": "top center",
            "cliponaxis": False,
            "marker": {"size": 11 if name in front else 9},
            "meta": series.meta(name),
            "hovertemplate": f"%{{y:.2f}} %, %{{x:.1f}} ms{HOVER}",
        }
        for name in series.sorted(list(points))
    ]
    ordered = sorted(points, key=lambda name: points[name])
    return Chart(
        "Run time against accuracy",
        [line, *dots],
        {
            "xaxis": log_axis("milliseconds per epoch", [time for time, _ in points.values()]),
            "yaxis": axis("test accuracy, %"),
        },
        ["method", "ms per epoch", "accuracy", "on the front"],
        [
            [n, shown(points[n][0], 1), shown(points[n][1]), "yes" if n in front else "no"]
            for n in ordered
        ],
        caption=f"Dotted: the Pareto front; no method left of it is as accurate. {source}",
        height=360,
        methods=series.sorted(list(points)),
    )


def matrix_chart(
    matrix: Sequence[Sequence[float]],
    names: Sequence[str],
    *,
    title: str,
    peak: float,
    signed: bool = False,
    caption: str = "",
    rows: str = "class of node",
    columns: str = "class of neighbor",
    method: str = "",
) -> Chart:
    """A heat map of classes × classes; `peak` is the strongest color, of both signs if `signed`."""
    k = len(names)
    brief = [label(short(name)) for name in names]
    heat: Trace = {
        "type": "heatmap",
        "z": [list(row) for row in matrix],
        "zmin": -peak if signed else 0,
        "zmax": peak,
        "xgap": 1,
        "ygap": 1,
        "showscale": False,
        "meta": {
            "scale": "signed" if signed else "plain",
            **({"method": method} if method else {}),
        },
        "customdata": [[[label(a), label(b)] for b in names] for a in names],
        "hovertemplate": f"%{{z:.3f}}<br>{rows} %{{customdata[0]}}<br>{columns} %{{customdata[1]}}"
        "<extra></extra>",
    }
    if k <= MOST_NUMBERS:
        heat["text"] = [[_brief(value) for value in row] for row in matrix]
        heat["texttemplate"] = "%{text}"
        heat["textfont"] = {"size": 12 if k <= 7 else 10}
    ticks = {"tickvals": list(range(k)), "ticktext": brief, "showgrid": False, "ticks": ""}
    long = max(map(len, names)) > 3
    return Chart(
        title,
        [heat],
        {
            "xaxis": axis(columns, **ticks, tickangle=-45 if long else 0),
            "yaxis": axis(rows, **ticks, autorange="reversed"),
        },
        ["", *names],
        [[name, *(shown(v, 3) for v in row)] for name, row in zip(names, matrix, strict=True)],
        caption=caption,
        height=360,
        square=True,
    )


def _brief(value: float) -> str:
    text = f"{abs(value):.2f}"
    digits = text.removeprefix("0") if text.startswith("0") else text
    return "" if not float(text) else f"−{digits}" if value < 0 else digits


def bars_chart(
    values: Mapping[str, float | None], *, title: str, x: str, y: str, **more: Any
) -> Chart:
    """Plain bars in the accent color, such as accuracy by degree of one method."""
    bars = {
        "type": "bar",
        "x": list(map(label, values)),
        "y": list(values.values()),
        "meta": {"role": "accent"},
        "hovertemplate": "%{y:.2f}<extra>%{x}</extra>",
    }
    return Chart(
        title,
        [bars],
        {"xaxis": axis(x, type="category", showgrid=False), "yaxis": axis(y), "bargap": 0.25},
        [x, y],
        [[name, shown(value)] for name, value in values.items()],
        **more,
    )
