"""CLP equals its equation, no node receives its own label, and it needs no features."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from heterophily.core.graph import Graph
from heterophily.data.splits import random_splits
from heterophily.models.building import build
from heterophily.models.cpgnn import known_compatibility
from heterophily.training.trainer import train

P, ALPHA = 0.3, 0.6
OPTIONS = {"width": 5, "dropout": P, "alpha": ALPHA}


def made(graph, **options):
    network = build("clp", graph, **OPTIONS | options)
    network.initialize_states(graph, graph.split("0").train)
    return network


def beliefs_of(network, x, dense, p=0.0):
    w = network.encoder
    hidden = dense.drop(torch.relu(x @ w.inner.weight + w.inner.bias), p)
    return (hidden @ w.outer.weight + w.outer.bias).softmax(dim=1)


def propagate(first, network, graph, dense):
    s, h, z = dense.filters(graph).S, network.states[0].compatibility, first
    for _ in range(network.n_layers):
        z = (1 - ALPHA) * first + ALPHA * dense.norm1(s @ z @ h)
    return z


@pytest.mark.parametrize("n_layers", [1, 3])
def test_clp_is_its_equation(graph, dense, agree, n_layers):
    network, nodes = made(graph, n_layers=n_layers).eval(), graph.split("0").train

    def forward():
        beliefs = beliefs_of(network, graph.features, dense)
        known = beliefs.index_copy(0, nodes, F.one_hot(graph.labels[nodes], 3).double())
        result, own = (propagate(first, network, graph, dense) for first in (known, beliefs))
        return result.index_copy(0, nodes, own[nodes]).log()

    agree(network, graph, forward)


def test_training_uses_the_mlp_alone(graph, dense, agree, marked_dropout):
    network = made(graph)
    agree(network, graph, lambda: beliefs_of(network, graph.features, dense, P).log())


def test_the_matrix_is_estimated_from_labels_and_then_from_beliefs(small_graph):
    graph = small_graph()
    network, nodes = made(graph), graph.split("0").train
    expected = known_compatibility(graph, nodes, torch.zeros(graph.n_nodes, 3))
    torch.testing.assert_close(network.state_summary()["compatibility"], expected)
    logits = torch.randn(graph.n_nodes, 3)
    network.update_states(graph, logits)
    expected = known_compatibility(graph, nodes, logits.softmax(dim=1))
    torch.testing.assert_close(network.state_summary()["compatibility"], expected)


def test_no_prediction_depends_on_the_label_of_the_node(small_graph):
    graph = small_graph()
    network = made(graph, n_layers=4).eval()
    expected, state = network(graph), network.states[0]
    for node in graph.split("0").train.tolist():
        stored = state.labels.clone()
        state.labels[node] = stored[node].roll(1)
        assert torch.equal(network(graph)[node], expected[node])
        state.labels = stored


def test_labels_of_training_nodes_reach_their_neighbors(small_graph):
    graph = small_graph()
    network = made(graph).eval()
    expected = network(graph)
    with network.states[0].forget(graph.split("0").train):
        assert not torch.equal(network(graph), expected)
    assert torch.equal(network(graph), expected)


def test_another_graph_has_no_known_labels(small_graph, dense):
    graph, other = small_graph(), small_graph(seed=1)
    network = made(graph).eval()
    first = beliefs_of(network, other.features, dense)
    torch.testing.assert_close(network(other), propagate(first, network, other, dense).log())


def test_a_graph_without_features_is_classified_by_the_labels_of_neighbors():
    edges = np.random.default_rng(0).integers(300, size=(4000, 2))
    labels = np.arange(300) % 2
    graph = Graph.from_edges(edges[labels[edges[:, 0]] != labels[edges[:, 1]]], labels=labels)
    graph = graph.replace(splits=random_splits(graph, count=1))
    assert graph.n_features == 0
    network, result = train("clp", graph, split=graph.split("0"), max_epochs=5, progress=False)
    assert result.scores["test"]["accuracy"] > 0.95
    assert network.state_summary()["compatibility"].diagonal().max() < 0.01
