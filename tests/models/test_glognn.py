"""GloGNN and GloGNN++: Z* with its N × N inverse, beside the K × K form of the network."""

import pytest
import torch

from heterophily.models.building import build

VARIANTS = ("glognn", "glognn++")


def propagate(h, first, s1, w, *, alpha, beta, gamma):
    """H^l = (1-γ) Z* H (Σ) + γ H_0 as on the card, w with the weights λ and the diagonal of Σ."""
    c, eye = 1 - gamma, torch.eye(len(h), dtype=h.dtype)
    sigma = w.diagonal.diag() if hasattr(w, "diagonal") else torch.eye(h.shape[1], dtype=h.dtype)
    hops = sum(weight * s1.matrix_power(k) for k, weight in enumerate(w.orders, start=1))
    left = c * h @ sigma @ h.T + beta * hops - gamma * c * first @ sigma @ h.T
    z_star = left @ torch.linalg.inv(c * c * h @ h.T + (alpha + beta) * eye)
    return c * z_star @ h @ sigma + gamma * first


def forward(network, graph, dense, *, rate, alpha, beta, gamma, delta, drops=True):
    """The logits: features and structure mixed, classified, propagated."""
    f, w = dense.filters(graph), network.encoder
    p = rate if network.training else 0.0
    x = dense.drop(dense.norm1(f.X), p if drops else 0.0)
    from_x = x @ w.inner.weight + w.inner.bias
    from_structure = f.S1 @ w.structure.weight + w.structure.bias
    u = (delta * from_x + (1 - delta) * from_structure).relu()
    h = first = dense.drop(u, p) @ w.outer.weight + w.outer.bias
    for _ in range(network.n_layers):
        h = propagate(h, first, f.S1, network.common, alpha=alpha, beta=beta, gamma=gamma)
    return h


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_layers", [1, 3])
def test_the_published_network_is_the_card(graph, dense, agree, marked_dropout, variant, n_layers, training):
    numbers = {"alpha": 0.7, "beta": 1.3, "gamma": 0.4, "delta": 0.3}
    settings = {"variant": variant, "n_layers": n_layers, "n_orders": 3, "dropout": 0.6}
    network = build("glognn", graph, width=6, **numbers, **settings).train(training)
    agree(network, graph, lambda: forward(network, graph, dense, rate=0.6, **numbers))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_defaults_are_those_of_the_card(graph, dense, agree, marked_dropout, variant):
    numbers = {"alpha": 1.0, "beta": 100.0, "gamma": 0.5, "delta": 0.5}
    network = build("glognn", graph, variant=variant)
    agree(network, graph, lambda: forward(network, graph, dense, rate=0.5, **numbers))


def test_the_reference_network_does_not_drop_features(graph, dense, agree, marked_dropout):
    numbers = {"alpha": 1.0, "beta": 100.0, "gamma": 0.5, "delta": 0.5}
    network = build("glognn", graph, preset="reference", width=6)
    agree(network, graph, lambda: forward(network, graph, dense, rate=0.5, drops=False, **numbers))


def test_the_loss_is_the_cross_entropy(graph, train, dense, agree, marked_dropout):
    numbers = {"alpha": 1.0, "beta": 100.0, "gamma": 0.5, "delta": 0.5}
    network = build("glognn", graph, width=6)

    def expected():
        logits = forward(network, graph, dense, rate=0.5, **numbers)
        return -logits.log_softmax(dim=1)[train, graph.labels[train]].mean()

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(5))
def test_the_small_systems_equal_the_large_formula(small_graph, dense, agree, variant, seed):
    """Random γ in (0, 1), α and β, one of which may be zero."""
    torch.manual_seed(seed)
    gamma, alpha, beta = torch.rand(3).mul(torch.tensor([1.0, 10.0, 10.0])).tolist()
    numbers = {"alpha": alpha * (seed != 1), "beta": beta * (seed != 2), "gamma": gamma}
    graph = small_graph(seed=seed)
    network = build("glognn", graph, width=6, variant=variant, dropout=0.0, n_layers=2, **numbers)
    agree(network, graph, lambda: forward(network, graph, dense, rate=0.0, delta=0.5, **numbers))


@pytest.mark.parametrize("variant", VARIANTS)
def test_float32_stands_a_large_beta(small_graph, dense, variant):
    numbers = {"alpha": 1.0, "beta": 1000.0, "gamma": 0.7, "delta": 0.5}
    graph = small_graph()
    exact = build("glognn", graph, variant=variant, n_layers=3, **numbers).eval()
    with torch.no_grad():
        exact.encoder.outer.weight.mul_(100)
    torch.set_default_dtype(torch.float32)
    single = graph.replace(features=graph.features.float())
    network = build("glognn", single, variant=variant, n_layers=3, **numbers).eval()
    network.load_state_dict(exact.state_dict())
    exact.load_state_dict(network.state_dict())
    ours = network(single)
    assert ours.dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    theirs = forward(exact, graph, dense, rate=0.5, **numbers)
    room = 1e-5 * float(theirs.detach().abs().max())
    torch.testing.assert_close(ours.double(), theirs, rtol=0, atol=room)


def test_propagations_share_their_weights(small_graph):
    network = build("glognn", small_graph(), variant="glognn++", n_layers=3, n_orders=4)
    shapes = {name: tuple(p.shape) for name, p in network.common.named_parameters()}
    assert shapes == {"orders": (4,), "diagonal": (3,)}


def test_weights_have_the_laws_of_the_card(small_graph, law):
    graph = small_graph(n_features=400)
    network = build("glognn", graph, variant="glognn++", n_orders=4, width=300)
    w = network.encoder
    for dense, d_in in ((w.inner, 400), (w.structure, graph.n_nodes), (w.outer, 300)):
        assert dense.weight.shape[0] == d_in
        law.uniform(dense.weight, d_in**-0.5)
    law.uniform(w.structure.bias, graph.n_nodes**-0.5)
    assert network.common.orders.tolist() == [1 / 4] * 4
    assert network.common.diagonal.tolist() == [1 / 3] * 3
