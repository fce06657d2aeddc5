"""GCN equals its equation: Z^l = relu(S° drop(Z^(l-1)) W_l + b_l), the last layer without relu."""

import pytest
import torch

from heterophily.models.building import build
from heterophily.training.optimizers import make_optimizers

P = 0.4


def transcribe(network, graph, dense, p=0.0, activation=torch.relu):
    f = dense.filters(graph)
    *hidden, last = (layer.transform for layer in network.stacks[0])
    z = f.X
    for w in hidden:
        z = activation(f.S1 @ dense.drop(z, p) @ w.W0 + w.b0)
    return f.S1 @ dense.drop(z, p) @ last.W0 + last.b0


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_gcn_equals_its_equation(graph, dense, agree, n_layers):
    network = build("gcn", graph, width=5, n_layers=n_layers).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


def test_dropout_stands_before_every_layer(graph, dense, agree, marked_dropout):
    network = build("gcn", graph, width=5, n_layers=3, dropout=P)
    agree(network, graph, lambda: transcribe(network, graph, dense, P))


def test_the_reference_is_linear_and_takes_the_cross_entropy_of_probabilities(
    graph, train, dense, agree, marked_dropout
):
    network = build("gcn", graph, width=5, dropout=P, preset="reference")

    def expected():
        logits = transcribe(network, graph, dense, P, activation=lambda z: z)
        return dense.ce_of_probabilities(logits[train], graph.labels[train])

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_weights_are_glorot_and_biases_zero(small_graph, law):
    network = build("gcn", small_graph(n_features=300), width=500)
    w = network.stacks[0][0].transform
    law.uniform(w.W0, (6 / 800) ** 0.5)
    assert not w.b0.any()


def test_one_decay_serves_all_parameters(graph):
    (adam,) = make_optimizers(build("gcn", graph, weight_decay=0.01))
    assert [(len(g["params"]), g["weight_decay"]) for g in adam.param_groups] == [(4, 0.01)]
