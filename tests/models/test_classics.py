"""The strong classics equal their equations, and LINKX its own."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build

P, Q, WIDTH, LAYERS = 0.4, 0.3, 5, 2


def convolve(layer, z, f, dense, q):
    return f.S1 @ z @ layer.transform.W0 + layer.transform.b0


def sample(layer, z, f, dense, q):
    w = layer.transform
    return z @ w.W0 + f.R @ z @ w.W1 + w.b1


def attend(layer, z, f, dense, q):
    u, guidance = z @ layer.transform.W0, layer.guidance[0]
    scores = F.leaky_relu((u @ guidance.r[0])[:, None] + (u @ guidance.s[0])[None, :], 0.2)
    alpha = dense.drop_entries(dense.edge_softmax(scores, f.A1), f.A1, q)
    return alpha @ u + layer.transform.b0


MESSAGES = {"gcn+": convolve, "sage+": sample, "gat+": attend}


def normalise(layer, z):
    """The norm of the layer with its weights; a batch norm uses running numbers when evaluating."""
    norm = layer.norm
    if norm is None:
        return z
    if isinstance(norm, torch.nn.LayerNorm):
        mean, variance = z.mean(dim=1, keepdim=True), z.var(dim=1, unbiased=False, keepdim=True)
    elif norm.training:
        mean, variance = z.mean(dim=0), z.var(dim=0, unbiased=False)
    else:
        mean, variance = norm.running_mean, norm.running_var
    return (z - mean) / torch.sqrt(variance + 1e-5) * norm.weight + norm.bias


def transcribe(network, graph, dense, p=0.0, q=0.0):
    f, message = dense.filters(graph), MESSAGES[network.method.name]
    (entry,) = network.encoder.dense
    z = torch.relu(dense.drop(f.X, p) @ entry.weight + entry.bias)
    for layer in network.stacks[0]:
        z = dense.drop(z, p)
        update = message(layer, z, f, dense, q)
        if layer.residual is not None:
            update = update + z @ layer.residual.weight + layer.residual.bias
        z = torch.relu(normalise(layer, update))
    return dense.drop(z, p) @ network.head.weight + network.head.bias


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("norm", ["none", "batch", "layer"])
@pytest.mark.parametrize("name", MESSAGES)
def test_strong_classics_equal_their_equations(graph, dense, agree, name, norm, residual):
    settings = {"width": WIDTH, "n_layers": LAYERS, "norm": norm, "residual": residual}
    network = build(name, graph, **settings)
    with torch.no_grad():
        network(graph)  # so that running numbers are no longer 0 and 1
    network.eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("name", MESSAGES)
def test_dropout_stands_before_every_layer_and_the_head(graph, dense, agree, marked_dropout, name, norm):
    attention = {"attention_dropout": Q} if name == "gat+" else {}
    settings = {"width": WIDTH, "n_layers": LAYERS, "norm": norm, "dropout": P, **attention}
    network = build(name, graph, **settings)
    agree(network, graph, lambda: transcribe(network, graph, dense, P, Q if attention else 0.0))
    assert marked_dropout.count(P) == LAYERS + 2


def test_any_recipe_takes_norm_and_residual(graph, agree, dense):
    network = build("gcn", graph, width=WIDTH, norm="layer", residual=True).eval()
    f = dense.filters(graph)
    first, last = network.stacks[0]
    assert last.norm is None

    def expected():
        z = convolve(first, f.X, f, dense, 0) + first.residual(f.X)
        z = torch.relu(normalise(first, z))
        return convolve(last, z, f, dense, 0) + last.residual(z)

    agree(network, graph, expected)


def linkx(network, graph, dense, p=0.0):
    f, w = dense.filters(graph), network.encoder
    structure = f.A @ w.structure.weight + w.structure.bias
    features = f.X @ w.features.weight + w.features.bias
    joined = torch.cat([structure, features], dim=1) @ w.both.weight + w.both.bias
    z = torch.relu(joined + structure + features)
    *hidden, last = (layer.transform for layer in network.stacks[0])
    for v in hidden:
        z = torch.relu(dense.drop(z, p) @ v.W0 + v.b0)
    return dense.drop(z, p) @ last.W0 + last.b0


@pytest.mark.parametrize("n_layers", [1, 3])
def test_linkx_equals_its_equation(graph, dense, agree, n_layers):
    network = build("linkx", graph, width=WIDTH, n_layers=n_layers).eval()
    agree(network, graph, lambda: linkx(network, graph, dense))


@pytest.mark.parametrize("n_layers", [1, 3])
def test_linkx_drops_once_before_each_layer(graph, dense, agree, marked_dropout, n_layers):
    network = build("linkx", graph, width=WIDTH, n_layers=n_layers, dropout=P)
    agree(network, graph, lambda: linkx(network, graph, dense, P))
    assert marked_dropout == [P] * n_layers


def test_weights_of_sage_and_linkx_follow_the_linear_law(small_graph, law):
    graph = small_graph(n_features=300)
    layer = build("sage+", graph, width=400, n_layers=1).stacks[0][0]
    for w in (layer.transform.W0, layer.transform.W1, layer.residual.weight):
        law.uniform(w, 400**-0.5)
    encoder = build("linkx", graph, width=400).encoder
    law.uniform(encoder.structure.weight, graph.n_nodes**-0.5)
    law.uniform(encoder.features.weight, 300**-0.5)
    law.uniform(encoder.both.weight, 800**-0.5)
