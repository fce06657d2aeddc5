"""MLP equals its equation: H = relu(drop(X) W1 + b1), logits = drop(H) W2 + b2."""

import pytest
import torch

from heterophily.models.building import build

P = 0.4


def transcribe(network, dense, x, p=0.0, drop_input=None):
    first, last = (layer.transform for layer in network.stacks[0])
    dropped = dense.drop(x, p) if drop_input is None else drop_input
    hidden = torch.relu(dropped @ first.W0 + first.b0)
    return dense.drop(hidden, p) @ last.W0 + last.b0


def test_mlp_equals_its_equation(graph, dense, agree):
    network = build("mlp", graph, width=5).eval()
    agree(network, graph, lambda: transcribe(network, dense, graph.features))


def test_dropout_stands_before_both_dense_layers(graph, dense, agree, marked_dropout):
    network = build("mlp", graph, width=5, dropout=P)
    agree(network, graph, lambda: transcribe(network, dense, graph.features, P))
    assert marked_dropout == [P, P]


def test_dropout_of_sparse_features_touches_stored_entries(small_graph, dense, agree, marked_dropout):
    graph = small_graph(sparse=True)
    network = build("mlp", graph, width=5, dropout=P)
    x = dense.features(graph)
    dropped = dense.drop_entries(x, x != 0, P)
    agree(network, graph, lambda: transcribe(network, dense, x, P, drop_input=dropped))


@pytest.mark.parametrize("sparse", [False, True])
def test_features_are_divided_by_their_l1_length(small_graph, dense, agree, sparse):
    graph = small_graph(sparse=sparse)
    network = build("mlp", graph, width=5, feature_norm="l1").eval()
    x = dense.norm1(dense.features(graph))
    agree(network, graph, lambda: transcribe(network, dense, x))


def test_the_loss_is_the_negative_log_likelihood(graph, train, dense, agree):
    network = build("mlp", graph, width=5).eval()
    y = graph.labels[train]

    def expected():
        log_p = transcribe(network, dense, graph.features)[train].log_softmax(dim=1)
        return -log_p[torch.arange(len(y)), y].mean()

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_the_reference_takes_the_cross_entropy_of_probabilities(graph, train, dense, agree):
    network = build("mlp", graph, width=5, preset="reference").eval()
    logits = lambda: transcribe(network, dense, graph.features)  # noqa: E731
    agree(
        network, graph,
        expected=lambda: dense.ce_of_probabilities(logits()[train], graph.labels[train]),
        actual=lambda: network.loss(network(graph), graph, train),
    )  # fmt: skip


def test_mlp_ignores_the_graph(small_graph):
    graph, edgeless = small_graph(), small_graph(edges=False)
    network = build("mlp", graph, width=5).eval()
    assert torch.equal(network(graph), network(edgeless.replace(features=graph.features)))


def test_all_weights_follow_the_linear_law(small_graph, law):
    graph = small_graph(n_features=400)
    network = build("mlp", graph, width=900)
    first, last = (layer.transform for layer in network.stacks[0])
    law.uniform(first.W0, 400**-0.5)
    law.uniform(first.b0, 400**-0.5)
    law.uniform(last.W0, 900**-0.5)
