import numpy as np
import pytest
import torch

from heterophily.core.compatibility import observed_compatibility
from heterophily.studies import compatibility
from heterophily.studies.compatibility import START, matrix_of, matrix_rows
from heterophily.studies.tidy import StudyData, filter_rows, unique_values
from heterophily.training.trainer import train
from heterophily.views.matplotlib import save_figures


@pytest.fixture(scope="module")
def study(graph, run):
    options = {"splits": 2, "settings": {"max_epochs": 12, "width": 8}, "device": "cpu"}
    return run(compatibility.STUDY, graph, models=("cmgnn", "gcn"), **options)


def observed(graph):
    return observed_compatibility(graph.symmetric, graph.labels, graph.n_classes).numpy()


def test_a_matrix_comes_back_from_its_rows():
    matrix = np.random.default_rng(0).random((3, 3))
    rows = matrix_rows(matrix, ["x", "y", "z"], kind="observed")
    assert rows[1] == {"kind": "observed", "node_class": "x", "neighbor_class": "y", "share": matrix[0, 1]}
    again, names = matrix_of(reversed(rows))
    assert names == ["z", "y", "x"]
    np.testing.assert_array_equal(again, matrix[::-1, ::-1])


def test_matrices_of_the_first_split_and_their_distance(graph, study):
    table = study.tables["matrices"]
    assert unique_values(table, "split") == ["0"]
    for model in ("cmgnn", "gcn"):
        rows = filter_rows(table, model=model)
        shown, names = matrix_of(filter_rows(rows, kind="observed"))
        assert names == ["ape", "bee", "cat"]
        np.testing.assert_allclose(shown, observed(graph), rtol=1e-5)
        estimated, _ = matrix_of(filter_rows(rows, kind="estimated"))
        (row,) = filter_rows(study.rows, model=model, split="0")
        assert row["distance"] == pytest.approx(np.abs(estimated - observed(graph)).mean(), rel=1e-4)


def test_the_estimate_is_that_of_the_kept_state(graph, study):
    split = graph.split("0")
    options = {"split": split, "seed": 0, "device": "cpu", "max_epochs": 12, "width": 8}
    network, _ = train("cmgnn", graph, **options)
    rows = filter_rows(study.tables["matrices"], model="cmgnn", kind="estimated")
    np.testing.assert_allclose(matrix_of(rows)[0], network.states[0].compatibility, rtol=1e-4)
    network, _ = train("gcn", graph, **options)
    with torch.no_grad():
        predicted = network(graph).argmax(dim=1)
    of_predictions = observed_compatibility(graph.symmetric, predicted, 3)
    rows = filter_rows(study.tables["matrices"], model="gcn", kind="estimated")
    np.testing.assert_allclose(matrix_of(rows)[0], of_predictions, rtol=1e-4)


@pytest.mark.parametrize("model", ["cmgnn", "gcn"])
def test_the_trace_begins_with_training_labels_and_has_every_improvement(graph, study, model):
    seen = []

    def watch(epoch, network, logits):
        if model == "cmgnn":
            matrix = network.states[0].compatibility.double().numpy().copy()
        else:
            matrix = observed_compatibility(graph.symmetric, logits.argmax(dim=1), 3).numpy()
        seen.append((epoch, np.abs(matrix - observed(graph)).mean()))

    split = graph.split("0")
    train(model, graph, split=split, seed=0, device="cpu", max_epochs=12, width=8, on_improvement=watch)
    trace = filter_rows(study.tables["trace"], model=model, split="0")
    assert [row["epoch"] for row in trace] == [START, *(epoch for epoch, _ in seen)]
    found = [row["distance"] for row in trace[1:]]
    np.testing.assert_allclose(found, [moved for _, moved in seen], rtol=1e-4)
    assert [row["val_accuracy"] for row in trace[1:]] == sorted(row["val_accuracy"] for row in trace[1:])
    labels = torch.full_like(graph.labels, -1)
    labels[split.train] = graph.labels[split.train]
    start = observed_compatibility(graph.symmetric, labels, 3).numpy()
    if model == "gcn":
        assert trace[0]["distance"] == pytest.approx(np.abs(start - observed(graph)).mean(), rel=1e-4)
    else:  # weighs degrees, so it is near but not equal
        assert trace[0]["distance"] == pytest.approx(np.abs(start - observed(graph)).mean(), abs=0.05)
        assert trace[0]["distance"] != trace[1]["distance"]


def test_the_summary_has_start_and_end(study):
    first, second = compatibility.distances(study.by_file)
    assert (first["model"], second["model"]) == ("cmgnn", "gcn")
    ends = [row["distance"] for row in filter_rows(study.rows, model="gcn")]
    assert second["end"] == pytest.approx(np.mean(ends))
    assert second["n_splits"] == 2
    starts = filter_rows(study.tables["trace"], model="gcn", epoch=START)
    assert second["start"] == pytest.approx(np.mean([row["distance"] for row in starts]))


def test_figures_are_drawn_from_the_data_alone(study, tmp_path, no_training):
    no_training()
    StudyData("compatibility", tmp_path, study.tables).write()
    charts = compatibility.charts(StudyData.opened("compatibility", tmp_path).by_file)
    paths = save_figures(charts, tmp_path / "figures")
    names = [f"compatibility-zoo-{model}.png" for model in ("cmgnn", "gcn")]
    assert [path.name for path in paths] == [*names, "compatibility-trace.png"]
    assert all(path.stat().st_size > 5_000 for path in paths)
    assert compatibility.charts(StudyData("compatibility").by_file) == []
