"""CPGNN equals its equation, and its compatibility matrix starts with that of the training nodes."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.core.compatibility import doubly_stochastic
from heterophily.models.building import build
from heterophily.models.cpgnn import known_compatibility

P = 0.3
OPTIONS = {"width": 5, "dropout": P, "feature_norm": "none"}


def prior(network, x, dense, p):
    w = network.encoder
    hidden = dense.drop(torch.relu(x @ w.inner.weight + w.inner.bias), p)
    return hidden @ w.outer.weight + w.outer.bias


def forward(network, graph, dense, matrix):
    p, h = P if network.training else 0.0, network.common.compatibility
    first = prior(network, dense.features(graph), dense, p).softmax(dim=1) - 1 / graph.n_classes
    b = first
    for _ in range(network.n_layers):
        b = first + matrix @ b @ h
    return b


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("n_layers", [1, 3])
@pytest.mark.parametrize("normalization", ["none", "symmetric", "row"])
def test_cpgnn_is_its_equation(graph, dense, agree, marked_dropout, normalization, n_layers, training):
    f = dense.filters(graph)
    matrix = {"none": f.A, "symmetric": f.S, "row": f.R}[normalization]
    network = build("cpgnn", graph, n_layers=n_layers, normalization=normalization, **OPTIONS)
    network.initialize_states(graph, graph.split("0").train)
    agree(network.train(training), graph, lambda: forward(network, graph, dense, matrix))


def test_the_loss_has_the_prior_and_the_row_sums(graph, dense):
    network = build("cpgnn", graph, prior_weight=0.7, **OPTIONS | {"dropout": 0.0})
    nodes = graph.split("0").train
    network.initialize_states(graph, nodes)
    logits, y = network(graph), graph.labels[nodes]
    alone = F.cross_entropy(prior(network, graph.features, dense, 0.0)[nodes], y)
    sums = network.common.compatibility.sum(dim=1).abs().sum()
    expected = F.cross_entropy(logits[nodes], y) + 0.7 * alone + sums
    torch.testing.assert_close(network.loss(logits, graph, nodes), expected)


def test_the_matrix_starts_with_the_edges_of_training_nodes(small_graph, dense):
    graph = small_graph()
    nodes = graph.split("0").train
    network = build("cpgnn", graph, n_pretraining_epochs=20, **OPTIONS | {"dropout": 0.0})
    network.initialize_states(graph, nodes)
    beliefs = prior(network, graph.features, dense, 0.0).softmax(dim=1).detach()
    true = F.one_hot(graph.labels[nodes], graph.n_classes).double()
    known = beliefs.index_copy(0, nodes, true)
    expected = doubly_stochastic(true.T @ dense.adjacency(graph)[nodes] @ known) - 1 / graph.n_classes
    torch.testing.assert_close(network.common.compatibility.detach(), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(network.common.compatibility.sum(dim=1), torch.zeros(3), rtol=0, atol=1e-6)


def test_pretraining_in_blocks_is_pretraining_at_once(small_graph):
    graph = small_graph()
    starts = []
    for block in (None, 3):
        torch.manual_seed(0)
        network = build("cpgnn", graph, **OPTIONS | {"dropout": 0.0})
        network.initialize_states(graph, graph.split("0").train, block=block)
        starts.append(network.common.compatibility.detach())
    torch.testing.assert_close(*starts)


def test_labels_of_other_nodes_do_not_matter(small_graph):
    graph = small_graph()
    nodes = graph.split("0").train
    poisoned = (graph.labels + 1) % 3
    poisoned[nodes] = graph.labels[nodes]
    beliefs = torch.rand(graph.n_nodes, 3)
    found = [known_compatibility(each, nodes, beliefs) for each in (graph, graph.replace(labels=poisoned))]
    assert torch.equal(*found)


def test_a_doubly_stochastic_matrix_is_symmetric_with_sums_of_one():
    matrix = doubly_stochastic(torch.tensor([[5.0, 1.0, 0.0], [0.0, 3.0, 2.0], [9.0, 0.0, 0.0]]))
    torch.testing.assert_close(matrix, matrix.T)
    torch.testing.assert_close(matrix.sum(dim=1), torch.ones(3), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(doubly_stochastic(torch.eye(3)), torch.eye(3), rtol=0, atol=1e-5)
