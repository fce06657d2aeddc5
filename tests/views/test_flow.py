"""The flow between classes: the heights of ribbons are the entries of the compatibility matrix."""

import numpy as np
import pytest

from heterophily.views.flow import MAX_CLASSES, MAX_RIBBONS, flow_charts


def ribbons(chart):
    """Heights of the areas at both ends, by color."""
    found = []
    for mark in chart.marks:
        if mark.kind == "area":
            half = len(mark.x) // 2
            found.append((mark.color, mark.y[-1] - mark.y[0], mark.y[half] - mark.y[half - 1]))
    return found


def test_the_height_of_a_ribbon_is_a_share_of_neighbors():
    matrix = np.array([[0.25, 0.75], [1.0, 0.0]])
    (chart,) = flow_charts(matrix, ["a", "b"])
    (first, small, _), (_, large, _), (third, all_of_b, end_of_b) = ribbons(chart)
    assert (first, third) == (0, 1)
    assert large / small == pytest.approx(3)
    assert all_of_b == pytest.approx(small + large)
    assert end_of_b == pytest.approx(all_of_b)
    tips = [mark.tips[0] for mark in chart.marks if mark.kind == "area"]
    assert tips[1] == "75% of the neighbors of a are b"
    assert chart.table.rows[1] == ["b", "100.0", "0.0"]


def test_only_the_largest_shares_of_many_classes_are_drawn():
    k = 12
    (chart,) = flow_charts(np.random.default_rng(0).dirichlet(np.ones(k), k), [f"c{i}" for i in range(k)])
    drawn = [color for color, _, _ in ribbons(chart)]
    assert 1 <= min(drawn.count(i) for i in range(k)) <= max(drawn.count(i) for i in range(k)) <= MAX_RIBBONS
    assert "up to half of the neighbors" in chart.caption
    assert chart.wide


def test_ribbons_of_many_classes_reach_half_of_the_neighbors():
    k = 12
    matrix = np.full((k, k), 0.4 / (k - 1))
    np.fill_diagonal(matrix, 0.6)
    matrix[0] = [0.3, 0.25, *[0.45 / (k - 2)] * (k - 2)]
    (chart,) = flow_charts(matrix, [f"c{i}" for i in range(k)])
    drawn = [color for color, _, _ in ribbons(chart)]
    assert [drawn.count(i) for i in range(k)] == [2] + [1] * (k - 1)


def test_names_of_small_classes_do_not_overlap():
    (chart,) = flow_charts(np.tile([0.01, 0.01, 0.01, 0.97], (4, 1)), ["a", "b", "c", "d"])
    heights = next(mark.y for mark in chart.marks if len(mark.labels) == 4 and mark.anchor == "left")
    assert np.diff(heights).min() >= 14 / (105 * chart.height) - 1e-3


def test_classes_without_neighbors_have_no_ribbons():
    (chart,) = flow_charts(np.array([[0.0, 0.0], [0.0, 1.0]]), ["a", "b"])
    assert [color for color, _, _ in ribbons(chart)] == [1]
    assert flow_charts(np.zeros((2, 2)), ["a", "b"]) == []
    assert flow_charts(np.eye(MAX_CLASSES + 1), ["c"] * (MAX_CLASSES + 1)) == []
