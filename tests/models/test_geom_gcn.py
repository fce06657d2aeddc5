"""Geom-GCN: nine relations, H_r = D_n^(-1/2) A_r D_n^(-1/2) drop(Z) W_r, concatenated, then averaged."""

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build


def relations(network, graph):
    """The nine patterns as dense matrices, the self-loops last."""
    hoods = [channel.neighborhood for channel in network.architecture.channels]
    patterns = [hood.adjacency(graph) for hood in hoods]
    return [(p * torch.ones(p.n_entries)).to_dense() for p in patterns]


def forward(network, graph, dense, *, degree="union"):
    """The logits, each relation by itself."""
    found, p = relations(network, graph), 0.5 if network.training else 0.0
    n = sum(pattern.sum(dim=1) for pattern in found)
    operators = [dense.symmetric(a) if degree == "relation" else a / (n[:, None] * n[None, :]).sqrt() for a in found]
    first, second = (layer.transform for layer in network.stacks[0])
    x = dense.drop(dense.features(graph), p)
    z = [s @ x @ getattr(first, f"W{r}") for r, s in enumerate(operators)]
    z = dense.drop(torch.cat(z, dim=1).relu(), p)
    return sum(s @ z @ getattr(second, f"W{r}") for r, s in enumerate(operators)) / 9


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("degree", ["union", "relation"])
def test_the_network_is_the_card(graph, dense, agree, marked_dropout, degree, training):
    network = build("geom-gcn", graph, width=4, degree=degree).train(training)
    agree(network, graph, lambda: forward(network, graph, dense, degree=degree))
    assert marked_dropout == [0.5, 0.5] * training


def test_the_reference_network_is_the_card(graph, dense, agree, marked_dropout):
    network = build("geom-gcn", graph, preset="reference", width=4)
    agree(network, graph, lambda: forward(network, graph, dense))


def test_the_loss_is_the_cross_entropy(graph, train, dense, agree, marked_dropout):
    network = build("geom-gcn", graph, width=4)

    def expected():
        logits = forward(network, graph, dense)
        return F.nll_loss(logits.log_softmax(dim=1)[train], graph.labels[train])

    agree(network, graph, expected, actual=lambda: network.loss(network(graph), graph, train))


def test_relations_split_the_edges_by_quadrant(small_graph, dense):
    graph = small_graph()
    network = build("geom-gcn", graph, width=4)
    found = relations(network, graph)
    assert len(found) == 9
    assert torch.equal(sum(found[:4]), dense.adjacency(graph))
    assert torch.equal(found[8], torch.eye(graph.n_nodes))


def test_the_reference_counts_an_edge_in_one_relation_at_most(small_graph):
    graph = small_graph()
    both, latent = (
        sum(relations(build("geom-gcn", graph, width=4, overlap=overlap), graph)) for overlap in ("both", "latent")
    )
    assert latent.max() == 1
    assert both.max() == 2


def test_weights_have_the_laws_of_the_card(small_graph, law):
    network = build("geom-gcn", small_graph(n_features=400), width=100)
    first, second = (layer.transform for layer in network.stacks[0])
    for r in range(9):
        law.uniform(getattr(first, f"W{r}"), (6 / 500) ** 0.5)
        law.uniform(getattr(second, f"W{r}"), (6 / 903) ** 0.5)
    assert len(list(network.parameters())) == 18
