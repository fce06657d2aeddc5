"""Structural features: degrees and positions, which identify the graph to which they belong."""

import json

import numpy as np
import pytest
import torch

from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.graph import Graph
from heterophily.core.structure import add_structural_features, encode_structure, with_features

N = 60


@pytest.fixture
def graph():
    return random_graph(0)


def random_graph(seed):
    pairs = np.random.default_rng(seed).integers(N, size=(3 * N, 2))
    return Graph.from_edges(pairs, labels=np.arange(N) % 3)


def test_features_are_degrees_and_positions(graph):
    result = add_structural_features(graph, positions=4)
    degrees = [f"{kind} degree of neighbors" for kind in ("max", "mean", "min", "std")]
    assert result.feature_names == ("degree", *degrees[:3], *(f"position {k}" for k in (1, 2, 3, 4)), degrees[3])
    degrees = np.log1p(graph.degrees.numpy())
    low, middle, high = np.quantile(degrees, (0.25, 0.5, 0.75))
    np.testing.assert_allclose(result.features[:, 0], (degrees - middle) / (high - low) * 1.349, atol=1e-5)
    assert torch.isfinite(result.features).all()


def test_a_regular_graph_has_features_too():
    ring = np.arange(N)
    result = add_structural_features(Graph.from_edges(np.stack([ring, (ring + 1) % N], axis=1)), positions=0)
    assert result.n_features == 5
    assert bool((result.features == 0).all())


def test_positions_belong_to_one_graph(graph):
    fitted = add_structural_features(graph)
    encoder = FeatureEncoder.from_dict(json.loads(json.dumps(fitted.encoder.to_dict())))
    assert encoder == fitted.encoder
    assert encode_structure(graph, encoder).features.equal(fitted.features)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(0))
    pairs = torch.stack([graph.adjacency.rows.long(), graph.adjacency.indices.long()], dim=1)
    for other in (random_graph(1), Graph.from_edges(order[pairs], n_nodes=N), Graph.from_edges(pairs, n_nodes=N + 1)):
        with pytest.raises(HeterophilyError, match="other nodes or edges, or another order of nodes"):
            encode_structure(other, encoder)


def test_degrees_of_graphs_can_be_compared(graph):
    encoder = add_structural_features(graph, positions=0).encoder
    twice = Graph.from_edges(
        np.concatenate([edges := np.argwhere(graph.to_scipy().toarray()), edges + N]), n_nodes=2 * N
    )
    expected = encode_structure(graph, encoder).features
    assert encode_structure(twice, encoder).features.equal(torch.cat([expected, expected]))


def test_structural_features_are_announced_once(graph):
    with pytest.warns(HeterophilyWarning, match="no usable features of nodes, so degrees and 16 positions"):
        first = with_features(graph)
    assert with_features(graph) is first
    assert with_features(first) is first


@pytest.mark.parametrize("positions", [-1, 3])
def test_invalid_arguments_are_rejected(graph, positions):
    featured = graph if positions < 0 else add_structural_features(graph)
    with pytest.raises(HeterophilyError, match=r"at least 0, got -1|structural features are for graphs without"):
        add_structural_features(featured, positions=positions)


def test_a_graph_with_structural_features_is_saved(graph, tmp_path):
    featured = add_structural_features(graph)
    loaded = Graph.load(featured.save(tmp_path / "g.safetensors"))
    assert loaded.encoder == featured.encoder
    assert loaded.features.equal(featured.features)


def test_dropped_columns_stay_in_the_report():
    nodes = {"id": [1, 2, 3], "label": ["a", "b", "a"], "empty": [None] * 3}
    graph = Graph.from_frames(nodes, {"source": [1, 2], "target": [2, 3]})
    assert (graph.n_features, graph.feature_names) == (0, ())
    featured = add_structural_features(graph, positions=2)
    rows = {row["name"]: row["treatment"] for row in featured.encoder.report()}
    assert rows["empty"] == "dropped: at most one value"
    assert rows["position 1"] == "robust scaling"
    assert featured.encoder.roles_["label"] == "label"
    again = Graph.from_frames(nodes, {"source": [1, 2], "target": [2, 3]}, encoder=featured.encoder)
    assert again.features.equal(featured.features)
