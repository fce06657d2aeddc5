"""WRGNN: Σ_r (1/|N_r(i)|) Σ_j α_ij ω_ij U_j + Z W_0 + b, with attention within each relation."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.core.sparse import Matrix
from heterophily.models.building import build


def relation(channel, graph):
    """ω of one relation, (N, N), zero off the relation, and how often each pair is in it."""
    found = channel.neighborhood.adjacency(graph)
    pattern = found.pattern if isinstance(found, Matrix) else found
    times = torch.zeros(pattern.shape)
    times.index_put_((pattern.rows.long(), pattern.indices.long()), torch.ones(()), accumulate=True)
    return (found.to_dense() if isinstance(found, Matrix) else times), times


def forward(network, graph, dense, *, aggregate="mean"):
    """The logits, relation by relation."""
    z, p = dense.features(graph), 0.5 if network.training else 0.0
    for layer, module in enumerate(network.stacks[0]):
        z = dense.drop(z.relu(), p) if layer else z
        w, out = module.transform, z @ module.transform.W0 + module.transform.b0
        for r, channel in enumerate(network.architecture.channels[1:], start=1):
            omega, times = relation(channel, graph)
            u, a = z @ getattr(w, f"W{r}"), module.guidance[r]
            left, right = u @ a.r[0], u @ a.s[0]
            raised = times * F.leaky_relu(left[:, None] + right[None, :], 0.2).exp()
            message = (dense.row(raised) * omega) @ u
            count = times.sum(dim=1, keepdim=True).clamp_min(1)
            out = out + (message / count if aggregate == "mean" else message)
        z = out
    return z


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("aggregate", ["mean", "sum"])
def test_the_network_is_the_card(graph, dense, agree, marked_dropout, aggregate, training):
    network = build("wrgnn", graph, width=6, aggregate=aggregate, raw_weight=0.5).train(training)
    agree(network, graph, lambda: forward(network, graph, dense, aggregate=aggregate))
    assert marked_dropout == [0.5] * training


def test_the_reference_network_counts_a_pair_that_both_ends_chose_twice(graph, dense, agree, marked_dropout):
    network = build("wrgnn", graph, preset="reference", width=6)
    assert len(network.architecture.channels) == 13  # the ego, the graph, depths 0 to 10
    assert relation(network.architecture.channels[2], graph)[1].max() == 2
    agree(network, graph, lambda: forward(network, graph, dense))


def test_the_loss_is_the_cross_entropy(graph, train, dense, agree, marked_dropout):
    network = build("wrgnn", graph, width=6)

    def expected():
        logits = forward(network, graph, dense)
        return F.nll_loss(logits.log_softmax(dim=1)[train], graph.labels[train])

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


@pytest.mark.parametrize("depth", [0, 2, 3])
def test_weights_have_the_laws_of_the_card(small_graph, law, depth):
    network = build("wrgnn", small_graph(n_features=400), width=300, depth=depth)
    first = network.stacks[0][0]
    n_relations = depth + 2  # the raw graph and depths 0, 1, .., depth
    assert len(first.guidance) == n_relations + 1
    for r in range(n_relations + 1):
        law.uniform(getattr(first.transform, f"W{r}"), (6 / 700) ** 0.5)
    for guidance in first.guidance[1:]:
        law.uniform(torch.cat([guidance.r, guidance.s]), (6 / (n_relations + 600)) ** 0.5)
    assert not first.transform.b0.any()
    assert sum("b" in name for name, _ in first.transform.named_parameters()) == 1
