"""The five measures equal loops, and equivalent functions of other libraries."""

import math
from dataclasses import astuple

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.metrics import cohen_kappa_score, normalized_mutual_info_score

from heterophily.core.graph import Graph
from heterophily.core.homophily import measure_homophily


@pytest.fixture(params=["adjacency", "symmetric"])
def form(request):
    """As stored, with self-loops and one-sided edges, or symmetrized."""
    return request.param


@pytest.fixture
def measured(random_graph, form):
    adjacency = getattr(random_graph, form)
    return measure_homophily(adjacency, random_graph.labels, random_graph.n_classes)


@pytest.fixture
def ends(random_graph, form):
    """The classes at both ends of each edge between labeled nodes."""
    adjacency, labels = getattr(random_graph, form), random_graph.labels.numpy()
    pairs = np.stack([labels[adjacency.rows], labels[adjacency.indices]])
    return pairs[:, (pairs >= 0).all(axis=0)]


def test_edge_homophily_is_the_share_of_equal_ends(measured, ends):
    assert measured.edge == pytest.approx(np.mean(ends[0] == ends[1]))


def test_node_homophily_is_the_mean_over_nodes_with_labelled_neighbors(measured, random_graph, form):
    adjacency, labels = getattr(random_graph, form), random_graph.labels.tolist()
    edges = list(zip(adjacency.rows.tolist(), adjacency.indices.tolist(), strict=True))
    shares = []
    for i in range(random_graph.n_nodes):
        known = [labels[b] for a, b in edges if a == i and labels[b] >= 0]
        if labels[i] >= 0 and known:
            shares.append(known.count(labels[i]) / len(known))
    assert measured.node == pytest.approx(np.mean(shares))


def test_class_insensitive_homophily_is_the_mean_excess_over_class_shares(measured, ends, random_graph):
    labels = random_graph.labels[random_graph.labeled].numpy()
    total = 0.0
    for k in range(5):
        if (ends[0] == k).any():
            total += max(0.0, np.mean(ends[1][ends[0] == k] == k) - np.mean(labels == k))
    assert measured.class_insensitive == pytest.approx(total / 4)


def test_adjusted_homophily_is_cohens_kappa_of_the_two_ends(measured, ends):
    assert measured.adjusted == pytest.approx(cohen_kappa_score(*ends))


def test_label_informativeness_is_normalised_mutual_information(measured, ends):
    assert measured.label_informativeness == pytest.approx(normalized_mutual_info_score(*ends))


def test_adjusted_homophily_is_networkx_assortativity_of_a_fully_labelled_graph(random_graph):
    labels = random_graph.labels.clamp_min(0)
    graph = nx.from_scipy_sparse_array(random_graph.to_scipy()).to_undirected()
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    nx.set_node_attributes(graph, dict(enumerate(labels.tolist())), "y")
    measured = measure_homophily(random_graph.symmetric, labels, 4)
    assert measured.adjusted == pytest.approx(nx.attribute_assortativity_coefficient(graph, "y"))


@pytest.mark.parametrize(
    ("edges", "labels", "expected"),
    [
        ([(i, j) for i in (0, 1) for j in (2, 3)], [0, 0, 1, 1], (0, 0, 0, -1, 1)),
        ([(0, 1), (2, 3)], [0, 0, 1, 1], (1, 1, 1, 1, 1)),
        ([(0, 2), (2, 1), (1, 3), (0, 1), (2, 3), (0, 3)], [0, 0, 1, 1], (1 / 3, 1 / 3, 0, -1 / 3)),
    ],
    ids=["complete bipartite", "two islands", "complete"],
)
def test_known_graphs_have_known_values(edges, labels, expected):
    graph = Graph.from_edges(edges, labels=labels)
    measured = astuple(measure_homophily(graph.symmetric, graph.labels, 2))
    assert measured[: len(expected)] == pytest.approx(expected)


def test_numbers_of_classes_do_not_matter(random_graph, measured, form):
    order = torch.tensor([2, 0, 4, 1, 3])
    labels = torch.where(random_graph.labeled, order[random_graph.labels], -1)
    renumbered = measure_homophily(getattr(random_graph, form), labels, 5)
    assert astuple(renumbered) == pytest.approx(astuple(measured))


def test_without_labelled_edges_there_is_nothing_to_measure():
    graph = Graph.from_edges([(0, 1)], labels=[0, -1, 1])
    assert all(map(math.isnan, astuple(measure_homophily(graph.symmetric, graph.labels, 2))))


def test_chance_cannot_be_corrected_where_all_edges_lie_in_one_class():
    graph = Graph.from_edges([(0, 1)], labels=[0, 0, 1])
    measured = measure_homophily(graph.symmetric, graph.labels, 2)
    assert (measured.edge, measured.node) == (1, 1)
    assert math.isnan(measured.adjusted)
    assert math.isnan(measured.label_informativeness)


REAL = {  # edge and node homophily of the symmetrized graph
    "chameleon-f": (0.236, 0.244),
    "squirrel-f": (0.207, 0.190),  # 0.1905; the README of the files has 0.191
    "actor": (0.217, 0.220),
    "flickr": (0.239, 0.243),
    "blogcatalog": (0.401, 0.391),
    "pubmed": (0.802, 0.792),
    "photo": (0.827, 0.849),
}


@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_real_graphs_have_the_published_homophily(name, real_graph):
    graph = real_graph(name)
    measured = measure_homophily(graph.symmetric, graph.labels, graph.n_classes)
    assert (measured.edge, measured.node) == pytest.approx(REAL[name], abs=0.00051)


@pytest.mark.real
def test_adjusted_homophily_of_pubmed_is_the_published_one(real_graph):
    graph = real_graph("pubmed")
    adjusted = measure_homophily(graph.symmetric, graph.labels, 3).adjusted
    assert adjusted == pytest.approx(0.686, abs=0.0005)


@pytest.mark.real
def test_chameleon_is_more_homophilous_as_stored(real_graph):
    graph = real_graph("chameleon-f")
    stored = measure_homophily(graph.adjacency, graph.labels, 5)
    assert stored.edge == pytest.approx(0.247, abs=0.0005)
