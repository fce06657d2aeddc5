"""Ensembles: the weighted mean of the probabilities of their members."""

import pytest
import torch

from heterophily import Graph, build
from heterophily.models.ensemble import Ensemble


@pytest.fixture
def graph():
    return Graph.from_edges([(0, 1), (1, 2)], torch.eye(4), labels=[0, 1, 2, 0])


def test_logits_are_the_logarithm_of_the_mean_probability(graph):
    members = [build("mlp", graph, width=8).eval(), build("gcn", graph, width=8).eval()]
    first, second = (member(graph).softmax(dim=1) for member in members)
    mean = 0.75 * first + 0.25 * second
    torch.testing.assert_close(Ensemble(members, [3.0, 1.0])(graph).softmax(dim=1), mean)
    pytest.importorskip("torch_geometric")
    assert torch.equal(Ensemble(members)(graph.to_pyg()), Ensemble(members)(graph))
    cold = Ensemble(members, [3.0, 1.0], temperature=2.0)(graph).softmax(dim=1)
    torch.testing.assert_close(cold, mean.sqrt() / mean.sqrt().sum(dim=1, keepdim=True))


def test_weights_and_temperature_are_part_of_the_state(graph):
    one = Ensemble([build("mlp", graph, width=8)], temperature=2.0)
    two = Ensemble([build("mlp", graph, width=8)])
    two.load_state_dict(one.state_dict())
    assert torch.equal(one.eval()(graph), two.eval()(graph))
    assert {"weights", "temperature"} < set(one.state_dict())
