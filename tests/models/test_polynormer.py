"""Polynormer equals its equation with dense matrices of attention, also between all pairs of nodes."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.core.errors import HeterophilyError
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.method import full_graph_reason
from heterophily.models.building import build
from heterophily.models.polynormer import Polynormer

IN, P, Q, HEADS, WIDTH = 0.2, 0.3, 0.4, 2, 6
OPTIONS = {"width": WIDTH, "n_heads": HEADS, "input_dropout": IN, "dropout": P, "global_dropout": Q}


def layer_norm(z, norm):
    return F.layer_norm(z, z.shape[1:], norm.weight, norm.bias)


def heads(z):
    return z.split(WIDTH // HEADS, dim=1)


def local_attention(z, layer, pattern, dense):
    u, guidance = z @ layer.transform.W2, layer.guidance[2]
    parts = []
    for r, s, part in zip(guidance["r"], guidance["s"], heads(u), strict=True):
        scores = F.leaky_relu((part @ r)[:, None] + part @ s, 0.2)
        parts.append(dense.edge_softmax(scores, pattern) @ part)
    return torch.cat(parts, dim=1)


def global_attention(g, w):
    keys, values = (heads(z) for z in (torch.sigmoid(w.key(g)), w.value(g)))
    pairs = (k @ k.T for k in keys)
    return torch.cat([a / a.sum(dim=1, keepdim=True) @ v for a, v in zip(pairs, values, strict=True)], dim=1)


def forward(network, graph, dense, *, relu=True):
    f = dense.filters(graph)
    p_in, p, q = (IN, P, Q) if network.training else (0.0, 0.0, 0.0)
    activate = torch.relu if relu else lambda z: z
    first = network.encoder.dense[0]
    z, total = dense.drop(dense.drop(f.X, p_in) @ first.weight + first.bias, p), 0
    for layer in network.stacks[0]:
        w, beta = layer.transform, torch.sigmoid(layer.combine.beta)
        own = activate(z @ w.W1 + w.b1 + local_attention(z, layer, f.A1, dense))
        own = dense.drop(own, p)
        z = (1 - beta) * layer_norm(activate(z @ w.W0 + w.b0) * own, layer.combine.norm) + beta * own
        total = total + z
    g = layer_norm(total, network.fuse.entry)
    for w in network.fuse.layers:
        product = layer_norm(global_attention(g, w), w.norm) * (w.factor(g) + torch.sigmoid(w.gamma))
        g = dense.drop(activate(network.fuse.output(product)), q)
    return g @ network.head.weight + network.head.bias


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"n_layers": 1}, {}),
        ({"n_layers": 3, "n_global_layers": 2}, {}),
        ({"n_layers": 2, "activation": "none"}, {"relu": False}),
    ],
    ids=str,
)
def test_polynormer_is_its_equation(graph, dense, agree, marked_dropout, settings, expected, training):
    network = build("polynormer", graph, **OPTIONS, **settings).train(training)
    agree(network, graph, lambda: forward(network, graph, dense, **expected))


def test_heads_must_divide_the_width(graph):
    with pytest.raises(HeterophilyError, match="n_heads must divide the width 10, got 4"):
        build("polynormer", graph, width=10, n_heads=4)


def test_a_network_with_global_attention_is_evaluated_in_one_pass(small_graph):
    graph = small_graph()
    network = build("polynormer", graph, **OPTIONS).eval()
    assert full_graph_reason(Polynormer()) == "its attention joins every node with every node"
    torch.testing.assert_close(evaluate(network, graph, block=3), network(graph))
    torch.testing.assert_close(evaluate(network, graph, block=3, head=False), network.embed(graph))
