"""The greedy selection of members on validation nodes."""

import pytest
import torch

from heterophily.training.auto.ensemble import MAX_MEMBERS, select_members
from heterophily.training.scoring import SCORINGS, accuracy


def noisy(labels, strength, seed, k=3):
    """Logits that contain the label with the given strength."""
    noise = torch.randn(len(labels), k, generator=torch.Generator().manual_seed(seed))
    return noise + strength * torch.eye(k)[labels]


def test_independent_candidates_become_an_ensemble():
    labels = torch.arange(600) % 3
    logits = [noisy(labels, 1.0, seed) for seed in range(8)]
    chosen = select_members(logits, labels, accuracy)
    assert 1 < int((chosen.weights > 0).sum()) <= MAX_MEMBERS
    assert chosen.weights.sum() == pytest.approx(1)
    assert chosen.kind in ("mean", "greedy")


def test_a_candidate_that_is_much_better_remains_alone():
    labels = torch.arange(600) % 3
    logits = [noisy(labels, 0.05, 0), noisy(labels, 6.0, 1), noisy(labels, 0.0, 2)]
    for name in ("accuracy", "average_precision"):
        assert select_members(logits, labels, SCORINGS[name]).weights[1] > 0.8


def test_without_ensemble_the_best_candidate_is_selected():
    labels = torch.arange(60) % 2
    logits = [noisy(labels, strength, 5, k=2) for strength in (0.5, 3.0, 1.0)]
    assert select_members(logits, labels, SCORINGS["roc_auc"], ensemble=False).weights.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("n_nodes", "n_members"), [(4, 1), (9, 4)])
def test_equally_good_candidates_are_averaged_unless_there_are_almost_no_nodes(n_nodes, n_members):
    labels = torch.arange(n_nodes) % 3
    chosen = select_members([noisy(labels, 1.0, seed) for seed in range(4)], labels, accuracy)
    assert int((chosen.weights > 0).sum()) == n_members
    assert chosen.kind == ("best" if n_members == 1 else "mean")


def test_the_mean_contains_the_candidates_with_the_lowest_log_loss():
    labels = torch.arange(15) % 3
    logits = [noisy(labels, strength, 7) for strength in (0.0, 3.0, 3.1, 0.1, 2.9, 3.2, 3.3)]
    assert (select_members(logits, labels, accuracy).weights > 0).tolist() == [
        False,
        True,
        True,
        False,
        True,
        True,
        True,
    ]


def test_candidates_that_are_clearly_worse_are_no_members():
    labels = torch.arange(3000) % 3
    logits = [noisy(labels, strength, 0) for strength in (1.5, 1.5, 1.4, 0.5)]
    for name in ("accuracy", "roc_auc"):
        assert select_members(logits, labels, SCORINGS[name]).weights[3] < 0.1


def test_one_class_in_a_half_is_no_problem():
    labels = torch.zeros(40, dtype=torch.long)
    labels[0] = 1
    chosen = select_members([noisy(labels, 1.0, s, k=2) for s in range(3)], labels, SCORINGS["roc_auc"])
    assert chosen.weights.sum() == pytest.approx(1)
