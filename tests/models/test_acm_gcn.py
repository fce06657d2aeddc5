"""ACM-GCN equals its equations, with and without the structure channel."""

from itertools import product

import pytest
import scipy.sparse as sp
import torch
from torch.nn import functional as F

from heterophily.core.sparse import Matrix
from heterophily.htmp.encoder import normalize_rows
from heterophily.models.building import build

P = 0.4


def channels(w, z, f, p, adjacency, *, relu_first):
    """H_I, H_L, H_H, and H_S if there is a W_S."""
    if relu_first:
        found = [
            torch.relu(z @ w.W0), p @ torch.relu(z @ w.W1), (f.I - p) @ torch.relu(z @ w.W2)
        ]  # fmt: skip
    else:
        found = [torch.relu(m) for m in (z @ w.W0, p @ z @ w.W1, (f.I - p) @ z @ w.W2)]
    return [*found, torch.relu(adjacency @ w.W3)] if hasattr(w, "W3") else found


def mix(w, messages, *, norm):
    """κ Σ_c α_c ⊙ H_c, α = softmax([sig(norm_c(H_c) a_c)] V / T)."""
    count, scores = len(messages), []
    for c, h in enumerate(messages):
        n = w.norms[c] if norm else None
        seen = F.layer_norm(h, h.shape[1:], n.weight, n.bias) if norm else h
        scores.append(torch.sigmoid(seen @ w.a[c]))
    alpha = torch.softmax(torch.stack(scores, dim=1) @ w.V / count, dim=1)
    kappa = 3 if count == 3 else 1
    return kappa * sum(alpha[:, c : c + 1] * h for c, h in enumerate(messages))


def transcribe(network, graph, dense, *, relu_first=False, norm=False, extra=False, p=0.0):
    f = dense.filters(graph)
    filter_ = dense.row(f.A + 2 * f.I) if extra else f.R1
    adjacency = f.A1 if extra else f.A
    structure = hasattr(network.stacks[0][0].transform, "W3")
    z = f.X if structure else dense.row(f.X)
    first, last = network.stacks[0]
    for layer in (first, last):
        z = dense.drop(z, p)
        messages = channels(layer.transform, z, f, filter_, adjacency, relu_first=relu_first)
        z = mix(layer.combine, messages, norm=norm)
        z = torch.relu(z) if layer is first else z
    return z


@pytest.mark.parametrize(("structure", "relu_first", "extra", "norm"), list(product([False, True], repeat=4)))
def test_acm_gcn_equals_its_equations(graph, dense, agree, structure, relu_first, extra, norm):
    network = build(
        "acm-gcn", graph, width=5, structure_channel=structure, relu_first=relu_first,
        extra_self_loop=extra, layer_norm_in_attention=norm,
    ).eval()  # fmt: skip
    settings = {"relu_first": relu_first, "extra": extra, "norm": norm}
    agree(network, graph, lambda: transcribe(network, graph, dense, **settings))


@pytest.mark.parametrize("structure", [False, True])
def test_dropout_stands_before_both_layers_and_not_on_the_structure(graph, dense, agree, marked_dropout, structure):
    network = build("acm-gcn", graph, width=5, structure_channel=structure, dropout=P)
    agree(network, graph, lambda: transcribe(network, graph, dense, p=P))
    assert marked_dropout == [P, P]


def test_the_reference_adds_a_self_loop(graph, dense, agree):
    network = build("acm-gcn", graph, width=5, structure_channel=True, preset="reference").eval()
    agree(network, graph, lambda: transcribe(network, graph, dense, extra=True))


@pytest.mark.parametrize(("structure", "norm"), [(False, "sum"), (True, "none")])
def test_features_are_divided_by_their_sum_unless_structure_is_heard(graph, structure, norm):
    network = build("acm-gcn", graph, structure_channel=structure)
    assert network.architecture.feature_norm == norm


def test_sparse_features_are_divided_by_their_sum(small_graph, dense, agree):
    graph = small_graph(sparse=True)
    network = build("acm-gcn", graph, width=5).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


def test_signed_features_are_divided_by_the_sum_of_absolute_values(graph):
    x = torch.tensor([[1.0, -1.0, 1e-6], [2.0, -1.0, -1.0], [0.0, 0.0, 0.0]])
    expected = x / torch.tensor([[2.0 + 1e-6], [4.0], [1.0]])
    assert torch.allclose(normalize_rows(x, "sum"), expected)
    sparse = normalize_rows(Matrix.from_scipy(sp.csr_array(x.numpy())), "sum")
    assert torch.allclose(torch.from_numpy(sparse.to_scipy().toarray()).to(expected), expected)


def test_another_feature_norm_may_be_chosen(graph):
    network = build("acm-gcn", graph, structure_channel=True, feature_norm="l2")
    assert network.architecture.feature_norm == "l2"


def test_logits_are_not_negative_if_relu_comes_after(graph):
    network = build("acm-gcn", graph, width=5).eval()
    assert (network(graph) >= 0).all()


def test_low_and_high_channels_with_equal_weights_add_up_to_the_ego_channel(graph):
    network = build("acm-gcn", graph, width=5).eval()
    layer = network.stacks[0][0]
    layer.transform.W1 = layer.transform.W2 = layer.transform.W0
    layer.relu_places = ["none"] * 3
    network(graph)
    x = network.input(graph)
    messages = layer.transform_inputs([x, x, x], network.context)
    ego, low, high = layer.aggregate([x, x, x], messages, network.context)
    torch.testing.assert_close(low + high, ego)


@pytest.mark.parametrize("structure", [False, True])
def test_initial_weights_follow_their_laws(small_graph, law, structure):
    graph = small_graph(n_features=60)
    network = build("acm-gcn", graph, width=2000, structure_channel=structure)
    layer = network.stacks[0][0]
    count = 4 if structure else 3
    for r in range(count):
        law.uniform(getattr(layer.transform, f"W{r}"), 2000**-0.5)
    law.uniform(layer.combine.a, 1.0)
    assert layer.combine.V.shape == (count, count)
    assert layer.combine.V.abs().max() <= count**-0.5
    assert layer.combine.V.abs().max() > 0.5 * count**-0.5
    assert set(dict(layer.named_parameters())) == {
        *(f"transform.W{r}" for r in range(count)), "combine.a", "combine.V"
    }  # fmt: skip
