"""What the tests of training share: a small graph that can be learned."""

import numpy as np
import pytest
import torch

from heterophily import Graph, Split
from heterophily.training.trainer import Trainer, train

N, F, K = 60, 12, 3
EPOCH = Trainer._epoch


@pytest.fixture
def graph():
    """Noisy features and edges mostly from class k to k + 1; unequal classes, isolated node 0."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(N) % 4 % K
    x = np.abs(rng.normal(3 * np.eye(K, F)[labels], 1.2))
    meet = np.where(labels[:, None] == (labels[None] + 1) % K, 0.15, 0.02)
    adjacency = rng.random((N, N)) < meet
    adjacency[0] = adjacency[:, 0] = False
    return Graph.from_edges(np.argwhere(adjacency), x, labels=labels)


@pytest.fixture
def split():
    """30 training, 18 validation and 12 test nodes."""
    order = np.random.default_rng(1).permutation(N)
    return Split.from_nodes(order[:30], order[30:48], order[48:])


@pytest.fixture
def run(graph, split):
    """Train on the graph: `run("gcn", width=8)` gives the network and the run."""

    def go(model="gcn", *, on=graph, **options):
        options = {"width": 8, "max_epochs": 12, "progress": False, "device": "cpu", **options}
        return train(model, on, split=split, **options)

    return go


@pytest.fixture
def raise_at(monkeypatch):
    """Let training break off when it comes to an epoch, or never; lists the epochs begun."""

    def prepare(epoch=None, error=None):
        begun = []

        def breaking(self, number):
            if number == epoch:
                raise error
            begun.append(number)
            EPOCH(self, number)

        monkeypatch.setattr(Trainer, "_epoch", breaking)
        return begun

    return prepare


@pytest.fixture
def same():
    """Whether two trained networks and runs agree, bit for bit, in all but time."""

    def check(left, right):
        (network, run), (other, again) = left, right
        assert run.history.loss == again.history.loss
        assert run.history.val_scores == again.history.val_scores
        assert run.scores == again.scores
        assert (run.best_epoch, run.n_epochs, run.stopped) == (
            again.best_epoch, again.n_epochs, again.stopped
        )  # fmt: skip
        states = network.state_dict(), other.state_dict()
        assert states[0].keys() == states[1].keys()
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])

    return check
