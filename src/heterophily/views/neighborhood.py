"""The picture of an explained node and its neighbors."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from heterophily.core.chart import Axis, Chart, Mark, Table
from heterophily.core.graph import Graph
from heterophily.training.explanation import NeighborEffect, NodeExplanation
from heterophily.views.explain import effect_text, percent

MAX_NEIGHBORS = 16
MAX_OTHER_EDGES = 24  # between neighbors
RADIUS = 1.0
HEIGHT = 6.0  # inches
THIN, THICK = 0.8, 7.0  # line widths in points
LIMIT_X, LIMIT_Y = 1.85, 1.3

Point = tuple[float, float]


def neighborhood_chart(explanation: NodeExplanation, graph: Graph) -> Chart:
    """Return a picture of the neighbors that matter most around the node, colored by class.

    The width of a line is the size of an effect. A dashed line speaks against the explained class.
    """
    e = explanation
    shown = sorted(e.neighbors[:MAX_NEIGHBORS], key=lambda each: (_class(each), -each.effect))
    places = node_places([each.node for each in shown])
    classes = {each.node: _class(each) for each in shown} | {e.node: e.label or e.predicted}
    marks = [
        *other_edges(graph, places),
        *_effect_edges(shown, places, e.target),
        *class_marks(e.node, places, classes, graph.class_names or sorted(set(classes.values()))),
        *(node_label(f"{each.id} ({effect_text(each.effect)})", places[each.node]) for each in shown),
    ]
    return Chart(
        f"Node {e.id} in the center: {e.target} with probability {percent(e.probability)}",
        marks,
        Axis(limits=(-LIMIT_X, LIMIT_X), visible=False),
        Axis(limits=(-LIMIT_Y, LIMIT_Y), visible=False),
        caption=_caption(e, len(shown)),
        height=HEIGHT,
        wide=True,
        numbers=_table(shown),
    )


def _class(neighbor: NeighborEffect) -> str:
    return neighbor.label or neighbor.predicted


def node_places(nodes: Sequence[int]) -> dict[int, Point]:
    """Return the places of nodes on a circle."""
    angles = [math.pi / 2 - 2 * math.pi * i / len(nodes) for i in range(len(nodes))]
    return {node: (RADIUS * math.cos(a), RADIUS * math.sin(a)) for node, a in zip(nodes, angles, strict=True)}


def other_edges(graph: Graph, places: dict[int, Point]) -> list[Mark]:
    """Return the edges between neighbors as thin lines, unless there are too many to follow."""
    pairs: list[tuple[int, int]] = []
    pattern = graph.symmetric
    for node in places:
        start, end = (int(each) for each in pattern.indptr[node : node + 2])
        others = pattern.indices[start:end].tolist()
        pairs += [(node, other) for other in others if other in places and other > node]
    if len(pairs) > MAX_OTHER_EDGES:
        return []
    return [
        Mark("line", *_ends(places[a], places[b]), color="quiet", points=False, width=THIN, style="dotted")
        for a, b in pairs
    ]


def _ends(a: Point, b: Point) -> tuple[list[float], list[float]]:
    return [a[0], b[0]], [a[1], b[1]]


def _effect_edges(shown: Sequence[NeighborEffect], places: dict[int, Point], target: str) -> list[Mark]:
    """Return one line per neighbor, and the entries of the legend."""
    peak = max((abs(each.effect) for each in shown), default=0.0) or 1.0
    marks: list[Mark] = []
    for each in shown:
        is_for = each.effect >= 0
        width = THIN + (THICK - THIN) * abs(each.effect) / peak
        line = _ends((0.0, 0.0), places[each.node])
        marks.append(_line(line, width, is_for=is_for, name=""))
    signs = sorted({each.effect >= 0 for each in shown}, reverse=True)
    names = {True: f"speaks for {target}", False: f"speaks against {target}"}
    legend = [_line(([], []), 2.0, is_for=is_for, name=names[is_for]) for is_for in signs]
    return [*legend, *marks]


def _line(ends: tuple[list[float], list[float]], width: float, *, is_for: bool, name: str) -> Mark:
    style: Literal["solid", "dashed"] = "solid" if is_for else "dashed"
    return Mark("line", *ends, name=name, color="quiet", points=False, width=width, style=style)


def class_marks(
    center: int, places: Mapping[int, Point], classes: Mapping[int, str], names: Sequence[str]
) -> list[Mark]:
    """Return one mark per class, with the color of its number, and a ring around the node in the center."""
    marks = [Mark("point", [0.0], [0.0], color="ink", size=24.0, symbol="ring")]
    at = {**places, center: (0.0, 0.0)}
    numbers = {name: number for number, name in enumerate(names)}
    for name in sorted(set(classes.values()), key=lambda name: numbers.get(name, len(numbers))):
        nodes = [node for node in classes if classes[node] == name]
        x, y = [at[node][0] for node in nodes], [at[node][1] for node in nodes]
        title = f"class {name}" if name in numbers else name
        marks.append(Mark("point", x, y, name=title, color=numbers.get(name, "quiet"), size=16.0))
    return marks


def node_label(text: str, place: Point) -> Mark:
    """Return a text next to a node on the circle."""
    anchor: Literal["left", "center", "right"] = (
        "left" if place[0] > 0.15 else "right" if place[0] < -0.15 else "center"
    )
    x, y = ((1.19 if anchor == "center" else 1.1) * each for each in place)
    return Mark("text", [x], [y], labels=[text], anchor=anchor, color="ink")


def _caption(e: NodeExplanation, n_shown: int) -> str:
    which = "All neighbors" if n_shown == e.n_neighbors else f"The {n_shown} of {e.n_neighbors:,} neighbors that matter"
    return (
        f"{which}. The color of a node is its label, or its prediction if it has none. The width of a line is the "
        f"effect of the edge on the log-odds of {e.target}: solid lines speak for it, dashed lines against it."
    )


def _table(shown: Sequence[NeighborEffect]) -> Table:
    rows = [[n.id, _class(n), effect_text(n.effect), percent(n.probability)] for n in shown]
    return Table(["neighbor", "class", "effect", "probability without it"], rows)
