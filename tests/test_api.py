"""The public functions do what the commands do, and return useful objects."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import heterophily
from heterophily import Graph, HeterophilyError, NodeClassifier
from heterophily.core.errors import HeterophilyWarning
from heterophily.data.splits import cross_validation_splits
from heterophily.models import find_method
from heterophily.training.explanation import ModelExplanation, NodeExplanation

COMMANDS = ("bench", "diagnose", "explain", "fit", "report", "search", "study", "table", "tune")
FAST = {"max_epochs": 3}
INLINE = {"settings": FAST, "engine": "inline"}


@pytest.fixture
def unsplit():
    """A graph of 50 nodes in three classes of different sizes, without splits."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [25, 15, 10])
    edges = rng.integers(0, 50, (150, 2))
    features = rng.normal(size=(50, 4)) + labels[:, None]
    return Graph.from_edges(edges, features, labels=labels, name="mine")


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_a_public_function(name):
    assert name in heterophily.__all__
    function = getattr(heterophily, name)
    assert callable(function)
    assert "Parameters\n" in function.__doc__
    assert "Returns\n" in function.__doc__


def test_import_stays_light():
    code = "import sys, heterophily; print([m for m in ('torch', 'numpy', 'optuna', 'rich') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_bench_accepts_names_graphs_and_methods(unsplit, tmp_path):
    graph = unsplit.replace(splits=cross_validation_splits(unsplit))
    models = ["mlp", find_method("gcn")]
    records = heterophily.bench(models, [graph, "digits"], splits="0", out=tmp_path, **INLINE)
    assert {(r.model, r.dataset) for r in records} == {(m, d) for m in ("mlp", "gcn") for d in ("mine", "digits")}
    assert all(record.done for record in records)
    again = heterophily.bench(models, [graph, "digits"], splits="0", out=tmp_path, **INLINE)
    assert [r.finished for r in again] == [r.finished for r in records]
    table = heterophily.table(tmp_path)
    assert str(table).splitlines()[0].split() == ["digits", "mine"]
    assert table.entries["mlp", "mine"].n == 1


def test_a_changed_graph_is_not_loaded_by_its_name(tmp_path):
    digits = heterophily.load("digits")
    other = digits.replace(splits=heterophily.random_splits(digits, seed=7, count=2))
    records = heterophily.bench("mlp", other, out=tmp_path, settings=FAST, workers=1)
    assert [record.split for record in records] == ["0", "1"]
    assert all(record.done for record in records), records[0].reason


def test_bench_divides_a_graph_without_test_nodes(unsplit, tmp_path):
    with pytest.warns(HeterophilyWarning, match="mine has no splits; the benchmark uses 5 cross-validation splits"):
        records = heterophily.bench("mlp", unsplit, out=tmp_path, **INLINE)
    assert [record.split for record in records] == list("01234")
    assert [record.details["split"]["test"] for record in records] == [10] * 5
    half = unsplit.replace(labels=torch.where(torch.arange(50) % 5 > 0, unsplit.labels, -1))
    parts = ([i for i in range(50) if i % 5 > 1], [i for i in range(50) if i % 5 == 1], range(0, 50, 5))
    unlabeled = half.replace(splits={"0": heterophily.Split.from_nodes(*map(list, parts))})
    with pytest.warns(HeterophilyWarning, match="no labeled test nodes"):
        records = heterophily.bench("mlp", unlabeled, out=tmp_path / "other", **INLINE)
    assert sum(record.details["split"]["test"] for record in records) == 40


def test_cross_validation_splits_are_stratified_and_seeded(unsplit):
    splits = cross_validation_splits(unsplit, seed=3)
    labels = unsplit.labels.numpy()
    tested = np.concatenate([split.test.numpy() for split in splits.values()])
    assert sorted(tested.tolist()) == list(range(50))
    for split in splits.values():
        assert np.bincount(labels[split.test]).tolist() == [5, 3, 2]
        assert np.bincount(labels[split.val], minlength=3).min() >= 2
        assert sum(map(len, split.parts.values())) == 50
    same, other = cross_validation_splits(unsplit, seed=3), cross_validation_splits(unsplit, seed=4)
    assert all((splits[name].test == same[name].test).all() for name in splits)
    assert not all((splits[name].test == other[name].test).all() for name in splits)
    few = Graph.from_edges([(0, 1)], np.eye(9), labels=np.arange(9) % 2, name="few")
    with pytest.raises(HeterophilyError, match="require at least 10 labeled nodes, but few has 9"):
        cross_validation_splits(few)


def test_fit_and_explain(unsplit, tmp_path):
    model = heterophily.fit(unsplit, "gcn", **FAST)
    assert isinstance(model, NodeClassifier)
    one = heterophily.explain(model, 3)
    assert isinstance(one, NodeExplanation)
    assert one.node == 3
    assert isinstance(heterophily.explain(model, n_repeats=2), ModelExplanation)
    with pytest.raises(HeterophilyError, match="target requires a node"):
        heterophily.explain(model, target="1")
    path = tmp_path / "gcn.toml"
    path.write_text("[mine]\nwidth = 16\nmax_epochs = 2\n")
    assert heterophily.fit(unsplit, "gcn", settings_file=path).method.width == 16


def test_search_and_tune_accept_names(tmp_path):
    options = {"trials": 1, "splits": "0", "settings": FAST}
    found = heterophily.search("mlp", "digits", out=tmp_path / "search", **options)
    assert found.dataset == "digits"
    tuned = heterophily.tune("mlp", "digits", out=tmp_path / "tune", **options)
    records = heterophily.bench(
        "mlp", "digits", splits="0", settings_files=[tmp_path / "tune" / "settings"], out=tmp_path
    )
    assert [record.trials for record in records] == [1]
    assert [record.source for record in records] == ["tune"]
    assert tuned.searches["mlp", "digits"].best.value is not None


def test_study_returns_tables_and_charts(unsplit, tmp_path):
    result = heterophily.study("overlap", unsplit, out=tmp_path)
    assert set(result.tables) == {"overlap", "overlap-distribution", "overlap-histogram"}
    assert result.charts
    assert all(path.exists() for path in result.files)
    with pytest.raises(HeterophilyError, match='unknown study "overlaps"; did you mean "overlap"'):
        heterophily.study("overlaps", unsplit)
    with pytest.raises(HeterophilyError, match='unknown option of the study overlap "class"; did you mean "classes"'):
        heterophily.study("overlap", unsplit, **{"class": 1})
