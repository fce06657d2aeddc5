"""Charts as SVG: coordinates, labels, colors, and that every name is escaped."""

import re
from xml.etree import ElementTree

import pytest

from heterophily.benchmark.significance import Ranking
from heterophily.core.chart import Axis, Chart, Mark, matrix_chart
from heterophily.models import REGISTRY
from heterophily.views.charts import rank_chart
from heterophily.views.frame import Frame, axis_range, log_ticks
from heterophily.views.looks import look_of
from heterophily.views.svg import draw_chart, draw_key

WILD = "<img src=x onerror=\"alert(1)\"> & 'co'"


def elements(svg, tag=None):
    found = ElementTree.fromstring(svg)
    return [each for each in found.iter() if tag in (None, each.tag)]


def texts(svg):
    return [each.text for each in elements(svg, "text")]


def test_names_are_text_and_never_markup():
    line = Mark("line", [0, 1], [1.0, 2.0], name=WILD, method=WILD)
    chart = Chart(WILD, [line, Mark("text", [0.0], [1.0], labels=[WILD])], Axis(WILD), Axis(WILD))
    svg = draw_chart(chart, [WILD])
    assert {each.tag for each in elements(svg)} <= {"svg", "g", "path", "circle", "text", "rect"}
    assert not any(name.startswith("on") for each in elements(svg) for name in each.attrib)
    assert WILD in texts(svg)


def test_larger_values_are_higher_and_further_to_the_right():
    svg = draw_chart(Chart("", [Mark("point", [1.0, 2.0], [10.0, 20.0])]))
    (x1, y1), (x2, y2) = [(float(c.get("cx")), float(c.get("cy"))) for c in elements(svg, "circle")]
    assert x1 < x2
    assert y1 > y2


def test_the_first_category_of_a_reversed_axis_is_on_top():
    svg = draw_chart(matrix_chart([[0.2, 0.8], [1.0, 0.0]], ["a", "b"], "M"))
    cells = elements(svg, "rect")
    assert [float(c.get("y")) for c in cells] == sorted(float(c.get("y")) for c in cells)
    assert [c.get("style") for c in cells] == ["--v:20%", "--v:80%", "--v:100%", "--v:0%"]
    assert "0.80: class of node a, class of neighbor b" in [c.get("data-tip") for c in cells]


def test_negative_cells_have_a_second_hue():
    svg = draw_chart(matrix_chart([[0.5, -0.5], [0.0, None]], ["a", "b"], "M"))
    assert [c.get("style") for c in elements(svg, "rect")] == ["--v:100%", "--v:100%;--h:var(--minus)", "--v:0%"]


def test_marks_have_the_method_that_hides_them():
    svg = draw_chart(Chart("", [Mark("line", [0, 1], [1.0, 2.0], method="gcn")]))
    (group,) = [g for g in elements(svg, "g") if g.get("data-method")]
    assert group.get("data-method") == "gcn"
    assert group.get("style").startswith("--c:var(--series-")


def test_no_two_methods_look_the_same():
    looks = {look_of(Mark("line", method=name)) for name in REGISTRY}
    assert len(looks) == len(REGISTRY)
    own = look_of(Mark("line", method="mine"), ["gcn", "mine"])
    assert own not in looks
    assert own != look_of(Mark("line", method="yours"), ["mine", "yours"])


def test_a_method_looks_the_same_on_every_page():
    mark = Mark("line", method="gcn")
    assert look_of(mark, ["gcn"]) == look_of(mark, ["mlp", "cmgnn", "gcn"]) == look_of(mark)


def test_long_lines_are_thinned_and_keep_their_ends():
    chart = Chart("", [Mark("line", range(1000), [0.5] * 1000, points=False)])
    path = next(each.get("d") for each in elements(draw_chart(chart), "path") if each.get("class") == "line")
    points = re.findall(r"[ML]([\d.]+) ", path)
    frame = Frame.of(chart)
    assert len(points) <= 160
    assert [float(points[0]), float(points[-1])] == pytest.approx([frame.x(0), frame.x(999)], abs=0.06)


def test_missing_values_are_gaps():
    svg = draw_chart(Chart("", [Mark("line", [0, 1, 2, 3], [1.0, 2.0, None, 3.0], points=False)]))
    path = next(each.get("d") for each in elements(svg, "path") if each.get("class") == "line")
    assert (path.count("M"), path.count("L")) == (2, 1)


def test_labels_stay_inside():
    label = "30.3 in epoch 0"
    marks = [Mark("line", [0, 50], [30.0, 20.0]), Mark("point", [0], [30.0], labels=[label], anchor="right")]
    chart = Chart("", marks)
    text = next(each for each in elements(draw_chart(chart), "text") if each.text == label)
    assert text.get("text-anchor") == "middle"
    assert float(text.get("x")) - 3.2 * len(label) >= Frame.of(chart).left - 0.1


def test_the_rank_diagram_has_a_bar_per_group():
    ranking = Ranking({"a": 1.0, "b": 2.2, "c": 2.8, "<d>": 4.0}, ("x", "y"), 3.0, 0.1, 2.0, 0.05)
    svg = draw_chart(rank_chart(ranking))
    bars = [p for p in elements(svg, "path") if p.get("stroke-width") == "3.7"]
    assert len(bars) == len(ranking.cliques) == 2
    assert any("<d>" in text for text in texts(svg))


def test_bars_start_at_zero():
    low, _ = axis_range(Chart("", [Mark("bar", ["a"], [40.0])], Axis(categories=["a"])), "y")
    assert low == 0
    ticks = log_ticks(0.5, 1e6)
    assert [value for value, _ in ticks] == [10.0**k for k in range(7)]


def test_keys_show_what_the_marks_show():
    solid = draw_key(Mark("line", name="a", color="quiet"))
    dashed = draw_key(Mark("line", name="b", color="quiet", style="dashed"))
    assert "stroke-dasharray" not in solid
    assert "stroke-dasharray" in dashed
    assert elements(draw_key(Mark("bar", name="c", color=1)), "rect")
