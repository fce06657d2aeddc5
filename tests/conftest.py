"""Fixtures for all tests: a clean environment, one thread, the real datasets, and small graphs."""

import hashlib
from functools import cache

import numpy as np
import pytest
import torch

from heterophily.core.graph import Graph
from heterophily.data.catalog import CATALOG, Dataset, File, lookup
from heterophily.data.loading import load
from heterophily.data.store import VARIABLE, data_folder, is_present
from heterophily.data.synthetic import digits, synthetic_graph


@pytest.fixture(autouse=True)
def _environment(request, monkeypatch, tmp_path):
    """Hide the user's cache, and the user's data from tests that are not marked `real`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if request.node.get_closest_marker("real") is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    elif data_folder() is None:
        pytest.skip(f"set {VARIABLE} to the folder with the raw files of the datasets")


@pytest.fixture(autouse=True)
def _one_thread():
    """Use one thread, because bitwise equality requires it and tests run in parallel."""
    torch.set_num_threads(1)


@pytest.fixture
def real_graph():
    """Load a real dataset once for all tests. Skip the test if its files are missing."""

    def get(name):
        if not is_present(lookup(name)):
            pytest.skip(f"{VARIABLE} has no files of {name}")
        return _load(name)

    return get


_load = cache(load)


@pytest.fixture(params=range(4))
def random_graph(request):
    """Directed edges and loops; unlabeled and isolated nodes; no node of the last class."""
    rng = np.random.default_rng(request.param)
    adjacency = rng.random((40, 40)) < 0.1
    adjacency[:3] = adjacency[:, :3] = False
    labels = rng.integers(-1, 4, size=40)
    labels[0] = 0
    return Graph.from_edges(np.argwhere(adjacency), labels=labels, n_classes=5)


@pytest.fixture(scope="session")
def drawn():
    """Digits with edges of a given homophily, pattern, and degree."""
    return cache(lambda h, kind, degree: synthetic_graph(digits(), homophily=h, pattern=kind, degree=degree))


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A catalog row `tiny` and its file in the folder HETEROPHILY_DATA: a ring of 40 nodes."""
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    ring = np.arange(40)
    np.savez(
        folder / "tiny.npz",
        edges=np.stack([ring, (ring + 1) % 40], axis=1),
        node_features=np.eye(40, 8),
        node_labels=ring % 4,
    )
    digest = hashlib.sha256((folder / "tiny.npz").read_bytes()).hexdigest()
    row = Dataset(
        name="tiny",
        format="heterophilous_npz",
        files=(File("tiny.npz", "https://example.org/tiny.npz", digest),),
        n_nodes=40,
        n_stored=40,
        n_symmetric=80,
        paper_counts="symmetric",
        n_features=8,
        n_classes=4,
        edge_homophily=0.0,
        citation="nobody",
        license="MIT",
    )
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    monkeypatch.setitem(CATALOG, "tiny", row)
    return row


@pytest.fixture
def fraud_graph():
    """600 accounts, 5 % of them fraud; random edges; one informative column and seven columns of noise."""
    rng = np.random.default_rng(7)
    labels = (np.arange(600) < 30).astype(int)
    features = rng.normal(size=(600, 8))
    features[:, 0] += 2.0 * labels
    edges = rng.integers(600, size=(1800, 2))
    return Graph.from_edges(edges, features, labels=labels, class_names=("honest", "fraud"), name="accounts")
