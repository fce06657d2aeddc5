"""GCNII equals its equations, plain and star."""

import math

import pytest
import torch

from heterophily.models.building import build
from heterophily.training.optimizers import make_optimizers

P, ALPHA, LAMBDA = 0.4, 0.3, 0.8


def transcribe(network, graph, dense, *, star, p=0.0, alpha=ALPHA, decay=LAMBDA):
    f = dense.filters(graph)
    (entry,) = network.encoder.dense
    z = first = torch.relu(dense.drop(dense.norm1(f.X), p) @ entry.weight + entry.bias)
    for number, layer in enumerate(network.stacks[0], start=1):
        theta, w = math.log(decay / number + 1), layer.transform.W
        message = f.S1 @ dense.drop(z, p)
        mixed = (1 - alpha) * message + alpha * first
        inner = torch.cat([message, first], dim=1) if star else mixed
        z = torch.relu(theta * inner @ w + (1 - theta) * mixed)
    return dense.drop(z, p) @ network.head.weight + network.head.bias


def options(**more):
    return {"width": 5, "n_layers": 3, "initial_residual": ALPHA, "identity_decay": LAMBDA} | more


@pytest.mark.parametrize("star", [False, True])
def test_gcnii_equals_its_equations(graph, dense, agree, star):
    network = build("gcnii", graph, **options(star=star)).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense, star=star))


@pytest.mark.parametrize("star", [False, True])
def test_dropout_stands_before_every_layer_but_not_on_the_first_state(graph, dense, agree, marked_dropout, star):
    network = build("gcnii", graph, **options(star=star, dropout=P))
    agree(network, graph, lambda: transcribe(network, graph, dense, star=star, p=P))
    assert marked_dropout == [P] * 5


def test_without_residual_and_with_full_weights_it_is_a_gcn_without_bias(graph, dense):
    network = build("gcnii", graph, n_layers=1, initial_residual=0.0, identity_decay=math.e - 1).eval()
    f = dense.filters(graph)
    first = torch.relu(network.encoder.dense[0](dense.norm1(f.X)))
    z = torch.relu(f.S1 @ first @ network.stacks[0][0].transform.W)
    torch.testing.assert_close(network(graph), network.head(z))


@pytest.mark.parametrize(("star", "rows"), [(False, 300), (True, 600)])
def test_weights_are_uniform_by_output_and_dense_layers_linear(small_graph, law, star, rows):
    network = build("gcnii", small_graph(n_features=400), width=300, n_layers=1, star=star)
    w = network.stacks[0][0].transform.W
    assert w.shape == (rows, 300)
    law.uniform(w, 300**-0.5)
    law.uniform(network.encoder.dense[0].weight, 400**-0.5)
    law.uniform(network.encoder.dense[0].bias, 400**-0.5)
    law.uniform(network.head.weight, 300**-0.5)


def decays(network):
    groups = [group for adam in make_optimizers(network) for group in adam.param_groups]
    by_id = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    return {name: by_id[id(p)] for name, p in network.named_parameters()}


def test_all_parameters_share_one_decay_by_default(graph):
    network = build("gcnii", graph, weight_decay=0.003)
    assert set(decays(network).values()) == {0.003}


def test_the_weights_of_the_layers_may_have_a_decay_of_their_own(graph):
    found = decays(build("gcnii", graph, weight_decay=5e-4, layer_decay=0.01))
    assert {name for name, decay in found.items() if decay == 0.01} == {
        f"stacks.0.{layer}.transform.W" for layer in range(8)
    }
    assert set(found.values()) == {5e-4, 0.01}
