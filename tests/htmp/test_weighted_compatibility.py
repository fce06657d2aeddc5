"""The weighted compatibility matrix of a network equals that of its dense operators."""

import numpy as np
import pytest
import torch

from heterophily import Graph, NodeClassifier, Split, build
from heterophily.core.compatibility import observed_compatibility
from heterophily.htmp.network import Network
from heterophily.htmp.weighted_compatibility import weighted_compatibilities
from heterophily.models import NETWORKS

N, K = 60, 3
TRAIN = torch.arange(30)


@pytest.fixture
def graph():
    """Every node has neighbors."""
    rng = np.random.default_rng(0)
    edges = np.concatenate([rng.integers(N, size=(240, 2)), np.stack([np.arange(N), (np.arange(N) + 1) % N], axis=1)])
    return Graph.from_edges(edges, rng.random((N, 8), dtype=np.float32), labels=rng.permutation(np.arange(N) % K))


def network_of(name, graph, **settings):
    torch.manual_seed(0)
    network = build(name, graph, width=8, **settings)
    if isinstance(network, Network):
        network.initialize_states(graph, TRAIN)
    return network


def test_mean_identity_and_difference(graph):
    observed = observed_compatibility(graph.symmetric, graph.labels, K)
    found = weighted_compatibilities(network_of("sage+", graph, n_layers=2), graph)
    assert list(found) == ["layer 1, I", "layer 1, B^d", "layer 2, I", "layer 2, B^d"]
    torch.testing.assert_close(found["layer 1, I"], torch.eye(K, dtype=torch.double))
    torch.testing.assert_close(found["layer 2, B^d"], observed, check_dtype=False, atol=1e-6, rtol=0)
    mean, difference = (
        weighted_compatibilities(network_of("acm-gcn", graph), graph)[f"layer 1, {name}"] for name in ("B̃^d", "I-B̃^d")
    )
    torch.testing.assert_close(mean + difference, torch.eye(K, dtype=torch.double), atol=1e-6, rtol=0)
    assert difference.min() < 0


def test_prototypes_send_messages_of_their_class(graph):
    found = weighted_compatibilities(network_of("cmgnn", graph), graph)["layer 1, B_sup"]
    torch.testing.assert_close(found.sum(dim=1), torch.ones(K, dtype=torch.double), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_every_network_has_matrices(name, graph):
    network = network_of(name, graph, **({"n_chunks": 4} if name == "ordered-gnn" else {}))
    if not isinstance(network, Network):
        pytest.skip("sends no messages")
    expected = network.eval()(graph)
    found = weighted_compatibilities(network.train(), graph)
    assert network.training
    assert found
    assert all(matrix.shape == (K, K) and matrix.isfinite().all() for matrix in found.values())
    torch.testing.assert_close(network.eval()(graph), expected)


def test_the_classifier_uses_predictions_for_unlabeled_nodes(graph):
    labels = torch.where(torch.arange(N) < 45, graph.labels, -1)
    model = NodeClassifier("gcn", max_epochs=3, width=8)
    model.fit(graph.replace(labels=labels), split=Split.from_nodes(range(30), range(30, 45)))
    predicted = torch.as_tensor(model.predict())
    complete = torch.where(labels >= 0, labels, predicted)
    expected = weighted_compatibilities(model.predictor_, graph, complete)
    for name, matrix in model.weighted_compatibility_.items():
        np.testing.assert_allclose(matrix, expected[name].numpy())
