import numpy as np
import pytest
import torch

from heterophily.studies import degrees
from heterophily.studies.degrees import degree_groups, group_names
from heterophily.studies.tidy import filter_rows, unique_values
from heterophily.training.trainer import train
from heterophily.views.matplotlib import draw_charts, save_figures


def test_groups_by_hand():
    degree = torch.tensor([9, 2, 2, 7, 0, 1, 2, 5, 5, 3, 8, 2])
    nodes = torch.tensor([11, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10])  # not 4
    groups = [group.tolist() for group in degree_groups(degree, nodes)]
    # by degree: 5 (1); 1, 2, 6, 11 (2 each, by number); 9 (3); 7, 8 (5); 3 (7); 10 (8); 0 (9)
    assert groups == [[5, 1, 2], [6, 11], [9, 7], [8, 3], [10, 0]]


@pytest.mark.parametrize("count", [0, 3, 5, 17, 40])
def test_groups_are_a_partition_in_order(count):
    rng = np.random.default_rng(count)
    degree = torch.from_numpy(rng.integers(0, 6, size=50))
    nodes = torch.from_numpy(rng.permutation(50)[:count])
    groups = degree_groups(degree, nodes)
    assert len(groups) == 5
    assert sorted(torch.cat(groups).tolist()) == sorted(nodes.tolist())
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    ordered = [(int(degree[i]), int(i)) for i in torch.cat(groups)]
    assert ordered == sorted(ordered)


def test_names_of_groups():
    assert group_names() == ["0-20", "20-40", "40-60", "60-80", "80-100"]
    assert group_names(4) == ["0-25", "25-50", "50-75", "75-100"]


def test_rows_against_a_computation_by_hand(graph, short):
    study = short(degrees.STUDY, graph, models=("gcn", "mlp"))
    assert unique_values(study.rows, "model") == ["gcn", "mlp"]
    assert len(study.rows) == 2 * 2 * 5
    split = graph.split("1")
    network, run = train("gcn", graph, split=split, seed=1, device="cpu", max_epochs=4, width=8)
    with torch.no_grad():
        right = network(graph).argmax(dim=1) == graph.labels
    order = sorted(split.test.tolist(), key=lambda node: (int(graph.degrees[node]), node))
    rows = filter_rows(study.rows, model="gcn", split="1")
    start = 0
    for row in rows:
        nodes = order[start : start + row["n_nodes"]]
        start += row["n_nodes"]
        assert row["test_accuracy"] == pytest.approx(100 * float(right[nodes].float().mean()), abs=1e-3)
        assert row["lowest_degree"] == int(graph.degrees[nodes[0]])
        assert row["highest_degree"] == int(graph.degrees[nodes[-1]])
    assert start == len(split.test)
    total = sum(row["test_accuracy"] * row["n_nodes"] for row in rows) / start
    assert total == pytest.approx(100 * run.scores["test"]["accuracy"], abs=1e-3)


def test_the_papers_numbers_stand_beside():
    row = {"model": "cmgnn", "dataset": "chameleon-f"}
    printed = [degrees.in_paper({**row, "group": name}) for name in group_names()]
    assert printed == [40.73, 45.28, 56.02, 46.64, 39.93]
    assert degrees.in_paper({**row, "model": "mlp", "group": "0-20"}) is None


def made(dataset, model, paper):
    return [
        {"dataset": dataset, "model": model, "split": s, "group": g, "test_accuracy": 50.0 + i,
         "paper": None if paper is None else paper + i}
        for s in "01" for i, g in enumerate(group_names())
    ]  # fmt: skip


def test_the_figure_shows_means_and_the_papers_line(no_training):
    no_training()
    rows = [*made("a", "cmgnn", 40.0), *made("a", "gcn", None), *made("b", "gcn", None)]
    figure = draw_charts(degrees.charts({"degrees": rows}))
    first, second = figure.axes[:2]
    assert [axes.get_title() for axes in (first, second)] == ["a", "b"]
    lines = [list(line.get_ydata()) for line in first.lines if len(line.get_ydata())]
    assert lines == [[50, 51, 52, 53, 54], [40, 41, 42, 43, 44], [50, 51, 52, 53, 54]]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["cmgnn", "gcn", "paper"]


def test_a_figure_is_a_file(tmp_path):
    charts = degrees.charts({"degrees": made("a", "cmgnn", None)})
    (path,) = save_figures(charts, tmp_path, extension="svg")
    assert path.read_bytes().startswith(b"<?xml")
