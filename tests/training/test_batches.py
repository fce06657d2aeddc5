"""Training in batches: the step of the whole graph, seeds, belief, and what is refused."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from heterophily import Graph, HeterophilyError, NodeClassifier
from heterophily.htmp.execution import blockwise as layerwise
from heterophily.htmp.losses import classification
from heterophily.htmp.method import full_graph_reason
from heterophily.htmp.network import Network
from heterophily.models import NETWORKS
from heterophily.models.cmgnn.state import class_sums, prototype_features
from heterophily.training.seeds import derived_seed
from heterophily.training.steps import MiniBatch

QUIET = {"dropout": 0.0, "max_epochs": 4}


def assert_close_scores(first, second):
    for part, scores in second.scores.items():
        assert first.scores[part] == pytest.approx(scores, rel=1e-4)


@pytest.mark.parametrize("weighted", [None, "balanced"])
@pytest.mark.parametrize("model", ["gcn", "cmgnn", "gbk-gnn", "linkx"])
def test_one_batch_with_all_neighbors_is_training_on_the_whole_graph(run, model, weighted):
    _, whole = run(model, class_weight=weighted, **QUIET)
    _, batch = run(model, class_weight=weighted, batch_size=30, neighbors="all", **QUIET)
    np.testing.assert_allclose(batch.history.loss, whole.history.loss, rtol=1e-4)
    assert batch.history.val_scores == whole.history.val_scores
    assert_close_scores(batch, whole)


@pytest.mark.parametrize("model", NETWORKS)
def test_every_method_trains_in_batches_or_reports_why_not(run, model):
    options = {"batch_size": 8, "neighbors": (3, 2), "width": 64, "max_epochs": 2}
    why = full_graph_reason(NETWORKS[model]())
    if why:
        with pytest.raises(HeterophilyError, match=f"{model} cannot be trained in batches") as error:
            run(model, **options)
        assert why in str(error.value)
        assert "omit batch_size" in str(error.value)
        return
    network, result = run(model, **options)
    assert np.isfinite(result.history.loss).all()
    assert result.n_epochs == 2
    assert not network.training


@pytest.mark.parametrize("model", ["gcn", "cmgnn"])
def test_the_same_seed_gives_the_same_run_bit_for_bit(run, same, model):
    options = {"batch_size": 7, "neighbors": (2,)}
    same(run(model, seed=3, **options), run(model, seed=3, **options))
    (_, first), (_, second) = run(model, seed=3, **options), run(model, seed=4, **options)
    assert first.history.loss != second.history.loss


def test_an_epoch_visits_every_training_node_once_in_a_new_order(run, split, monkeypatch):
    seen, step = [], MiniBatch.train_batch

    def watched(self, batch, generator):
        seen.append((batch.tolist(), generator.initial_seed()))
        return step(self, batch, generator)

    monkeypatch.setattr(MiniBatch, "train_batch", watched)
    run("gcn", batch_size=8, max_epochs=2)
    assert [len(batch) for batch, _ in seen] == [8, 8, 8, 6] * 2
    first, second = ([n for batch, _ in seen[i : i + 4] for n in batch] for i in (0, 4))
    assert first != second
    assert sorted(first) == sorted(second) == split.train.tolist()
    assert len({seed for _, seed in seen}) == 8


def test_training_in_batches_learns_the_graph(run):
    options = {"batch_size": 10, "neighbors": (4, 3), "max_epochs": 40, "learning_rate": 0.02}
    _, result = run("cmgnn", dropout=0.2, **options)
    assert result.scores["train"]["accuracy"] > 0.9
    assert result.scores["test"]["accuracy"] > 0.6


def test_test_labels_are_never_read(run, graph, split):
    labels = graph.labels.clone()
    labels[split.test] = (labels[split.test] + 1) % 3
    (_, first), (_, second) = (run("cmgnn", batch_size=8, on=g) for g in (graph, graph.replace(labels=labels)))
    assert first.history.loss == second.history.loss
    assert first.scores["val"] == second.scores["val"]
    assert first.scores["test"] != second.scores["test"]


def test_the_belief_is_of_the_whole_graph_and_changes_when_validation_improves(run, monkeypatch):
    seen, update = [], Network.update_states

    def watched(self, graph, logits, **options):
        seen.append((graph.n_nodes, len(logits)))
        update(self, graph, logits, **options)

    monkeypatch.setattr(Network, "update_states", watched)
    network, result = run("cmgnn", batch_size=8, max_epochs=10)
    reached = result.history.val_scores
    better = [e for e in range(10) if reached[e] > max([-1.0, *reached[:e]])]
    assert seen == [(60, 60)] * len(better)
    assert 0 < len(better) < 10
    assert network.states[0].supplementary_labels.shape == (60, 3)


@pytest.mark.parametrize("rule", ["nodes", "positions"])
def test_prototypes_are_averaged_a_few_rows_at_a_time(run, graph, split, monkeypatch, rule):
    monkeypatch.setattr("heterophily.training.steps.ROWS", 4)
    options = {"prototype_index": rule, "feature_norm": "l2", "max_epochs": 1}
    network, _ = run("cmgnn", batch_size=8, **options)
    x = graph.features / graph.features.norm(dim=1, keepdim=True)
    expected = prototype_features(x, graph, split.train, rule=rule)
    torch.testing.assert_close(network.states[0].prototypes, expected)


def test_class_sums_of_sparse_features(graph):
    sparse = Graph.from_edges([], graph.features.to_sparse(), labels=graph.labels)
    sums = class_sums(sparse.features, graph.labels, 3)
    torch.testing.assert_close(sums, class_sums(graph.features, graph.labels, 3))
    torch.testing.assert_close(sums[1].float(), graph.features[graph.labels == 1].sum(0))


def test_a_checkpoint_continues_to_the_same_result(run, same, raise_at, tmp_path, monkeypatch):
    monkeypatch.setattr("heterophily.training.trainer.CHECKPOINT_SECONDS", 0.0)
    options = {"batch_size": 8, "checkpoint": tmp_path / "c.pt", "max_epochs": 6}
    raise_at(3, KeyError("stop"))
    with pytest.raises(KeyError):
        run("cmgnn", **options)
    assert raise_at() == []
    with pytest.raises(HeterophilyError, match="another run"):
        run("cmgnn", **{**options, "batch_size": 9})
    same(run("cmgnn", **options), run("cmgnn", **{**options, "checkpoint": None}))


def test_a_classifier_predicts_in_blocks_also_when_loaded(graph, split, tmp_path, monkeypatch):
    options = {"batch_size": 16, "neighbors": (3, 2), "max_epochs": 3, "width": 8, "device": "cpu"}
    fitted = NodeClassifier("cmgnn", **options).fit(graph, split=split)
    expected = fitted.predict_proba()
    with torch.no_grad():
        whole = fitted.predictor_(graph).softmax(dim=1)
    np.testing.assert_allclose(expected, whole, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fitted.embed(), fitted.predictor_.embed(graph).detach(), rtol=1e-4)
    loaded = NodeClassifier.load(fitted.save(tmp_path), graph=graph)
    assert (loaded.batch_size, tuple(loaded.neighbors)) == (16, (3, 2))
    monkeypatch.setattr(Network, "forward", None)  # only blocks from here on
    np.testing.assert_array_equal(loaded.predict_proba(), expected)


def test_blocks_are_as_small_as_asked(run, graph, monkeypatch):
    network, _ = run("gcn", batch_size=16, max_epochs=1)
    sizes, draw = [], layerwise.Sampler.draw

    def watched(self, seeds, *rest, **options):
        sizes.append(len(seeds))
        return draw(self, seeds, *rest, **options)

    monkeypatch.setattr(layerwise.Sampler, "draw", watched)
    layerwise.evaluate(network, graph, block=40)
    assert max(sizes) <= 40
    assert len(sizes) > 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 0}, "batch_size must be from 1 to 2147483647, got 0"),
        ({"batch_size": 5, "neighbors": (0,)}, "neighbors must be positive"),
    ],
)
def test_wrong_sizes_are_refused(run, options, words):
    with pytest.raises(HeterophilyError, match=words):
        run("gcn", **options)


def test_derived_seeds_differ():
    seeds = {derived_seed(a, b) for a in range(20) for b in range(20)}
    assert len(seeds) == 400
    assert derived_seed(1, 2) == derived_seed(1, 2)
    torch.Generator().manual_seed(max(seeds))


@pytest.mark.parametrize("weights", [None, torch.tensor([1.0, 3.0, 0.5])])
def test_prototypes_do_not_weigh_more_in_a_small_batch(weights):
    torch.manual_seed(0)
    logits, targets = torch.randn(7, 3), torch.tensor([0, 1, 1, 2, 0, 1, 2])
    each = F.cross_entropy(logits, targets, reduction="none")
    weight = torch.ones(7) if weights is None else weights[targets]
    mean = (weight * each)[:4].sum() / weight[:4].sum()
    expected = (100 * mean + (weight * each)[4:].sum()) / (100 + weight[4:].sum())
    torch.testing.assert_close(classification(logits, targets, weights=weights, virtual=(3, 100.0)), expected)
    only = classification(logits[4:], targets[4:], virtual=(3, 100.0))
    torch.testing.assert_close(only, each[4:].mean())


def in_two_processes(source, out, *words):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "heterophily", "fit", source, "--out", out, "--device", "cpu", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, check=False)


def test_two_processes_make_the_steps_of_one(graph, split, tmp_path):
    source = graph.replace(splits={"0": split}).save(tmp_path / "graph.safetensors")
    words = ("--batch-size", "7", "--neighbors", "all", "--class-weight", "balanced")
    words += tuple(w for s in ("dropout=0", "width=8", "max_epochs=5") for w in ("--set", s))
    done = in_two_processes(source, tmp_path / "two", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("CMGNN on") == 1
    options = {"batch_size": 7, "neighbors": "all", "class_weight": "balanced", "device": "cpu"}
    one = NodeClassifier("cmgnn", dropout=0, width=8, max_epochs=5, **options)
    one.fit(graph, split=split)
    two = NodeClassifier.load(tmp_path / "two" / "model")
    states = one.predictor_.state_dict(), two.predictor_.state_dict()
    torch.testing.assert_close(*states, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(one.run_.history.loss, two.run_.history.loss, rtol=1e-4)
    assert_close_scores(one.run_, two.run_)
    assert one.run_.best_epoch == two.run_.best_epoch


def test_several_processes_want_batches(run, monkeypatch):
    monkeypatch.setattr("heterophily.core.processes.world_size", lambda: 2)
    with pytest.raises(HeterophilyError, match="pass a batch_size"):
        run("gcn")
