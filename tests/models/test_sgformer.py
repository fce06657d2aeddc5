"""SGFormer equals its equation with the matrix of all pairs of nodes, which the library never forms."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.htmp.method import full_graph_reason
from heterophily.models.building import build
from heterophily.models.sgformer import SGFormer

P, ALPHA, BETA = 0.3, 0.6, 0.7
OPTIONS = {"width": 5, "dropout": P, "graph_weight": ALPHA, "attention_weight": BETA, "norm": "layer"}


def layer_norm(z, norm):
    return F.layer_norm(z, z.shape[1:], norm.weight, norm.bias)


def attention(z, w):
    """LN(β attention(Z) + (1-β) Z), with the attention of every node to every node as a dense matrix."""
    q, k, v = (z @ dense.weight + dense.bias for dense in (w.query, w.key, w.value))
    pairs = (q / q.norm()) @ (k / k.norm()).T / len(z)
    weights = (torch.eye(len(z)) + pairs) / (1 + pairs.sum(dim=1, keepdim=True))
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(z)))
    return layer_norm(BETA * weights @ v + (1 - BETA) * z, w.norm)


def forward(network, graph, dense):
    f, p = dense.filters(graph), P if network.training else 0.0
    block = network.encoder
    initial = z = layer_norm(f.X @ block.dense.weight + block.dense.bias, block.norm).relu()
    for layer in network.stacks[0]:
        sums = f.S1 @ dense.drop(z, p) @ layer.transform.W0 + layer.transform.b0
        z = layer_norm(sums, layer.norm).relu()
    z = (1 - ALPHA) * attention(dense.drop(initial, p), network.fuse) + ALPHA * z
    return dense.drop(z, p) @ network.head.weight + network.head.bias


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_sgformer_is_its_equation(graph, dense, agree, marked_dropout, n_layers, training):
    network = build("sgformer", graph, n_layers=n_layers, **OPTIONS).train(training)
    agree(network, graph, lambda: forward(network, graph, dense))


def test_without_the_graph_network_all_nodes_still_influence_each_other(small_graph):
    graph = small_graph(edges=False)
    network = build("sgformer", graph, **OPTIONS | {"graph_weight": 0.0}).eval()
    x = graph.features.clone().requires_grad_()
    network(x, torch.zeros(2, 0, dtype=torch.long))[0].sum().backward()
    assert bool((x.grad.abs().sum(dim=1) > 0).all())


def test_attention_needs_the_full_graph():
    assert full_graph_reason(SGFormer(norm="layer")) == "its attention joins every node with every node"
