"""Adam has the rates of the settings, every weight has one, and decay is an L2 gradient."""

from collections import Counter
from fnmatch import fnmatch
from functools import partial

import pytest
import torch

from heterophily import build
from heterophily.models import NETWORKS
from heterophily.training.optimizers import DirectAdam, make_optimizers


@pytest.mark.parametrize("preset", ["published", "reference"])
@pytest.mark.parametrize("model", NETWORKS)
def test_every_weight_is_learned_once_with_the_decay_of_its_group(graph, model, preset):
    network = build(model, graph, preset=preset, learning_rate=0.03, weight_decay=0.02)
    groups = network.architecture.param_groups
    names = {id(p): n for n, p in network.named_parameters()}
    group_of = {n: next((g for g in groups if fnmatch(n, g.names)), None) for n in names.values()}
    twice = {n for n, group in group_of.items() if group and group.step_twice}
    main, *own = make_optimizers(network)
    counts = Counter(names[id(p)] for adam in (main, *own) for p in parameters(adam))
    assert counts == {name: 1 + (name in twice) for name in names.values()}
    for group in main.param_groups:
        assert group["lr"] == 0.03
        for parameter in group["params"]:
            special = group_of[names[id(parameter)]]
            usual = special is None or special.step_twice
            assert group["weight_decay"] == (0.02 if usual else special.weight_decay)
    assert len(own) == (1 if twice else 0)


@pytest.mark.parametrize(
    ("model", "settings", "decays"),
    [
        ("appnp", {}, {"encoder.inner.weight": 0.02, "encoder.outer.weight": 0.0}),
        ("gpr-gnn", {}, {"encoder.inner.bias": 0.02, "fuse.gamma": 0.0}),
        ("gpr-gnn", {"decay_gamma": True}, {"fuse.gamma": 0.02}),
        ("gcnii", {}, {"stacks.0.1.transform.W": 0.02, "head.weight": 0.02}),
        ("gcnii", {"layer_decay": 0.5}, {"stacks.0.1.transform.W": 0.5, "head.weight": 0.02}),
        ("hog-gcn", {}, {"common.attributes.inner.weight": 0.02, "head.weight": 0.7}),
    ],
)
def test_parameter_groups_have_their_own_decay(graph, model, settings, decays):
    decay = 0.7 if model == "hog-gcn" else 0.02
    network = build(model, graph, weight_decay=decay, **settings)
    names = {id(p): n for n, p in network.named_parameters()}
    (adam,) = make_optimizers(network)
    found = {names[id(p)]: g["weight_decay"] for g in adam.param_groups for p in g["params"]}
    assert {name: found[name] for name in decays} == decays


def parameters(adam):
    return [p for group in adam.param_groups for p in group["params"]]


def test_the_first_step_is_that_of_adam_with_an_l2_gradient(graph, split):
    torch.manual_seed(0)
    network = build("gcn", graph, learning_rate=0.1, weight_decay=0.5)
    (adam,) = make_optimizers(network)
    network.loss(network(graph), graph, split.train).backward()
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    adam.step()
    for name, p in network.named_parameters():
        gradient = p.grad + 0.5 * before[name]
        # The first moments of Adam cancel: a step has the sign of the gradient and length 0.1.
        expected = before[name] - 0.1 * gradient / (gradient.abs() + 1e-8)
        torch.testing.assert_close(p.detach(), expected, rtol=1e-4, atol=1e-6)


def test_steps_equal_those_of_pytorch_bit_by_bit():
    copies = []
    for kind in (DirectAdam, partial(torch.optim.Adam, fused=True)):
        torch.manual_seed(0)
        weights = [torch.randn(5, 3, requires_grad=True), torch.randn(4, requires_grad=True)]
        unused = torch.ones(2, requires_grad=True)  # has a gradient from the third step on
        adam = kind([{"params": weights[:1], "weight_decay": 0.1}, {"params": [weights[1], unused]}], lr=0.05)
        for step in range(6):
            adam.zero_grad()
            loss = sum((w**2 * (step + 1)).sin().sum() for w in weights) + (unused.sum() ** 2 if step > 1 else 0)
            loss.backward()
            adam.step()
        copies.append([w.detach() for w in (*weights, unused)])
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*copies, strict=True))


def test_the_belief_is_not_learned(graph):
    network = build("cmgnn", graph)
    learned = {id(p) for adam in make_optimizers(network) for p in parameters(adam)}
    assert not learned & {id(value) for value in network.states[0].buffers()}
