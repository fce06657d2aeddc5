"""Charts as image files, drawn by Matplotlib."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from heterophily.core.chart import Axis, Chart, Mark
from heterophily.core.errors import HeterophilyError
from heterophily.core.extras import require
from heterophily.core.files import write_atomically
from heterophily.views.heat_maps import (
    MAX_NAME,
    SMALL,
    TEXT,
    draw_heat_map,
    fit_text,
    is_heat,
    is_matrix,
    is_slanted,
    numbers,
)
from heterophily.views.lettering import text_width
from heterophily.views.looks import PALETTE, Look, look_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXTENSIONS = (".png", ".pdf", ".svg")
ROLES = {"accent": "#0072b2", "quiet": "#888888", "ink": "#333333"}
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "wedge": "v", "plus": "P", "cross": "X", "ring": "o"}
DASHES: "dict[str, tuple[float, Sequence[float]]]" = {
    "solid": (0, ()),
    "dashed": (0, (4, 2)),
    "dotted": (0, (1, 1.5)),
    "dash-dot": (0, (5, 2, 1, 2)),
    "dash-dot-dot": (0, (5, 2, 1, 2, 1, 2)),
    "sparse": (0, (1, 4)),
}
MAX_COLUMNS = 3  # panels next to each other
COLUMN, PAGE = 3.4, 7.0  # inches, the widths of a column and of a page with two columns
CELL, LEAST_CELL = 0.4, 0.2  # inches of a cell of a heat map of classes, and those below which it takes a page
PIXEL = TEXT / 12 / 72  # inches of a pixel of text at a size of 12


def save_figures(charts: Sequence[Chart], folder: Path, *, extension: str = "png") -> list[Path]:
    """Write charts into a folder, those with the same `file` next to each other in one image."""
    files = [list(group) for _, group in groupby(charts, key=lambda chart: chart.file)]
    return [save_charts(group, folder / f"{group[0].file}.{extension}") for group in files]


def save_charts(charts: Sequence[Chart], path: Path | str) -> Path:
    """Write charts next to each other into one image file."""
    check_extension(path)
    return save_figure(draw_charts(charts), path)


def save_figure(figure: "Figure", path: Path | str) -> Path:
    """Write a figure atomically. The file extension determines the format."""
    target, extension = Path(path), check_extension(path)
    from matplotlib import rc_context

    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(extension)
    # Fonts that publishers accept, and the same bytes from the same figure.
    with rc_context({"pdf.fonttype": 42, "svg.hashsalt": "heterophily"}):
        write_atomically(target, lambda p: figure.savefig(p, format=extension, dpi=300, metadata=metadata))
    return target


def check_extension(path: Path | str) -> str:
    """Return the format of a figure, or raise an error if the file extension is not supported."""
    require("plotting", "matplotlib")
    suffix = Path(path).suffix.lower()
    if suffix not in EXTENSIONS:
        raise HeterophilyError(
            f"expected a figure file with extension {', '.join(EXTENSIONS)}, got {Path(path).name!r}; "
            "change the extension"
        )
    return suffix[1:]


def draw_charts(charts: Sequence[Chart]) -> "Figure":
    """Draw charts as the panels of one figure, row by row."""
    require("plotting", "matplotlib")
    from matplotlib.figure import Figure

    across = min(len(charts), MAX_COLUMNS)
    down = -(-len(charts) // across)
    width, height = _panel_size(charts)
    legend = 0.0 if is_heat(charts[0]) else 0.3
    figure = Figure(figsize=(width * across, height * down + legend), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for axes in grid[len(charts) :]:
        axes.set_visible(False)
    methods = list(dict.fromkeys(m.method for chart in charts for m in chart.marks if m.method))
    for number, (axes, chart) in enumerate(zip(grid, charts, strict=False)):
        draw_chart(axes, chart, methods)
        if number % across:
            _hide_repeated(axes, chart, charts[number - 1])
    _add_color_scale(figure, grid[: len(charts)], charts)
    _add_legend(figure, grid, charts)
    maps = [axes for axes, chart in zip(grid, charts, strict=False) if is_heat(chart)]
    if maps:
        figure.draw_without_rendering()
        for axes in maps:
            fit_text(axes)
    return figure


def _panel_size(charts: Sequence[Chart]) -> tuple[float, float]:
    """Width and height of one panel in inches, so that all panels fit into a column or a page of a paper."""
    first, across = charts[0], min(len(charts), MAX_COLUMNS)
    rows, columns = len(first.y.categories), len(first.x.categories)
    if is_matrix(first):
        return _matrix_size(charts, across)
    if is_heat(first):
        names = PIXEL * max(map(text_width, first.y.categories))
        return min(PAGE, 1.2 + names + 0.4 * columns * across) / across, max(2.0, 1.1 + 0.22 * rows)
    if first.height is not None:
        return PAGE, 0.85 * first.height
    if first.horizontal:
        return (1.5 * COLUMN if across == 1 else PAGE / across), 0.5 + 0.2 * rows
    bars = len({mark.key for mark in first.marks if mark.kind == "bar"})
    if bars:
        return min(PAGE, max(COLUMN, 0.8 + 0.24 * columns * (bars + 1))) / across, 2.2
    return (COLUMN if across == 1 else PAGE / across), 2.1


def _matrix_size(charts: Sequence[Chart], across: int) -> tuple[float, float]:
    k = len(charts[0].y.categories)
    longest = PIXEL * min(MAX_NAME, max(map(text_width, charts[0].y.categories)))
    names, scale, gaps = 0.25 + longest, 0.65, 0.12 * (across - 1)
    texts = [charts[0].x.title, *(line for chart in charts for line in _title(chart).split("\n"))]
    text = PIXEL * max(map(text_width, texts)) - 2 * min(names, scale) * (across == 1)
    fits = names + scale + gaps + across * max(LEAST_CELL * k, text) <= COLUMN
    room = ((COLUMN if fits else PAGE) - names - scale - gaps) / across
    side = min(room, max(CELL * k, text))
    below = 0.3 + (0.72 * longest if is_slanted(charts[0]) else 0.1)
    lines = 1 + max(_title(chart).count("\n") for chart in charts)
    return (names + scale + gaps) / across + side, side + below + 0.17 * lines


def _title(chart: Chart) -> str:
    return chart.panel or chart.title


def draw_chart(axes: "Axes", chart: Chart, methods: Sequence[str] = ()) -> None:
    """Draw one chart. `methods` are those of the image, in which custom methods are counted."""
    axes.set_title(_title(chart), fontsize=TEXT, parse_math=False)
    if is_heat(chart):
        draw_heat_map(axes, chart, chart.marks[0])
        return
    axes.tick_params(labelsize=SMALL, length=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x" if chart.horizontal else "y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for mark in chart.marks:
        _draw_mark(axes, chart, mark, methods)
    if any(mark.kind == "point" and mark.labels for mark in chart.marks):
        axes.margins(y=0.15)  # room for the labels
    _set_axis(axes, "x", chart.x)
    _set_axis(axes, "y", chart.y)
    if any(mark.kind == "bar" for mark in chart.marks):
        line = axes.axvline if chart.horizontal else axes.axhline
        line(0, color="black", linewidth=0.8)
    if not chart.x.visible:
        axes.axis("off")


def _set_axis(axes: "Axes", name: str, axis: Axis) -> None:
    limits = tuple(None if limit is None else float(limit) for limit in axis.limits)
    axes.set(**{f"{name}scale": "log" if axis.log else "linear", f"{name}lim": limits})
    if axis.reverse:
        axes.yaxis.set_inverted(True)
    axes.set(**{f"{name}label": axis.title})
    part = axes.xaxis if name == "x" else axes.yaxis
    part.label.set_fontsize(TEXT)
    ticks = dict(enumerate(axis.categories)) or axis.ticks
    if ticks:
        part.set_ticks(list(ticks), list(ticks.values()), parse_math=False)
        part.minorticks_off()


def _draw_mark(axes: "Axes", chart: Chart, mark: Mark, methods: Sequence[str]) -> None:
    x, y = map(numbers, chart.positions(mark))
    look = look_of(mark, methods)
    color, symbol = _color(look), MARKERS[mark.symbol or look.symbol]
    if mark.kind == "area":
        axes.fill(x, y, color=color, alpha=0.45, linewidth=0)
    elif mark.kind == "bar":
        draw = axes.barh if chart.horizontal else axes.bar
        draw(*((y, x) if chart.horizontal else (x, y)), 0.9 * chart.bar_width, color=color)
        _draw_errors(axes, chart, mark, (x, y))
    elif mark.kind == "line":
        _draw_line(axes, mark, (x, y), look)
    elif mark.kind == "point":
        filled = "none" if mark.symbol == "ring" else "white" if mark.paper else color
        axes.plot(
            x, y, "D" if mark.paper else symbol, color=filled, markersize=mark.size or 5.5, zorder=3,
            markeredgecolor=color if not _over_bar(chart, mark) else "black",
            markeredgewidth=1.2, alpha=0.85 if not mark.paper and not mark.size else 1,
        )  # fmt: skip
        _draw_errors(axes, chart, mark, (x, y), color)
    _write_labels(axes, mark, (x, y))


def _color(look: Look) -> str:
    return ROLES[look.color] if isinstance(look.color, str) else PALETTE[look.color]


def _draw_errors(
    axes: "Axes", chart: Chart, mark: Mark, at: tuple[list[float], list[float]], color: str = "#333333"
) -> None:
    if any(mark.errors):
        errors = [error or 0.0 for error in mark.errors]
        xerr, yerr = (errors, None) if chart.horizontal else (None, errors)
        axes.errorbar(*at, xerr=xerr, yerr=yerr, fmt="none", ecolor=color, elinewidth=1.2, capsize=0)


def _over_bar(chart: Chart, mark: Mark) -> bool:
    return mark.paper and any(m.kind == "bar" and m.key == mark.key for m in chart.marks)


def _draw_line(axes: "Axes", mark: Mark, at: tuple[list[float], list[float]], look: Look) -> None:
    dashes, color = _dashes(mark, look), _color(look)
    if mark.fill:
        axes.fill_between(*at, step="post" if mark.steps else None, color=color, alpha=0.4, linewidth=0)
    axes.plot(
        *at, color=color, linestyle=dashes, linewidth=0.9 if mark.paper else mark.width,
        drawstyle="steps-post" if mark.steps else "default",
        marker=MARKERS[look.symbol] if mark.points and not mark.paper else "none", markersize=4.5,
        alpha=0.45 if mark.color == "quiet" and not mark.method else 0.9,
        solid_capstyle="round" if mark.width > 3 else "projecting",
    )  # fmt: skip


def _dashes(mark: Mark, look: Look) -> "tuple[float, Sequence[float]]":
    return DASHES["dashed" if mark.paper else mark.style if mark.style != "solid" else look.line]


def _write_labels(axes: "Axes", mark: Mark, at: tuple[list[float], list[float]]) -> None:
    shift = {"left": (4, 0), "right": (-2, -9)}.get(mark.anchor, (0, 9))
    for x, y, label in zip(*at, mark.labels, strict=True) if mark.labels else ():
        axes.annotate(
            label, (x, y), xytext=shift if mark.kind != "text" else (0, 0), textcoords="offset points",
            ha={"left": "left", "right": "right"}.get(mark.anchor, "center"), fontsize=SMALL,
            va="center", color=ROLES["ink"], parse_math=False,
            annotation_clip=False,
        )  # fmt: skip


def _hide_repeated(axes: "Axes", chart: Chart, left: Chart) -> None:
    """Hide the labels of the y-axis that the panel to the left shows already."""
    if chart.y.title == left.y.title:
        axes.set_ylabel("")
    if chart.y.categories and list(chart.y.categories) == list(left.y.categories):
        axes.set_yticklabels([])


def _add_color_scale(figure: "Figure", grid: Sequence["Axes"], charts: Sequence[Chart]) -> None:
    scales = [m.scale for chart in charts for m in chart.marks if m.kind == "heat map" and m.scale]
    images = [image for axes in grid for image in axes.images]
    if scales:
        bar = figure.colorbar(images[0], ax=list(grid), shrink=0.75, aspect=24, pad=0.02)
        bar.set_label(scales[0], fontsize=TEXT)
        bar.ax.tick_params(labelsize=SMALL, length=2)
        bar.outline.set_visible(False)


def _add_legend(figure: "Figure", grid: Sequence["Axes"], charts: Sequence[Chart]) -> None:
    """Add one legend below all panels, or one below each panel if their entries differ."""
    methods = list(dict.fromkeys(m.method for chart in charts for m in chart.marks if m.method))
    named = [(axes, c) for axes, c in zip(grid, charts, strict=False) if c.legend]
    shared = all(mark.method for _, c in named for mark in c.legend) and not _names_differ(named)
    if shared or len(charts) == 1:
        entries = _legend_entries(charts)
        paper = next((m for chart in charts for m in chart.marks if m.paper), None)
        handles = [_handle(mark, methods) for mark in entries.values()]
        handles += [_handle(paper, methods, proxy=True)] if paper else []
        if handles:
            _legend_below(figure, handles)
        return
    for axes, chart in named:
        axes.legend(
            handles=[_handle(mark, methods) for mark in chart.legend],
            fontsize=SMALL - 1, frameon=False, loc="upper center", ncols=2,
            bbox_to_anchor=(0.5, -0.26),
        )  # fmt: skip


def _legend_entries(charts: Sequence[Chart]) -> dict[str, Mark]:
    entries: dict[str, Mark] = {}
    for mark in (mark for chart in charts for mark in chart.marks):
        if mark.name and not mark.paper:
            entries.setdefault(mark.name, mark)
    return entries


def _names_differ(named: Sequence[tuple["Axes", Chart]]) -> bool:
    """Whether panels have different names for one method and style."""
    names: dict[tuple[str, str], set[str]] = {}
    for _, chart in named:
        for mark in chart.legend:
            names.setdefault((mark.method, mark.style), set()).add(mark.name)
    return any(len(found) > 1 for found in names.values())


def _legend_below(figure: "Figure", handles: "Sequence[Artist]") -> None:
    needed = 0.7 + 0.075 * max(len(str(handle.get_label())) for handle in handles)  # inches
    across = max(1, min(len(handles), int(figure.get_figwidth() / needed)))
    figure.legend(
        handles=list(handles), loc="outside lower center", ncols=across, fontsize=SMALL,
        frameon=False, handlelength=2.6,
    )  # fmt: skip


def _handle(mark: Mark, methods: Sequence[str], *, proxy: bool = False) -> "Artist":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    look = look_of(mark, methods)
    color = _color(look)
    if proxy:
        line = mark.kind == "line"
        return Line2D(
            [], [], color="#555555", linestyle="--" if line else "none",
            marker="none" if line else "D", markersize=5.5, markerfacecolor="white",
            linewidth=1.0, label="paper",
        )  # fmt: skip
    if mark.kind == "bar" or mark.fill:
        return Patch(color=color, alpha=0.5 if mark.fill else 1, label=mark.name)
    return Line2D(
        [], [], color=color, linestyle=_dashes(mark, look) if mark.kind == "line" else "none",
        marker=MARKERS[mark.symbol or look.symbol] if mark.points else "none", markersize=5, linewidth=mark.width,
        label=mark.name,
    )  # fmt: skip
