"""The charts of a dataset and of single fits, from plain numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heterophily.bench.table import Entry
from heterophily.report.page.chart import (
    HOVER,
    LINE_HEIGHT,
    Chart,
    Series,
    Trace,
    axis,
    folded,
    label,
    log_axis,
    short,
    shown,
    thinned,
)
from heterophily.studies.tidy import Rows, mean_of, values_of, where

MOST_NUMBERS = 12  # classes up to which the cells of a heat map carry numbers
DIAMOND = {"symbol": "diamond-open", "size": 9, "line": {"width": 1.5}}


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


@dataclass(frozen=True)
class Learned:
    """The learning curve of one run."""

    loss: Sequence[float]
    accuracy: Sequence[float]  # validation, between 0 and 1
    best: int  # the epoch that was kept


def curve_charts(curves: Mapping[str, Learned], series: Series, *, caption: str) -> list[Chart]:
    """Validation accuracy, the kept epoch marked, and training loss."""
    names = series.sorted(list(curves))
    if not names:
        return []
    traces: list[Trace] = []
    for name in names:
        curve, meta = curves[name], series.meta(name)
        x, y = thinned([100 * value for value in curve.accuracy])
        line = {"type": "scatter", "mode": "lines", "name": label(name), "meta": meta}
        hover = f"%{{y:.2f}} % in epoch %{{x}}{HOVER}"
        traces.append({**line, "x": x, "y": y, "line": {"width": 1.75}, "hovertemplate": hover})
        if 0 <= curve.best < len(curve.accuracy):
            kept = {"x": [curve.best], "y": [100 * curve.accuracy[curve.best]]}
            mark = {"mode": "markers", "marker": {"size": 9}, "hovertemplate": f"kept: {hover}"}
            traces.append({**line, **kept, **mark})
    first = Chart(
        "Validation accuracy",
        traces,
        {"xaxis": axis("epoch"), "yaxis": axis("validation accuracy, %")},
        ["method", "epochs", "kept epoch", "validation accuracy there"],
        [[name, *_kept(curves[name])] for name in names],
        caption=f"{caption} The dot is the epoch whose weights were kept.",
        methods=names if len(names) > 1 else (),
    )
    return [first, _loss_chart(curves, series, caption)]


def _loss_chart(curves: Mapping[str, Learned], series: Series, caption: str) -> Chart:
    """The loss itself for one method; several minimise different sums, so each is shown from 0 to 1."""
    names = series.sorted(list(curves))
    several = len(names) > 1
    traces = []
    for name in names:
        x, y = thinned(curves[name].loss)
        line = {"type": "scatter", "mode": "lines", "name": label(name), "x": x, "customdata": y}
        look = {"y": _stretched(y) if several else y, "line": {"width": 1.75}}
        hover = f"%{{customdata:.3f}} in epoch %{{x}}{HOVER}"
        traces.append({**line, **look, "meta": series.meta(name), "hovertemplate": hover})
    title = "loss, lowest to highest" if several else "loss"
    note = " Each from its lowest to its highest value: the methods minimise different sums."
    return Chart(
        "Training loss",
        traces,
        {"xaxis": axis("epoch"), "yaxis": axis(title, rangemode="tozero")},
        ["method", "first", "last", "lowest"],
        [[n, *(shown(v, 3) for v in _ends(curves[n].loss))] for n in names],
        caption=caption + note if several else caption,
        methods=names if several else (),
    )


def _stretched(values: Sequence[float]) -> list[float]:
    """From 0 for the lowest to 1 for the highest."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def _kept(curve: Learned) -> list[str]:
    inside = 0 <= curve.best < len(curve.accuracy)
    score = 100 * curve.accuracy[curve.best] if inside else None
    return [str(len(curve.accuracy)), str(curve.best), shown(score)]


def _ends(values: Sequence[float]) -> list[float | None]:
    return [values[0], values[-1], min(values)] if values else [None] * 3


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


def degree_chart(rows: Rows, series: Series) -> Chart | None:
    """Accuracy per group of test nodes by degree as bars, the paper's as diamonds."""
    models, groups = series.sorted(values_of(rows, "model")), values_of(rows, "group")
    if not models:
        return None
    traces: list[Trace] = []
    table: list[list[str]] = []
    for model in models:
        own = [where(rows, model=model, group=group) for group in groups]
        ours = [mean_of(cell, "test_accuracy") for cell in own]
        theirs = [mean_of(cell, "paper") for cell in own]
        shared = {"name": label(model), "x": groups, "offsetgroup": model}
        bars = {"type": "bar", "y": ours, "meta": series.meta(model)}
        traces.append({**shared, **bars, "hovertemplate": f"%{{y:.2f}} %{HOVER}"})
        table.append([model, *map(shown, ours)])
        if any(value is not None for value in theirs):
            marks = {"type": "scatter", "mode": "markers", "y": theirs, "marker": DIAMOND}
            meta = series.meta(model, role="paper")
            hover = f"%{{y:.2f}} % in the paper{HOVER}"
            traces.append({**shared, **marks, "meta": meta, "hovertemplate": hover})
            table.append([f"{model}, paper", *map(shown, theirs)])
    return Chart(
        "Accuracy by degree",
        traces,
        {
            "barmode": "group",
            "scattermode": "group",
            "bargap": 0.25,
            "xaxis": axis("test nodes by degree, lowest first, %", type="category", showgrid=False),
            "yaxis": axis("accuracy, %", range=_bar_range(traces)),
        },
        ["method", *groups],
        table,
        caption=_degrees_of(rows, groups),
        height=340,
        methods=models,
        paper=any(trace["type"] == "scatter" for trace in traces),
        wide=True,
    )


def _bar_range(traces: Sequence[Trace]) -> list[float]:
    values = [v for trace in traces for v in trace["y"] if v is not None]
    return [0, min(100.0, 1.08 * max(values, default=100.0))]


def _degrees_of(rows: Rows, groups: Sequence[str]) -> str:
    reach = []
    for group in groups:
        own = [r for r in where(rows, group=group) if r.get("lowest_degree") is not None]
        if own:
            low, high = min(r["lowest_degree"] for r in own), max(r["highest_degree"] for r in own)
            reach.append(f"{low}–{high}" if high > low else str(low))
    return f"Fifths of the test nodes; their degrees: {', '.join(reach)}." if reach else ""


def ablation_chart(rows: Rows, series: Series) -> Chart | None:
    """The change of accuracy without a part, the paper's as diamonds."""
    if not rows:
        return None
    traces: list[Trace] = []
    for model in values_of(rows, "model"):
        own = where(rows, model=model)
        y = [folded(row["variant"]) for row in own]
        shared = {"name": label(model), "y": y, "offsetgroup": model}
        bars = {"type": "bar", "orientation": "h", "x": [row["change"] for row in own]}
        hover = f"%{{x:+.2f}} points{HOVER}"
        traces.append({**shared, **bars, "meta": series.meta(model), "hovertemplate": hover})
        if any(row["paper"] is not None for row in own):
            marks = {"type": "scatter", "mode": "markers", "x": [row["paper"] for row in own]}
            marks["orientation"] = "h"  # so that diamonds move beside their bars, not along them
            meta = series.meta(model, role="paper")
            hover = f"%{{x:+.2f}} points in the paper{HOVER}"
            traces.append(
                {**shared, **marks, "marker": DIAMOND, "meta": meta, "hovertemplate": hover}
            )
    models = values_of(rows, "model")
    lines = sum(1 + folded(row["variant"]).count("<br>") for row in rows)
    return Chart(
        "Ablation",
        traces,
        {
            "barmode": "group",
            "scattermode": "group",
            "bargap": 0.35,
            "xaxis": axis("change of accuracy, points", zeroline=True),
            "yaxis": {"autorange": "reversed", "type": "category"},
        },
        ["method", "variant", "change", "paper"],
        [[r["model"], r["variant"], shown(r["change"]), shown(r["paper"])] for r in rows],
        caption="Test accuracy without a part minus that of the whole method.",
        height=90 + 22 * lines + 14 * len(rows),
        methods=models,
        paper=any(row["paper"] is not None for row in rows),
    )


def trace_chart(rows: Rows, series: Series) -> Chart | None:
    """How far the estimated matrix is from the observed one while training, first split."""
    models = series.sorted(values_of(rows, "model"))
    traces: list[Trace] = []
    table = []
    for model in models:
        own = where(rows, model=model)
        line = where(own, split=own[0].get("split"))
        x = [row["epoch"] + 1 for row in line]
        y = [row["distance"] for row in line]
        shape = {"shape": "hv", "width": 1.75}
        hover = f"%{{y:.3f}} after %{{x}} epochs{HOVER}"
        meta = series.meta(model)
        trace = {"type": "scatter", "mode": "lines", "name": label(model), "x": x, "y": y}
        traces.append({**trace, "line": shape, "meta": meta, "hovertemplate": hover})
        table.append([model, shown(y[0], 3), shown(y[-1], 3)])
    if not traces:
        return None
    return Chart(
        "How the estimate moves",
        traces,
        {"xaxis": axis("epochs"), "yaxis": axis("mean |M̂ − M|", rangemode="tozero")},
        ["method", "before training", "at the end"],
        table,
        caption="Distance of the estimated from the observed matrix, first split.",
        methods=models if len(models) > 1 else (),
    )


def overlap_chart(rows: Rows) -> Chart | None:
    """Mean overlap of the semantic neighborhoods of two classes by degree."""
    groups = [group for group in values_of(rows, "group") if group != "all"]
    means = [mean_of(where(rows, group=group), "overlap") for group in groups]
    if not groups:
        return None
    line = {"type": "scatter", "mode": "lines+markers", "x": groups, "y": means}
    look = {"meta": {"role": "accent"}, "marker": {"size": 8}, "name": "mean of all pairs"}
    return Chart(
        "Overlap of neighborhoods",
        [{**line, **look, "hovertemplate": "%{y:.3f}<extra></extra>"}],
        {
            "xaxis": axis("nodes by degree, lowest first, %", type="category"),
            "yaxis": axis("overlap of two classes", range=[0, 1.02]),
        },
        ["group", "mean overlap"],
        [[group, shown(mean, 3)] for group, mean in zip(groups, means, strict=True)],
        caption="Mean over all pairs of classes; 1: their neighborhoods are the same.",
    )


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
