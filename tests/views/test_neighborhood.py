"""The picture of a neighborhood: nodes colored by class, and lines whose width is the effect."""

import pytest

from heterophily import Graph
from heterophily.training.explanation import NeighborEffect, NodeExplanation
from heterophily.views.explain import effect_charts
from heterophily.views.neighborhood import MAX_NEIGHBORS, neighborhood_chart


def explanation(effects, *, n_neighbors=None):
    neighbors = tuple(
        NeighborEffect(id=f"n{i}", node=i, effect=x, probability=0.5, label=None if i == 2 else "a", predicted="b")
        for i, x in effects.items()
    )
    return NodeExplanation(
        id="n0", node=0, graph="g", model="GCN", target="a", probability=0.7, predicted="a", label=None,
        probabilities={"a": 0.7, "b": 0.3}, gates=(), parts=(), neighbor_classes=(), neighbors=neighbors, columns=(),
        n_neighbors=n_neighbors or len(effects), n_columns=0, n_evaluations=3, n_hops=2,
    )  # fmt: skip


def test_lines_show_size_and_sign_of_effects():
    graph = Graph.from_edges([(0, 1), (0, 2), (0, 3), (1, 2)])
    chart = neighborhood_chart(explanation({1: 2.0, 2: -1.0, 3: 0.0}), graph)
    lines = [mark for mark in chart.marks if mark.kind == "line" and len(mark.x) and mark.style != "dotted"]
    widths = sorted((mark.width, mark.style) for mark in lines)
    assert [style for _, style in widths] == ["solid", "dashed", "solid"]
    assert widths[0][0] == pytest.approx(0.8)
    assert widths[2][0] == pytest.approx(7.0)
    assert sum(mark.style == "dotted" for mark in chart.marks) == 1
    assert [mark.name for mark in chart.legend] == ["speaks for a", "speaks against a", "class a", "class b"]
    places = {mark.name: list(zip(mark.x, mark.y, strict=True)) for mark in chart.marks if mark.kind == "point"}
    assert len(places["class b"]) == 1
    assert (0.0, 0.0) in places["class a"]
    labels = [text for mark in chart.marks if mark.kind == "text" for text in mark.labels]
    assert sorted(labels) == ["n1 (+2.00)", "n2 (−1.00)", "n3 (0.00)"]
    assert len(chart.table.rows) == 3
    assert effect_charts(explanation({1: 2.0})) == []


def test_only_the_neighbors_that_matter_most_are_drawn():
    count = MAX_NEIGHBORS + 5
    everyone = [(i, j) for i in range(count + 1) for j in range(i)]
    chart = neighborhood_chart(explanation({i: 1 / i for i in range(1, count + 1)}), Graph.from_edges(everyone))
    labels = [text for mark in chart.marks if mark.kind == "text" for text in mark.labels]
    assert len(labels) == MAX_NEIGHBORS
    assert f"The {MAX_NEIGHBORS} of {count} neighbors" in chart.caption
    assert not any(mark.style == "dotted" for mark in chart.marks)


def test_a_node_without_neighbors_is_alone():
    chart = neighborhood_chart(explanation({}), Graph.from_edges([], n_nodes=1))
    assert [mark.kind for mark in chart.marks] == ["point", "point"]
