"""The frame of a chart on a page: its size, its scales, and its ticks, in pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from heterophily.core.chart import Axis, Chart, Mark
from heterophily.views.heat_maps import is_heat, is_matrix
from heterophily.views.lettering import SIZE, shorten_all, text_width

WIDTH, WIDE = 420, 860  # pixels of a chart before the page scales it
PLOT_HEIGHT = 215
ROW, CELL, MAX_COLUMN = 22, 62, 92  # sizes of a bar, of the cells of a square heat map, and of a column
MAX_COLUMN_LABEL = 105.0  # pixels of a name below the x-axis
ROW_SHARE, TEXT_SHARE = 0.4, 0.32  # of the width of a chart, for the names of rows, and for text on one side
Pixel = tuple[float | None, float | None]


@dataclass(frozen=True)
class Scale:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, value = (log10(max(v, 1e-12)) if self.log else v for v in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / ((high - low) or 1.0)


@dataclass(frozen=True)
class Frame:
    """Where the parts of a chart are."""

    chart: Chart
    width: int
    height: int
    x: Scale
    y: Scale
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    slanted: bool  # names below the x-axis

    @classmethod
    def of(cls, chart: Chart) -> "Frame":
        """Return the frame of a chart, with margins that leave room for its labels."""
        width = WIDE if chart.wide else WIDTH
        if not chart.x.visible:
            return cls._bare(chart, width)
        across, down = axis_range(chart, "x"), axis_range(chart, "y")
        x_ticks = _ticks(chart.x, across, MAX_COLUMN_LABEL)
        y_ticks = _ticks(chart.y, down, ROW_SHARE * width * SIZE / row_font(chart))
        left = 12 + _widest(y_ticks) * row_font(chart) / SIZE + (18 if chart.y.title else 0)
        right = width - _right_margin(chart, x_ticks)
        columns = len(chart.x.categories)
        if columns and is_heat(chart):
            right = min(right, left + columns * (CELL if is_matrix(chart) else MAX_COLUMN))
        room = (right - left) / max(1, len(x_ticks))
        longest = _widest(x_ticks)
        slanted = longest > room
        bottom = (18 + 0.65 * longest if slanted else 22) + (20 if chart.x.title else 0)
        top = 20 if any(mark.labels for mark in chart.marks) and not chart.horizontal else 8
        plot = _plot_height(chart, right - left)
        height = max(top + plot + bottom, text_width(chart.y.title) + 8)
        start, end = (top, top + plot) if chart.y.reverse else (top + plot, top)
        x, y = Scale(*across, left, right, chart.x.log), Scale(*down, start, end, chart.y.log)
        return cls(chart, width, round(height), x, y, x_ticks, y_ticks, slanted)

    @classmethod
    def _bare(cls, chart: Chart, width: int) -> "Frame":
        """The frame of a chart without axes."""
        height = round(105 * (chart.height or 3.0)) + 30
        left, right = _text_margins(chart, width)
        start, end = (4, height - 4) if chart.y.reverse else (height - 4, 4)
        x, y = Scale(*axis_range(chart, "x"), left, width - right), Scale(*axis_range(chart, "y"), start, end)
        return cls(chart, width, height, x, y, (), (), slanted=False)

    @property
    def left(self) -> float:
        return min(self.x.start, self.x.end)

    @property
    def right(self) -> float:
        return max(self.x.start, self.x.end)

    @property
    def top(self) -> float:
        return min(self.y.start, self.y.end)

    @property
    def bottom(self) -> float:
        return max(self.y.start, self.y.end)

    def points(self, mark: Mark) -> list[Pixel]:
        """Return the pixels of a mark."""
        x, y = self.chart.positions(mark)
        return [(None, None) if a is None or b is None else (self.x(a), self.y(b)) for a, b in zip(x, y, strict=True)]

    def zero(self, name: str) -> str:
        """Return the path of the line at zero, if bars start there."""
        scale, axis = (self.x, self.chart.x) if name == "x" else (self.y, self.chart.y)
        has_bars = any(mark.kind == "bar" for mark in self.chart.marks) and self.chart.horizontal == (name == "x")
        if axis.categories or axis.log or not has_bars:
            return ""
        place = f"{scale(0):.1f}"
        return f"M{place} {self.top}V{self.bottom}" if name == "x" else f"M{self.left:.1f} {place}H{self.right:.1f}"


def font_size(frame: Frame) -> int:
    """Return the size of the names and numbers of a heat map, which depends on its cells."""
    cell = abs(frame.y(1) - frame.y(0))
    return row_font(frame.chart) if cell >= 19 else 9 if cell >= 11 else 8


def row_font(chart: Chart) -> int:
    """Return the largest size of the names of rows."""
    return 12 if not is_heat(chart) or len(chart.y.categories) <= 6 else 11


def _widest(ticks: Sequence[tuple[float, str]]) -> float:
    return max((text_width(text) for _, text in ticks), default=0.0)


def _plot_height(chart: Chart, width: float) -> float:
    rows = len(chart.y.categories)
    if is_matrix(chart):
        return width
    if is_heat(chart):
        return rows * ROW if rows > 4 else rows * 30
    return rows * ROW if rows else PLOT_HEIGHT


def _right_margin(chart: Chart, ticks: Sequence[tuple[float, str]]) -> float:
    beside = [text for mark in chart.marks if mark.anchor == "left" or chart.horizontal for text in mark.labels]
    last = text_width(ticks[-1][1]) / 2 if ticks and not chart.x.categories else 0
    return max(10.0, last, 8 + max(map(text_width, beside), default=0))


def _text_margins(chart: Chart, width: float) -> tuple[float, float]:
    """Margins that leave room for text next to the limits of the x-axis."""
    room = {"left": 6.0, "right": 6.0}
    for mark in chart.marks:
        if mark.kind == "text" and mark.anchor != "center" and mark.x[0] in chart.x.limits:
            side = "right" if mark.anchor == "left" else "left"
            room[side] = max(room[side], min(TEXT_SHARE * width, max(map(text_width, mark.labels)) + 8))
    return room["left"], room["right"]


def axis_range(chart: Chart, name: str) -> tuple[float, float]:
    """Return the lowest and the highest value of an axis."""
    axis = chart.x if name == "x" else chart.y
    if axis.categories:
        return -0.5, len(axis.categories) - 0.5
    low, high = axis.limits
    if low is not None and high is not None:
        return float(low), float(high)
    values = list(_values(chart, name))
    if not values:
        return 0.0, 1.0
    if axis.log:
        known = [value for value in values if value > 0] or [1.0]
        room = (max(known) / min(known)) ** 0.06
        return min(known) / max(room, 1.05), max(known) * max(room, 1.05)
    if any(mark.kind == "bar" for mark in chart.marks) and chart.horizontal == (name == "x"):
        values.append(0.0)
    least, most = min(values), max(values)
    room = 0.06 * (most - least) or 0.05 * abs(most) or 0.5
    start = least if least == 0 and min(values) >= 0 else least - room
    return float(start if low is None else low), float(most + room if high is None else high)


def _values(chart: Chart, name: str) -> list[float]:
    """All values on an axis, with those at the ends of errors."""
    found: list[float] = []
    for mark in chart.marks:
        known = chart.positions(mark)["xy".index(name)]
        has_errors = bool(mark.errors) and chart.horizontal == (name == "x")
        for i, value in enumerate(known):
            error = (mark.errors[i] if has_errors else 0.0) or 0.0
            found += [] if value is None else [value - error, value + error] if error else [value]
    return found


def _ticks(axis: Axis, ends: tuple[float, float], room: float) -> list[tuple[float, str]]:
    if axis.categories:
        return list(enumerate(shorten_all(axis.categories, room)))
    if axis.ticks:
        return list(axis.ticks.items())
    if axis.log:
        return log_ticks(*ends)
    from matplotlib.ticker import MaxNLocator

    values = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]).tick_values(*ends)
    room = 1e-9 * (ends[1] - ends[0])
    return [(float(v), tick_text(float(v))) for v in values if ends[0] - room <= v <= ends[1] + room]


def tick_text(value: float) -> str:
    """Return the text of a tick.

    Examples
    --------
    >>> tick_text(0.30000000000000004), tick_text(-2000.0)
    ('0.3', '−2,000')
    """
    return f"{value:,.10g}".replace("-", "−")


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return the ticks of a logarithmic axis: 1, 2, and 5, or only powers of ten if there are many.

    Examples
    --------
    >>> [text for _, text in log_ticks(1.5, 30)], [text for _, text in log_ticks(5e4, 5e7)]
    (['2', '5', '10', '20'], ['100,000', '1M', '10M'])
    """
    steps = (1, 2, 5) if high / low < 300 else (1,)
    known = [float(f"{step}e{power}") for power in range(-6, 13) for step in steps]
    return [(tick, f"{tick / 1e6:,g}M" if tick >= 1e6 else f"{tick:,g}") for tick in known if low <= tick <= high]
