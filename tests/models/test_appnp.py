"""APPNP equals its equations: Z^l = (1-α) drop_q(S°) Z^(l-1) + α Z⁰ after a classifier."""

import pytest
import torch

from heterophily.core.dropout import dropout
from heterophily.models.building import build
from heterophily.training.optimizers import make_optimizers

P, Q, ALPHA, T = 0.4, 0.3, 0.15, 4


def predict(network, dense, x, p=0.0):
    """Z⁰ = drop_p(relu(drop_p(X) W1)) W2, without biases."""
    hidden = torch.relu(dense.drop(x, p) @ network.encoder.inner.weight)
    return dense.drop(hidden, p) @ network.encoder.outer.weight


def transcribe(network, graph, dense, p=0.0, q=0.0, alpha=ALPHA):
    f = dense.filters(graph)
    first = z = predict(network, dense, f.X, p)
    for _ in range(T):
        z = (1 - alpha) * dense.drop_entries(f.S1, f.A1, q) @ z + alpha * first
    return z


def test_appnp_equals_its_equations(graph, dense, agree):
    network = build("appnp", graph, width=5, n_layers=T, teleport=ALPHA).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


def test_dropout_stands_in_the_classifier_and_on_the_entries_of_the_filter(graph, dense, agree, marked_dropout):
    network = build("appnp", graph, width=5, n_layers=T, teleport=ALPHA, dropout=P, edge_dropout=Q)
    agree(network, graph, lambda: transcribe(network, graph, dense, P, Q))
    assert marked_dropout == [P, P] + [Q] * T


def test_every_step_drops_other_entries(small_graph, monkeypatch):
    found = []

    def noted(*arguments):
        found.append(dropout(*arguments))
        return found[-1]

    monkeypatch.setattr("heterophily.core.sparse.dropout", noted)
    graph = small_graph()
    build("appnp", graph, n_layers=2, dropout=0.0, edge_dropout=0.5)(graph)
    first, second = found
    assert not torch.equal(first, second)


def test_the_powers_of_the_filter_are_a_truncated_neumann_series(small_graph, dense):
    graph = small_graph()
    network = build("appnp", graph, n_layers=T, teleport=ALPHA).eval()
    f = dense.filters(graph)
    powers = [torch.linalg.matrix_power((1 - ALPHA) * f.S1, k) for k in range(T + 1)]
    series = ALPHA * sum(powers[:T]) + powers[T]
    expected = series @ predict(network, dense, f.X)
    torch.testing.assert_close(network(graph), expected)


def test_a_teleport_of_one_is_an_mlp_without_biases(graph, dense):
    network = build("appnp", graph, n_layers=T, teleport=1.0).eval()
    torch.testing.assert_close(network(graph), predict(network, dense, graph.features))


def test_weights_follow_the_linear_law_and_have_no_biases(small_graph, law):
    network = build("appnp", small_graph(n_features=400), width=900)
    law.uniform(network.encoder.inner.weight, 400**-0.5)
    law.uniform(network.encoder.outer.weight, 900**-0.5)
    assert {name for name, _ in network.named_parameters()} == {"encoder.inner.weight", "encoder.outer.weight"}


def test_only_the_first_layer_decays(graph):
    network = build("appnp", graph)
    (adam,) = make_optimizers(network)
    decays = {p: group["weight_decay"] for group in adam.param_groups for p in group["params"]}
    assert decays == {network.encoder.inner.weight: 0.005, network.encoder.outer.weight: 0.0}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("width", 64), ("dropout", 0.5), ("edge_dropout", 0.0), ("teleport", 0.1),
     ("n_layers", 10), ("learning_rate", 0.01)],
)  # fmt: skip
def test_the_defaults_are_those_of_the_authors(graph, setting, value):
    assert getattr(build("appnp", graph).method, setting) == value
