"""OrderedGNN equals its equations, and its gate is ordered along chunks and layers."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.core.errors import HeterophilyError
from heterophily.htmp.method import settings_of
from heterophily.models.building import build

P1, P2, WIDTH, CHUNKS, LAYERS = 0.4, 0.3, 6, 3, 3


def open_gate(dense, z, m, previous, *, gate):
    raw = torch.cat([z, m], dim=1) @ dense.weight + dense.bias
    if gate == "simple":
        return torch.sigmoid(raw)
    return previous + (1 - previous) * raw.softmax(dim=1).cumsum(dim=1)


def transcribe(network, graph, dense, *, gate="ordered", p1=0.0, p2=0.0):
    f = dense.filters(graph)
    z = f.X
    for entry, norm in zip(network.encoder.dense, network.encoder.norms, strict=True):
        z = norm(torch.relu(dense.drop(z, p1) @ entry.weight + entry.bias))
    g = torch.zeros(graph.n_nodes, CHUNKS)
    for layer in network.stacks[0]:
        z = dense.drop(z, p2)
        m = f.R @ z
        if gate == "off":
            mixed = m
        else:
            owner = network.common if hasattr(network.common, "gate") else layer.combine
            g = open_gate(owner.gate, z, m, g, gate=gate)
            wide = g.repeat_interleave(WIDTH // CHUNKS, dim=1)
            mixed = wide * z + (1 - wide) * m
        norm = layer.combine.norm
        z = F.layer_norm(mixed, (WIDTH,), norm.weight, norm.bias, eps=1e-5)
    return dense.drop(z, p1) @ network.head.weight + network.head.bias


def options(**more):
    return {"width": WIDTH, "n_chunks": CHUNKS, "n_layers": LAYERS, "n_input_layers": 2} | more


@pytest.mark.parametrize("gate", ["ordered", "simple", "off"])
@pytest.mark.parametrize("shared", [True, False])
def test_ordered_gnn_equals_its_equations(graph, dense, agree, shared, gate):
    network = build("ordered-gnn", graph, **options(shared_gate=shared, gate=gate)).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense, gate=gate))


def test_dropout_stands_before_every_dense_layer_and_every_round(graph, dense, agree, marked_dropout):
    network = build("ordered-gnn", graph, **options(dropout=P1, layer_dropout=P2))
    agree(network, graph, lambda: transcribe(network, graph, dense, p1=P1, p2=P2))
    assert marked_dropout == [P1, P1] + [P2] * LAYERS + [P1]


@pytest.mark.parametrize(("shared", "n_gates"), [(True, 1), (False, LAYERS)])
def test_the_gate_is_shared_or_one_per_layer(graph, shared, n_gates):
    network = build("ordered-gnn", graph, **options(shared_gate=shared))
    assert sum(name.endswith("gate.weight") for name, _ in network.named_parameters()) == n_gates


@pytest.mark.parametrize("shared", [True, False])
def test_without_a_gate_there_are_no_weights_of_a_gate(graph, shared):
    network = build("ordered-gnn", graph, **options(shared_gate=shared, gate="off"))
    assert not any("gate" in name for name, _ in network.named_parameters())


def record_gates(network, graph, monkeypatch):
    found, original = [], type(network.architecture.combine).gate_values

    def gate_values(*arguments):
        found.append(original(*arguments))
        return found[-1]

    monkeypatch.setattr(type(network.architecture.combine), "gate_values", gate_values)
    network(graph)
    return torch.stack(found)


@pytest.mark.parametrize("shared", [True, False])
def test_gates_rise_along_chunks_and_layers_up_to_one(graph, monkeypatch, shared):
    network = build("ordered-gnn", graph, **options(shared_gate=shared)).eval()
    g = record_gates(network, graph, monkeypatch)
    assert g.shape == (LAYERS, graph.n_nodes, CHUNKS)
    assert g.min() > 0
    assert g.max() <= 1 + 1e-12
    assert (g.diff(dim=0) >= -1e-12).all()
    assert (g.diff(dim=2) > 0).all()
    torch.testing.assert_close(g[:, :, -1], torch.ones(LAYERS, graph.n_nodes))


def test_the_last_chunk_belongs_to_the_node_alone(small_graph):
    graph = small_graph()
    network = build("ordered-gnn", graph, **options(n_layers=1)).eval()
    layer = network.stacks[0][0]
    states = torch.randn(graph.n_nodes, WIDTH), torch.randn(graph.n_nodes, WIDTH)
    layer.combine.norm = torch.nn.Identity()
    network(graph)
    network.context.carry.clear()
    mixed = layer.combine_part(states, None, layer.combine, network.context)
    torch.testing.assert_close(mixed[:, -2:], states[0][:, -2:])
    assert not torch.isclose(mixed[:, :-2], states[0][:, :-2]).any()


def test_all_dense_layers_follow_the_linear_law(small_graph, law):
    network = build("ordered-gnn", small_graph(n_features=400), n_input_layers=2, n_layers=1)
    entries = [(e, e.weight.shape[0]) for e in network.encoder.dense]
    for entry, rows in [*entries, (network.common.gate, 512), (network.head, 256)]:
        law.uniform(entry.weight, rows**-0.5)
        assert entry.bias.abs().max() <= rows**-0.5
        assert entry.bias.abs().max() > 0
    norm = network.stacks[0][0].combine.norm
    assert (norm.weight == 1).all()
    assert (norm.bias == 0).all()


def test_chunks_must_divide_the_width(graph):
    with pytest.raises(HeterophilyError, match="n_chunks must divide the width 10, got 4"):
        build("ordered-gnn", graph, width=10, n_chunks=4)


def test_the_defaults_are_those_of_the_card(graph):
    settings = settings_of(build("ordered-gnn", graph).method)
    assert (settings["width"], settings["n_chunks"], settings["n_layers"]) == (256, 64, 8)
