"""Ensembles of networks of one method: each member has its own seed and best epoch, and probabilities are averaged."""

import numpy as np
import pytest
import torch

from heterophily import HeterophilyError, NodeClassifier
from heterophily.htmp.identity import identity_of
from heterophily.models.gcn import GCN
from heterophily.training import trainer as module
from heterophily.training.scoring import neg_log_loss
from heterophily.training.seeds import derived_seed
from heterophily.training.trainer import train


def test_the_prediction_is_the_mean_of_the_members(run, graph):
    ensemble, result = run("gcn", n_members=3, seed=5)
    alone = [run("gcn", seed=derived_seed(5, i) % 2**32) for i in range(3)]
    known = alone[0][0](graph).softmax(dim=1)
    assert not torch.equal(known, alone[1][0](graph).softmax(dim=1))
    mean = torch.stack([network(graph).softmax(dim=1) for network, _ in alone]).mean(dim=0)
    torch.testing.assert_close(ensemble(graph).softmax(dim=1), mean)
    assert result.best_epoch == alone[0][1].best_epoch
    assert result.seed == 5
    assert result.seconds > sum(each.seconds for _, each in alone) / 10


def test_scores_are_those_of_the_mean_on_each_part(run, graph, split):
    ensemble, result = run("gcn", n_members=2)
    for part, nodes in split.parts.items():
        right = ensemble(graph)[nodes].argmax(dim=1) == graph.labels[nodes]
        assert result.score(part) == pytest.approx(float(right.double().mean()))


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro"])
def test_the_lowest_validation_loss_selects_the_epoch(run, graph, split, scoring, monkeypatch):
    losses, update = [], module.EarlyStopping.update

    def observed(self, score, epoch, network, **options):
        losses.append(-neg_log_loss(network(graph).detach(), graph.labels, split.val))
        return update(self, score, epoch, network, **options)

    monkeypatch.setattr(module.EarlyStopping, "update", observed)
    result = run("gcn", monitor="loss", max_epochs=60, learning_rate=0.1, dropout=0.0, scoring=scoring)[1]
    assert result.best_epoch == int(np.argmin(losses))
    assert result.scores["val"]["neg_log_loss"] == pytest.approx(-min(losses), rel=1e-5)
    assert result.history.scoring == scoring
    assert result.history.val_scores[result.best_epoch] == pytest.approx(result.score("val", scoring))


def test_a_killed_ensemble_continues_to_the_same_result(run, same, raise_at, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "CHECKPOINT_SECONDS", 0.0)
    options = {"n_members": 2, "seed": 2, "checkpoint": tmp_path / "run.pt"}
    undisturbed = run("gcn", **{**options, "checkpoint": None})
    calls = []

    def interrupt(epoch, score):
        calls.append(epoch)
        if len(calls) == 17:
            raise RuntimeError("killed")
        return False

    with pytest.raises(RuntimeError, match="killed"):
        run("gcn", **options, on_epoch=interrupt)
    assert calls == list(range(17))  # the numbers of epochs continue over members
    begun = raise_at()
    same(run("gcn", **options), undisturbed)
    assert begun == list(range(4, 12))  # only the second member was not finished


def test_members_without_time_to_train_have_no_weight(run, graph):
    ensemble, result = run("gcn", n_members=3, on_epoch=lambda epoch, score: epoch == 14)
    assert result.stopped == "paused"
    torch.testing.assert_close(ensemble.weights, torch.tensor([0.5, 0.5, 0.0]))
    pair = run("gcn", n_members=2, on_epoch=lambda epoch, score: epoch == 14)[0]
    torch.testing.assert_close(ensemble(graph), pair(graph))


def test_a_classifier_is_saved_with_all_members(graph, split, tmp_path):
    fitted = NodeClassifier("trio", n_members=3, max_epochs=3, width=4).fit(graph, split=split)
    loaded = NodeClassifier.load(fitted.save(tmp_path))
    np.testing.assert_array_equal(loaded.predict_proba(graph), fitted.predict_proba())
    assert [member.method.n_members for member in loaded.predictor_.members] == [1, 1, 1]


def test_batches_train_all_members(run, graph):
    ensemble, result = run("gcn", n_members=2, batch_size=10, neighbors=(5, 5), max_epochs=2)
    assert result.scores["val"]["accuracy"] > 0
    torch.testing.assert_close(ensemble.evaluate(graph), ensemble(graph))


def test_measurements_need_a_single_network(graph, split):
    with pytest.raises(HeterophilyError, match="measurements need a single network, got 2 members; set n_members=1"):
        train("gcn", graph, split=split, n_members=2, on_improvement=lambda *_: None)


def test_one_member_with_the_default_monitor_is_the_plain_method():
    assert identity_of(GCN(n_members=1, monitor="score")) == identity_of(GCN())
    assert len({identity_of(each) for each in (GCN(), GCN(n_members=2), GCN(monitor="loss"))}) == 3
