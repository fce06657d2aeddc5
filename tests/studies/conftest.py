"""What the tests of the studies share: short runs, and a small graph with names."""

from functools import partial

import numpy as np
import pytest

from heterophily import Graph
from heterophily.data.splits import random_splits

N, K = 90, 3


@pytest.fixture(scope="session")
def graph():
    """Three named classes that mostly meet the next one; degrees differ, one node has no edge."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(N) % K
    eager = rng.uniform(0.2, 2.0, size=N)
    meet = np.where(labels[:, None] == (labels[None] + 1) % K, 0.1, 0.02) * eager[:, None]
    adjacency = rng.random((N, N)) < meet
    adjacency[0] = adjacency[:, 0] = False
    x = np.abs(rng.normal(2 * np.eye(K, 8)[labels], 1.0)).astype(np.float32)
    built = Graph.from_edges(
        np.argwhere(adjacency), x, labels=labels, class_names=["ape", "bee", "cat"], name="zoo"
    )
    return built.replace(splits=random_splits(built, count=3))


@pytest.fixture
def short():
    """Run a study with two splits and few epochs."""
    settings = {"max_epochs": 4, "width": 8}
    return lambda study, *words, **options: partial(
        study, n_splits=2, settings=settings, device="cpu"
    )(*words, **options)


@pytest.fixture
def no_training(monkeypatch):
    """Let every attempt to train fail."""

    def refuse(*_, **__):
        raise AssertionError("nothing should be trained")

    return lambda: monkeypatch.setattr("heterophily.studies.trials.train", refuse)
