"""The head folded into the last layer: the same logits and gradients with fewer columns."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heterophily import Graph, build
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Add, Concat
from heterophily.htmp.encoder import Embed
from heterophily.htmp.execution.fold_head import FoldedNetwork
from heterophily.htmp.fuse import ConcatLayers
from heterophily.htmp.guidance import Attention, Ones, RowMean
from heterophily.htmp.method import CustomMethod
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.network import Network
from heterophily.models import REGISTRY
from heterophily.models.cmgnn.state import CompatibilityEstimate
from heterophily.models.ugcn import FirstColumns


class Squared(Add):
    """A part of one's own, derived from a linear one."""

    def __call__(self, messages, heard, w, context):
        return super().__call__(messages, heard, w, context).square()


PLAIN = CustomMethod("plain", Architecture(channels=(Ego() * Ones(), Raw() * RowMean()), combine=Add(), head=Head()))


@pytest.fixture
def small_graph():
    rng = np.random.default_rng(0)
    edges = np.argwhere(rng.random((30, 30)) < 0.1)
    features = rng.random((30, 8), dtype=np.float32)
    return Graph.from_edges(edges, features=features, labels=rng.integers(0, 3, size=30))


def run_pass(network, graph, forward):
    """Return the logits and the gradient of every weight after one pass."""
    network.eval().zero_grad()
    logits = forward(network, graph)
    (logits * torch.linspace(-1, 1, logits.shape[1]).exp()).square().sum().backward()
    return logits.detach(), {name: weight.grad for name, weight in network.named_parameters()}


@pytest.mark.parametrize("method", [PLAIN, REGISTRY["hog-gcn"]], ids=lambda method: method.name)
def test_logits_and_gradients_are_those_of_a_head_behind_the_layer(small_graph, method):
    torch.manual_seed(0)
    network = build(method, small_graph, width=16)
    assert isinstance(network, FoldedNetwork)
    logits, gradients = run_pass(network, small_graph, FoldedNetwork.run)
    other_logits, others = run_pass(network, small_graph, Network.run)
    torch.testing.assert_close(logits, other_logits)
    # Sums over all nodes in another order: single precision leaves four digits where they cancel.
    torch.testing.assert_close(gradients, others, rtol=1e-4, atol=1e-4)


def test_the_representation_keeps_its_width(small_graph):
    torch.manual_seed(0)
    network = build(PLAIN, small_graph, width=16).eval()
    representation = network.embed(small_graph)
    assert representation.shape == (small_graph.n_nodes, 16)
    torch.testing.assert_close(network.logits(representation), network(small_graph))


@pytest.mark.parametrize(
    "changes",
    [
        {"head": None},
        {"head": FirstColumns()},  # the output of the last layer, without a linear map
        {"activate_last": True},
        {"combine": Concat()},
        {"combine": Squared()},
        {"encoder": Embed(), "states": (CompatibilityEstimate(),)},  # logits of virtual nodes too
        {"encoder": Embed(), "fuse": ConcatLayers()},
        {"dropout": Dropout(head=0.5)},
        {"dropout": Dropout(message=0.5)},
        {"message_activation": "after"},
        {"channels": (Ego() * Ones(), Raw() * Attention())},  # compares messages
    ],
)
def test_what_stands_between_keeps_the_head_behind(small_graph, changes):
    template = replace(PLAIN.template, **{"combine": Add(), **changes})
    network = build(replace(PLAIN, template=template), small_graph, width=16)
    assert not isinstance(network, FoldedNetwork)


def test_a_residual_connection_keeps_the_head_behind(small_graph):
    network = build(PLAIN, small_graph, width=16, residual=True)
    assert not isinstance(network, FoldedNetwork)
