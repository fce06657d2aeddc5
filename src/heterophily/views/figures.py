"""Figures for papers and pages; drawing only, every number is computed elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.training.metrics import METRICS

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
            if value == 0:
                continue
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


def save_pair(
    observed: Any, estimated: Any, names: Sequence[str], path: Path | str, *, title: str = ""
) -> Path:
    """Save the observed and the estimated compatibility matrix side by side, on one scale."""
    from matplotlib.figure import Figure

    side = min(8.0, 2.4 + 0.3 * len(names))
    figure = Figure(figsize=(2 * side + 0.6, side + 0.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    peak = float(max(observed.max(), estimated.max()))
    start = f"{title}: " if title else ""
    image = draw_compatibility(left, observed, names, title=f"{start}observed", peak=peak)
    draw_compatibility(right, estimated, names, title="estimated", peak=peak)
    right.set_ylabel("")
    add_scale(figure, image, [left, right])
    return save_figure(figure, path)


def save_curve(curve: Any, best_epoch: int, path: Path | str) -> Path:
    """Save loss and validation accuracy over the epochs, the kept epoch marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, values, label in (
        (left, curve.loss, "training loss"),
        (
            right,
            [100 * v for v in curve.val_scores],
            f"validation {METRICS[curve.metric].title}, %",
        ),
    ):
        axes.plot(values, color="#2166ac", linewidth=1.4)
        axes.set_xlabel("epoch", fontsize=TEXT)
        axes.set_title(label, fontsize=TEXT)
        axes.tick_params(labelsize=SMALL)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    if 0 <= best_epoch < len(curve.val_scores):
        best = 100 * curve.val_scores[best_epoch]
        right.plot(best_epoch, best, "o", color="#b2182b")
        right.annotate(
            f"{best:.1f} in epoch {best_epoch}",
            (best_epoch, best),
            textcoords="offset points",
            xytext=(4, -16),
            ha="right",
            fontsize=SMALL,
        )
    return save_figure(figure, path)


def save_confusion(counts: Any, names: Sequence[str], path: Path | str) -> Path:
    """Save which class was taken for which: shares of each true class."""
    from matplotlib.figure import Figure

    side = min(9.0, 2.4 + 0.3 * len(names))
    figure = Figure(figsize=(side, side), layout="constrained")
    axes = figure.subplots()
    shares = counts / counts.sum(axis=1, keepdims=True).clip(min=1)
    draw_compatibility(axes, shares, names, title="held-out nodes", peak=1.0)
    axes.set_xlabel("predicted class", fontsize=TEXT)
    axes.set_ylabel("true class", fontsize=TEXT)
    return save_figure(figure, path)
