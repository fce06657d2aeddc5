"""Charts as inline SVG for pages: they need no script, follow the color scheme of the page, and are printed with it.

Colors are variables of the page's style sheet. A mark with a method has the attribute `data-method`, so that the page
can hide it, and marks with a value have `data-tip`, which the page shows under the pointer.
"""

from collections.abc import Iterable, Sequence
from html import escape

from heterophily.core.chart import Chart, Mark
from heterophily.views.frame import Frame, font_size
from heterophily.views.heat_maps import cell_text, is_matrix
from heterophily.views.lettering import shorten, text_width
from heterophily.views.looks import Look, look_of

MAX_POINTS = 160  # of one line
MAX_TIPS = 60  # points of a mark, up to which each has its own text
MIN_CELL = 25  # pixels of a cell of a heat map in which a number fits
RADIUS = 4.6  # of a point
MAX_TAIL = 9  # last characters of a long text that are shown
DASHES = {"dashed": "6 4", "dotted": "2 3", "dash-dot": "7 3 2 3", "dash-dot-dot": "7 3 2 3 2 3", "sparse": "2 6"}
# Shapes of a size of 1, relative to their center. Circles are separate elements.
SHAPES = {
    "square": ((-0.89, -0.89), (1.78, 0), (0, 1.78), (-1.78, 0)),
    "triangle": ((0, -1.15), (1.1, 2.0), (-2.2, 0)),
    "wedge": ((0, 1.15), (1.1, -2.0), (-2.2, 0)),
    "diamond": ((0, -1.25), (1.25, 1.25), (-1.25, 1.25), (-1.25, -1.25)),
    "plus": ((-0.4, -1.15), (0.8, 0), (0, 0.75), (0.75, 0), (0, 0.8), (-0.75, 0), (0, 0.75), (-0.8, 0), (0, -0.75),
             (-0.75, 0), (0, -0.8), (0.75, 0)),
    "cross": ((-1.15, -0.7), (0.45, -0.45), (0.7, 0.7), (0.7, -0.7), (0.45, 0.45), (-0.7, 0.7), (0.7, 0.7),
              (-0.45, 0.45), (-0.7, -0.7), (-0.7, 0.7), (-0.45, -0.45), (0.7, -0.7)),
}  # fmt: skip
ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def draw_chart(chart: Chart, methods: Sequence[str] = ()) -> str:
    """Return a chart as an SVG element."""
    frame = Frame.of(chart)
    heat = bool(chart.marks) and chart.marks[0].kind == "heat map"
    body = [*_axes(frame, heat=heat), *(_mark(frame, mark, methods) for mark in chart.marks)]
    label = escape(f"Chart: {chart.title}. A table below contains its numbers.")
    size = f'viewBox="0 0 {frame.width} {frame.height}" style="--width:{frame.width}px"'
    return f'<svg class="chart" {size} role="img" aria-label="{label}">{"".join(body)}</svg>'


def draw_key(mark: Mark, methods: Sequence[str] = ()) -> str:
    """Return the key of a mark for a legend, as an SVG element."""
    look = look_of(mark, methods)
    if mark.kind in ("bar", "area") or mark.fill:
        body = f'<rect class="{"bar" if mark.kind == "bar" else "area"}" x="1" y="1" width="12" height="12"/>'
    elif mark.kind == "line":
        symbol = _symbol(mark, look, 12, 7, size=3.6) if mark.points else ""
        body = f'<path class="line" d="M0 7h24"{_stroke(mark, look)}/>{symbol}'
    else:
        body = _symbol(mark, look, 7, 7)
    kind, width = ("key", 24) if mark.kind == "line" and not mark.fill else ("small key", 14)
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} 14" aria-hidden="true">{_group(mark, look, body, shared=True)}</svg>'
    )


def _axes(frame: Frame, *, heat: bool) -> Iterable[str]:
    if not frame.chart.x.visible:
        return
    left, right, top, bottom = (_n(v) for v in (frame.left, frame.right, frame.top, frame.bottom))
    chart, slanted = frame.chart, frame.slanted
    small = f' style="font-size:{font_size(frame)}px"' if heat else ""
    lines, texts = [], []
    for value, text in frame.x_ticks:
        x = _n(frame.x(value))
        if not (heat or chart.x.categories):
            lines.append(f"M{x} {top}V{bottom}")
        place = f'transform="translate({x} {_n(frame.bottom + 14)})rotate(-40)" text-anchor="end"'
        texts.append(_text(text, place if slanted else f'x="{x}" y="{_n(frame.bottom + 16)}" text-anchor="middle"'))
    for value, text in frame.y_ticks:
        y = frame.y(value)
        if not heat:
            lines.append(f"M{left} {_n(y)}H{right}")
        texts.append(_text(text, f'x="{_n(frame.left - 7)}" y="{_n(y + 4)}" text-anchor="end"'))
    yield f'<path class="grid" d="{"".join(lines)}"/><g class="ticks"{small}>{"".join(texts)}</g>'
    zero = [frame.zero(name) for name in "xy"]
    yield "".join(f'<path class="zero" d="{each}"/>' for each in zero if each)
    yield from _titles(frame)


def _titles(frame: Frame) -> Iterable[str]:
    x, y = frame.chart.x.title, frame.chart.y.title
    if x:
        half = text_width(x) / 2
        middle = max(half, min((frame.left + frame.right) / 2, frame.width - half))
        place = f'x="{_n(middle)}" y="{_n(frame.height - 5)}" text-anchor="middle"'
        yield _text(x, f'class="title" {place}')
    if y:
        middle = max((frame.top + frame.bottom) / 2, text_width(y) / 2)
        yield _text(y, f'class="title" transform="translate(12 {_n(middle)})rotate(-90)" text-anchor="middle"')


def _mark(frame: Frame, mark: Mark, methods: Sequence[str]) -> str:
    look = look_of(mark, methods)
    if mark.kind == "heat map":
        return _heat_map(frame, mark)
    if mark.kind == "text":
        return _group(mark, look, "".join(_written(frame, mark)))
    draw = {"line": _line, "bar": _bars, "point": _points, "area": _area}[mark.kind]
    return _group(mark, look, "".join([*draw(frame, mark, look), *_labels(frame, mark)]))


def _group(mark: Mark, look: Look, body: str, *, shared: bool = False) -> str:
    name = look.color if isinstance(look.color, str) else f"series-{look.color + 1}"
    method = f' data-method="{escape(mark.method)}"' if mark.method and not shared else ""
    return f'<g style="--c:var(--{name})"{method}>{body}</g>' if body else ""


def _tip(frame: Frame, mark: Mark, place: int) -> str:
    """The text of one value, as an attribute."""
    chart = frame.chart
    if mark.tips:
        return f' data-tip="{escape(mark.tips[place])}"'
    if mark.color == "ink" or not (mark.key or mark.labels or chart.x.categories or chart.y.categories):
        return ""
    x, y = chart.format(mark.x[place]), chart.format(mark.y[place])
    value, at = (x, y) if chart.horizontal else (y, x)
    name = f"{mark.key}: " if mark.key and mark.key != at else ""
    source = " in the paper" if mark.paper else ""
    return f' data-tip="{escape(f"{name}{value}{source} ({at})")}"'


def _line(frame: Frame, mark: Mark, look: Look) -> Iterable[str]:
    places = thin(len(mark.x))
    found = frame.points(mark)
    at = [found[i] for i in places]
    if not at:
        return
    tip = _line_tip(frame, mark)
    if mark.fill:
        known = [(x, y) for x, y in at if x is not None and y is not None]
        base = _n(frame.y(0) if frame.y.low <= 0 else frame.bottom)
        yield f'<path class="area" d="{_path(known, mark.steps)}V{base}H{_n(known[0][0])}Z"/>'
    yield f'<path class="line" d="{_path(at, mark.steps)}"{_stroke(mark, look)}{tip}/>'
    if mark.points and (len(mark.x) <= MAX_TIPS or mark.paper):
        for i, (x, y) in zip(places, at, strict=True):
            if x is not None and y is not None:
                yield _symbol(mark, look, x, y, _tip(frame, mark, i), size=3.6)


def _line_tip(frame: Frame, mark: Mark) -> str:
    """The last value and the range of a line whose points are not shown."""
    values = [v for v in mark.y if isinstance(v, int | float)]
    if not mark.key or mark.points or len(values) < 2:
        return ""
    texts = [frame.chart.format(float(v)) for v in (values[-1], min(values), max(values))]
    text = f"{mark.key}: {texts[1]} to {texts[2]}, at the end {texts[0]}"
    return f' data-tip="{escape(text)}"'


def _stroke(mark: Mark, look: Look) -> str:
    width = 1.2 if mark.paper else mark.width + 0.2
    line = "dashed" if mark.paper else mark.style if mark.style != "solid" else look.line
    dashes = f' stroke-dasharray="{DASHES[line]}"' if line in DASHES else ""
    return f' stroke-width="{_n(width)}"{dashes}'


def _bars(frame: Frame, mark: Mark, look: Look) -> Iterable[str]:
    chart, width = frame.chart, 0.9 * frame.chart.bar_width
    across, along = (frame.y, frame.x) if chart.horizontal else (frame.x, frame.y)
    side = _n(abs(across(width) - across(0)))
    for i, (x, y) in enumerate(zip(*chart.positions(mark), strict=True)):
        center, value = (y, x) if chart.horizontal else (x, y)
        if center is None or value is None:
            continue
        start, end = sorted((along(0), along(value)))
        first, length = _n(min(across(center - width / 2), across(center + width / 2))), _n(max(end - start, 0.5))
        sizes = (_n(start), first, length, side) if chart.horizontal else (first, _n(start), side, length)
        place = 'x="{}" y="{}" width="{}" height="{}"'.format(*sizes)
        yield f'<rect class="bar" {place}{_tip(frame, mark, i)}/>{_error(frame, mark, i, x, y)}'


def _points(frame: Frame, mark: Mark, look: Look) -> Iterable[str]:
    many = len(mark.x) > MAX_TIPS and not mark.tips
    size = mark.size / 2 if mark.size else 2.6 if many else RADIUS
    for i, (x, y) in enumerate(frame.points(mark)):
        if x is not None and y is not None:
            values = [p[i] for p in frame.chart.positions(mark)]
            yield _error(frame, mark, i, values[0], values[1])
            yield _symbol(mark, look, x, y, "" if many else _tip(frame, mark, i), size=size)


def _area(frame: Frame, mark: Mark, look: Look) -> Iterable[str]:
    tip = f' data-tip="{escape(mark.tips[0])}"' if mark.tips else ""
    yield f'<path class="area" d="{_path(frame.points(mark))}Z"{tip}/>'


def _error(frame: Frame, mark: Mark, place: int, x: float | None, y: float | None) -> str:
    """A line from the value minus its error to the value plus its error."""
    error = mark.errors[place] if mark.errors else None
    if not error or x is None or y is None:
        return ""
    if frame.chart.horizontal:
        start, end = (_n(frame.x(x + sign * error)) for sign in (-1, 1))
        return f'<path class="error" d="M{start} {_n(frame.y(y))}H{end}"/>'
    start, end = (_n(frame.y(y + sign * error)) for sign in (-1, 1))
    return f'<path class="error" d="M{_n(frame.x(x))} {start}V{end}"/>'


def _symbol(mark: Mark, look: Look, x: float, y: float, tip: str = "", size: float = RADIUS) -> str:
    name = "diamond" if mark.paper else mark.symbol or look.symbol
    kind = "paper" if mark.paper and mark.kind == "point" else "paper own" if mark.paper else "point"
    kind = "ring" if name == "ring" else kind
    if name in SHAPES:
        first, *steps = SHAPES[name]
        moves = "".join(f"l{_n(a * size)} {_n(b * size)}" for a, b in steps)
        return f'<path class="{kind}" d="M{_n(x + first[0] * size)} {_n(y + first[1] * size)}{moves}z"{tip}/>'
    return f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(size)}"{tip}/>'


def _labels(frame: Frame, mark: Mark) -> Iterable[str]:
    """Labels of points and bars, moved inside at the edges."""
    for (x, y), text in zip(frame.points(mark), mark.labels, strict=True) if mark.labels else ():
        if x is None or y is None:
            continue
        half = text_width(text) / 2
        if mark.anchor == "left" or frame.chart.horizontal:
            yield _text(text, f'x="{_n(x + 6)}" y="{_n(y + 4)}"')
        elif mark.anchor == "right" and x - 2 * half - 8 > frame.left:
            below = y + 16 if y + 20 < frame.bottom else y - 9
            yield _text(text, f'x="{_n(x - 8)}" y="{_n(below)}" text-anchor="end"')
        else:
            inside = min(max(x, frame.left + half), frame.right - half)
            above = y - 9 if y - 20 > 0 else y + 18
            yield _text(text, f'x="{_n(inside)}" y="{_n(above)}" text-anchor="middle"')


def _written(frame: Frame, mark: Mark) -> Iterable[str]:
    for (x, y), text in zip(frame.points(mark), mark.labels, strict=True):
        if x is not None and y is not None:
            room = {"left": frame.width - x, "right": x}.get(mark.anchor, frame.width)
            place = f'x="{_n(x)}" y="{_n(y + 4)}" text-anchor="{ANCHORS[mark.anchor]}"'
            yield _text(shorten(text, room, tail=MAX_TAIL), place)


def _heat_map(frame: Frame, mark: Mark) -> str:
    chart, parts = frame.chart, []
    width, height = (abs(scale(1) - scale(0)) for scale in (frame.x, frame.y))
    numbers = width >= MIN_CELL + (0 if chart.digits < 3 else 8) and height >= 14
    for i, (row, name) in enumerate(zip(mark.values, mark.y, strict=True)):
        for j, (value, other) in enumerate(zip(row, mark.x, strict=True)):
            if value is None:
                continue
            x, y = frame.x(j), frame.y(i)
            tip = f"{chart.format(float(value))}: {chart.y.title} {name}, {chart.x.title} {other}"
            place = f'x="{_n(x - width / 2)}" y="{_n(y - height / 2)}" width="{_n(width)}" height="{_n(height)}"'
            parts.append(f'<rect {place} style="{_shade(mark, value)}" data-tip="{escape(tip)}"/>')
            if numbers and (text := cell_text(value, chart.digits)):
                parts.append(_text(text, f'x="{_n(x)}" y="{_n(y + 4)}"'))
    size = font_size(frame)
    return f'<g class="heat{"" if is_matrix(chart) else " cells"}" style="font-size:{size}px">{"".join(parts)}</g>'


def _shade(mark: Mark, value: float) -> str:
    """The share of the strongest color, as variables of the style sheet."""
    from math import log10

    low, high = mark.limits
    if low < 0:
        share = min(1.0, abs(value) / max(-low, high))
        return f"--v:{100 * share:.0f}%" + (";--h:var(--minus)" if value < 0 else "")
    if mark.log:
        value, low, high = (log10(max(v, 1e-12)) for v in (value, low, high))
    return f"--v:{100 * min(1.0, max(0.0, (value - low) / ((high - low) or 1))):.0f}%"


def _path(at: Sequence[tuple[float | None, float | None]], steps: bool = False) -> str:
    """Points as a path, with gaps at missing values."""
    parts, pen = [], "M"
    for x, y in at:
        if x is None or y is None:
            pen = "M"
            continue
        parts.append(f"H{_n(x)}V{_n(y)}" if steps and pen == "L" else f"{pen}{_n(x)} {_n(y)}")
        pen = "L"
    return "".join(parts)


def _text(text: str, attributes: str) -> str:
    return f"<text {attributes}>{escape(text)}</text>"


def _n(value: float) -> str:
    """A coordinate with one decimal.

    >>> _n(1.04), _n(2.35), _n(-0.01)
    ('1', '2.4', '0')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def thin(count: int, most: int = MAX_POINTS) -> list[int]:
    """Return at most so many evenly spaced positions, including the first and the last.

    Examples
    --------
    >>> thin(5, most=3)
    [0, 2, 4]
    """
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
