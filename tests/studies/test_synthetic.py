import numpy as np
import pytest
import torch

from heterophily.core.compatibility import discriminability, observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.data.synthetic import digits, synthetic_graph
from heterophily.models.settings import tuned
from heterophily.studies import synthetic
from heterophily.studies.synthetic import SyntheticOptions, make_graph_jobs, swept_graph
from heterophily.studies.tidy import StudyData, filter_rows, unique_values
from heterophily.views.matplotlib import draw_charts, save_figures

SHORT = {"max_epochs": 2, "width": 8}


@pytest.fixture(scope="module")
def base():
    return digits()


@pytest.fixture(scope="module")
def study(base, run):
    return run(synthetic.STUDY, base, splits=1, settings=SHORT, device="cpu")


def test_twelve_graphs_for_each_method(study):
    for model in ("gcn", "mlp"):
        rows = filter_rows(study.rows, model=model)
        cells = {(row["homophily"], row["pattern"], row["degree"]) for row in rows}
        assert cells == {(h, p, d) for h in (0.2, 0.5, 0.8) for p in ("easy", "hard") for d in (4, 18)}
        assert len(rows) == 12


def test_features_alone_give_one_run_for_all_graphs(study):
    mlp, gcn = filter_rows(study.rows, model="mlp"), filter_rows(study.rows, model="gcn")
    assert len(unique_values(mlp, "run")) == len(unique_values(mlp, "test_accuracy")) == 1
    assert len(unique_values(gcn, "run")) == 12
    assert unique_values(mlp, "discriminability") == unique_values(gcn, "discriminability")


def test_rows_carry_what_the_graph_is_like(base, study):
    (row,) = filter_rows(study.rows, model="gcn", homophily=0.5, pattern="easy", degree=18)
    graph = synthetic_graph(base, homophily=0.5, pattern="easy", degree=18)
    matrix = observed_compatibility(graph.symmetric, graph.labels, 10)
    assert row["discriminability"] == pytest.approx(discriminability(matrix), rel=1e-4)
    assert row["edge_homophily"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("degree", [4, 18])
@pytest.mark.parametrize(("rest", "pattern"), [(0.02, "easy"), (1.0, "hard")])
def test_the_ends_of_the_sweep_are_the_easy_and_the_hard_graphs(base, rest, pattern, degree):
    swept = swept_graph(base, homophily=0.3, rest=rest, degree=degree, seed=4)
    known = synthetic_graph(base, homophily=0.3, pattern=pattern, degree=degree, seed=4)
    assert torch.equal(swept.symmetric.indices, known.symmetric.indices)
    assert torch.equal(swept.symmetric.indptr, known.symmetric.indptr)


def test_discriminability_falls_from_one_end_to_the_other(base):
    told = []
    for rest in (0.02, 0.1, 0.3, 1.0):
        graph = swept_graph(base, homophily=0.1, rest=rest, degree=18)
        told.append(discriminability(observed_compatibility(graph.symmetric, graph.labels, 10)))
    assert told == sorted(told, reverse=True)
    assert told[0] - told[-1] > 0.3


def test_edges_need_all_labels(base):
    labels = base.labels.clone()
    labels[3] = -1
    with pytest.raises(HeterophilyError, match="nodes without a label"):
        swept_graph(base.replace(labels=labels), homophily=0.1, rest=0.5, degree=4)


def test_the_sweep_has_the_whole_grid_and_a_figure(base, tmp_path, run):
    grid = {"homophilies": (0.1, 0.7), "off_ring_preferences": (0.02, 1.0), "degrees": (4,)}
    options = {"splits": 1, "settings": SHORT, "device": "cpu", "out": tmp_path, "sweep": True}
    study = run(synthetic.STUDY, base, models=("gcn",), table="sweep", **grid, **options)
    assert [(r["homophily"], r["rest"]) for r in study.rows] == [(0.1, 0.02), (0.1, 1), (0.7, 0.02), (0.7, 1)]
    (path,) = save_figures(synthetic.charts(StudyData.opened("sweep", tmp_path).by_file), tmp_path)
    assert path.name == "sweep-digits.png"
    assert path.stat().st_size > 5_000


def feature_norm(base, model, **settings):
    graphs = {(0.2, "easy", 4): base}
    options = SyntheticOptions(graphs=(base,), models=(model,), splits=1, settings=settings)
    (made,) = make_graph_jobs(base, graphs, options, column="pattern")
    return made.job.empty_record.settings["feature_norm"]


def test_methods_take_the_same_features(base):
    bare = base.replace(splits={})
    assert feature_norm(bare, "gcn") == "l1"
    assert feature_norm(bare, "gcn", feature_norm="l2") == "l2"


def test_committed_settings_of_the_base_come_before_those_of_the_study(base):
    known = base.replace(name="actor")
    assert tuned("gcn", "actor")["feature_norm"] == feature_norm(known, "gcn") == "none"
    assert feature_norm(known, "gcn", feature_norm="l2") == "l2"
    assert feature_norm(known, "linkx") == "l1"  # nothing is committed


def test_the_papers_numbers_stand_beside():
    row = {"dataset": "cora", "model": "gcn", "homophily": 0.2, "pattern": "hard", "degree": 18}
    assert synthetic.in_paper(row) == 39.22
    assert synthetic.in_paper({**row, "model": "mlp"}) == 72.54
    assert synthetic.in_paper({**row, "model": "cmgnn"}) is None
    assert synthetic.in_paper({**row, "dataset": "digits"}) is None


def test_the_figure_has_a_line_per_kind_and_one_for_features_alone(study):
    figure = draw_charts(synthetic.charts(study.by_file))
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["gcn, easy", "gcn, hard", "mlp"]
    assert [axes.get_title() for axes in figure.axes] == ["degree 18", "degree 4"]
    drawn = figure.axes[0].lines[1].get_ydata()
    rows = [filter_rows(study.rows, model="gcn", pattern="hard", degree=18, homophily=h)[0] for h in (0.2, 0.5, 0.8)]
    np.testing.assert_allclose(drawn, [row["test_accuracy"] for row in rows])
