"""GGCN: signed messages with a degree correction, three global weights and a decayed skip."""

import math

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build
from heterophily.models.ggcn import cosines


def normalized(graph, dense, normalization):
    """Â: S° or R°."""
    f = dense.filters(graph)
    return f.S1 if normalization == "symmetric" else f.R1


def deltas(a_hat):
    """δ_ij = Â_ii / Â_ij - 1 where Â_ij > 0."""
    return torch.where(a_hat > 0, a_hat.diagonal()[:, None] / a_hat.clamp_min(1e-300) - 1, 0.0)


def transcribed_layer(module, h, a_hat):
    """softplus(ς) (ω_1 Σ_j Â τ relu(e) U_j - ω_2 Σ_j Â τ relu(-e) U_j + ω_3 U)."""
    w, tau, combine = module.transform, module.guidance[1], module.combine
    u = h @ w.W0 + w.b0
    lengths = u.norm(dim=1)
    e = u @ u.T / (lengths[:, None] * lengths[None, :]).clamp_min(1e-8)
    weight = a_hat * F.softplus(tau.a * deltas(a_hat) + tau.b)
    weight = weight * (1 - torch.eye(len(u)))
    omega_3, omega_1, omega_2 = combine.omega.softmax(dim=0)  # the ego channel comes first
    alike, unlike = (weight * e.relu()) @ u, -(weight * (-e).relu()) @ u
    return F.softplus(combine.scale) * (omega_1 * alike + omega_2 * unlike + omega_3 * u)


def forward(network, graph, dense, *, normalization="symmetric", eta=1.0):
    """The logits, with the state P that the layers hear."""
    p, a_hat = 0.5 if network.training else 0.0, normalized(graph, dense, normalization)
    x, w = dense.drop(dense.features(graph), p), network.skip.first
    carried = F.elu(x @ w.weight + w.bias)
    q = transcribed_layer(network.stacks[0][0], x, a_hat)
    for number, module in enumerate(list(network.stacks[0])[1:], start=2):
        decay = 1.0 if number == 2 else math.log(eta / number**3 + 1)
        carried = carried + decay * dense.drop(F.elu(q), p)
        q = transcribed_layer(module, carried, a_hat)
    return q


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("n_layers", [2, 5])
def test_the_published_network_is_the_card(graph, dense, agree, marked_dropout, n_layers, training):
    network = build("ggcn", graph, width=6, n_layers=n_layers, decay_rate=0.8).train(training)
    agree(network, graph, lambda: forward(network, graph, dense, eta=0.8))


def test_the_reference_network_normalises_by_rows(graph, dense, agree, marked_dropout):
    network = build("ggcn", graph, preset="reference", width=6, n_layers=3)
    agree(network, graph, lambda: forward(network, graph, dense, normalization="row"))


def test_the_loss_is_the_cross_entropy(graph, train, dense, agree, marked_dropout):
    network = build("ggcn", graph, width=6, n_layers=3)

    def expected():
        logits = forward(network, graph, dense)
        return -logits.log_softmax(dim=1)[train, graph.labels[train]].mean()

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_one_layer_means_two(small_graph):
    one, two = (build("ggcn", small_graph(), width=6, n_layers=n) for n in (1, 2))
    shapes = [{name: p.shape for name, p in n.named_parameters()} for n in (one, two)]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("normalization", ["symmetric", "row"])
def test_delta_is_the_ratio_of_roots_of_degrees_or_zero(small_graph, dense, normalization):
    graph = small_graph()
    network = build("ggcn", graph, width=6, normalization=normalization)
    network(graph)
    weight, delta = graph.cached(("ggcn", normalization), lambda: None)
    delta = delta.expand_as(weight)  # one number for all edges, or one for each
    rows, columns = dense.adjacency(graph).nonzero(as_tuple=True)
    degrees = dense.filters(graph).A1.sum(dim=1)
    roots = (degrees[columns] / degrees[rows]).sqrt() - 1
    torch.testing.assert_close(delta, roots if normalization == "symmetric" else 0 * roots)
    torch.testing.assert_close(weight, normalized(graph, dense, normalization)[rows, columns])
    torch.testing.assert_close(delta, deltas(normalized(graph, dense, normalization))[rows, columns])


@pytest.mark.parametrize("size", [1e-5, 1.0], ids=["below the floor", "above it"])
def test_cosines_have_a_floor_and_rows_of_zeros_no_gradient(small_graph, dense, size):
    graph = small_graph()
    state = torch.randn(graph.n_nodes, 4)
    zero, *short = graph.degrees.argsort(descending=True)[:3].tolist()
    state[zero], state[short] = 0, size * state[short]
    state.requires_grad_()
    product = state.norm(dim=1)[:, None] * state.norm(dim=1)[None, :]
    expected = (state @ state.T / product.clamp_min(1e-8))[dense.adjacency(graph) > 0]
    found = cosines(graph.symmetric, state)
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    assert not state.grad[zero].any()
    assert state.grad[short].any(dim=1).all()


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("ggcn", small_graph(n_features=400), width=300)
    law.uniform(network.skip.first.weight, 400**-0.5)
    for layer, d_in in zip(network.stacks[0], (400, 300), strict=True):
        law.uniform(layer.transform.W0, d_in**-0.5)
        assert float(layer.transform.b0.detach().abs().max()) <= d_in**-0.5
        assert [float(p.detach()) for p in (layer.guidance[1].a, layer.guidance[1].b)] == [0.5, 0]
        assert float(layer.combine.scale.detach()) == 2
        assert layer.combine.omega.tolist() == [0, 0, 0]
        assert not list(layer.guidance[2].parameters())
