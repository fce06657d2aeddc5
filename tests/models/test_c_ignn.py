"""c-IGNN and its variants r-IGNN and a-IGNN equal their equations."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build

P, Q, R = 0.6, 0.4, 0.3
OPTIONS = {"width": 5, "input_dropout": P, "hidden_dropout": Q, "dropout": R}


def phi(x, block, dense, p, *, norm=False, relu=True):
    z = dense.drop(x, p) @ block.dense.weight + block.dense.bias
    if norm:
        z = F.layer_norm(z, z.shape[1:], block.norm.weight, block.norm.bias)
    return torch.relu(z) if relu else z


def concatenation(network, graph, dense, *, embed=True, join=True, **form):
    f = dense.filters(graph)
    p, q, r = (P, Q, R) if network.training else (0.0, 0.0, 0.0)
    z = f.X
    for layer in network.stacks[0]:
        h = phi(z, layer.transform.before, dense, p, **form) if embed else z
        hops = []
        for block in layer.transform.after:
            hops.append(phi(h, block, dense, q if embed else p, **form))
            h = f.S1 @ h
        z = torch.cat(hops, dim=1)
        z = phi(z, layer.combine, dense, q, **form) if join else z
    return dense.drop(z, r) @ network.head.weight + network.head.bias


def recursion(network, graph, dense, *, attentive):
    f = dense.filters(graph)
    p, q, r = (P, Q, R) if network.training else (0.0, 0.0, 0.0)
    z = phi(f.X, network.encoder, dense, p)
    for layer in network.stacks[0]:
        hop = f.S1 @ z @ layer.transform.W0 + layer.transform.b0
        if attentive:
            alpha = torch.tanh(dense.drop(torch.cat([hop, z], dim=1), q) @ layer.combine.weight + layer.combine.bias)
            z = alpha * hop + (1 - alpha) * z
        else:
            z = hop + z
    return dense.drop(z, r) @ network.head.weight + network.head.bias


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        ({"n_hops": 3, "n_layers": 2}, {}),
        ({"embed_first": False, "n_hops": 2, "n_layers": 2}, {"embed": False}),
        ({"join": False, "n_layers": 2}, {"join": False}),
        ({"hop_norm": "layer"}, {"norm": True}),
        ({"activation": "none"}, {"relu": False}),
    ],
    ids=str,
)
def test_c_ignn_is_its_equation(graph, dense, agree, marked_dropout, settings, expected, training):
    network = build("c-ignn", graph, **OPTIONS, **settings).train(training)
    agree(network, graph, lambda: concatenation(network, graph, dense, **expected))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("variant", ["residual", "attentive"])
def test_the_variants_are_their_equations(graph, dense, agree, marked_dropout, variant, training):
    network = build("c-ignn", graph, variant=variant, n_layers=3, **OPTIONS).train(training)
    agree(network, graph, lambda: recursion(network, graph, dense, attentive=variant == "attentive"))


def test_sparse_features_are_aggregated_like_dense_ones(small_graph, dense, agree):
    graph = small_graph(sparse=True)
    network = build("c-ignn", graph, embed_first=False, n_hops=2, **OPTIONS).eval()
    agree(network, graph, lambda: concatenation(network, graph, dense, embed=False))
