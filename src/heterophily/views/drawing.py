"""What the figures of the studies share: colors, axes, heat maps with numbers, and names of files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heterophily.views.figures import SMALL, TEXT, draw_compatibility, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which color-blind readers can tell apart, without its pale yellow.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
GREY = "#666666"
MOST_COLUMNS = 3  # panels beside each other


def color(number: int) -> str:
    """The color of the i-th of several things."""
    return COLORS[number % len(COLORS)]


def mark(number: int) -> str:
    """Its mark, so that it is known without color too."""
    return MARKS[number % len(MARKS)]


def panels(
    count: int, *, width: float = 3.4, height: float = 2.7, columns: int = MOST_COLUMNS
) -> tuple["Figure", list["Axes"]]:
    """A figure with `count` panels of one size, filled row by row."""
    from matplotlib.figure import Figure

    across = min(count, columns)
    down = -(-count // across)
    figure = Figure(figsize=(width * across, height * down + 0.45), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid[:count]


def leftmost(grid: Sequence["Axes"]) -> Sequence["Axes"]:
    """The panels that begin a row, and name what is drawn upwards."""
    return grid[::MOST_COLUMNS]


def plain(axes: "Axes", *, title: str = "", x: str = "", y: str = "") -> None:
    """Give axes the plain look of all figures here."""
    axes.set_title(title, fontsize=TEXT, parse_math=False)
    axes.set_xlabel(x, fontsize=TEXT)
    axes.set_ylabel(y, fontsize=TEXT)
    axes.tick_params(labelsize=SMALL, length=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def legend_below(figure: "Figure", axes: "Axes") -> None:
    """One legend for all panels, under them, in as many columns as fit."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        # The paper comes last, whatever it is drawn with.
        order = sorted(range(len(labels)), key=lambda i: labels[i] == "paper")
        handles, labels = [handles[i] for i in order], [labels[i] for i in order]
        needed = 0.7 + 0.075 * max(map(len, labels))  # inches of one entry
        across = max(1, min(len(labels), int(figure.get_figwidth() / needed)))
        figure.legend(
            handles, labels, loc="outside lower center", ncols=across, fontsize=SMALL, frameon=False
        )


def numbered_map(
    axes: "Axes",
    cells: Sequence[Sequence[float | None]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    shown: Callable[[float], str] = "{:.0f}".format,
    limits: tuple[float, float] | None = None,
    logarithmic: bool = False,
) -> Any:
    """A heat map whose cells carry their numbers; None leaves a cell empty."""
    import numpy as np
    from matplotlib.colors import LogNorm, Normalize

    matrix = np.array([[np.nan if v is None else v for v in row] for row in cells], dtype=float)
    low, high = limits or (float(np.nanmin(matrix)), float(np.nanmax(matrix)))
    norm = (LogNorm if logarithmic else Normalize)(low, high if high > low else low + 1)
    image = axes.imshow(matrix, cmap="Blues", norm=norm, aspect="auto")
    slanted = max(map(len, columns)) > 6
    axes.set_xticks(range(len(columns)), columns, fontsize=SMALL, rotation=40 if slanted else 0)
    for label in axes.get_xticklabels() if slanted else ():
        label.set(ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows, fontsize=SMALL)
    axes.set_xticks([i - 0.5 for i in range(1, len(columns))], minor=True)
    axes.set_yticks([i - 0.5 for i in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.grid(visible=False, which="major")
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            if np.isfinite(value):
                ink = "white" if norm(value) > 0.6 else "#333333"
                text = shown(value)
                axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=SMALL)
    return image


def save_matrices(
    matrices: dict[str, Any], names: Sequence[str], path: Path, *, label: str = "share of neighbors"
) -> Path:
    """Compatibility matrices side by side on one scale; negative entries get a second hue."""
    import numpy as np
    from matplotlib.figure import Figure

    k, count = len(names), len(matrices)
    side = min(6.0, 2.3 + 0.28 * k)
    room = 0.05 * min(28, max(map(len, names)))
    lines = max(title.count("\n") for title in matrices)
    size = count * side + 0.8 + room, side + 0.6 + 0.3 * lines + room
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, count, squeeze=False)[0]
    peak = max(float(np.abs(m).max()) for m in matrices.values()) or 1.0
    signed = any((m < 0).any() for m in matrices.values())
    for axes, (title, matrix) in zip(grid, matrices.items(), strict=True):
        image = draw_compatibility(axes, matrix, names, title=title, peak=peak)
        if signed:
            _two_hues(axes, image, matrix, peak)
        if axes is not grid[0]:
            axes.set_ylabel("")
            axes.set_yticklabels([])
    bar = figure.colorbar(image, ax=list(grid), shrink=0.75, aspect=24, pad=0.02)
    bar.set_label(label, fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL, length=2)
    bar.outline.set_visible(False)
    return save_figure(figure, path)


def _two_hues(axes: "Axes", image: Any, matrix: Any, peak: float) -> None:
    image.set_cmap("RdBu")
    image.set_clim(-peak, peak)
    for text in axes.texts:
        column, row = (round(v) for v in text.get_position())
        strong = abs(matrix[row, column]) > 0.6 * peak
        text.set_color("white" if strong else "#333333")
        shown = text.get_text().replace("-0.", "−.").replace("-", "−")
        text.set_text(shown if shown != "−.00" else ".00")


def slug(name: str) -> str:
    """A name as part of a file's name.

    >>> slug("digits, homophily 0.2")
    'digits-homophily-0.2'
    """
    kept = "".join(c if c.isalnum() or c in ".-_+" else " " for c in name)
    return "-".join(kept.split()) or "graph"
