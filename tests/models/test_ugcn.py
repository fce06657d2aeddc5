"""UGCN: two layers of attention for each of three neighborhoods, mixed for each node."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.core.errors import HeterophilyError
from heterophily.models.building import build

SMALL = {"width": 4, "n_heads": 2, "embedding_width": 5}


def attend(module, z, pattern, dense, *, n_heads, p):
    """[Σ_j drop(α_ij) U_j]_heads, α = softmax_nbr(lrelu_0.2(U_i · r + U_j · s))."""
    w = module.guidance[0]
    outputs = []
    shares = []
    u = (z @ module.transform.W0).unflatten(1, (n_heads, -1))
    for h in range(n_heads):
        e = F.leaky_relu((u[:, h] @ w.r[h])[:, None] + (u[:, h] @ w.s[h])[None, :], 0.2)
        shares.append(dense.edge_softmax(e, pattern))
    shares = dense.drop_entries(torch.stack(shares, dim=2), pattern, p)
    for h in range(n_heads):
        outputs.append(shares[:, :, h] @ u[:, h])
    return torch.cat(outputs, dim=1)


def forward(network, graph, dense, *, head="linear"):
    """The logits, neighborhood by neighborhood."""
    p, states = 0.6 if network.training else 0.0, []
    for channel, (first, second) in zip(network.architecture.channels, network.stacks, strict=True):
        found = channel.neighborhood.adjacency(graph)
        pattern = (found * torch.ones(found.n_entries)).to_dense()
        z = dense.drop(dense.features(graph), p)
        z = F.elu(attend(first, z, pattern, dense, n_heads=2, p=p))
        z = F.elu(attend(second, dense.drop(z, p), pattern, dense, n_heads=1, p=p))
        states.append(z.log_softmax(dim=1) if head == "none" else z)
    w = network.combine
    scores = [(z @ w.inside.weight + w.inside.bias).tanh() @ w.v.weight for z in states]
    beta = torch.cat(scores, dim=1).softmax(dim=1)
    z = sum(beta[:, c : c + 1] * state for c, state in enumerate(states))
    if head == "none":
        return z[:, : graph.n_classes]
    return z @ network.head.weight + network.head.bias


@pytest.mark.parametrize("training", [True, False])
def test_the_published_network_is_the_card(graph, dense, agree, marked_dropout, training):
    network = build("ugcn", graph, **SMALL).train(training)
    agree(network, graph, lambda: forward(network, graph, dense))
    assert marked_dropout == [0.6] * 12 * training  # X, α, Z and α again in each neighborhood


def test_the_reference_network_reads_columns_as_classes(graph, dense, agree, marked_dropout):
    network = build("ugcn", graph, preset="reference", **SMALL)
    agree(network, graph, lambda: forward(network, graph, dense, head="none"))
    assert network.head is None


def test_the_loss_is_the_cross_entropy(graph, train, dense, agree, marked_dropout):
    network = build("ugcn", graph, **SMALL)

    def expected():
        logits = forward(network, graph, dense)
        return F.nll_loss(logits.log_softmax(dim=1)[train], graph.labels[train])

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_neighborhoods_contain_the_node_itself(small_graph):
    graph = small_graph()
    for channel in build("ugcn", graph, **SMALL).architecture.channels:
        found = channel.neighborhood.adjacency(graph)
        assert (found.rows == found.indices).sum() == graph.n_nodes


def test_too_few_columns_for_the_classes_are_refused(small_graph):
    with pytest.raises(HeterophilyError, match="uses its first 3 columns as classes, but has 2"):
        build("ugcn", small_graph(), head="none", embedding_width=2)


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("ugcn", small_graph(n_features=400), width=100, embedding_width=200)
    for first, second in network.stacks:
        assert first.transform.W0.shape == (400, 800)
        law.normal(first.transform.W0, (2 * 2 / (400 + 100)) ** 0.5)
        law.normal(second.transform.W0, (2 * 2 / (800 + 200)) ** 0.5)
        for vector in (first.guidance[0].r, first.guidance[0].s):
            assert vector.shape == (8, 100)
            law.normal(vector, (2 * 2 / 101) ** 0.5)
        law.normal(second.guidance[0].r, (2 * 2 / 201) ** 0.5)
    law.uniform(network.combine.inside.weight, 200**-0.5)
    assert network.combine.v.bias is None
