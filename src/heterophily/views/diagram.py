"""The critical-difference diagram: average ranks on a line, bars over methods that are not told apart."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heterophily.bench.significance import Ranking
from heterophily.bench.table import Table
from heterophily.core.errors import HeterophilyError
from heterophily.views.figures import SMALL, TEXT, check_ending, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR_STEP, LABEL_STEP = 0.3, 0.5  # heights of a bar and of a name, in the unit of `save_diagram`
INK, BAR = "#333333", "#2166ac"


def save_ranking(table: Table, path: Path | str) -> Path:
    """Save the diagram of a table; an error says what it lacks."""
    if table.ranking is None:
        raise HeterophilyError(table.unranked)
    return save_diagram(table.ranking, path)


def save_diagram(ranking: Ranking, path: Path | str) -> Path:
    """Save the diagram of a ranking as .png, .pdf or .svg."""
    from matplotlib.figure import Figure

    check_ending(path)
    rows = bar_rows(ranking)
    names = list(ranking.ranks)
    middle = (len(names) + 1) // 2
    top = 0.35 + BAR_STEP * (max(rows, default=-1) + 1)
    depth = top + LABEL_STEP * middle
    figure = Figure(figsize=(8.0, 0.42 * (depth + 2.0)), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=_limits(ranking), ylim=(depth + 0.2, -1.7))
    axes.axis("off")
    _draw_scale(axes, ranking)
    for row, clique in zip(rows, ranking.cliques, strict=True):
        over = 0.005 * len(names)
        ends = [ranking.ranks[clique[0]] - over, ranking.ranks[clique[-1]] + over]
        height = 0.3 + BAR_STEP * row
        axes.plot(ends, [height] * 2, color=BAR, linewidth=3.5, solid_capstyle="round", zorder=3)
    for side, chosen in (("left", names[:middle]), ("right", names[middle:][::-1])):
        ranks = aligned([ranking.ranks[name] for name in chosen])
        for i, (name, rank) in enumerate(zip(chosen, ranks, strict=True)):
            _draw_name(axes, ranking, name, rank, top + LABEL_STEP * i, side=side)
    return save_figure(figure, path)


def bar_rows(ranking: Ranking) -> list[int]:
    """The row of each clique's bar, so that bars of one row keep apart."""
    ends: list[float] = []
    rows = []
    for clique in ranking.cliques:
        low, high = ranking.ranks[clique[0]], ranking.ranks[clique[-1]]
        free: Sequence[int] = [row for row, end in enumerate(ends) if end + 0.3 < low]
        row = free[0] if free else len(ends)
        ends[row:] = [high, *ends[row + 1 :]]
        rows.append(row)
    return rows


def aligned(ranks: Sequence[float]) -> list[str]:
    """Ranks with one decimal, filled up to one width by spaces as wide as a figure."""
    texts = [f"{rank:.1f}" for rank in ranks]
    return [text.rjust(max(map(len, texts)), "\N{FIGURE SPACE}") for text in texts]


def _limits(ranking: Ranking) -> tuple[float, float]:
    k = len(ranking.ranks)
    room = 0.018 * k * max(map(len, ranking.ranks)) + 0.12 * k
    return 1 - room, max(k + room, 1 + 1.02 * ranking.critical_difference)


def _draw_scale(axes: "Axes", ranking: Ranking) -> None:
    k, width = len(ranking.ranks), ranking.critical_difference
    axes.plot([1, k], [0, 0], color=INK, linewidth=1.2)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, -0.15], color=INK, linewidth=1.2)
        axes.text(tick, -0.22, str(tick), ha="center", va="bottom", fontsize=SMALL, color=INK)
    axes.text(1.03 * k, 0, "average rank", ha="left", va="center", fontsize=SMALL, color=INK)
    axes.plot([1, 1 + width], [-1.05] * 2, color=INK, linewidth=1.6, marker="|", markersize=7)
    text = f"critical difference {width:.2f}"
    axes.text(1 + width / 2, -1.2, text, ha="center", va="bottom", fontsize=SMALL, color=INK)


def _draw_name(
    axes: "Axes", ranking: Ranking, name: str, text: str, height: float, *, side: str
) -> None:
    k, rank = len(ranking.ranks), ranking.ranks[name]
    left = side == "left"
    end = 1 - 0.03 * k if left else k + 0.03 * k
    axes.plot([rank, rank, end], [0, height, height], color=INK, linewidth=0.8)
    axes.text(
        end - 0.01 * k if left else end + 0.01 * k,
        height,
        f"{name}  {text}" if left else f"{text}  {name}",
        ha="right" if left else "left",
        va="center",
        fontsize=TEXT,
        parse_math=False,
    )
