"""Figures for papers and pages; drawing only, every number is computed elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heterophily.errors import HeterophilyError
from heterophily.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

SUFFIXES = (".png", ".pdf", ".svg")
COLORS = "Blues"  # one hue from light to dark: it survives a grey print
MOST_NUMBERS = 18  # classes up to which every cell carries its number
LONGEST_NAME = 28  # characters of a class name; the rest would crowd out the matrix
TEXT, SMALL = 10.0, 9.0  # points


def draw_compatibility(
    axes: "Axes", matrix: Any, names: Sequence[str], *, title: str = "", peak: float | None = None
) -> "AxesImage":
    """Draw M as a heat map: row = class of a node, column = class of its neighbors.

    `peak` is the value of the darkest color, to give several matrices one scale.
    """
    k = len(names)
    size = max(4.5, min(SMALL, 80 / k))
    image = axes.imshow(matrix, cmap=COLORS, vmin=0, vmax=peak or float(matrix.max()) or 1.0)
    shown = [n if len(n) <= LONGEST_NAME else f"{n[: LONGEST_NAME - 1]}…" for n in names]
    slanted = max(map(len, names)) > 3
    # A dollar in a name begins no formula.
    axes.set_xticks(range(k), shown, fontsize=size, rotation=45 if slanted else 0, parse_math=False)
    axes.set_yticks(range(k), shown, fontsize=size, parse_math=False)
    for label in axes.get_xticklabels() if slanted else ():
        label.set(ha="right", rotation_mode="anchor")
    axes.set_xticks([i - 0.5 for i in range(1, k)], minor=True)
    axes.set_yticks([i - 0.5 for i in range(1, k)], minor=True)
    axes.grid(which="minor", color="white", linewidth=1.0)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title, fontsize=TEXT + 1, pad=8, parse_math=False)
    axes.set_xlabel("class of neighbor", fontsize=TEXT)
    axes.set_ylabel("class of node", fontsize=TEXT)
    if k <= MOST_NUMBERS:
        _write_numbers(axes, image, matrix, size)
    return image


def _write_numbers(axes: "Axes", image: "AxesImage", matrix: Any, size: float) -> None:
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            text = f"{value:.2f}".removeprefix("0")
            color = "white" if dark else "#333333"
            axes.text(j, i, text, ha="center", va="center", color=color, fontsize=size)


def save_compatibility(
    matrix: Any, names: Sequence[str], path: Path | str, *, title: str = ""
) -> Path:
    """Save one compatibility matrix as a figure of its own."""
    from matplotlib.figure import Figure

    side = min(9.0, 2.4 + 0.3 * len(names))
    room = 0.05 * min(LONGEST_NAME, max(map(len, names)))
    figure = Figure(figsize=(side + 0.9 + room, side + room), layout="constrained")
    axes = figure.subplots()
    image = draw_compatibility(axes, matrix, names, title=title)
    add_scale(figure, image, [axes])
    return save_figure(figure, path)


def add_scale(figure: "Figure", image: "AxesImage", axes: Sequence["Axes"]) -> None:
    """Add the color scale of heat maps that share one."""
    bar = figure.colorbar(image, ax=list(axes), shrink=0.75, aspect=24, pad=0.02)
    bar.set_label("share of neighbors", fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL, length=2)
    bar.outline.set_visible(False)


def save_figure(figure: "Figure", path: Path | str) -> Path:
    """Write a figure atomically, in the format that the ending of `path` names."""
    target, kind = Path(path), check_ending(path)
    write_atomically(target, lambda p: figure.savefig(p, format=kind, dpi=200))
    return target


def check_ending(path: Path | str) -> str:
    """The format of a figure by the ending of its path; an error if it is none that we draw."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise HeterophilyError(
            f"a figure ends in {', '.join(SUFFIXES)}, got {Path(path).name!r}; change the ending"
        )
    return suffix[1:]
