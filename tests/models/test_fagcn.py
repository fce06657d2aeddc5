"""FAGCN equals its equations: a gate of either sign per edge and layer, and ε Z⁰."""

import pytest
import torch

from heterophily.htmp.method import settings_of
from heterophily.models.building import build
from heterophily.models.fagcn import SignedAttention

P, EPSILON, WIDTH = 0.4, 0.35, 5


def transcribe(network, graph, dense, p=0.0):
    f = dense.filters(graph)
    degrees = f.A.sum(dim=1).clamp_min(1)
    (entry,) = network.encoder.dense
    hidden = torch.relu(dense.drop(dense.norm1(f.X), p) @ entry.weight + entry.bias)
    z = first = dense.drop(hidden, p)
    for layer in network.stacks[0]:
        w = layer.guidance[1]
        gate = torch.tanh((z @ w.w[0])[:, None] + (z @ w.w[1])[None, :] + w.c)
        b = f.A * gate / torch.sqrt(degrees[:, None] * degrees[None, :])
        z = EPSILON * first + dense.drop_entries(b, f.A, p) @ z
    return z @ network.head.weight + network.head.bias


@pytest.mark.parametrize("n_layers", [1, 3])
def test_fagcn_equals_its_equations(graph, dense, agree, n_layers):
    settings = {"width": WIDTH, "n_layers": n_layers, "ego_weight": EPSILON}
    network = build("fagcn", graph, **settings).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


def test_dropout_stands_around_the_first_layer_and_on_edges(graph, dense, agree, marked_dropout):
    network = build("fagcn", graph, width=WIDTH, ego_weight=EPSILON, dropout=P)
    agree(network, graph, lambda: transcribe(network, graph, dense, P))
    assert marked_dropout == [P] * 4


def test_open_gates_without_ego_are_plain_propagation(graph, dense, monkeypatch):
    monkeypatch.setattr(torch, "tanh", torch.ones_like)
    network = build("fagcn", graph, ego_weight=0.0, n_layers=3).eval()
    f = dense.filters(graph)
    first = torch.relu(network.encoder.dense[0](dense.norm1(f.X)))
    z = torch.linalg.matrix_power(f.S, 3) @ first
    torch.testing.assert_close(network(graph), network.head(z))


def test_weights_are_normal_and_biases_linear(small_graph, law):
    network = build("fagcn", small_graph(n_features=300), width=2000, n_layers=1)
    entry, head, gate = network.encoder.dense[0], network.head, network.stacks[0][0].guidance[1]
    law.normal(entry.weight, 1.414 * (2 / 2300) ** 0.5)
    law.uniform(entry.bias, 300**-0.5)
    law.normal(head.weight, 1.414 * (2 / 2003) ** 0.5)
    law.normal(gate.w, 1.414 * (2 / 4001) ** 0.5)
    for bias, rows in ((head.bias, 2000), (gate.c, 4000)):
        assert 0 < bias.abs().max() <= rows**-0.5


def test_gates_take_either_sign(small_graph, monkeypatch):
    found, original = [], SignedAttention.values
    monkeypatch.setattr(SignedAttention, "values", lambda *a: found.append(original(*a)) or found[-1])
    graph = small_graph()
    build("fagcn", graph).eval()(graph)
    values = torch.cat(found)
    assert values.min() < 0 < values.max()


def test_the_defaults_are_those_of_the_authors(graph):
    settings = settings_of(build("fagcn", graph).method)
    wanted = {
        "learning_rate": 0.01, "weight_decay": 5e-5, "width": 32, "dropout": 0.5,
        "ego_weight": 0.3, "n_layers": 2, "patience": 200, "feature_norm": "l1",
    }  # fmt: skip
    assert {name: settings[name] for name in wanted} == wanted
