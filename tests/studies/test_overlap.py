from itertools import pairwise

import numpy as np
import pytest
import torch

from heterophily import Graph
from heterophily.core.compatibility import neighborhood_overlap
from heterophily.core.errors import HeterophilyError
from heterophily.studies import overlap
from heterophily.studies.degrees import degree_groups, group_names
from heterophily.studies.overlap import positions
from heterophily.studies.tidy import StudyData, filter_rows, unique_values
from heterophily.views.matplotlib import save_figures


def hoods(graph):
    """Class shares among neighbors, dense."""
    a = np.zeros((graph.n_nodes, graph.n_nodes))
    rows, columns = graph.symmetric.rows.long(), graph.symmetric.indices.long()
    a[rows, columns] = 1
    counts = a @ np.eye(graph.n_classes)[graph.labels]
    return counts / counts.sum(axis=1, keepdims=True).clip(1)


def gap(left, right):
    """max_t |F(t) - G(t)| by trying all points."""
    points = np.concatenate([left, right])
    return max(abs((left <= t + 1e-9).mean() - (right <= t + 1e-9).mean()) for t in points)


def test_overlap_of_a_group_by_hand(graph, monkeypatch, run):
    monkeypatch.setattr(overlap, "MIN_NODES", 1)
    study = run(overlap.STUDY, graph)
    shares, labels = hoods(graph), graph.labels.numpy()
    linked = shares.sum(axis=1) > 0
    means = np.stack([shares[linked & (labels == k)].mean(axis=0) for k in range(3)])
    nodes = torch.from_numpy(np.flatnonzero(linked))
    groups = {"all": nodes, **dict(zip(group_names(), degree_groups(graph.degrees, nodes), strict=True))}
    assert unique_values(study.rows, "group") == list(groups)
    for name, members in groups.items():
        rows = filter_rows(study.rows, group=name)
        assert [(r["class_a"], r["class_b"]) for r in rows] == [("ape", "bee"), ("ape", "cat"), ("bee", "cat")]
        for row, (a, b) in zip(rows, [(0, 1), (0, 2), (1, 2)], strict=True):
            sides = [shares[[i for i in members.tolist() if labels[i] == k]] for k in (a, b)]
            assert (row["n_a"], row["n_b"]) == tuple(map(len, sides))
            on_line = [side @ (means[a] - means[b]) for side in sides]
            assert row["overlap"] == pytest.approx(1 - gap(*on_line), abs=1e-5)
            assert row["lowest_degree"] == int(graph.degrees[members].min())


def test_among_all_nodes_nothing_changes(graph):
    everyone = torch.ones(graph.n_nodes, dtype=torch.bool)
    words = graph.symmetric, graph.labels, graph.n_classes
    assert torch.equal(neighborhood_overlap(*words), neighborhood_overlap(*words, among=everyone))


def test_few_nodes_have_no_overlap(graph, run):
    rows = run(overlap.STUDY, graph).rows
    for row in rows:
        assert (row["overlap"] is None) == (min(row["n_a"], row["n_b"]) < 10)
    assert {row["group"] for row in rows if row["overlap"] is not None} >= {"all"}
    assert any(row["overlap"] is None for row in rows)


def test_distributions_by_hand(graph, run):
    rows = filter_rows(run(overlap.STUDY, graph).tables["distribution"], group="all", node_class="bee")
    shares = hoods(graph)[(graph.labels == 1) & (graph.degrees > 0)]
    for row, k in zip(rows, range(3), strict=True):
        assert row["mean"] == pytest.approx(shares[:, k].mean(), abs=1e-5)
        assert row["median"] == pytest.approx(np.median(shares[:, k]), abs=1e-5)
        assert row["highest_5"] == pytest.approx(np.quantile(shares[:, k], 0.95), abs=1e-5)
        assert row["n_nodes"] == len(shares)
    assert [row["neighbor_class"] for row in rows] == ["ape", "bee", "cat"]


def test_the_class_means_lie_at_one_and_zero(graph):
    at = positions(graph, torch.from_numpy(hoods(graph)), (2, 0))
    linked = (graph.degrees > 0).numpy()
    labels = graph.labels.numpy()
    assert at[linked & (labels == 2)].mean() == pytest.approx(1)
    assert at[linked & (labels == 0)].mean() == pytest.approx(0, abs=1e-9)


def test_the_histogram_has_every_node_of_the_two_classes(graph, run):
    table = run(overlap.STUDY, graph, classes=("cat", "ape")).tables["histogram"]
    assert unique_values(table, "node_class") == ["cat", "ape"]
    for name in unique_values(table, "node_class"):
        for group in ("all", *group_names()):
            bars = filter_rows(table, node_class=name, group=group)
            assert sum(row["share"] for row in bars) == pytest.approx(1, abs=1e-4)
            assert all(a["high"] == b["low"] for a, b in pairwise(bars))


def test_the_two_largest_classes_are_drawn_unless_told(graph, run):
    larger = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)], np.eye(5), labels=[2, 0, 2, 1, 1])
    assert unique_values(run(overlap.STUDY, larger).tables["histogram"], "node_class") == ["1", "2"]
    with pytest.raises(HeterophilyError, match='unknown class of zoo "dog"'):
        run(overlap.STUDY, graph, classes=("cat", "dog"))
    with pytest.raises(HeterophilyError, match="no edges to labeled nodes"):
        run(overlap.STUDY, Graph.from_edges([], np.eye(2), labels=[0, 1]))


def test_rows_of_other_graphs_stay_and_figures_are_drawn_from_them(graph, tmp_path, run):
    run(overlap.STUDY, graph, out=tmp_path)
    run(overlap.STUDY, graph.replace(name="two"), out=tmp_path)
    run(overlap.STUDY, graph, out=tmp_path)
    study = StudyData.opened("overlap", tmp_path)
    assert sorted(unique_values(study.rows, "dataset")) == ["two", "zoo"]
    assert len(study.rows) == 2 * 6 * 3
    paths = save_figures(overlap.charts(study.by_file), tmp_path)
    assert sorted(path.name for path in paths) == ["overlap-two.png", "overlap-zoo.png"]
    assert all(path.stat().st_size > 5_000 for path in paths)
