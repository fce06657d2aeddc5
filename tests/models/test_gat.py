"""GAT equals its equations: heads concatenated or averaged, attention over A + I."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.htmp.method import settings_of
from heterophily.models.building import build

P, Q, HEADS = 0.4, 0.3, 2


def attend(layer, z, f, dense, p, q):
    """O_h[i] = Σ_j drop_q(α_ij,h) U_h[j], as (N, H, d)."""
    w, guidance = layer.transform, layer.guidance[0]
    u = (dense.drop(z, p) @ w.W0).unflatten(1, (HEADS, -1))
    left, right = (torch.einsum("nhd,hd->nh", u, v) for v in (guidance.r, guidance.s))
    scores = F.leaky_relu(left[:, None] + right[None, :], 0.2)
    alpha = dense.drop_entries(dense.edge_softmax(scores, f.A1), f.A1, q)
    return torch.einsum("ijh,jhd->ihd", alpha, u)


def transcribe(network, graph, dense, *, merge="concat", activation=F.elu, p=0.0, q=0.0):
    f = dense.filters(graph)
    *hidden, last = network.stacks[0]
    z = f.X
    for layer in hidden:
        heads = attend(layer, z, f, dense, p, q)
        joined = heads.flatten(1) if merge == "concat" else heads.mean(dim=1)
        z = activation(joined + layer.transform.b0)
    return attend(last, z, f, dense, p, q).mean(dim=1) + last.transform.b0


@pytest.mark.parametrize("merge", ["concat", "mean"])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_gat_equals_its_equations(graph, dense, agree, merge, n_layers):
    settings = {"width": 5, "n_heads": HEADS, "n_layers": n_layers, "head_merge": merge}
    network = build("gat", graph, **settings).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense, merge=merge))


def test_dropout_stands_on_states_and_on_attention(graph, dense, agree, marked_dropout):
    network = build("gat", graph, width=5, n_heads=HEADS, dropout=P, attention_dropout=Q)
    agree(network, graph, lambda: transcribe(network, graph, dense, p=P, q=Q))
    assert marked_dropout == [P, Q, P, Q]


def test_the_reference_averages_heads_without_activation_or_dropout_of_attention(
    graph, train, dense, agree, marked_dropout
):
    network = build("gat", graph, width=5, n_heads=HEADS, dropout=P, preset="reference")

    def expected():
        logits = transcribe(network, graph, dense, merge="mean", activation=lambda z: z, p=P)
        return dense.ce_of_probabilities(logits[train], graph.labels[train])

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_the_defaults_are_the_published_ones(graph):
    settings = settings_of(build("gat", graph).method)
    wanted = {
        "n_heads": 8, "dropout": 0.6, "attention_dropout": 0.6, "activation": "elu",
        "head_merge": "concat",
    }  # fmt: skip
    assert {name: settings[name] for name in wanted} == wanted


def test_weights_are_normal_with_the_gain_of_relu(small_graph, law):
    network = build("gat", small_graph(n_features=200), width=250, n_heads=8)
    layer = network.stacks[0][0]
    law.normal(layer.transform.W0, 2**0.5 * (2 / (200 + 2000)) ** 0.5)
    for v in (layer.guidance[0].r, layer.guidance[0].s):
        law.normal(v, 2**0.5 * (2 / (2000 + 250)) ** 0.5)
    assert not layer.transform.b0.any()


@pytest.mark.parametrize("model", ["gat", "ugcn", "wrgnn"])  # the last layers of two have one head
def test_many_entries_are_attended_head_by_head_with_the_same_result(graph, monkeypatch, model):
    results = []
    for many in (2**25, 0):
        monkeypatch.setattr("heterophily.htmp.guidance.MAX_ATTENTION_VALUES", many)
        torch.manual_seed(0)
        network = build(model, graph, dropout=0.0).eval()
        logits = network(graph)
        (logits * torch.arange(logits.numel()).view(logits.shape)).sum().backward()
        results.append([logits, *(p.grad for p in network.parameters())])
    torch.testing.assert_close(*results)


def test_head_by_head_drops_attention_while_training_and_repeats_the_mask_for_gradients(graph, monkeypatch):
    monkeypatch.setattr("heterophily.htmp.guidance.MAX_ATTENTION_VALUES", 0)
    network = build("gat", graph, dropout=0.0, attention_dropout=0.5)
    torch.manual_seed(1)
    first = network(graph)
    assert graph.n_edges == 0 or not torch.equal(first, network(graph))
    first.sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())
