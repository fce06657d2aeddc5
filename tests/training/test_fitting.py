"""Calibration of single models, and `auto` as a classifier."""

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, NodeClassifier, Split
from heterophily.data.splits import random_splits
from heterophily.training.auto.calibration import expected_calibration_error, measure_calibration

QUICK = {"max_epochs": 30, "width": 16}


def overconfident(n, seed):
    """Logits that are three times too large for their labels."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, 3, generator=generator)
    labels = torch.multinomial(z.softmax(dim=1), 1, generator=generator)[:, 0]
    return 3 * z, labels


def test_calibration_is_measured_on_test_nodes_or_on_validation_nodes_that_did_not_fit_it():
    logits, labels = overconfident(3000, 0)
    split = Split.from_nodes([0], range(1, 1500), range(1500, 3000))
    found = measure_calibration(logits, logits / 3, labels, split)
    assert (found.part, found.n_nodes) == ("test", 1500)
    assert found.before.error == pytest.approx(
        expected_calibration_error(logits[1500:].softmax(dim=1).numpy(), labels[1500:].numpy()), abs=1e-6
    )
    assert found.after.error < 0.04 < 0.15 < found.before.error
    without = measure_calibration(logits, logits / 3, labels, Split.from_nodes([0], range(1, 1500)))
    assert (without.part, without.n_nodes) == ("validation", 1499)
    assert without.after.error < 0.05 < 0.15 < without.before.error
    assert sum(each.n_nodes for each in without.after.bins) == 1499


def test_nodes_are_not_calibrated_by_their_own_labels():
    """With random labels and few nodes, calibration by these nodes would look better than it is."""
    logits, _ = overconfident(20, 1)
    labels = torch.arange(20) % 3
    split = Split.from_nodes([0], range(20))
    found = measure_calibration(logits, logits / 3, labels, split)
    changed = labels.clone()
    changed[-1] = (labels[-1] + 1) % 3
    again = measure_calibration(logits, logits / 3, changed, split)
    assert found.after != again.after


@pytest.mark.parametrize("model", ["mlp", "gcn"])
def test_a_calibrated_model_is_saved_and_keeps_its_embeddings(graph, split, tmp_path, model):
    plain = NodeClassifier(model, **QUICK, scoring="accuracy").fit(graph, split=split)
    fitted = NodeClassifier(model, **QUICK, scoring="accuracy", calibrate=True).fit(graph, split=split)
    np.testing.assert_array_equal(plain.embed(), fitted.embed())
    assert plain.calibration_.after is None
    assert fitted.calibration_.after is not None
    assert fitted.calibration_.before == plain.calibration_.before
    temperature = float(fitted.predictor_.temperature)
    assert temperature != 1
    expected = torch.from_numpy(plain.predict_proba()).log().div(temperature).softmax(dim=1)
    np.testing.assert_allclose(fitted.predict_proba(), expected, atol=1e-5)
    val = split.val
    log_loss = -np.log(fitted.predict_proba()[val, graph.labels[val]]).mean()
    assert fitted.run_.scores["val"]["neg_log_loss"] == pytest.approx(-log_loss, abs=1e-5)
    assert log_loss <= -plain.run_.scores["val"]["neg_log_loss"]
    loaded = NodeClassifier.load(fitted.save(tmp_path), graph=graph)
    np.testing.assert_array_equal(loaded.predict_proba(), fitted.predict_proba())
    assert loaded.calibration_ == fitted.calibration_


@pytest.fixture(scope="module")
def unscaled():
    """Two columns, of which one has huge values, and edges from class k to k + 1."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=240)
    x = rng.normal(np.eye(3, 4)[labels], 0.4) * [1, 1e6, 1, 1] + [0, 1.7e9, 0, 0]
    adjacency = rng.random((240, 240)) < np.where(labels[:, None] == (labels + 1) % 3, 0.05, 0.005)
    graph = Graph.from_edges(np.argwhere(adjacency), x, labels=labels, name="own")
    return graph.replace(splits=random_splits(graph, count=1))


@pytest.mark.parametrize("ensemble", [True, False])
def test_auto_is_one_model_that_is_saved_and_loaded(unscaled, tmp_path, ensemble):
    model = NodeClassifier("auto", budget="10m", ensemble=ensemble, max_epochs=30, width=8, workers=1)
    fitted = model.fit(unscaled, split="0")
    assert fitted.score() > 0.7
    board = fitted.leaderboard_
    assert board.scoring == fitted.scoring_.name
    assert sum(entry.weight for entry in board.entries) == pytest.approx(1)
    assert len(board.members) == len(fitted.predictor_.members)
    assert len(board.members) == 1 or ensemble
    assert fitted.calibration_.after is not None
    assert fitted.method.name == board.members[0].method
    loaded = NodeClassifier.load(fitted.save(tmp_path), graph=unscaled)
    np.testing.assert_array_equal(loaded.predict_proba(), fitted.predict_proba())
    np.testing.assert_array_equal(NodeClassifier.load(tmp_path).predict(unscaled), fitted.predict())
    assert [entry.name for entry in loaded.leaderboard_.ranked] == [entry.name for entry in board.ranked]
    assert loaded.leaderboard_.to_dict() == board.to_dict()
    assert loaded.run_ == fitted.run_


def test_what_auto_does_not_support_is_rejected(unscaled, tmp_path):
    for options, sentence in [
        ({"budget": "soon"}, "budget must be a positive time"),
        ({"budget": 1e-6}, "no candidate of auto finished within the budget"),
        ({"widht": 3}, "no candidate of auto has a setting widht"),
    ]:
        with pytest.raises(HeterophilyError, match=sentence):
            NodeClassifier("auto", **options).fit(unscaled, split="0")
    with pytest.raises(HeterophilyError, match="auto has no checkpoint file"):
        NodeClassifier("auto").fit(unscaled, split="0", checkpoint=tmp_path / "c.pt")
    assert NodeClassifier("auto").set_params(width=8).get_params()["width"] == 8
    with pytest.raises(HeterophilyError, match="unknown parameter of NodeClassifier"):
        NodeClassifier("auto").set_params(widht=8)
