"""Which classes are connected, as a flow from the classes of nodes to the classes of their neighbors.

The height of a ribbon is M_ij: the share of class j among the neighbors of the nodes of class i.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from heterophily.core.chart import Axis, Chart, Mark, Table
from heterophily.core.types import FloatArray
from heterophily.views.looks import PALETTE

MAX_CLASSES = 40  # more ribbons cannot be distinguished
MAX_FULL, N_LARGEST = 10, 5  # classes up to which all ribbons are shown; ribbons of each class if there are more
MIN_SHARE = 0.01  # smaller ribbons are thinner than a line
GAP = 0.2  # of the height of a class
N_POINTS = 12  # of each edge of a ribbon
BAR = 9.0  # points, the width of the bar of a class

Span = tuple[float, float]


def flow_charts(matrix: FloatArray, names: Sequence[str], *, caption: str = "") -> list[Chart]:
    """Return the flow between classes, or no chart if there are no edges between labeled nodes or too many classes."""
    k = len(names)
    if k > MAX_CLASSES or not matrix.any():
        return []
    left, right = _spans(np.ones(k)), _spans(matrix.sum(axis=0))
    marks = [
        *_ribbons(matrix, names, left, right),
        *(_bar(0.0, span, i) for i, span in enumerate(left)),
        *(_bar(1.0, span, j) for j, span in enumerate(right)),
        *_texts(names, left, x=0.0, title="node"),
        *_texts(names, right, x=1.0, title="neighbor"),
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
            height=max(2.8, 0.22 * k),
            numbers=Table(["class of node, neighbors in %", *names], rows),
        )
    ]


def _omitted(k: int) -> str:
    return f" The {N_LARGEST} largest shares of each class are shown." if k > MAX_FULL else ""


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
        tip = f"{100 * matrix[i, j]:.0f} % of the neighbors of {names[i]} are {names[j]}"
        yield Mark("area", *_outline(start, end), color=i, tips=[tip])


def _shown(matrix: FloatArray) -> FloatArray:
    k = len(matrix)
    n_ribbons = k if k <= MAX_FULL else N_LARGEST
    limit = np.sort(matrix, axis=1)[:, [-n_ribbons]]
    return (matrix >= limit) & (matrix >= MIN_SHARE)


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


def _texts(names: Sequence[str], spans: Sequence[Span], *, x: float, title: str) -> list[Mark]:
    """Return the names of the classes next to their bars, and a title above them."""
    first = x == 0.0
    near = abs(x - 0.001)  # the names determine the margins, and the title does not
    tall = [(name, span) for name, span in zip(names, spans, strict=True) if span[1] - span[0] > 0.01]
    labels, middles = [f"{n}  " if first else f"  {n}" for n, _ in tall], [(s[0] + s[1]) / 2 for _, s in tall]
    text = Mark("text", [x] * len(tall), middles, labels=labels, anchor="right" if first else "left", color="ink")
    return [text, Mark("text", [near], [-0.06], labels=[title], anchor="left" if first else "right", color="quiet")]
