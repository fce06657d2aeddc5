"""Which classes are connected, as a flow from the classes of nodes to the classes of their neighbors.

The height of a ribbon is M_ij: the share of class j among the neighbors of the nodes of class i. With many classes,
only the largest ribbons of each class are shown, and the chart takes the full width of the page.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from heterophily.core.chart import Axis, Chart, Mark, Table
from heterophily.core.types import BoolArray, FloatArray
from heterophily.views.looks import PALETTE

MAX_CLASSES = 40  # more ribbons cannot be distinguished
MAX_FULL = 10  # classes up to which all ribbons are shown
MAX_RIBBONS, SUFFICIENT = 5, 0.5  # of each class if there are more, and the share of neighbors from which they suffice
MIN_SHARE = 0.01  # smaller ribbons are thinner than a line
GAP = 0.2  # of the height of a class
N_POINTS = 20  # of each edge of a ribbon
BAR = 9.0  # points, the width of the bar of a class
MIN_LINE = 14.0  # pixels between the names of classes
TITLE = -0.06  # height of the titles above the bars

Span = tuple[float, float]


def flow_charts(matrix: FloatArray, names: Sequence[str], *, caption: str = "") -> list[Chart]:
    """Return the flow between classes, or no chart if there are no edges between labeled nodes or too many classes."""
    k = len(names)
    if k > MAX_CLASSES or not matrix.any():
        return []
    left, right = _spans(np.ones(k)), _spans(matrix.sum(axis=0))
    height = max(2.8, 0.22 * k)
    line = MIN_LINE / (105 * height)
    marks = [
        *_ribbons(matrix, names, left, right),
        *(_bar(0.0, span, i) for i, span in enumerate(left)),
        *(_bar(1.0, span, j) for j, span in enumerate(right)),
        *_texts(names, left, line, x=0.0, title="node"),
        *_texts(names, right, line, x=1.0, title="neighbor"),
    ]
    text = f"The height of a ribbon is the share of a class among the neighbors.{_omitted(k)} {caption}".strip()
    rows = [[name, *(f"{100 * share:.1f}" for share in row)] for name, row in zip(names, matrix, strict=True)]
    return [
        Chart(
            "Which classes are neighbors",
            marks,
            Axis(limits=(0.0, 1.0), visible=False),
            Axis(limits=(-0.09, 1.01), reverse=True, visible=False),
            caption=text,
            height=height,
            wide=k > MAX_FULL,
            numbers=Table(["class of node, neighbors in %", *names], rows),
        )
    ]


def _omitted(k: int) -> str:
    return " Of each class, the largest shares are shown, up to half of the neighbors." if k > MAX_FULL else ""


def _spans(sizes: FloatArray) -> list[Span]:
    """Return the first and last height of each class on an axis from 0 to 1, with gaps between classes."""
    k = len(sizes)
    gap = GAP / k
    heights = sizes / max(float(sizes.sum()), 1e-12) * (1 - gap * (k - 1))
    ends = np.cumsum(heights + gap)
    return [(float(end - gap - height), float(end - gap)) for end, height in zip(ends, heights, strict=True)]


def _ribbons(matrix: FloatArray, names: Sequence[str], left: Sequence[Span], right: Sequence[Span]) -> Iterator[Mark]:
    """Return one area per pair of classes, stacked in the order of the classes at both ends."""
    out_of, into = np.cumsum(matrix, axis=1) - matrix, np.cumsum(matrix, axis=0) - matrix
    rows, columns = matrix.sum(axis=1), matrix.sum(axis=0)
    for i, j in np.argwhere(_shown(matrix)).tolist():
        start = _part(left[i], out_of[i, j] / rows[i], matrix[i, j] / rows[i])
        end = _part(right[j], into[i, j] / columns[j], matrix[i, j] / columns[j])
        tip = f"{100 * matrix[i, j]:.0f}% of the neighbors of {names[i]} are {names[j]}"
        yield Mark("area", *_outline(start, end), color=i, tips=[tip])


def _shown(matrix: FloatArray) -> BoolArray:
    """Return which ribbons are shown: all, or those of each class that reach half of its neighbors."""
    visible: BoolArray = matrix >= MIN_SHARE
    if len(matrix) <= MAX_FULL:
        return visible
    order = np.argsort(-matrix, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(matrix, order, axis=1), axis=1) - np.take_along_axis(matrix, order, axis=1)
    kept = (before < SUFFICIENT) & (np.arange(len(matrix)) < MAX_RIBBONS)
    chosen = np.zeros_like(visible)
    np.put_along_axis(chosen, order, kept, axis=1)
    return visible & chosen


def _part(span: Span, start: float, share: float) -> Span:
    height = span[1] - span[0]
    return span[0] + height * start, span[0] + height * (start + share)


def _outline(start: Span, end: Span) -> tuple[list[float], list[float]]:
    """Return the outline of a ribbon whose edges leave and arrive horizontally."""
    t = np.linspace(0, 1, N_POINTS)
    ease = t * t * (3 - 2 * t)
    upper, lower = (start[n] + (end[n] - start[n]) * ease for n in (0, 1))
    return [*t.tolist(), *t[::-1].tolist()], [*upper.tolist(), *lower[::-1].tolist()]


def _bar(x: float, span: Span, number: int) -> Mark:
    return Mark("line", [x, x], list(span), color=number % len(PALETTE), points=False, width=BAR)


def _texts(names: Sequence[str], spans: Sequence[Span], line: float, *, x: float, title: str) -> list[Mark]:
    """Return the names of the classes next to their bars, and a title above them."""
    first = x == 0.0
    anchor: Literal["left", "right"] = "right" if first else "left"
    title, *labels = (f"{n}  " if first else f"  {n}" for n in (title, *names))
    middles = _spread([(a + b) / 2 for a, b in spans], line)
    text = Mark("text", [x] * len(names), middles, labels=labels, anchor=anchor, color="ink")
    return [text, Mark("text", [x], [TITLE], labels=[title], anchor=anchor, color="quiet")]


def _spread(heights: Sequence[float], line: float) -> list[float]:
    """Return heights that are at least one line apart, moved as little as possible, and at most 1.

    Examples
    --------
    >>> _spread([0.1, 0.12, 0.9], 0.05), _spread([0.97, 0.99], 0.05)
    ([0.1, 0.15, 0.9], [0.95, 1.0])
    """
    found: list[float] = []
    for height in heights:
        found.append(height if not found else max(height, found[-1] + line))
    for i in range(len(found) - 1, -1, -1):
        found[i] = min(found[i], 1.0 if i == len(found) - 1 else found[i + 1] - line)
    return [round(height, 4) for height in found]
