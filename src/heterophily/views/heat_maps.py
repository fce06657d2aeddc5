"""Heat maps as images, drawn by Matplotlib."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from heterophily.core.chart import Axis, Chart, Mark, number_text
from heterophily.views.lettering import shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

TEXT, SMALL, SMALLEST = 8.0, 7.0, 4.5  # points, as in the figures of a paper
MAX_NUMBERS = 18  # rows of a heat map up to which every cell shows its number
MAX_NAME = 165.0  # pixels of a class name at a size of 12; the rest would crowd out the matrix


def is_heat(chart: Chart) -> bool:
    """Return whether a chart is a heat map."""
    return bool(chart.marks) and chart.marks[0].kind == "heat map"


def is_matrix(chart: Chart) -> bool:
    """Return whether a chart is a heat map of classes × classes."""
    return is_heat(chart) and chart.x.categories == chart.y.categories


def is_slanted(chart: Chart) -> bool:
    """Return whether the names of columns would touch each other if they were horizontal."""
    room = 6 if not is_matrix(chart) else 5 if len(chart.x.categories) <= 5 else 3
    return max(map(len, chart.x.categories)) > room


def numbers(values: Iterable[float | None]) -> list[float]:
    """Return numbers with NaN for missing values."""
    return [np.nan if value is None else float(value) for value in values]


def draw_heat_map(axes: "Axes", chart: Chart, mark: Mark) -> None:
    """Draw a heat map with its names and, if they fit, its numbers."""
    from matplotlib.colors import LogNorm, Normalize

    square, (low, high) = is_matrix(chart), mark.limits
    matrix = np.array([numbers(row) for row in mark.values])
    norm = (LogNorm if mark.log else Normalize)(low, high if high > low else low + 1)
    colors = "RdBu" if low < 0 else "Blues"
    image = axes.imshow(matrix, cmap=colors, norm=norm, aspect="equal" if square else "auto")
    size = SMALL
    slanted = is_slanted(chart)
    axes.set_xticks(*_names(chart.x), fontsize=size, rotation=45 if slanted else 0, parse_math=False)
    axes.set_yticks(*_names(chart.y), fontsize=size, parse_math=False)
    for label in axes.get_xticklabels() if slanted else ():
        label.set(ha="right", rotation_mode="anchor")
    axes.set_xticks([i - 0.5 for i in range(1, matrix.shape[1])], minor=True)
    axes.set_yticks([i - 0.5 for i in range(1, len(matrix))], minor=True)
    axes.grid(which="minor", color="white", linewidth=1.0)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(chart.x.title, fontsize=TEXT)
    axes.set_ylabel(chart.y.title, fontsize=TEXT)
    if len(matrix) <= MAX_NUMBERS:
        _write_numbers(axes, image, chart, size)


def _names(axis: Axis) -> tuple[range, list[str]]:
    return range(len(axis.categories)), shorten_all(axis.categories, MAX_NAME)


def _write_numbers(axes: "Axes", image: "AxesImage", chart: Chart, size: float) -> None:
    for (i, j), value in np.ndenumerate(np.asarray(image.get_array())):
        text = cell_text(float(value), chart.digits) if np.isfinite(value) else ""
        if text:
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            color = "white" if dark else "#333333"
            axes.text(j, i, text, ha="center", va="center", color=color, fontsize=size)


def fit_text(axes: "Axes") -> None:
    """Reduce the sizes of numbers and names to those of the cells. Numbers that would not be readable are removed.

    The figure must have a layout, because it determines the sizes of the cells.
    """
    rows, columns = np.asarray(axes.images[0].get_array()).shape
    box = axes.get_window_extent()
    width, height = 0.8 * box.width / columns, 0.9 * box.height / rows
    extents = [text.get_window_extent() for text in axes.texts]
    wide, tall = max((e.width for e in extents), default=1.0), max((e.height for e in extents), default=1.0)
    size = SMALL * min(1.0, width / wide, height / tall)
    for text in [*axes.texts]:
        if size < SMALLEST:
            text.remove()
        text.set_fontsize(size)
    points = 72 / axes.figure.dpi
    for labels, room in ((axes.get_xticklabels(), width), (axes.get_yticklabels(), height)):
        for label in labels:
            label.set_fontsize(max(SMALLEST, min(SMALL, room * points)))


def cell_text(value: float, digits: int) -> str:
    """Return the number in a cell of a heat map: shares without leading zero, empty for zero.

    Examples
    --------
    >>> cell_text(0.25, 2), cell_text(-0.04, 2), cell_text(0.0, 2), cell_text(1234.5, 0)
    ('.25', '−.04', '', '1,234')
    """
    text = number_text(value, 1 if digits == 0 and abs(value) < 10 else digits)
    if digits < 2:
        return text
    digits_only = text.removeprefix("−").removeprefix("0")
    return "" if not value else f"−{digits_only}" if value <= -0.005 else digits_only
