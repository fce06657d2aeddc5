"""Only strictly better epochs count, and their state is kept as a copy."""

import pytest
import torch
from torch import nn

from heterophily.training.stopping import EarlyStopping


def network(value):
    module = nn.Linear(1, 1)
    nn.init.constant_(module.weight, value)
    module.register_buffer("memory", torch.tensor([value, value]))
    return module


@pytest.mark.parametrize(
    ("scores", "better", "epoch"),
    [
        ([0.5, 0.5, 0.5], [True, False, False], 0),
        ([0.1, 0.2, 0.3], [True, True, True], 2),
        ([0.3, 0.2, 0.3, 0.4], [True, False, False, True], 3),
        ([0.0], [True], 0),
    ],
)
def test_only_strictly_better_epochs_count(scores, better, epoch):
    best = EarlyStopping(patience=10)
    assert [best.update(s, e, network(0.0)) for e, s in enumerate(scores)] == better
    assert (best.epoch, best.score) == (epoch, max(scores))


def test_patience_runs_out_and_an_improvement_renews_it():
    best, exhausted = EarlyStopping(patience=2), []
    for epoch, score in enumerate([0.5, 0.4, 0.6, 0.6, 0.6, 0.6]):
        best.update(score, epoch, network(0.0))
        exhausted.append(best.should_stop)
    assert exhausted == [False, False, False, False, True, True]


def test_the_state_is_a_copy_of_the_best_with_its_buffers():
    best, module = EarlyStopping(patience=5), network(1.0)
    best.update(0.5, 0, module)
    nn.init.constant_(module.weight, 7.0)
    module.memory += 1
    assert best.state["weight"].item() == 1
    assert best.state["memory"].tolist() == [1, 1]
    best.update(0.4, 1, module)
    assert best.state["weight"].item() == 1
    best.update(0.6, 2, module)
    assert best.state["weight"].item() == 7
    assert best.state["memory"].tolist() == [2, 2]
    assert not any(value.requires_grad for value in best.state.values())


def test_a_state_that_changed_its_shape_is_copied_anew():
    best, module = EarlyStopping(patience=5), network(1.0)
    best.update(0.5, 0, module)
    module.memory = torch.zeros(3)
    best.update(0.6, 1, module)
    assert best.state["memory"].shape == (3,)


def test_a_tie_break_decides_between_equal_scores_without_extending_the_patience():
    best = EarlyStopping(patience=3)
    epochs = [(0.5, -1.0), (0.5, -0.8), (0.5, -0.9), (0.4, -0.1), (0.5, -0.7)]
    better = [best.update(s, e, network(0.0), tie_break=t) for e, (s, t) in enumerate(epochs)]
    assert better == [True, True, False, False, True]
    assert (best.epoch, best.score, best.should_stop) == (4, 0.5, True)


def test_epochs_of_the_warm_up_replace_earlier_ones():
    best = EarlyStopping(patience=10, warm_up=2)
    better = [best.update(s, e, network(0.0)) for e, s in enumerate([0.9, 0.5, 0.3, 0.2, 0.4])]
    assert better == [True, True, True, False, True]
    assert (best.epoch, best.score) == (4, 0.4)


def test_a_score_that_is_not_a_number_is_worse_than_any_other():
    best, nan = EarlyStopping(patience=10), float("nan")
    better = [best.update(s, e, network(0.0)) for e, s in enumerate([nan, nan, 0.1, nan])]
    assert better == [True, False, True, False]
    assert best.score == 0.1
