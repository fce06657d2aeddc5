"""Networks are built for sizes instead of a graph."""

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, build
from heterophily.models import NETWORKS

N, F, K = 30, 12, 3
NEEDS_GRAPH = {
    "hog-gcn": "has one weight per pair of nodes; pass a graph",
    "trio": "trio computes initial weights from the edges of a graph; pass a graph",
}


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    x = rng.random((N, F), dtype=np.float32)
    return Graph.from_edges(rng.integers(N - 1, size=(70, 2)), x, labels=np.arange(N) % K)


def initialized(network, graph):
    network.initialize_states(graph, torch.arange(15))
    return network.eval()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_sizes_is_that_of_the_graph(name, graph):
    if name in NEEDS_GRAPH:
        with pytest.raises(HeterophilyError, match=NEEDS_GRAPH[name]):
            build(name, in_features=F, n_classes=K, n_nodes=N)
        return
    torch.manual_seed(0)
    expected = initialized(build(name, graph), graph)
    needs_nodes = bool(expected.transductive_reason)
    if needs_nodes:
        with pytest.raises(HeterophilyError, match="has one weight per node; pass n_nodes or a graph"):
            build(name, in_features=F, n_classes=K)
    for n_nodes in (N,) if needs_nodes else (N, None):
        torch.manual_seed(0)
        network = build(name, in_features=F, n_classes=K, n_nodes=n_nodes)
        assert torch.equal(initialized(network, graph)(graph), expected(graph))
        loaded = build(name, in_features=F, n_classes=K, n_nodes=n_nodes)
        loaded.load_state_dict(expected.state_dict())
        assert torch.equal(loaded.eval()(graph), expected(graph))


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ({}, "build needs a graph, or in_features and n_classes"),
        ({"in_features": 3}, "build needs a graph, or in_features and n_classes"),
        ({"in_features": 0, "n_classes": 2}, "gcn needs node features"),
        ({"in_features": 3, "n_classes": 1}, "gcn needs at least two classes"),
    ],
)
def test_missing_sizes_are_an_error(sizes, sentence, graph):
    with pytest.raises(HeterophilyError, match=sentence):
        build("gcn", **sizes)
    with pytest.raises(HeterophilyError, match="build needs a graph or sizes, got both"):
        build("gcn", graph, in_features=3)


def test_saved_states_of_another_size_do_not_fit_a_network_of_one_graph(graph):
    network = build("cmgnn", in_features=F, n_classes=K, n_nodes=N + 1)
    with pytest.raises(RuntimeError, match="size mismatch"):
        network.load_state_dict(initialized(build("cmgnn", graph), graph).state_dict())
