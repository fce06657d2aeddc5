"""SimP-GCN: s ⊙ f(S° Z W + b) + (1-s) ⊙ f(S_f Z W + b) + γ k ⊙ f(Z W + b), and its pairs."""

import dataclasses

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build
from heterophily.models.simp_gcn import similar_pairs


def features(graph, dense):
    """X divided by its row sums."""
    return dense.row(dense.features(graph))


def forward(network, graph, dense, *, gamma=0.1):
    """The logits, and E1 after dropout."""
    p, z = 0.5 if network.training else 0.0, features(graph, dense)
    knn = network.architecture.channels[2].neighborhood.adjacency(graph)
    by_graph, by_features = dense.filters(graph).S1, dense.symmetric(knn.to_dense())
    for layer, module in enumerate(network.stacks[0]):
        act, inner = (torch.relu, z) if layer == 0 else (lambda x: x, dense.drop(z, p))
        w, c = module.transform, module.combine
        s, k = (inner @ c.a + c.beta).sigmoid(), inner @ c.u + c.kappa
        u = inner @ w.W0
        z = s * act(by_graph @ u + w.b0) + (1 - s) * act(by_features @ u + w.b0)
        z = z + gamma * k * act(u + w.b0)
    return z, inner


def similarity_errors(network, graph, dense, state):
    """(w · |E_i - E_j| + w_0 - cos(x_i, x_j))² for all chosen pairs."""
    binary = (dense.features(graph) != 0).to(state.dtype)
    lengths = binary.norm(dim=1)
    cosine = binary @ binary.T / (lengths[:, None] * lengths[None, :]).clamp_min(1e-12)
    i, j = similar_pairs(graph)[0]
    w = network.terms[0].dense
    predicted = (state[i] - state[j]).abs() @ w.weight.squeeze(1) + w.bias
    return (predicted - cosine[i, j]).square()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_the_network_is_the_card(graph, dense, agree, marked_dropout, gamma, training):
    network = build("simp-gcn", graph, width=6, ego_weight=gamma).train(training)
    agree(network, graph, lambda: forward(network, graph, dense, gamma=gamma)[0])
    assert marked_dropout == [0.5] * training


def test_the_loss_adds_the_similarity_of_pairs(graph, train, dense, agree, marked_dropout):
    network = build("simp-gcn", graph, width=6, similarity_weight=5.0)

    def expected():
        logits, state = forward(network, graph, dense)
        errors = similarity_errors(network, graph, dense, state)
        return F.cross_entropy(logits[train], graph.labels[train]) + 5 * errors.mean()

    actual = lambda: network.loss(network(graph), graph, train)  # noqa: E731
    agree(network, graph, expected, actual=actual, tolerance=1e-6)  # targets are single precision


def test_pairs_name_each_pair_once_and_are_no_more_than_ten_per_node(small_graph):
    graph = small_graph()
    pairs, targets = similar_pairs(graph)
    assert pairs.shape == (2, len(targets))
    assert (pairs[0] < pairs[1]).all()
    assert len(pairs.unique(dim=1).T) == len(targets) <= 10 * graph.n_nodes
    assert torch.unique(pairs).tolist() == list(range(graph.n_nodes))


def test_of_too_many_pairs_some_are_drawn_without_replacement(small_graph, dense):
    graph = small_graph()
    network = build("simp-gcn", graph, width=6).eval()
    network(graph)
    _, state = forward(network, graph, dense)
    errors = similarity_errors(network, graph, dense, state)
    term = dataclasses.replace(network.architecture.losses[0], n_pairs=len(errors) - 1)
    drawn = torch.stack([term(network, network.context, None, network.terms[0]) for _ in range(20)])
    without_one = (errors.sum() - errors) / (len(errors) - 1)
    distance = (drawn[:, None] - without_one[None, :]).abs()
    assert distance.min(dim=1).values.max() < 1e-6
    assert len(distance.argmin(dim=1).unique()) > 5


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("simp-gcn", small_graph(n_features=400), width=300, score_bias_init=2.0)
    first, second = network.stacks[0]
    law.uniform(first.transform.W0, (6 / 700) ** 0.5)
    law.uniform(second.transform.W0, (6 / 303) ** 0.5)
    for layer in (first, second):
        law.uniform(layer.combine.a, 1)
        law.uniform(layer.combine.u, 1)
        assert [float(p.detach()) for p in (layer.combine.beta, layer.combine.kappa)] == [2, 0]
        assert not layer.transform.b0.any()
    law.uniform(network.terms[0].dense.weight, 300**-0.5)
