"""GPR-GNN equals its equations, and γ starts by the published laws."""

import pytest
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.models.building import build
from heterophily.training.optimizers import make_optimizers

P, Q, T = 0.4, 0.3, 4


def predict(network, dense, x, p=0.0, q=0.0):
    """Z⁰ = drop_q(drop_p(relu(drop_p(X) W1 + b1)) W2 + b2)."""
    inner, outer = network.encoder.inner, network.encoder.outer
    hidden = torch.relu(dense.drop(x, p) @ inner.weight + inner.bias)
    return dense.drop(dense.drop(hidden, p) @ outer.weight + outer.bias, q)


def transcribe(network, graph, dense, p=0.0, q=0.0):
    f, gamma = dense.filters(graph), network.fuse.gamma
    first = predict(network, dense, f.X, p, q)
    return sum(gamma[k] * torch.linalg.matrix_power(f.S1, k) @ first for k in range(T + 1))


@pytest.mark.parametrize("law", ["ppr", "nppr", "random"])
def test_gpr_gnn_equals_its_equations(graph, dense, agree, law):
    network = build("gpr-gnn", graph, width=5, n_layers=T, gamma_init=law).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


def test_dropout_stands_in_the_classifier_and_before_propagation(graph, dense, agree, marked_dropout):
    network = build("gpr-gnn", graph, width=5, n_layers=T, dropout=P, propagation_dropout=Q)
    agree(network, graph, lambda: transcribe(network, graph, dense, P, Q))
    assert marked_dropout == [P, P, Q]


def gamma_of(graph, **settings):
    return build("gpr-gnn", graph, n_layers=T, **settings).fuse.gamma.tolist()


def test_gamma_of_ppr_sums_to_one(graph):
    found = gamma_of(graph, teleport=0.2)
    assert found == pytest.approx([0.2 * 0.8**k for k in range(T)] + [0.8**T])
    assert sum(found) == pytest.approx(1)


def test_gamma_of_nppr_is_a_geometric_series_of_length_one(graph):
    raw = [0.5**k for k in range(T + 1)]
    assert gamma_of(graph, teleport=0.5, gamma_init="nppr") == pytest.approx([value / sum(raw) for value in raw])


@pytest.mark.parametrize("position", range(T + 1))
def test_gamma_of_sgc_is_one_at_a_position(graph, position):
    found = gamma_of(graph, teleport=position, gamma_init="sgc")
    assert found == [float(k == position) for k in range(T + 1)]


def test_random_gamma_has_both_signs_and_length_one(small_graph):
    network = build("gpr-gnn", small_graph(), n_layers=400, gamma_init="random")
    gamma = network.fuse.gamma.detach()
    assert gamma.abs().sum() == pytest.approx(1)
    assert (gamma > 0).double().mean() == pytest.approx(0.5, abs=0.1)
    assert gamma.abs().max() < 3 / 401  # the mean of |γ| is half of the bound of |γ|


def test_gamma_may_be_given(graph):
    assert gamma_of(graph, gamma_init=(1, -0.5, 0, 2, 3)) == [1, -0.5, 0, 2, 3]


def test_given_gamma_must_have_one_number_per_hop(graph):
    with pytest.raises(HeterophilyError, match="gamma_init must have 5 numbers, got 2"):
        gamma_of(graph, gamma_init=(1, 0))


def test_gamma_at_zero_alone_is_an_mlp(graph, dense):
    network = build("gpr-gnn", graph, n_layers=T, gamma_init="sgc", teleport=0).eval()
    torch.testing.assert_close(network(graph), predict(network, dense, graph.features))


def test_gamma_at_the_end_alone_is_a_simplified_convolution(graph, dense):
    network = build("gpr-gnn", graph, n_layers=T, gamma_init="sgc", teleport=T).eval()
    power = torch.linalg.matrix_power(dense.filters(graph).S1, T)
    torch.testing.assert_close(network(graph), power @ predict(network, dense, graph.features))


@pytest.mark.parametrize(("preset", "decay"), [("published", 0.0), ("reference", 0.01)])
def test_gamma_decays_in_the_reference_alone(graph, preset, decay):
    network = build("gpr-gnn", graph, weight_decay=0.01, preset=preset)
    (adam,) = make_optimizers(network)
    decays = {p: group["weight_decay"] for group in adam.param_groups for p in group["params"]}
    assert decays.pop(network.fuse.gamma) == decay
    assert list(decays.values()) == [0.01] * 4


def test_dense_layers_follow_the_linear_law(small_graph, law):
    network = build("gpr-gnn", small_graph(n_features=400), width=900)
    for dense, bound in ((network.encoder.inner, 400**-0.5), (network.encoder.outer, 900**-0.5)):
        law.uniform(dense.weight, bound)
        assert dense.bias.abs().max() <= bound
        assert dense.bias.abs().max() > 0
