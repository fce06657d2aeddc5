"""Roman-empire from edges and labels alone: its sizes and homophily are the published ones."""

import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.roman_empire import NAME, read_graph
from heterophily.core.compatibility import observed_compatibility
from heterophily.core.homophily import measure_homophily
from heterophily.core.structure import with_features
from heterophily.data.catalog import CATALOG
from heterophily.data.store import VARIABLE
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.training.trainer import train


@pytest.fixture
def folder(tmp_path):
    """A ring of 400 nodes with alternating labels, so that no edge connects nodes of one class."""
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 400}\n" for i in range(400)))
    (tmp_path / "labels.csv").write_text("label\n" + "0\n1\n" * 200)
    parts = np.tile(np.random.default_rng(0).integers(0, 3, 400), (10, 1))
    np.savez(tmp_path / "splits.npz", **{name: parts == i for i, name in enumerate(("train", "val", "test"))})
    return tmp_path


@pytest.mark.filterwarnings("ignore:roman-empire without features")
@pytest.mark.parametrize(("name", "settings"), [("clp", {"max_epochs": 60}), ("boosting", {"n_positions": 0})])
def test_methods_learn_from_labels_of_neighbors(folder, name, settings):
    graph = read_graph(folder)
    assert (graph.n_nodes, graph.n_features, graph.n_classes) == (400, 0, 2)
    assert measure_homophily(graph.symmetric, graph.labels, graph.n_classes).edge == 0
    values = {"learning_rate": 0.1, "min_samples_leaf": 2} | settings if name == "boosting" else settings
    method = make_method(find_method(name), values)
    _, run = train(method, with_features(graph), split=graph.split("0"), seed=0, progress=False)
    assert run.score("test") > 0.7  # a constant prediction has about one half


@pytest.mark.real
def test_the_real_graph_has_the_published_sizes_and_homophily():
    place = Path(os.environ.get(VARIABLE, "")) / NAME
    if not (place / "labels.csv").exists():
        pytest.skip(f"{VARIABLE} has no edges and labels of {NAME}")
    graph, published = read_graph(place), CATALOG[NAME]
    sizes = (graph.n_nodes, graph.n_edges, graph.symmetric.n_entries, graph.n_classes)
    assert sizes == (published.n_nodes, published.n_stored, published.n_symmetric, published.n_classes)
    homophily = measure_homophily(graph.symmetric, graph.labels, graph.n_classes)
    assert round(homophily.edge, 2) == published.edge_homophily
    matrix = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
    assert matrix.sum(dim=1).tolist() == pytest.approx([1.0] * 18, abs=1e-5)
    assert [len(part) for part in graph.split("0").parts.values()] == [10_877, 7_251, 4_534]
