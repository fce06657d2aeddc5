"""Trio: Z^l = f( drop([Z ‖ S° Z ‖ R Z]) W_l + b_l ), Z⁰ = f( drop(X) W_x + δ w_d + b )."""

import pytest
import torch

from heterophily.core.graph import Graph
from heterophily.htmp.architecture import Architecture, Head
from heterophily.htmp.combine import Add
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.transform import JointLinear
from heterophily.models.building import build


def scaled_log_degree(f):
    """δ as a column, scaled with the mean and the deviation of all nodes."""
    logs = f.A.sum(dim=1, keepdim=True).add(1).log()
    return (logs - logs.mean()) / logs.std(correction=0).clamp_min(1e-6)


def directed(graph):
    """The matrices of incoming and outgoing edges, without self-loops."""
    out = torch.zeros(graph.n_nodes, graph.n_nodes)
    out[graph.adjacency.rows.long(), graph.adjacency.indices.long()] = 1
    out = out.fill_diagonal_(0)
    return out.T, out


def forward(network, graph, dense, *, used=("S1", "R"), added=False, degree=True, concat=True, relu=True):
    """The logits, with one dense matrix per channel."""
    f = dense.filters(graph)
    matrices = [f.I, *(getattr(f, name) for name in used)]
    matrices += [dense.row(m) for m in directed(graph)] if added else []
    activate = torch.relu if relu else lambda x: x
    p, q = (0.6, 0.3) if network.training else (0.0, 0.0)
    layer = network.encoder.dense if degree else network.encoder.dense[0]
    x = dense.drop(f.X / f.X.norm(dim=1, keepdim=True).clamp_min(1e-12), p) @ layer.weight + layer.bias
    states = [activate(x + scaled_log_degree(f) * network.encoder.degree if degree else x)]
    for layer in network.stacks[0]:
        joined = dense.drop(torch.cat([m @ states[-1] for m in matrices], dim=1), q)
        states.append(activate(joined @ layer.transform.weight + layer.transform.bias))
    z = dense.drop(torch.cat(states, dim=1) if concat else states[-1], q)
    return z @ network.head.weight + network.head.bias


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_the_network_is_the_equation(graph, dense, agree, marked_dropout, n_layers, training):
    network = build("trio", graph, width=5, n_layers=n_layers, dropout=0.3, input_dropout=0.6).train(training)
    agree(network, graph, lambda: forward(network, graph, dense))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"aggregation": "mean"}, {"used": ("R",)}),
        ({"aggregation": "sum"}, {"used": ("S1",)}),
        ({"self_loops": "none"}, {"used": ("S", "R")}),
        ({"self_loops": "mean"}, {"used": ("S", "R1")}),
        ({"self_loops": "both"}, {"used": ("S1", "R1")}),
        ({"directed": True}, {"added": True}),
        ({"degree": False}, {"degree": False}),
        ({"concat_layers": False}, {"concat": False}),
        ({"activation": "none"}, {"relu": False}),
    ],
    ids=str,
)
def test_each_setting_changes_its_part_of_the_equation(graph, dense, agree, marked_dropout, settings, expected):
    network = build("trio", graph, width=5, dropout=0.3, input_dropout=0.6, **settings)
    agree(network, graph, lambda: forward(network, graph, dense, **expected))


def test_another_graph_uses_the_scale_of_the_training_graph(small_graph):
    graph = small_graph()
    network = build("trio", graph, width=5).eval()
    part = Graph.from_edges([], graph.features, labels=graph.labels).replace(features=graph.features)
    z = network.encode(part).initial
    x = network.input(part) @ network.encoder.dense.weight + network.encoder.dense.bias
    w = network.encoder
    torch.testing.assert_close(z, torch.relu(x + (0 - w.mean) / w.scale * w.degree))


def test_a_joint_map_requires_a_concatenation():
    channels = (Ego() * Ones(), Raw() * RowMean())
    with pytest.raises(ValueError, match=r"JointLinear maps the concatenation of all messages; use combine=Concat\(\)"):
        Architecture(channels=channels, combine=Add(), transform=JointLinear(), encoder=Embed(), head=Head())
