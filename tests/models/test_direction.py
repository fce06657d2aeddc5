"""The setting `direction`: messages along incoming edges, outgoing edges, or both with separate weights."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.htmp.identity import identity_of
from heterophily.models import REGISTRY
from heterophily.models.building import build

DIRECTIONS = ("in", "out", "both")


@pytest.fixture(params=["plain", "weighted"])
def graph(request, small_graph):
    graph = small_graph()
    weights = torch.rand(graph.n_edges, generator=torch.Generator().manual_seed(0)) + 0.1
    return graph if request.param == "plain" else graph.replace(weights=weights)


def matrices(graph, direction):
    """The matrix of each channel, with A_ij the weight of i → j."""
    a = torch.tensor(graph.to_scipy().toarray(), dtype=torch.float64).fill_diagonal_(0)
    return {"in": [a.T], "out": [a], "both": [a.T, a]}[direction]


def convolve(layer, z, adjacencies, dense):
    total = 0
    for r, a in enumerate(adjacencies):
        looped = a + torch.eye(len(a))
        scaled = looped.sum(dim=1)[:, None] ** -0.5 * looped * looped.sum(dim=0) ** -0.5
        total = total + scaled @ z @ getattr(layer.transform, f"W{r}") + getattr(layer.transform, f"b{r}")
    return total


def sample(layer, z, adjacencies, dense):
    total = z @ layer.transform.W0 + layer.transform.b1
    for r, a in enumerate(adjacencies, start=1):
        total = total + dense.row(a) @ z @ getattr(layer.transform, f"W{r}")
    return total


def attend(layer, z, adjacencies, dense):
    total = 0
    for r, a in enumerate(adjacencies):
        u, guidance = z @ getattr(layer.transform, f"W{r}"), layer.guidance[r]
        scores = F.leaky_relu((u @ guidance.r[0])[:, None] + u @ guidance.s[0], 0.2)
        raised = (a + torch.eye(len(a))) * scores.exp()
        total = total + dense.row(raised) @ u + getattr(layer.transform, f"b{r}")
    return total


MESSAGES = {"gcn": convolve, "gcn+": convolve, "sage+": sample, "gat": attend, "gat+": attend}


def transcribe(network, graph, dense):
    adjacencies, message = matrices(graph, network.method.direction), MESSAGES[network.method.name]
    z = graph.features
    if not network.method.name.endswith("+"):
        first, last = network.stacks[0]
        activation = torch.relu if network.method.name == "gcn" else F.elu
        return message(last, activation(message(first, z, adjacencies, dense)), adjacencies, dense)
    (entry,) = network.encoder.dense
    z = torch.relu(z @ entry.weight + entry.bias)
    for layer in network.stacks[0]:
        z = torch.relu(message(layer, z, adjacencies, dense) + z @ layer.residual.weight + layer.residual.bias)
    return z @ network.head.weight + network.head.bias


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", MESSAGES)
def test_a_directed_classic_equals_its_equation(name, direction, graph, dense, agree):
    settings = {"norm": "none"} if name.endswith("+") else {}
    settings |= {"n_heads": 1} if name == "gat" else {}
    network = build(name, graph, width=5, n_layers=2, direction=direction, **settings).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("name", [*MESSAGES, "cmgnn"])
def test_the_direction_does_not_matter_in_an_undirected_graph(name, direction, small_graph):
    directed = small_graph()
    graph = directed.replace(adjacency=directed.symmetric)
    networks = [build(name, graph, width=5, direction=each).eval() for each in ("symmetric", direction)]
    networks[1].load_state_dict(networks[0].state_dict())
    for network in networks:
        network.initialize_states(graph, graph.split("0").train)
    torch.testing.assert_close(networks[0](graph), networks[1](graph))


@pytest.mark.parametrize("name", [*MESSAGES, "cmgnn"])
def test_the_default_is_symmetric_and_keeps_the_identity(name):
    method = REGISTRY[name]
    assert method().direction == "symmetric"
    identities = [identity_of(method(direction=each)) for each in ("symmetric", *DIRECTIONS)]
    assert identities[0] == identity_of(method())
    assert len(set(identities)) == 4
