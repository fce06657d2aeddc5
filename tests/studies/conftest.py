"""What the tests of the studies share: short runs, and a small graph with names."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from heterophily import Graph
from heterophily.data.splits import random_splits
from heterophily.studies.study import run_study

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
    built = Graph.from_edges(np.argwhere(adjacency), x, labels=labels, class_names=["ape", "bee", "cat"], name="zoo")
    return built.replace(splits=random_splits(built, count=3))


@pytest.fixture(scope="session")
def run():
    """Run a study on a graph; returns its tables by file, by their short names, and the main rows."""

    def call(study, *graphs, table="", **options):
        by_file = run_study(study, study.options(graphs=graphs, **options))
        name = table or study.name
        tables = {n.removeprefix(name).removeprefix("-"): rows for n, rows in by_file.items()}
        return SimpleNamespace(by_file=by_file, tables=tables, rows=by_file.get(name, []))

    return call


@pytest.fixture
def short(run):
    """Run a study with two splits and few epochs."""
    settings = {"max_epochs": 4, "width": 8}
    return partial(run, splits=2, settings=settings, device="cpu")


@pytest.fixture
def no_training(monkeypatch):
    """Let every attempt to train fail."""

    def refuse(*_, **__):
        raise AssertionError("nothing should be trained")

    return lambda: monkeypatch.setattr("heterophily.runs.worker.train", refuse)
