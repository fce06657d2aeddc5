"""The contents of a figure, as data.

Charts are pure functions of results. `views.svg` and `views.matplotlib` draw them, and pages print
their tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

Coordinate = float | str | None
Matrix = Sequence[Sequence[float | None]]
Kind = Literal["line", "bar", "point", "area", "heat map", "text"]
MAX_NARROW = 14  # classes up to which the names and numbers of a heat map fit into a narrow chart
MAX_COLUMNS = 12  # different x-values up to which the table of a chart has one column for each


@dataclass(frozen=True)
class Axis:
    """One axis. If it has categories, each is at the position of its index."""

    title: str = ""
    categories: Sequence[str] = ()
    log: bool = False
    limits: tuple[float | None, float | None] = (None, None)
    ticks: Mapping[float, str] = field(default_factory=dict)  # empty: chosen by the renderer
    reverse: bool = False
    visible: bool = True

    def __post_init__(self) -> None:
        if not all(isinstance(name, str) for name in self.categories):  # of a damaged table
            raise TypeError(f"categories must be texts, got {list(self.categories)!r:.200}")

    def position(self, value: Coordinate) -> float | None:
        """Return where a value is on the axis.

        Examples
        --------
        >>> Axis(categories=["low", "high"]).position("high")
        1
        """
        if isinstance(value, str):
            return self.categories.index(value)
        return value


@dataclass(frozen=True)
class Mark:
    """Values that are drawn in one way, with one entry in the legend.

    The color follows from the method, if there is one, so that a method has the same color everywhere.
    Marks of the paper's numbers have the color of ours and a different shape.
    """

    kind: Kind
    x: Sequence[Coordinate] = ()
    y: Sequence[Coordinate] = ()
    name: str = ""  # in the legend; empty for none
    method: str = ""
    paper: bool = False
    color: int | Literal["accent", "quiet", "ink"] = "accent"  # a number is a color of the palette
    errors: Sequence[float | None] = ()
    labels: Sequence[str] = ()  # text next to each point
    tips: Sequence[str] = ()  # text of each point, or of an area, that pages show under the pointer
    anchor: Literal["left", "center", "right"] = "center"  # of the text
    style: Literal["solid", "dashed", "dotted"] = "solid"
    points: bool = True  # whether a line shows its points
    symbol: Literal["", "circle", "cross", "ring"] = ""  # of points; empty: follows from the color
    steps: bool = False
    fill: bool = False
    width: float = 1.5
    size: float = 0.0  # of points, in points of the image; 0: chosen by the renderer
    values: Matrix = ()  # of a heat map, one row per y
    limits: tuple[float, float] = (0.0, 1.0)  # of the colors of a heat map
    log: bool = False  # scale of the colors
    scale: str = ""  # title of the color scale; empty for no scale

    def __post_init__(self) -> None:
        if any(len(row) != len(self.x) for row in self.values):
            raise ValueError(f"each row of a heat map must have {len(self.x)} values")

    @property
    def key(self) -> str:
        """What marks that belong together share: ours and the paper's numbers of a series."""
        return self.name or self.method


@dataclass(frozen=True)
class Table:
    """A table of text: a heading, and rows whose first cell is their name."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Chart:
    """One figure, or one panel of a figure.

    Charts with the same `file` are drawn next to each other in one image file.
    """

    title: str
    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    caption: str = ""
    panel: str = ""  # title in a figure with several charts, if it differs
    file: str = ""  # name of the image file without extension
    dataset: str = ""  # if the chart describes one dataset
    digits: int = 2  # decimals in the table and in the cells of heat maps
    height: float | None = None  # in inches
    wide: bool = False
    numbers: Table | None = None  # replaces the table that follows from the marks

    @property
    def horizontal(self) -> bool:
        """Whether categories are on the y-axis, so that bars are horizontal."""
        return bool(self.y.categories) and not self.x.categories

    @property
    def has_paper(self) -> bool:
        """Whether the chart shows numbers from the paper."""
        return any(mark.paper for mark in self.marks)

    @property
    def legend(self) -> list[Mark]:
        """The first of our marks with each name. A single name needs no legend."""
        first = {mark.name: mark for mark in reversed(self.marks) if mark.name and not mark.paper}
        ordered = dict.fromkeys(mark.name for mark in self.marks if mark.name in first)
        return [first[name] for name in ordered] if len(first) > 1 or self.has_paper else []

    @property
    def bar_width(self) -> float:
        """The space for each of the bars that are next to each other."""
        return 0.8 / max(1, len(self._bar_keys()))

    def _bar_keys(self) -> list[str]:
        return list(dict.fromkeys(mark.key for mark in self.marks if mark.kind == "bar"))

    def positions(self, mark: Mark) -> tuple[list[float | None], list[float | None]]:
        """Return the coordinates of a mark as numbers, with bars of one category side by side."""
        x, y = [self.x.position(v) for v in mark.x], [self.y.position(v) for v in mark.y]
        keys = self._bar_keys()
        if mark.key not in keys:
            return x, y
        shift = (keys.index(mark.key) - (len(keys) - 1) / 2) * self.bar_width
        moved = [None if v is None else v + shift for v in (y if self.horizontal else x)]
        return (x, moved) if self.horizontal else (moved, y)

    @property
    def table(self) -> Table:
        """The numbers of the chart."""
        if self.numbers is not None:
            return self.numbers
        data = [mark for mark in self.marks if mark.key] or list(self.marks)
        if data and data[0].kind == "heat map":
            return self._matrix_table(data[0])
        if self.horizontal:
            return self._pivot(data, self.y.categories, by_row=True)
        values = list(dict.fromkeys(value for mark in data for value in mark.x))
        if len(values) <= MAX_COLUMNS and any(len(mark.x) > 1 for mark in data):
            return self._pivot(data, self.x.categories or sorted(values, key=float), by_row=False)  # type: ignore[arg-type]
        if any(len(mark.x) > MAX_COLUMNS for mark in data):
            return self._summary(data)
        points = [(mark, *point) for mark in data for point in zip(mark.x, mark.y, strict=True)]
        rows = [[mark.key, self.format(x), self.format(y)] for mark, x, y in points if mark.key]
        return Table(["", self.x.title, self.y.title], rows)

    def _matrix_table(self, mark: Mark) -> Table:
        rows = zip(mark.y, mark.values, strict=True)
        digits = max(self.digits, 1)
        return Table(
            ["", *map(str, mark.x)], [[str(name), *(number_text(v, digits + 1) for v in row)] for name, row in rows]
        )

    def _pivot(self, marks: Sequence[Mark], across: Sequence[Coordinate], *, by_row: bool) -> Table:
        """A row per series and a column per category, or the other way around."""
        cells: dict[str, dict[Coordinate, str]] = {}
        for mark in marks:
            points = list(self._points(mark, by_row=by_row))
            name = (mark.name or ("paper" if mark.paper else "here")) if by_row else mark.key
            name += ", paper" if mark.paper and (mark.name or not by_row) else ""
            cells.setdefault(name, {}).update(points)
        if by_row:
            rows = [[str(a), *(cells[name].get(a, "–") for name in cells)] for a in across]
            return Table([self.y.title, *cells], rows)
        names = [self.format(value) for value in across]
        rows = [[name, *(found.get(a, "–") for a in across)] for name, found in cells.items()]
        return Table([self.x.title, *names], rows)

    def _points(self, mark: Mark, *, by_row: bool) -> Iterator[tuple[Coordinate, str]]:
        keys, values = (mark.y, mark.x) if by_row else (mark.x, mark.y)
        errors = mark.errors or [None] * len(keys)
        for key, value, error in zip(keys, values, errors, strict=True):
            spread = "" if error is None else f" ± {number_text(error, self.digits)}"
            yield key, self.format(value) + spread

    def _summary(self, marks: Sequence[Mark]) -> Table:
        """First, last, lowest and highest value of long lines."""
        rows = []
        for mark in marks:
            values = [v for v in mark.y if v is not None and not isinstance(v, str)]
            if len(values) > 1 and mark.key:
                ends = (values[0], values[-1], min(values), max(values))
                rows.append([mark.key, *(number_text(v, self.digits) for v in ends)])
        return Table(["", "first", "last", "lowest", "highest"], rows)

    def format(self, value: Coordinate) -> str:
        """Return a coordinate as text; whole numbers have no decimals."""
        if value is None or isinstance(value, str):
            return value or "–"
        return number_text(value, 0 if isinstance(value, int) else self.digits)


def number_text(value: float | None, digits: int = 2) -> str:
    """Return a number as text, or – for None.

    Examples
    --------
    >>> number_text(1.234), number_text(None), number_text(-0.5, 1)
    ('1.23', '–', '−0.5')
    """
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")


class MatrixOptions(TypedDict, total=False):
    """Options of `matrix_chart` that several charts share."""

    peak: float
    signed: bool
    scale: str
    file: str
    dataset: str


def matrix_chart(
    matrix: Matrix,
    names: Sequence[str],
    title: str,
    *,
    peak: float | None = None,
    signed: bool = False,
    x: str = "class of neighbor",
    y: str = "class of node",
    caption: str = "",
    method: str = "",
    scale: str = "share of neighbors",
    panel: str = "",
    file: str = "",
    dataset: str = "",
) -> Chart:
    """Return a heat map of classes × classes; `peak` is the value of the strongest color.

    If the matrix has negative entries, or if it is `signed`, the colors have two hues.
    """
    values = [value for row in matrix for value in row if value is not None]
    high = peak or max(map(abs, values), default=1.0) or 1.0
    low = -high if signed or min(values, default=0.0) < -0.005 else 0.0
    heat = Mark("heat map", names, names, method=method, values=matrix, limits=(low, high), scale=scale)
    return Chart(
        title,
        [heat],
        Axis(x, names),
        Axis(y, names, reverse=True),
        caption=caption,
        panel=panel,
        file=file,
        dataset=dataset,
        wide=len(names) > MAX_NARROW,
    )


def file_name(name: str) -> str:
    """Return a name as part of the name of an image file.

    Examples
    --------
    >>> file_name("digits, homophily 0.2")
    'digits-homophily-0.2'
    """
    plain = "".join(c if c.isalnum() or c in ".-_+" else " " for c in name)
    return "-".join(plain.split()) or "graph"
