"""Charts: positions of marks, legends, and the table that follows from the marks."""

import pytest

from heterophily.core.chart import Axis, Chart, Mark, matrix_chart
from heterophily.views import matplotlib
from heterophily.views.svg import draw_chart

GROUPS = ("low", "high")


def lines():
    ours = Mark("line", GROUPS, [1.0, 2.0], name="gcn", method="gcn")
    theirs = Mark("line", GROUPS, [1.5, None], name="gcn", method="gcn", paper=True)
    return Chart("lines", [ours, theirs], Axis("degree", GROUPS), Axis("accuracy"))


def bars():
    marks = [Mark("bar", GROUPS, [i, -i], name=name, color=i) for i, name in enumerate("ab")]
    marks.append(Mark("point", GROUPS, [3.0, 4.0], name="b", paper=True))
    return Chart("bars", marks, Axis("", GROUPS), Axis("change"))


def points():
    marks = [
        Mark("point", [1.0], ["gcn"], method="gcn", errors=[0.5]),
        Mark("point", [2.0], ["gcn"], method="gcn", paper=True),
    ]
    return Chart("points", marks, Axis("accuracy"), Axis("method", ["gcn"], reverse=True))


def curve():
    return Chart("curve", [Mark("line", range(50), [*map(float, range(50))], name="gcn")], digits=1)


def matrix():
    return matrix_chart([[0.5, -0.5], [0.0, None]], ["a", "b"], "matrix")


CHARTS = (lines, bars, points, curve, matrix)


def test_a_table_has_a_row_per_series_and_a_column_per_category():
    table = lines().table
    assert table.head == ["degree", "low", "high"]
    assert table.rows == [["gcn", "1.00", "2.00"], ["gcn, paper", "1.50", "–"]]


def test_a_horizontal_chart_has_a_row_per_category():
    table = points().table
    assert table.head == ["method", "here", "paper"]
    assert table.rows == [["gcn", "1.00 ± 0.50", "2.00"]]


def test_long_lines_are_summarized():
    assert curve().table.rows == [["gcn", "0.0", "49.0", "0.0", "49.0"]]


def test_a_matrix_is_its_own_table_and_negative_entries_need_two_hues():
    assert matrix().table.rows == [["a", "0.500", "−0.500"], ["b", "0.000", "–"]]
    assert matrix().marks[0].limits == (-0.5, 0.5)


def test_bars_are_side_by_side_and_the_papers_number_is_over_its_bar():
    chart = bars()
    first, second, paper = (chart.positions(mark)[0] for mark in chart.marks)
    assert first == pytest.approx([-0.2, 0.8])
    assert second == paper == pytest.approx([0.2, 1.2])


def test_one_name_needs_no_legend_unless_the_paper_is_there():
    assert curve().legend == []
    assert [mark.name for mark in lines().legend] == ["gcn"]
    assert [mark.name for mark in bars().legend] == ["a", "b"]


@pytest.mark.parametrize("make", CHARTS)
def test_both_renderers_draw_every_kind_of_chart(make, tmp_path):
    chart = make()
    assert draw_chart(chart, ["gcn"]).startswith("<svg")
    path = matplotlib.save_charts([chart], tmp_path / "chart.png")
    assert path.stat().st_size > 2_000
