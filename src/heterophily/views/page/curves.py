"""The charts of training: loss and validation accuracy by epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heterophily.views.page.chart import HOVER, Chart, Series, Trace, axis, label, shown, thinned


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
