"""Training of boosted trees: selection by the scoring, and the same interface as networks."""

import numpy as np
import pytest
import torch

import heterophily.training.boosting as module
from heterophily import Graph, HeterophilyError, NodeClassifier, Split
from heterophily.runs.job import make_job
from heterophily.runs.worker import run_job
from heterophily.training.trainer import train

N = 240


@pytest.fixture(scope="module")
def graph():
    """Neighbors have the other class, and features are weak."""
    rng = np.random.default_rng(0)
    labels = np.arange(N) % 2
    ends = rng.integers(0, N // 2, (700, 2))
    edges = np.column_stack([2 * ends[:, 0], 2 * ends[:, 1] + 1])
    x = rng.normal(size=(N, 3)) + 0.3 * labels[:, None]
    split = Split.from_nodes(np.arange(120), np.arange(120, 180), np.arange(180, N))
    return Graph.from_edges(edges, x, labels=labels, splits={"0": split}, name="bipartite")


def run(graph, **options):
    options = {"max_epochs": 60, "patience": 20, **options}
    return train("boosting", graph, split=graph.split("0"), progress=False, **options)


def test_trees_learn_from_the_neighbors_of_other_classes(graph):
    _, result = run(graph)
    assert result.score("test") > 0.9
    _, alone = run(graph, n_hops=0, n_positions=0, label_shares=False)
    assert alone.score("test") < 0.8


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss"])
def test_the_best_iteration_by_the_scoring_is_retained(graph, scoring):
    trees, result = run(graph, scoring=scoring)
    scores = result.history.val_scores
    assert len(scores) == len(result.history.loss) == len(result.history.seconds) == result.n_epochs
    assert result.score("val", scoring) == pytest.approx(max(scores), abs=1e-6)
    assert scores[result.best_epoch] == max(scores)
    assert trees.forest.n_iterations == trees.inductive_forest.n_iterations == result.best_epoch + 1
    assert result.history.loss[-1] < result.history.loss[0]


def test_the_result_does_not_depend_on_the_sizes_of_chunks(graph, monkeypatch):
    trees, result = run(graph)
    monkeypatch.setattr(module, "FIRST_CHUNK", 3)
    again, other = run(graph)
    assert torch.equal(trees(graph), again(graph))
    assert (result.history.loss, result.stopped) == (other.history.loss, other.stopped)


def test_patience_ends_training(graph):
    _, result = run(graph, patience=5, max_epochs=500)
    scores = result.history.val_scores
    assert result.stopped == "patience"
    assert max(scores[-5:]) <= max(scores[:-5])
    assert scores[-6] > max(scores[:-6], default=0.0)


def test_a_seed_determines_the_trees(graph):
    (first, _), (again, _), (other, _) = (run(graph, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first(graph), again(graph))
    assert not torch.equal(first(graph), other(graph))


def test_test_labels_are_never_read(graph):
    labels = graph.labels.clone()
    labels[graph.split("0").test] = 0
    (first, a), (other, b) = run(graph), run(graph.replace(labels=labels))
    assert a.history.loss == b.history.loss
    assert torch.equal(first(graph), other(graph))


def test_class_weights_are_weights_of_training_nodes(graph):
    rare = torch.where((torch.arange(N) % 9 > 0) & (torch.arange(N) < 120), 0, graph.labels)
    skewed = graph.replace(labels=rare)
    (plain, _), (balanced, _) = run(skewed, max_epochs=5), run(skewed, max_epochs=5, class_weight="balanced")
    nodes = graph.split("0").train
    shares = [float(each(skewed).softmax(dim=1)[nodes, 1].mean()) for each in (plain, balanced)]
    assert shares[1] > shares[0] + 0.1
    with pytest.raises(HeterophilyError, match="class_weight must be"):
        run(skewed, class_weight="even")


def test_a_pause_retains_the_best_trees_so_far(graph):
    calls = []
    trees, result = run(graph, on_epoch=lambda epoch, score: calls.append((epoch, score)) or True)
    assert result.stopped == "paused"
    assert result.n_epochs == module.FIRST_CHUNK
    assert calls[0] == (module.FIRST_CHUNK - 1, max(result.history.val_scores))
    assert 0 < trees.forest.n_iterations <= module.FIRST_CHUNK


def test_one_class_of_training_nodes_gives_a_constant_prediction(graph):
    train_labels = torch.where(torch.arange(N) < 120, 0, graph.labels)
    trees, result = run(graph.replace(labels=train_labels))
    assert (result.n_epochs, result.best_epoch) == (0, 0)
    assert (trees(graph).argmax(dim=1) == 0).all()


def test_a_saved_classifier_predicts_the_same_and_contains_no_code(graph, tmp_path):
    model = NodeClassifier("boosting", max_epochs=30, n_positions=4).fit(graph, split="0")
    folder = model.save(tmp_path)
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}
    again = NodeClassifier.load(folder)
    np.testing.assert_array_equal(again.predict_proba(graph), model.predict_proba())
    assert again.method == model.method


def test_other_graphs_are_predicted_without_positions_and_labels(graph):
    model = NodeClassifier("boosting", max_epochs=40, patience=40).fit(graph, split="0")
    order = np.random.default_rng(0).permutation(N)
    rows = np.repeat(np.arange(N), graph.degrees.numpy())
    edges = np.column_stack([rows, graph.symmetric.indices.numpy()])
    place = np.argsort(order)
    moved = Graph.from_edges(place[edges], graph.features[order], labels=graph.labels[order])
    inductive = model.predictor_.inductive_forest(torch.from_numpy(model.predictor_.inductive_table(graph)))
    same = np.isclose(model.predict_proba(moved), inductive.softmax(dim=1).numpy()[order], rtol=1e-4).all(axis=1)
    assert same.mean() > 0.95  # a sum in another order may be on the other side of a threshold
    unlabeled = moved.replace(labels=torch.full((N,), -1))
    np.testing.assert_array_equal(model.predict_proba(moved), model.predict_proba(unlabeled))
    with pytest.raises(HeterophilyError, match="was fitted with 3 features, but"):
        model.predict(graph.replace(features=torch.ones(N, 2)))


def test_a_job_writes_a_record(graph):
    job = make_job("boosting", graph, "0", seed=0, settings={"max_epochs": 10})
    record = run_job(job)
    assert record.status == "done"
    assert record.run["n_epochs"] == 10
    assert record.parameters == 0
    assert record.settings["max_leaf_nodes"] == 15
    assert "width" not in record.settings
