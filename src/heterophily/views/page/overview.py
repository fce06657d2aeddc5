"""The charts over all datasets: ranks, synthetic graphs, the sweep between them, and scaling."""

from typing import Any

from heterophily.bench.significance import Ranking
from heterophily.studies.runtime import exponents
from heterophily.studies.tidy import Row, Rows, filter_rows, mean_of, unique_values
from heterophily.views.diagram import bar_rows
from heterophily.views.page.chart import (
    DIAMOND,
    HOVER,
    Chart,
    Series,
    Trace,
    axis,
    label,
    log_axis,
    short,
    shown,
)

BAR_STEP, NAME_STEP = 0.35, 0.55  # heights of a bar and of a name below the axis


def rank_chart(ranking: Ranking) -> Chart:
    """The critical-difference diagram: average ranks on a line, bars over methods not told apart."""
    names, k = list(ranking.ranks), len(ranking.ranks)
    rows, middle = bar_rows(ranking), (k + 1) // 2
    top = 0.45 + BAR_STEP * (max(rows, default=-1) + 1)
    depth = top + NAME_STEP * middle
    width = ranking.critical_difference
    reach = [1 - 0.02 * k, max(float(k), 1 + width) + 0.02 * k]
    sides = [(name, i, 0) for i, name in enumerate(names[:middle])]
    sides += [(name, i, 1) for i, name in enumerate(reversed(names[middle:]))]
    traces, notes = _scale(k, width)
    for name, i, side in sides:
        rank, height = ranking.ranks[name], top + NAME_STEP * i
        traces.append(_line([rank, rank, reach[side]], [0, height, height], "ink", 1))
        parts = [label(short(name, 16)), f"<b>{rank:.1f}</b>"]
        text = "  ".join(reversed(parts) if side else parts)
        anchor = "left" if side else "right"
        notes.append(_note(text, side, height, xref="paper", xanchor=anchor, yanchor="middle"))
    for row, clique in zip(rows, ranking.cliques, strict=True):
        ends = [ranking.ranks[clique[0]] - 0.01 * k, ranking.ranks[clique[-1]] + 0.01 * k]
        traces.append(_line(ends, [0.35 + BAR_STEP * row] * 2, "accent", 5))
    room = round(6.4 * min(16, max(map(len, names)))) + 36
    return Chart(
        "Critical-difference diagram",
        traces,
        {
            "xaxis": {"range": reach, "visible": False},
            "yaxis": {"range": [depth, -1.6], "visible": False},
            "annotations": notes,
            "margin": {"l": room, "r": room, "t": 4, "b": 4},
        },
        ["method", "average rank"],
        [[name, shown(rank)] for name, rank in ranking.ranks.items()],
        caption="Methods under one bar are not told apart by Nemenyi's test.",
        height=int(20 + 44 * (depth + 1.6)),
        wide=True,
    )


def _scale(k: int, width: float) -> tuple[list[Trace], list[dict[str, Any]]]:
    """The line of ranks with its ticks, and the critical difference above it."""
    traces = [_line([1, k], [0, 0], "ink", 1.5), _line([1, 1 + width], [-1.0] * 2, "ink", 2)]
    notes = [_note(f"critical difference {width:.2f}", 1, -1.05, xanchor="left", yanchor="bottom")]
    step = 1 if k <= 8 else 2 if k <= 16 else 5
    for tick in range(1, k + 1):
        traces.append(_line([tick, tick], [0, -0.12], "ink", 1))
        if (tick - 1) % step == 0:
            notes.append(_note(str(tick), tick, -0.15, xanchor="center", yanchor="bottom"))
    return traces, notes


def _note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    return {"text": text, "x": x, "y": y, "showarrow": False, **more}


def _line(x: list[float], y: list[float], role: str, width: float) -> Trace:
    line = {"type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip"}
    return {**line, "line": {"width": width}, "meta": {"role": role}}


def synthetic_charts(rows: Rows, series: Series) -> list[Chart]:
    """Accuracy against homophily, a chart per degree, a line per method and kind of preferences."""
    charts = []
    for base in unique_values(rows, "dataset"):
        for degree in unique_values(filter_rows(rows, dataset=base), "degree"):
            charts.append(
                _synthetic(filter_rows(rows, dataset=base, degree=degree), series, base, degree)
            )
    return charts


def _synthetic(rows: Rows, series: Series, base: str, degree: float) -> Chart:
    levels = sorted(unique_values(rows, "homophily"))
    traces: list[Trace] = []
    table = []
    for model in series.sorted(unique_values(rows, "model")):
        for pattern in unique_values(rows, "pattern"):
            cells = [filter_rows(rows, model=model, pattern=pattern, homophily=h) for h in levels]
            ours, theirs = (
                [mean_of(c, name) for c in cells] for name in ("test_accuracy", "paper")
            )
            name, meta = f"{label(model)}, {pattern}", series.meta(model)
            line = {"dash": "solid" if pattern == "easy" else "dash", "width": 2}
            point = {"type": "scatter", "x": levels, "name": name, "meta": meta}
            hover = f"%{{y:.2f}} % at homophily %{{x}}{HOVER}"
            look = {"mode": "lines+markers", "line": line, "marker": {"size": 7}}
            traces.append({**point, **look, "y": ours, "hovertemplate": hover})
            table.append([f"{model}, {pattern}", *map(shown, ours)])
            if any(value is not None for value in theirs):
                look = {"mode": "markers", "marker": DIAMOND, "meta": {**meta, "role": "paper"}}
                traces.append(
                    {**point, **look, "y": theirs, "hovertemplate": f"the paper: {hover}"}
                )
    return Chart(
        f"{base}, degree {degree:g}",
        traces,
        {"xaxis": axis("homophily"), "yaxis": axis("test accuracy, %")},
        ["method", *(f"{level:g}" for level in levels)],
        table,
        caption="Solid: classes prefer two others (easy). Dashed: all others alike (hard).",
        methods=series.sorted(unique_values(rows, "model")),
        paper=any(trace["meta"].get("role") for trace in traces),
    )


def sweep_charts(rows: Rows) -> list[Chart]:
    """Accuracy over homophily × preference, a heat map per base, method and degree."""
    found = [row["test_accuracy"] for row in rows if row.get("test_accuracy") is not None]
    peak = max(found, default=100.0)
    return [
        _sweep(filter_rows(rows, dataset=base, model=model, degree=degree), peak)
        for base in unique_values(rows, "dataset")
        for model in unique_values(filter_rows(rows, dataset=base), "model")
        for degree in unique_values(filter_rows(rows, dataset=base, model=model), "degree")
    ]


def _sweep(rows: Rows, peak: float) -> Chart:
    first: Row = rows[0]
    across, down = sorted(unique_values(rows, "homophily")), sorted(unique_values(rows, "rest"))
    cells = [
        [mean_of(filter_rows(rows, homophily=h, rest=rest), "test_accuracy") for h in across]
        for rest in down
    ]
    heat = {
        "type": "heatmap",
        "z": cells,
        "x": [f"{h:g}" for h in across],
        "y": [f"{rest:g}" for rest in down],
        "zmin": 0,
        "zmax": peak,
        "xgap": 1,
        "ygap": 1,
        "showscale": False,
        "texttemplate": "%{z:.0f}",
        "hovertemplate": "%{z:.2f} %<br>homophily %{x}, ρ %{y}<extra></extra>",
        "meta": {"scale": "plain", "method": first["model"]},
    }
    return Chart(
        f"{first['model']} on {first['dataset']}, degree {first['degree']:g}",
        [heat],
        {
            "xaxis": axis("homophily", type="category", showgrid=False),
            "yaxis": axis("preference ρ for other classes", type="category", showgrid=False),
        },
        ["ρ", *heat["x"]],  # type: ignore[misc]
        [[f"{rest:g}", *map(shown, row)] for rest, row in zip(down, cells, strict=True)],
        caption="Test accuracy in percent.",
        height=300,
    )


def scaling_charts(rows: Rows, series: Series) -> list[Chart]:
    """Time and memory against edges on logarithmic axes, with the fitted exponents."""
    laws = {row["model"]: row for row in exponents(rows)}
    shown_as = (
        ("Time", "milliseconds per epoch", "median_milliseconds", "time"),
        ("Memory", "memory of training, MB", "training_mb", "memory"),
    )
    charts = []
    for title, words, column, law in shown_as:
        traces, table = [], []
        for model in series.sorted(list(laws)):
            own = sorted(filter_rows(rows, model=model), key=lambda r: r["n_edges"])
            points = [(r["n_edges"], r[column]) for r in own if r.get(column)]
            if not points:
                continue
            x, y = map(list, zip(*points, strict=True))
            line = {
                "type": "scatter",
                "mode": "lines+markers",
                "name": label(model),
                "x": x,
                "y": y,
            }
            hover = f"%{{y:,.1f}} at %{{x:,}} edges{HOVER}"
            look = {"marker": {"size": 7}, "meta": series.meta(model)}
            traces.append({**line, **look, "hovertemplate": hover})
            table.append([model, shown(laws[model][law])])
        if traces:
            charts.append(
                Chart(
                    f"{title} against edges",
                    traces,
                    {
                        "xaxis": log_axis(
                            "stored edges E", [x for trace in traces for x in trace["x"]]
                        ),
                        "yaxis": log_axis(words, [y for trace in traces for y in trace["y"]]),
                    },
                    ["method", "exponent b of c Eᵇ"],
                    table,
                    caption="Synthetic graphs of growing size; both axes are logarithmic.",
                    methods=[row[0] for row in table],
                )
            )
    return charts
