"""GBK-GNN: Z_i W_r + mean_j[σ_ij Z_j] W_p + b_p + mean_j[(1-σ_ij) Z_j] W_n + b_n, and its gate loss."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build
from heterophily.models.gbk_gnn import GateLoss

QUIRKS = {"loops": True, "ego": True, "parity": True}


def forward(network, graph, dense, *, loops=False, ego=False, parity=False):
    """The logits, the gates of the layers and the pattern of the neighbors."""
    f, p = dense.filters(graph), 0.5 if network.training else 0.0
    pattern, z, gates = f.A1 if loops else f.A, f.X, []
    mean = dense.row(pattern)
    for layer, module in enumerate(network.stacks[0]):
        z = dense.drop(z.relu(), p) if layer else z
        w, gate = module.transform, module.guidance[1]
        u = z @ gate.W
        sigma = F.leaky_relu((u @ gate.r)[:, None] + (u @ gate.s)[None, :], 0.2).sigmoid()
        other = mean * (1 - sigma)
        heard = other.sum(dim=1, keepdim=True) * z if ego else other @ z
        kernels = (mean * sigma) @ z @ w.W1 + w.b1, heard @ w.W2 + w.b2
        halves = parity and w.W0.shape[1] % 2 == 0
        z = z @ w.W0 + (torch.cat(kernels, dim=1) if halves else sum(kernels))
        gates.append(sigma)
    return z, gates, pattern


def gate_loss(graph, train, gates, pattern, *, target, form):
    """The mean over edges whose two ends are training nodes, for each layer, added up."""
    known = torch.zeros(graph.n_nodes, graph.n_nodes, dtype=torch.bool)
    known[train[:, None], train[None, :]] = pattern[train[:, None], train[None, :]] > 0
    if not known.any():
        return torch.zeros(())
    y_i, y_j = graph.labels[:, None], graph.labels[None, :]
    t = (y_i == y_j if target == "same_label" else (y_i >= 1) & (y_j >= 1)).to(pattern.dtype)
    total = torch.zeros(())
    for sigma in gates:
        loss = -t * sigma.log() - (1 - t) * (1 - sigma).log()
        if form == "probabilities_as_logits":
            one, zero = (1 + (1 - 2 * sigma).exp()).log(), (1 + (2 * sigma - 1).exp()).log()
            loss = t * one + (1 - t) * zero
        total = total + loss[known].mean()
    return total


@pytest.mark.parametrize("training", [True, False])
def test_the_published_network_is_the_card(graph, dense, agree, marked_dropout, training):
    network = build("gbk-gnn", graph, width=6).train(training)
    agree(network, graph, lambda: forward(network, graph, dense)[0])


@pytest.mark.parametrize("n_classes", [3, 4], ids=["odd", "even"])
@pytest.mark.parametrize("width", [5, 6])
def test_the_reference_network_is_the_card(graph, dense, agree, marked_dropout, width, n_classes):
    graph = graph.replace(n_classes=n_classes)
    network = build("gbk-gnn", graph, preset="reference", width=width)
    agree(network, graph, lambda: forward(network, graph, dense, **QUIRKS)[0])


@pytest.mark.parametrize("form", ["binary", "probabilities_as_logits"])
@pytest.mark.parametrize("target", ["same_label", "both_nonzero"])
@pytest.mark.parametrize("loops", [False, True])
def test_the_loss_is_cross_entropy_plus_the_gate_loss(graph, train, dense, agree, marked_dropout, form, target, loops):
    settings = {"gate_loss": form, "gate_target": target, "gate_self_loops": loops}
    network = build("gbk-gnn", graph, width=6, gate_weight=3.0, **settings)

    def expected():
        logits, gates, pattern = forward(network, graph, dense, loops=loops)
        extra = gate_loss(graph, train, gates, pattern, target=target, form=form)
        return F.cross_entropy(logits[train], graph.labels[train]) + 3 * extra

    actual = lambda: network.loss(network(graph), graph, train)  # noqa: E731
    agree(network, graph, expected, actual=actual)


def test_two_nodes_of_class_zero_are_strangers_to_the_reference_target(small_graph):
    graph = small_graph()
    graph = graph.replace(labels=torch.zeros_like(graph.labels))
    network = build("gbk-gnn", graph, width=6)
    network(graph)
    nodes = torch.arange(graph.n_nodes)
    gates = torch.stack([gate for *_, gate in network.context.aux_outputs["gate"]])
    losses = {
        target: GateLoss(1.0, target)(network, network.context, nodes, None)
        for target in ("same_label", "both_nonzero")
    }
    torch.testing.assert_close(losses["same_label"], -gates.log().mean(dim=1).sum())
    torch.testing.assert_close(losses["both_nonzero"], -(1 - gates).log().mean(dim=1).sum())


def test_an_open_gate_drops_the_second_kernel(small_graph, dense, monkeypatch):
    graph = small_graph()
    network = build("gbk-gnn", graph, width=6).eval()
    monkeypatch.setattr(torch, "sigmoid", torch.ones_like)
    f, z = dense.filters(graph), dense.features(graph)
    for layer, module in enumerate(network.stacks[0]):
        w, z = module.transform, z.relu() if layer else z
        z = z @ w.W0 + f.R @ z @ w.W1 + w.b1 + w.b2
    torch.testing.assert_close(network(graph), z)


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("gbk-gnn", small_graph(n_features=400), width=300)
    w, gate = network.stacks[0][0].transform, network.stacks[0][0].guidance[1]
    law.uniform(w.W0, 400**-0.5)
    for bias in (w.b1, w.b2):
        law.uniform(bias, 400**-0.5)
    for weight in (w.W1, w.W2, gate.W):
        law.uniform(weight, (6 / 700) ** 0.5)
    for vector in (gate.r, gate.s):
        law.uniform(vector, (6 / 301) ** 0.5)
    assert not hasattr(w, "b0")
