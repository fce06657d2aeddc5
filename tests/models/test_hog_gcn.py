"""HOG-GCN: Z W + w G Z W' + b, G from an attribute model and a learned mask; its losses and steps."""

import copy

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build
from heterophily.training.optimizers import make_optimizers

SMALL = {"width": 6, "second_width": 5, "attribute_width": 4}


def path_counts(graph, dense, hop_weights="counts"):
    """B = (A + I)², or where it is positive."""
    a = dense.filters(graph).A1
    counts = a @ a
    return (counts > 0).to(counts.dtype) if hop_weights == "binary" else counts


def dense_masks(network, counts):
    """Θ of each layer, (N, N), from the network's values on the entries of B."""
    at = counts.nonzero(as_tuple=True)
    values = [layer.guidance[1].mask for layer in network.stacks[0]]
    return [torch.zeros_like(counts).index_put(at, mask) for mask in values]


def attributes(network, x):
    """Log P of the attribute model."""
    inner, outer = network.common.attributes.inner, network.common.attributes.outer
    return F.log_softmax((x @ inner.weight + inner.bias) @ outer.weight + outer.bias, dim=1)


def forward(network, graph, dense, *, counts, masks):
    """The logits, log P and T of the last layer."""
    z, p = dense.features(graph), 0.5 if network.training else 0.0
    log_p = attributes(network, z)
    for layer, (module, mask) in enumerate(zip(network.stacks[0], masks, strict=True)):
        z = dense.drop(z.relu(), p) if layer else z
        topology = dense.norm1(counts * mask)
        relation = counts * (0.4 * log_p.exp() @ log_p.exp().T + topology)
        sums = relation.sum(dim=1, keepdim=True).detach()
        g = torch.where(sums == 0, 0.0, relation / sums)
        w, c = module.transform, module.combine
        z = z @ w.W0 + c.weight * (g @ z @ w.W1) + c.b
    return z @ network.head.weight + network.head.bias, log_p, topology


def loss(network, graph, dense, train, *, counts, masks, labels):
    """CE + CE of the attribute model + CE of propagated labels."""
    logits, log_p, topology = forward(network, graph, dense, counts=counts, masks=masks)
    y = graph.labels[train]
    spread = F.log_softmax(topology @ labels, dim=1)
    return (
        F.cross_entropy(logits[train], y) + F.nll_loss(log_p[train], y)
        + F.nll_loss(spread[train], y)
    )  # fmt: skip


def make(graph, **settings):
    """A small network whose masks have values of either sign everywhere."""
    network = build("hog-gcn", graph, **SMALL, **settings)
    with torch.no_grad():
        for layer in network.stacks[0]:
            layer.guidance[1].mask.add_(0.3 * torch.randn_like(layer.guidance[1].mask))
    return network


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("hop_weights", ["counts", "binary"])
def test_the_network_is_the_card(graph, dense, agree, marked_dropout, hop_weights, training):
    network = make(graph, hop_weights=hop_weights).train(training)
    counts = path_counts(graph, dense, hop_weights)

    def expected():
        masks = dense_masks(network, counts)
        return forward(network, graph, dense, counts=counts, masks=masks)[0]

    agree(network, graph, expected)


def test_the_reference_network_computes_the_same(graph, dense, agree, marked_dropout):
    network = make(graph, preset="reference")
    counts = path_counts(graph, dense)

    def expected():
        masks = dense_masks(network, counts)
        return forward(network, graph, dense, counts=counts, masks=masks)[0]

    agree(network, graph, expected)


def test_the_loss_adds_the_attribute_model_and_propagated_labels(graph, train, dense, agree, marked_dropout):
    network = make(graph)
    network.initialize_states(graph, train)
    counts, labels = path_counts(graph, dense), network.states[0].labels

    def expected():
        masks = dense_masks(network, counts)
        return loss(network, graph, dense, train, counts=counts, masks=masks, labels=labels)

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


@pytest.mark.parametrize("labels", ["predicted", "train_true"])
def test_labels_are_the_predictions_of_the_tenth_step_before_its_update(small_graph, dense, labels):
    graph = small_graph()
    train = graph.split("0").train
    settings = {"learning_rate": 0.3, "propagated_labels": labels}
    network = build("hog-gcn", graph, **SMALL, **settings)
    twin, x = copy.deepcopy(network), dense.features(graph)
    adam = torch.optim.Adam(twin.common.attributes.parameters(), lr=0.3, weight_decay=0.02)
    for _ in range(10):
        adam.zero_grad()
        log_p = attributes(twin, x)
        F.nll_loss(log_p[train], graph.labels[train]).backward()
        adam.step()
    classes = log_p.argmax(dim=1)
    if labels == "train_true":
        classes[train] = graph.labels[train]
    network.initialize_states(graph, train)
    found = network.states[0].labels
    assert torch.equal(found, F.one_hot(classes, graph.n_classes).to(found.dtype))
    torch.testing.assert_close(dict(network.named_parameters()), dict(twin.named_parameters()))


def test_the_tenth_update_could_change_the_labels(small_graph):
    """With this learning rate the test above would see labels taken one step too late."""
    graph = small_graph()
    network = build("hog-gcn", graph, **SMALL, learning_rate=0.3)
    network.initialize_states(graph, graph.split("0").train)
    late = network.common.attributes(graph.features).argmax(dim=1)
    assert not torch.equal(late, network.states[0].labels.argmax(dim=1))


@pytest.mark.parametrize("double", [False, True])
def test_the_attribute_model_has_its_own_weight_decay(small_graph, double):
    network = build("hog-gcn", small_graph(), **SMALL, double_update=double)
    main, *own = make_optimizers(network)
    attribute = {id(p) for p in network.common.attributes.parameters()}
    everything = {id(p) for p in network.parameters()}
    groups = [g for adam in (main, *own) for g in adam.param_groups]
    decays = {g["weight_decay"]: {id(p) for p in g["params"]} for g in groups}
    assert decays == {0.001: everything if double else everything - attribute, 0.02: attribute}
    assert len(own) == double  # a second Adam only if it takes a second step
    assert {g["lr"] for g in groups} == {0.001}


@pytest.mark.parametrize("double", [False, True])
def test_the_sparse_mask_follows_the_dense_one(small_graph, dense, marked_dropout, double):
    """Five steps of both optimisers with decay, beside a program with (N, N) masks."""
    graph, rate, decay = small_graph(), 0.05, 0.1
    train = graph.split("0").train
    settings = {"learning_rate": rate, "weight_decay": decay, "double_update": double}
    network = build("hog-gcn", graph, **SMALL, **settings)
    network.initialize_states(graph, train)
    twin, counts = copy.deepcopy(network), path_counts(graph, dense)
    masks = [mask.detach().requires_grad_() for mask in dense_masks(twin, counts)]
    assert all(torch.equal(mask, dense.filters(graph).A1) for mask in masks)

    named = dict(twin.named_parameters())
    attribute = [p for name, p in named.items() if "attributes" in name]
    others = [p for name, p in named.items() if "attributes" not in name and "mask" not in name]
    adams = [
        torch.optim.Adam([*others, *masks, *(attribute if double else [])], lr=rate, weight_decay=decay),
        torch.optim.Adam(attribute, lr=rate, weight_decay=0.02),
    ]
    ours, labels = make_optimizers(network), twin.states[0].labels
    for _ in range(5):
        step(ours, network.loss(network(graph), graph, train))
        step(adams, loss(twin, graph, dense, train, counts=counts, masks=masks, labels=labels))
    for sparse, mask in zip(dense_masks(network, counts), masks, strict=True):
        torch.testing.assert_close(sparse, mask, rtol=1e-9, atol=1e-9)
        assert float((mask.detach() - dense.filters(graph).A1).abs().max()) > 0.1
    for name, p in network.named_parameters():
        if "mask" not in name:
            torch.testing.assert_close(p, named[name], rtol=1e-9, atol=1e-9)


def step(optimizers, value):
    """One step of all optimisers, one after the other, on the same gradients."""
    for adam in optimizers:
        adam.zero_grad()
    value.backward()
    for adam in optimizers:
        adam.step()


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("hog-gcn", small_graph(n_features=400), attribute_width=200)
    for layer, d_out in zip(network.stacks[0], (512, 256), strict=True):
        for weight in (layer.transform.W0, layer.transform.W1, layer.combine.b):
            assert weight.shape[-1] == d_out
            law.uniform(weight, d_out**-0.5)
        assert 0.5 <= float(layer.combine.weight.detach()) <= 1
    attribute = network.common.attributes
    for dense, width in ((attribute.inner, 400), (attribute.outer, 200), (network.head, 256)):
        assert dense.weight.shape[0] == width
        law.uniform(dense.weight, width**-0.5)
    law.uniform(attribute.inner.bias, 400**-0.5)


def test_the_learned_weight_of_the_second_channel_varies(small_graph):
    drawn = torch.tensor([
        layer.combine.weight.item()
        for _ in range(20)
        for layer in build("hog-gcn", small_graph(), **SMALL).stacks[0]
    ])  # fmt: skip
    assert drawn.min() >= 0.5
    assert drawn.max() <= 1
    assert drawn.max() - drawn.min() > 0.4
