"""The charts of the studies of a dataset, from their tidy rows."""

from collections.abc import Sequence

from heterophily.studies.tidy import Rows, filter_rows, mean_of, unique_values
from heterophily.views.page.chart import (
    DIAMOND,
    HOVER,
    Chart,
    Series,
    Trace,
    axis,
    folded,
    label,
    shown,
)


def degree_chart(rows: Rows, series: Series) -> Chart | None:
    """Accuracy per group of test nodes by degree as bars, the paper's as diamonds."""
    models, groups = series.sorted(unique_values(rows, "model")), unique_values(rows, "group")
    if not models:
        return None
    traces: list[Trace] = []
    table: list[list[str]] = []
    for model in models:
        own = [filter_rows(rows, model=model, group=group) for group in groups]
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
        own = [r for r in filter_rows(rows, group=group) if r.get("lowest_degree") is not None]
        if own:
            low, high = min(r["lowest_degree"] for r in own), max(r["highest_degree"] for r in own)
            reach.append(f"{low}–{high}" if high > low else str(low))
    return f"Fifths of the test nodes; their degrees: {', '.join(reach)}." if reach else ""


def ablation_chart(rows: Rows, series: Series) -> Chart | None:
    """The change of accuracy without a part, the paper's as diamonds."""
    if not rows:
        return None
    traces: list[Trace] = []
    for model in unique_values(rows, "model"):
        own = filter_rows(rows, model=model)
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
    models = unique_values(rows, "model")
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
    models = series.sorted(unique_values(rows, "model"))
    traces: list[Trace] = []
    table = []
    for model in models:
        own = filter_rows(rows, model=model)
        line = filter_rows(own, split=own[0].get("split"))
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
    groups = [group for group in unique_values(rows, "group") if group != "all"]
    means = [mean_of(filter_rows(rows, group=group), "overlap") for group in groups]
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
