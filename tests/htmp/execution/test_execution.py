"""Every method runs directly and through each applicable transformation with the same result, in float64.

This holds on graphs with and without edge weights, and for every direction of messages.
"""

import warnings

import numpy as np
import pytest
import torch

from heterophily import Graph, build
from heterophily.core.errors import HeterophilyWarning
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.execution.fold_head import FoldedNetwork
from heterophily.htmp.execution.reuse_layers import n_reusable_layers, start_pass
from heterophily.htmp.execution.sampling import Sampler, fanouts_per_hop
from heterophily.htmp.method import full_graph_reason
from heterophily.htmp.network import Network
from heterophily.models import NETWORKS

N, F, K = 40, 12, 3
TRAIN = torch.arange(20)
TOLERANCES = {"rtol": 1e-9, "atol": 1e-11}


@pytest.fixture(autouse=True)
def double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


DIRECTED = {
    f"{name}, {direction}": (name, {"direction": direction})
    for name, direction in (("gcn", "both"), ("gat+", "in"), ("sage+", "out"), ("cmgnn", "in"), ("cmgnn", "both"))
}


@pytest.fixture(params=["plain", "weighted"])
def graph(request):
    rng = np.random.default_rng(0)
    edges, x = rng.integers(N, size=(80, 2)), rng.random((N, F), dtype=np.float32)
    weights = None if request.param == "plain" else rng.random(80) + 0.1
    graph = Graph.from_edges(edges, x, weights=weights, labels=np.arange(N) % K)
    return graph.replace(features=torch.tensor(rng.random((N, F))))


@pytest.fixture(params=[*NETWORKS, *DIRECTED])
def network(request, graph):
    torch.manual_seed(0)
    name, settings = DIRECTED.get(request.param, (request.param, {}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* does not use edge weights", category=HeterophilyWarning)
        network = build(name, graph, width=64, dropout=0.5, **settings)
    network.initialize_states(graph, TRAIN)
    network.eval()
    with torch.no_grad():
        network.update_states(graph, network(graph))
    return network


def gradients(network, logits):
    """Return the gradient of every weight that contributes to the logits."""
    network.zero_grad()
    (logits * torch.linspace(-1, 1, K).exp()).square().sum().backward()
    return {name: w.grad for name, w in network.named_parameters() if w.grad is not None}


def test_bound_operators_change_nothing(network, graph):
    first, second = network(graph), network(graph)  # the second pass uses bound operators
    assert torch.equal(first, second)


def test_a_folded_head_changes_nothing(network, graph):
    if not isinstance(network, FoldedNetwork):
        pytest.skip("the head cannot be folded into the last layer")
    direct = Network.run(network, graph)
    torch.testing.assert_close(network(graph), direct, **TOLERANCES)
    expected = gradients(network, direct)
    torch.testing.assert_close(gradients(network, network(graph)), expected, **TOLERANCES)


def test_reused_layers_change_nothing(network, graph):
    n_layers = n_reusable_layers(network, graph)
    network.eval()
    if not n_layers:
        pytest.skip("no layer is the same in training and evaluation")
    context = start_pass(network, graph, n_layers)
    for training in (False, True):
        network.train(training)
        torch.manual_seed(1)
        expected = network(graph)
        torch.manual_seed(1)
        actual = network(context.copy(training=training))
        assert torch.equal(actual, expected)


def test_blocks_of_rows_change_nothing(network, graph):
    if full_graph_reason(network.method):
        pytest.skip(full_graph_reason(network.method))
    expected = network(graph).detach()
    torch.testing.assert_close(evaluate(network, graph, block=16), expected, **TOLERANCES)


def test_a_batch_with_all_neighbors_changes_nothing(network, graph):
    if full_graph_reason(network.method):
        pytest.skip(full_graph_reason(network.method))
    sampler = Sampler(graph, network.architecture.channels, network.encoder_part.structure)
    fanouts = fanouts_per_hop("all", network.n_layers * sampler.power)
    seeds = torch.arange(10)
    logits = network(sampler.draw(seeds, fanouts))[: len(seeds)]
    torch.testing.assert_close(logits, network(graph)[seeds], **TOLERANCES)
