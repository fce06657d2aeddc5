"""`HTMPConv` equals the layer of the engine, in values and in gradients."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from heterophily import Architecture, CustomMethod, Graph, HeterophilyError, HTMPConv, build
from heterophily.htmp.architecture import Head
from heterophily.htmp.combine import AdaptiveSum, Add, Concat, SingleChannel
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Attention, Complement, Ones, RowMean, SymmetricMean
from heterophily.htmp.neighborhoods import Ego, Hop, Power, Raw, WithSelf
from heterophily.htmp.transform import Heads, Linear, NoTransform, SharedLinear
from heterophily.models.cmgnn.parts import CompatibilityWeights, Prototypes
from heterophily.models.fagcn import SignedAttention
from heterophily.models.gbk_gnn import Gate
from heterophily.models.ordered_gnn import OrderedGate

N, D = 30, 6
THREE = (Ego() * Ones(), Raw() * Complement(RowMean()), Hop(2) * RowMean())
PARTS = {
    "default": {},
    "three channels": {"channels": THREE},
    "concat": {"channels": THREE, "combine": Concat()},
    "attention": {
        "channels": (WithSelf() * Attention(),),
        "combine": SingleChannel(),
        "transform": Linear(heads=Heads(3)),
    },
    "attention, mean of heads": {
        "channels": (WithSelf() * Attention(),),
        "combine": SingleChannel(),
        "transform": Linear(heads=Heads(2, "mean")),
    },
    "powers": {"channels": tuple(Power(k) * SymmetricMean() for k in range(3)), "combine": Concat()},
    "gate": {"channels": (Ego() * Ones(), Raw() * Gate()), "combine": Add()},
    "signed": {"channels": (Ego() * Ones(), Raw() * SignedAttention()), "combine": Add()},
    "no transform": {"channels": THREE, "transform": NoTransform()},
    "shared": {"channels": THREE, "transform": SharedLinear(), "combine": AdaptiveSum(norm=True)},
    "relu": {"channels": THREE, "message_activation": "after"},
}


@pytest.fixture(autouse=True)
def _float64():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def edge_index():
    """Random edges with duplicates and self-loops; the last node is isolated."""
    return torch.tensor(np.random.default_rng(0).integers(N - 1, size=(2, 70)))


@pytest.fixture
def x():
    return torch.randn(N, D)


def engine_layer(parts, graph):
    """Return the first layer of a network with the same parts, and the context of its inputs."""
    parts = {"combine": AdaptiveSum(), "channels": (Ego() * Ones(), Raw() * RowMean()), **parts}
    architecture = Architecture(**parts, encoder=Embed(), head=Head(), activation="none")
    network = build(CustomMethod("one-layer", architecture, width=D, n_layers=2), graph).eval()
    context = network.encode(graph)
    x = graph.features.clone().requires_grad_()
    context.inputs, context.layer = {"previous": x, "initial": x}, 1
    return network.stacks[0][0], context, x


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_it_equals_the_layer_of_the_engine(parts, edge_index, x):
    graph = Graph.from_edges(edge_index.T, labels=np.arange(N) % 3).replace(features=x)
    layer, context, inputs = engine_layer(parts, graph)
    conv = HTMPConv(D, D, **parts).eval()
    conv.layer.load_state_dict(layer.state_dict())
    direction = torch.randn(N, conv.out_channels)
    theirs = layer(context)
    (theirs * direction).sum().backward()
    ours_input = x.clone().requires_grad_()
    ours = conv(ours_input, edge_index)
    assert ours.shape == (N, conv.out_channels)
    (ours * direction).sum().backward()
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(ours_input.grad, inputs.grad)
    for (name, mine), (_, other) in zip(conv.layer.named_parameters(), layer.named_parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, msg=name)


def test_the_default_is_its_equation(edge_index, x):
    conv = HTMPConv(D, 4)
    a = torch.zeros(N, N).index_put(tuple(edge_index), torch.tensor(1.0))
    a = ((a + a.T) > 0).to(x.dtype).fill_diagonal_(0)
    mean = a / a.sum(dim=1, keepdim=True).clamp_min(1)
    w, c = conv.layer.transform, conv.layer.combine
    messages = [x @ w.W0 + w.b0, mean @ (x @ w.W1) + w.b1]
    scores = torch.stack([torch.sigmoid(h @ c.a[r]) for r, h in enumerate(messages)], dim=1)
    alpha = torch.softmax(scores @ c.V / 2, dim=1)
    expected = sum(alpha[:, r : r + 1] * h for r, h in enumerate(messages))
    torch.testing.assert_close(conv(x, edge_index), expected)


def test_it_is_a_layer_of_a_network_that_learns(edge_index, x):
    torch.set_default_dtype(torch.float32)
    x, labels = x.float(), torch.arange(N) % 3
    first, last = HTMPConv(D, 16, edge_dropout=0.1), HTMPConv(16, 3)
    network = torch.nn.ModuleList([first, last])
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.cross_entropy(last(first(x, edge_index).relu(), edge_index), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"channels": ()}, "there are no channels"),
        ({"channels": THREE, "combine": SingleChannel()}, "SingleChannel combines exactly 1 message"),
        ({"channels": ((Ego() * Ones()).with_input("initial"), Raw() * RowMean())}, "an input other than the features"),
        ({"channels": THREE[:2], "combine": OrderedGate(2)}, "values of earlier layers"),
        ({"channels": (Ego() * Ones(), Prototypes() * CompatibilityWeights())}, "input|requires"),
        ({"transform": NoTransform()}, "NoTransform keeps the width; use transform=Linear"),
    ],
)
def test_parts_that_are_no_layer_are_rejected(parts, sentence):
    with pytest.raises(HeterophilyError, match=sentence):
        HTMPConv(D, 5, **parts)


def test_wrong_inputs_are_rejected(edge_index, x):
    conv = HTMPConv(D, 4)
    with pytest.raises(HeterophilyError, match=f"in_channels={D}, but x has 2 columns"):
        conv(x[:, :2], edge_index)
    with pytest.raises(HeterophilyError, match=f"edge 0 has node {int(edge_index[0, 0])}, but nodes are numbered"):
        conv(x[:1], edge_index)
    assert "6, 4, channels=(Ego * Ones, Raw * RowMean)" in repr(conv)
