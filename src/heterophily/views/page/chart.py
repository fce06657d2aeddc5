"""A chart: a figure of plotly.js as plain data, with words and a table of the same numbers beside it.

Colors are left to the page, which knows whether it is light or dark: in `meta` a trace names its method and
its `series` number, or its `role`, and the script of the page paints it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

Trace = dict[str, Any]
N_COLORS = 8  # of the palette in page.css; more methods get other dashes and marks
LONGEST_LABEL = 14  # characters of a class on an axis
LINE_HEIGHT = 26  # pixels of a row in a chart of rows
HOVER = "<extra>%{fullData.name}</extra>"
DIAMOND = {"symbol": "diamond-open", "size": 9, "line": {"width": 1.5}}  # the paper's number


@dataclass(frozen=True)
class Chart:
    """One figure of the page."""

    title: str
    traces: Sequence[Trace]
    layout: Mapping[str, Any]
    head: Sequence[str]  # of the table of numbers
    rows: Sequence[Sequence[str]]
    caption: str = ""
    height: int = 320
    methods: Sequence[str] = ()  # of the legend
    paper: bool = False  # whether hollow diamonds show the paper's numbers
    wide: bool = False
    square: bool = False  # as high as it is wide

    @property
    def figure(self) -> dict[str, Any]:
        """What plotly.js draws."""
        return {"data": list(self.traces), "layout": dict(self.layout)}


@dataclass(frozen=True)
class Section:
    """Some charts under one heading; sections without any are left out."""

    title: str
    charts: Sequence[Chart]
    text: str = ""


@dataclass(frozen=True)
class Series:
    """The number of each method, so that it has one color in all charts."""

    methods: Sequence[str] = field(default_factory=tuple)

    def meta(self, method: str, **more: Any) -> dict[str, Any]:
        """What tells the page how to paint a trace of a method, and when to hide it."""
        return {"method": method, "series": self.number(method), **more}

    def number(self, method: str) -> int:
        """Its place, those unknown behind all others."""
        return self.methods.index(method) if method in self.methods else len(self.methods)

    def sorted(self, methods: Sequence[str]) -> list[str]:
        """Methods in the order of the table."""
        return sorted(methods, key=lambda m: (self.number(m), m))


def label(text: str) -> str:
    """Text for plotly.js, which reads tags and entities in labels.

    >>> label("a<b>&c")
    'a&lt;b&gt;&amp;c'
    """
    return escape(text, quote=False)


def short(text: str, length: int = LONGEST_LABEL) -> str:
    """The beginning of a long name.

    >>> short("Conjunctive adverbs"), short("noun")
    ('Conjunctive a…', 'noun')
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"


def folded(text: str, length: int = 18) -> str:
    """A label in several lines, which leaves room on a phone."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) <= length or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(word)
    return "<br>".join(map(label, lines))


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a title."""
    return {"title": {"text": title}, **more} if title else dict(more)


def shown(value: float | None, digits: int = 2) -> str:
    """A number for the table, or – where there is none.

    >>> shown(1.234), shown(None), shown(-0.5, 1)
    ('1.23', '–', '−0.5')
    """
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


def thinned(values: Sequence[float], most: int = 160) -> tuple[list[int], list[float]]:
    """At most so many of the values with their places, the first and the last among them.

    >>> thinned([5.0, 6.0, 7.0, 8.0, 9.0], most=3)
    ([0, 2, 4], [5.0, 7.0, 9.0])
    """
    n = len(values)
    places = list(range(n)) if n <= most else [round(i * (n - 1) / (most - 1)) for i in range(most)]
    return places, [values[place] for place in places]


def log_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis with ticks at 1, 2 and 5, or at powers of ten over several of them.

    >>> log_axis("ms", [1.5, 30])["ticktext"]
    ['1', '2', '5', '10', '20', '50']
    """
    low, high = min(values), max(values)
    steps = (1, 2, 5) if high / low < 300 else (1,)
    ticks = [float(f"{s}e{p}") for p in range(-6, 13) for s in steps]
    below = max((t for t in ticks if t <= low), default=low)
    above = min((t for t in ticks if t >= high), default=high)
    inside = [tick for tick in ticks if below <= tick <= above]
    return axis(title, type="log", tickvals=inside, ticktext=[f"{tick:,g}" for tick in inside])
