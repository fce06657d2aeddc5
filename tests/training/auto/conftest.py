"""What the tests of `auto` share: a small graph that can be learned, and quick candidates."""

import numpy as np
import pytest

from heterophily import Graph, Split
from heterophily.training.auto.portfolio import Candidate

QUICK = {"width": 8, "max_epochs": 60, "patience": 60}


@pytest.fixture
def graph():
    """Noisy features and edges mostly from class k to k + 1, with unscaled columns."""
    n, k = 90, 3
    rng = np.random.default_rng(0)
    labels = rng.permutation(n) % k
    x = rng.normal(2 * np.eye(k, 6)[labels], 1.0) * [1, 100, 1, 1, 1e4, 1]
    adjacency = rng.random((n, n)) < np.where(labels[:, None] == (labels[None] + 1) % k, 0.15, 0.01)
    order = rng.permutation(n)
    split = Split.from_nodes(order[:40], order[40:70], order[70:])
    return Graph.from_edges(np.argwhere(adjacency), x, labels=labels, splits={"0": split}, name="small")


@pytest.fixture
def candidates():
    """Three candidates with few epochs."""
    linear = Candidate("linear", "mlp", {**QUICK, "n_layers": 1, "learning_rate": 0.05})
    return linear, Candidate("gcn", "gcn", QUICK), Candidate("sage+", "sage+", {**QUICK, "n_layers": 2})
