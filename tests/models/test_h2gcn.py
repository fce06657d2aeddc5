"""H2GCN: Z^l = [S(A) Z^(l-1) ‖ S(A_h2) Z^(l-1)], logits = drop([Z⁰ ‖ .. ‖ Z^T]) W_c."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.core.graph import Graph
from heterophily.models.building import build


def second_hop(graph, dense, rule):
    """Pairs at distance two, or by the threshold S°² - S° - I > 0."""
    f = dense.filters(graph)
    if rule == "thresholded":
        return (f.S1 @ f.S1 - f.S1 - f.I > 1e-12).to(f.A.dtype)
    return (f.A1 @ f.A1 > 0).to(f.A.dtype) - f.A1


def forward(network, graph, dense, *, activation, rule="strict"):
    """The logits, with the activation after every step, as the card writes them."""
    f, p = dense.filters(graph), 0.5 if network.training else 0.0
    act = {"relu": torch.relu, "none": lambda x: x}[activation]
    second = dense.symmetric(second_hop(graph, dense, rule))
    states = [act(f.X @ network.encoder.dense[0].weight)]
    for _ in range(network.n_layers):
        states.append(act(torch.cat([f.S @ states[-1], second @ states[-1]], dim=1)))
    return dense.drop(torch.cat(states, dim=1), p) @ network.head.weight


def book(small_graph):
    """Nodes 1 and 2 are joined and share three neighbors: Σ 1/deg° = 3/3 + 2/5 > 1 on their edge."""
    edges = [(1, 2)] + [(end, leaf) for end in (1, 2) for leaf in (3, 4, 5)]
    graph = small_graph()
    return Graph.from_edges(edges, graph.features, labels=graph.labels).replace(features=graph.features)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("activation", ["relu", "none"])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_published_network_is_the_card(graph, dense, agree, marked_dropout, activation, n_layers, training):
    network = build("h2gcn", graph, width=4, activation=activation, n_layers=n_layers)
    network.train(training)
    agree(network, graph, lambda: forward(network, graph, dense, activation=activation))
    assert network.head.weight.shape == ((2 ** (n_layers + 1) - 1) * 4, graph.n_classes)


def test_the_default_width_ends_in_448_columns(small_graph):
    assert build("h2gcn", small_graph()).head.weight.shape[0] == 448


def test_the_reference_network_thresholds_the_second_hop(small_graph, dense, agree, marked_dropout):
    graph = book(small_graph)
    strict, other = (second_hop(graph, dense, rule) for rule in ("strict", "thresholded"))
    assert (other - strict).nonzero().tolist() == [[1, 2], [2, 1]]
    network = build("h2gcn", graph, preset="reference", width=4)
    agree(network, graph, lambda: forward(network, graph, dense, activation="relu", rule="thresholded"))


@pytest.mark.parametrize("preset", ["published", "reference"])
def test_the_loss_takes_a_logarithm_unless_the_preset_says_no(graph, train, dense, agree, marked_dropout, preset):
    network = build("h2gcn", graph, preset=preset, width=4)
    rule = "strict" if preset == "published" else "thresholded"

    def expected():
        logits = forward(network, graph, dense, activation="relu", rule=rule)
        true = logits.softmax(dim=1)[train, graph.labels[train]]
        return -true.log().mean() if preset == "published" else -true.mean()

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_there_is_no_activation_between_linear_states(small_graph):
    graph = small_graph()
    network = build("h2gcn", graph, width=4, activation="none").eval()
    doubled = graph.replace(features=-2 * graph.features)
    torch.testing.assert_close(network(doubled), -2 * network(graph))
    assert not torch.equal(F.relu(network.embed(graph)), network.embed(graph))


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("h2gcn", small_graph(n_features=400), width=300)
    law.uniform(network.encoder.dense[0].weight, (6 / 700) ** 0.5)
    law.uniform(network.head.weight, (6 / (7 * 300 + 3)) ** 0.5)
    assert len(list(network.parameters())) == 2
