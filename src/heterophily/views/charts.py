"""The charts of a table of results, including the critical-difference diagram, and of training runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heterophily.benchmark.significance import Ranking
from heterophily.benchmark.table import Entry
from heterophily.benchmark.table import Table as Results
from heterophily.core.chart import Axis, Chart, Mark, Table, number_text
from heterophily.core.errors import HeterophilyError
from heterophily.training.scoring import DEFAULT_SCORING, is_share, title_of


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
    """Loss and validation score of one run by epoch."""

    loss: Sequence[float]
    scores: Sequence[float]  # validation
    best: int  # the epoch with the retained weights


def curve_charts(
    curves: Mapping[str, LearningCurve], *, scoring: str = DEFAULT_SCORING.name, caption: str = ""
) -> list[Chart]:
    """Return the training loss and the validation score, with the best epoch marked."""
    if not curves:
        return []
    title, marks = title_of(scoring), []
    factor, unit, digits = (100, ", %", 1) if is_share(scoring) else (1, "", 3)
    for name, curve in curves.items():
        scores = [factor * value for value in curve.scores]
        line = Mark("line", range(len(scores)), scores, name=name, method=name, points=False)
        marks.append(line)
        if 0 <= curve.best < len(scores):
            best = scores[curve.best]
            text = (f"{best:.{digits}f} in epoch {curve.best}",) if len(curves) == 1 else ()
            marks.append(Mark("point", [curve.best], [best], name=name, method=name, labels=text))
    chart = Chart(
        f"Validation {title}",
        marks,
        Axis("epoch"),
        Axis(f"validation {title}{unit}"),
        caption=f"{caption} The dot is the epoch whose weights are retained.".strip(),
    )
    return [chart, _loss_chart(curves, caption)]


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


BAR_STEP, LABEL_STEP = 0.3, 0.5  # heights of a bar and of a name; ranks are at 0, names below


def table_diagram(table: Results) -> Chart:
    """Return the diagram of a table, or raise an error that explains what the table lacks."""
    if table.ranking is None:
        raise HeterophilyError(table.unranked)
    return rank_chart(table.ranking)


def rank_chart(ranking: Ranking) -> Chart:
    """Return the diagram of a ranking."""
    names, rows = list(ranking.ranks), bar_rows(ranking)
    n, width = len(names), ranking.critical_difference
    top = 0.35 + BAR_STEP * (max(rows, default=-1) + 1)
    middle = (n + 1) // 2
    limits = (1 - 0.03 * n, max(n + 0.03 * n, 1 + width))
    marks = [*_scale(n, width), _right_of_scale(limits[1])]
    for side, chosen in (("left", names[:middle]), ("right", names[middle:][::-1])):
        marks += _names(ranking, chosen, top, side=side, edge=limits[side == "right"])
    for row, clique in zip(rows, ranking.cliques, strict=True):
        ends = [ranking.ranks[clique[0]] - 0.005 * n, ranking.ranks[clique[-1]] + 0.005 * n]
        marks.append(Mark("line", ends, [0.3 + BAR_STEP * row] * 2, points=False, width=3.5))
    depth = top + LABEL_STEP * middle
    return Chart(
        "Critical-difference diagram",
        marks,
        Axis("average rank", limits=limits, visible=False),
        Axis(limits=(-1.7, depth + 0.2), reverse=True, visible=False),
        caption="Average ranks. Methods under one bar do not differ significantly by Nemenyi's test.",
        panel=" ",
        height=0.42 * (depth + 2.0) - 0.45,
        wide=True,
        numbers=Table(["method", "average rank"], [[name, number_text(rank)] for name, rank in ranking.ranks.items()]),
    )


def _right_of_scale(edge: float) -> Mark:
    return Mark("text", [edge], [0], labels=[" average rank"], anchor="left")


def bar_rows(ranking: Ranking) -> list[int]:
    """Return the row of the bar of each clique, so that bars in one row do not touch."""
    ends: list[float] = []
    rows = []
    for clique in ranking.cliques:
        low, high = ranking.ranks[clique[0]], ranking.ranks[clique[-1]]
        free: Sequence[int] = [row for row, end in enumerate(ends) if end + 0.3 < low]
        row = free[0] if free else len(ends)
        ends[row:] = [high, *ends[row + 1 :]]
        rows.append(row)
    return rows


def align_ranks(ranks: Sequence[float]) -> list[str]:
    """Return ranks with one decimal, padded to one width with spaces as wide as a digit."""
    texts = [f"{rank:.1f}" for rank in ranks]
    return [text.rjust(max(map(len, texts)), "\N{FIGURE SPACE}") for text in texts]


def _ink(x: list[float], y: list[float], width: float) -> Mark:
    return Mark("line", x, y, color="ink", points=False, width=width)


def _scale(n: int, width: float) -> list[Mark]:
    """The line of ranks with its ticks, and the critical difference above it."""
    ticks = list(range(1, n + 1, 1 if n <= 16 else 2))
    text = f"critical difference {width:.2f}"
    return [
        _ink([1, n], [0, 0], 1.2),
        *(_ink([tick, tick], [0, -0.15], 1.2) for tick in range(1, n + 1)),
        Mark("text", ticks, [-0.45] * len(ticks), labels=[str(tick) for tick in ticks]),
        _ink([1, 1 + width], [-1.05] * 2, 1.6),
        *(_ink([end, end], [-0.95, -1.15], 1.6) for end in (1, 1 + width)),
        Mark("text", [1], [-1.4], labels=[text], anchor="left"),
    ]


def _names(ranking: Ranking, names: Sequence[str], top: float, *, side: str, edge: float) -> list[Mark]:
    """The names on one side, each connected with its rank."""
    left, marks = side == "left", []
    texts = align_ranks([ranking.ranks[name] for name in names])
    heights = [top + LABEL_STEP * number for number in range(len(names))]
    for name, height in zip(names, heights, strict=True):
        rank = ranking.ranks[name]
        marks.append(_ink([rank, rank, edge], [0, height, height], 0.8))
    labels = [f"{name}  {rank} " if left else f" {rank}  {name}" for name, rank in zip(names, texts, strict=True)]
    edges = [edge] * len(names)
    text = Mark("text", edges, heights, labels=labels, anchor="right" if left else "left")
    return [*marks, text] if names else []
