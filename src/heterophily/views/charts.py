"""The charts of a table of results and of training runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heterophily.bench.table import Entry
from heterophily.core.chart import Axis, Chart, Mark


def accuracy_chart(column: Sequence[Entry]) -> Chart | None:
    """Return the mean and standard deviation of each method, best on top, and the paper's mean."""
    known = sorted((e for e in column if e.mean is not None), key=lambda e: e.mean or 0, reverse=True)
    if not known:
        return None
    marks = []
    for entry in known:
        errors = [entry.std or 0.0]
        marks.append(Mark("point", [entry.mean], [entry.model], method=entry.model, errors=errors))
        if entry.published is not None and entry.published.mean is not None:
            mean = entry.published.mean
            marks.append(Mark("point", [mean], [entry.model], method=entry.model, paper=True))
    return Chart(
        "Accuracy",
        marks,
        Axis("test accuracy, %"),
        Axis("", [entry.model for entry in known], reverse=True),
        caption="Mean and sample standard deviation over the runs.",
    )


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the methods for which no other is both faster and better, fastest first.

    Examples
    --------
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


def cost_chart(points: Mapping[str, tuple[float, float]], *, source: str) -> Chart | None:
    """Return milliseconds per epoch against accuracy, with the Pareto front as a line."""
    if len(points) < 2:
        return None
    front = pareto_front(points)
    x, y = zip(*(points[name] for name in front), strict=True)
    line = Mark("line", x, y, color="ink", style="dotted", points=False, steps=True)
    dots = [
        Mark(
            "point",
            [points[name][0]],
            [points[name][1]],
            name=name,
            method=name,
            labels=[name] if name in front else (),
        )
        for name in points
    ]
    return Chart(
        "Run time against accuracy",
        [line, *dots],
        Axis("milliseconds per epoch", log=True),
        Axis("test accuracy, %"),
        caption=f"Dotted: the Pareto front. No method to its left is as accurate. {source}",
    )


@dataclass(frozen=True)
class LearningCurve:
    """Loss and validation accuracy of one run by epoch."""

    loss: Sequence[float]
    accuracy: Sequence[float]  # validation, between 0 and 1
    best: int  # the epoch with the retained weights


def curve_charts(curves: Mapping[str, LearningCurve], *, caption: str = "") -> list[Chart]:
    """Return the training loss and the validation accuracy, with the best epoch marked."""
    if not curves:
        return []
    marks = []
    for name, curve in curves.items():
        scores = [100 * value for value in curve.accuracy]
        line = Mark("line", range(len(scores)), scores, name=name, method=name, points=False)
        marks.append(line)
        if 0 <= curve.best < len(scores):
            best = scores[curve.best]
            text = (f"{best:.1f} in epoch {curve.best}",) if len(curves) == 1 else ()
            marks.append(Mark("point", [curve.best], [best], name=name, method=name, labels=text, anchor="right"))
    accuracy = Chart(
        "Validation accuracy",
        marks,
        Axis("epoch"),
        Axis("validation accuracy, %"),
        caption=f"{caption} The dot is the epoch whose weights are retained.".strip(),
    )
    return [accuracy, _loss_chart(curves, caption)]


def _loss_chart(curves: Mapping[str, LearningCurve], caption: str) -> Chart:
    """The loss of one method, or the rescaled losses of several."""
    several = len(curves) > 1
    marks = []
    for name, curve in curves.items():
        loss = _rescaled(curve.loss) if several else curve.loss
        marks.append(Mark("line", range(len(loss)), loss, name=name, method=name, points=False))
    note = " Each line is scaled from 0 to 1, because the methods minimize different losses."
    return Chart(
        "Training loss",
        marks,
        Axis("epoch"),
        Axis("loss, lowest to highest" if several else "loss", limits=(0, None)),
        caption=f"{caption}{note}".strip() if several else caption,
        digits=3,
    )


def _rescaled(values: Sequence[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]
