"""MixHop: [P^j relu(drop(X W_j + b_j))]_j, then [P^j drop(Z W_j) + b_j]_j, then a dense head."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build


def forward(network, graph, dense, *, loops=1):
    """The logits, P = S(A + loops I) as a matrix and its powers by multiplication."""
    f, p = dense.filters(graph), 0.5 if network.training else 0.0
    first, second = (layer.transform for layer in network.stacks[0])
    one = dense.symmetric(f.A + loops * f.I)
    powers = [f.I, one, one @ one]
    z = [
        power @ dense.drop(f.X @ getattr(first, f"W{j}") + getattr(first, f"b{j}"), p).relu()
        for j, power in enumerate(powers)
    ]
    z = torch.cat(z, dim=1)
    g = [
        power @ dense.drop(z @ getattr(second, f"W{j}"), p) + getattr(second, f"b{j}") for j, power in enumerate(powers)
    ]
    return torch.cat(g, dim=1) @ network.head.weight + network.head.bias


def lasso(network):
    """Σ ‖column‖₂ over the six weight matrices, column by column."""
    total = torch.zeros(())
    for layer in network.stacks[0]:
        for j in range(3):
            weight = getattr(layer.transform, f"W{j}")
            total = total + sum(column.square().sum().sqrt() for column in weight.T)
    return total


@pytest.mark.parametrize("training", [True, False])
def test_the_published_network_is_the_card(graph, dense, agree, marked_dropout, training):
    network = build("mixhop", graph, width=4).train(training)
    agree(network, graph, lambda: forward(network, graph, dense))
    assert marked_dropout == [0.5] * 6 * training


def test_the_reference_network_adds_a_second_self_loop(graph, dense, agree, marked_dropout):
    network = build("mixhop", graph, preset="reference", width=4)
    agree(network, graph, lambda: forward(network, graph, dense, loops=2))


def test_the_loss_adds_a_group_lasso_over_output_units(graph, train, dense, agree, marked_dropout):
    network = build("mixhop", graph, width=4, lasso_weight=0.3)

    def expected():
        logits = forward(network, graph, dense)
        return F.cross_entropy(logits[train], graph.labels[train]) + 0.3 * lasso(network)

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_two_self_loops_differ_from_one(small_graph):
    graph = small_graph()
    network = build("mixhop", graph, width=4).eval()
    other = build("mixhop", graph, width=4, extra_self_loop=True).eval()
    other.load_state_dict(network.state_dict())
    assert not torch.allclose(network(graph), other(graph))


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("mixhop", small_graph(n_features=400))
    for layer, d_in in zip(network.stacks[0], (400, 600), strict=True):
        for j in range(3):
            weight, bias = getattr(layer.transform, f"W{j}"), getattr(layer.transform, f"b{j}")
            assert weight.shape == (d_in, 200)
            law.uniform(weight, (6 / (d_in + 200)) ** 0.5)
            law.uniform(bias, (6 / 201) ** 0.5)
    law.uniform(network.head.weight, 600**-0.5)
