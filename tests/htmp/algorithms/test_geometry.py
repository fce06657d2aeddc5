"""The embedding equals classical scaling of distances, and latent neighbors are counted naively."""

import networkx as nx
import numpy as np
import pytest
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.htmp.algorithms import isomap
from heterophily.htmp.algorithms.geometry import latent_neighbors, quadrant, quadrant_patterns
from heterophily.htmp.algorithms.isomap import embed


def adjacency_of(edges, n_nodes=None):
    return Graph.from_edges(edges, n_nodes=n_nodes).symmetric


def mask(pattern):
    found = np.zeros(pattern.shape, dtype=bool)
    found[pattern.rows.numpy(), pattern.indices.numpy()] = True
    assert found.sum() == pattern.n_entries
    return found


def steps(adjacency):
    """All distances, unreachable ones 1.5 times the largest."""
    graph = nx.from_numpy_array(mask(adjacency))
    n = len(graph)
    found = np.full((n, n), np.nan)
    for i, reached in nx.all_pairs_shortest_path_length(graph):
        for j, distance in reached.items():
            found[i, j] = distance
    return np.where(np.isnan(found), 1.5 * np.nanmax(found), found)


def inner_products(adjacency):
    """-½ J δ² J."""
    squared = steps(adjacency) ** 2
    centring = np.eye(len(squared)) - 1 / len(squared)
    return -0.5 * centring @ squared @ centring


def pair_distances(z):
    return np.linalg.norm(z[:, None] - z[None], axis=-1)


@pytest.fixture(params=["all eigenpairs", "two eigenpairs"])
def _eigenpairs(request, monkeypatch):
    if request.param == "two eigenpairs":
        monkeypatch.setattr(isomap, "MAX_DENSE_LANDMARKS", 3)


@pytest.mark.usefixtures("_eigenpairs")
def test_the_drawing_is_classical_scaling(random_graph):
    z = embed(random_graph.symmetric).numpy()
    values, vectors = np.linalg.eigh(inner_products(random_graph.symmetric))
    for axis in (0, 1):
        expected = vectors[:, -1 - axis] * np.sqrt(values[-1 - axis])
        expected *= np.sign(expected @ z[:, axis])
        np.testing.assert_allclose(z[:, axis], expected, atol=2e-6)
        farthest = np.abs(z[:, axis]).argmax()
        assert z[farthest, axis] > 0


@pytest.mark.usefixtures("_eigenpairs")
def test_a_path_is_drawn_as_a_line():
    z = embed(adjacency_of([(i, i + 1) for i in range(19)])).numpy()
    np.testing.assert_allclose(np.abs(np.diff(z[:, 0])), 1, atol=2e-6)
    np.testing.assert_allclose(z[:, 1], 0, atol=2e-6)
    assert z[0, 0] > 0  # both ends have the same distance, and the first is positive


def test_leaves_of_one_node_share_a_position():
    comb = [(i, i + 1) for i in range(11)] + [(4, i) for i in (12, 13, 14)] + [(8, 15)]
    z = embed(adjacency_of(comb))
    assert len(torch.unique(z[12:15], dim=0)) == 1
    assert len(torch.unique(z, dim=0)) == 14


def test_graphs_with_little_in_them(monkeypatch):
    assert embed(adjacency_of([(0, 1)])).tolist() == [[0.5, 0], [-0.5, 0]]
    for small in (500, 1):
        monkeypatch.setattr(isomap, "MAX_DENSE_LANDMARKS", small)
        assert embed(adjacency_of([], n_nodes=4)).equal(torch.zeros(4, 2, dtype=torch.double))
        assert embed(adjacency_of([], n_nodes=1)).equal(torch.zeros(1, 2, dtype=torch.double))


def test_if_all_nodes_are_landmarks_nothing_changes(random_graph, monkeypatch):
    exact = embed(random_graph.symmetric)
    monkeypatch.setattr(isomap, "MAX_EXACT_NODES", 10)
    assert embed(random_graph.symmetric).equal(exact)


def test_some_landmarks_draw_nearly_the_same(monkeypatch):
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 7))
    adjacency = adjacency_of(list(grid.edges))
    exact = embed(adjacency).numpy()
    monkeypatch.setattr(isomap, "MAX_EXACT_NODES", 10)
    monkeypatch.setattr(isomap, "N_LANDMARKS", 30)
    drawn = embed(adjacency, seed=3)
    assert drawn.equal(embed(adjacency, seed=3))
    distances = [pair_distances(z).ravel() for z in (exact, drawn.numpy())]
    assert np.corrcoef(*distances)[0, 1] > 0.97


def within(z, n_entries, *, apart=False):
    """The pairs up to the largest possible distance, by trying all distances."""
    distance = pair_distances(z).round(9)
    np.fill_diagonal(distance, np.inf)
    distance[(distance == 0) & apart] = np.inf
    levels = [d for d in np.unique(distance) if (distance <= d).sum() <= n_entries and d < np.inf]
    return distance <= max(levels, default=-1)


@pytest.mark.parametrize("n_entries", [0, 1, 2, 31, 100, 869, 870, 10_000])
def test_latent_neighbors_are_the_nearest_that_fit(n_entries):
    rng = np.random.default_rng(0)
    for z in (rng.normal(size=(30, 2)), rng.integers(0, 4, size=(30, 2)).astype(float)):
        n_shared = (pair_distances(z) == 0).sum() - 30
        found = mask(latent_neighbors(torch.from_numpy(z), n_entries))
        assert found.sum() <= n_entries
        assert (found == within(z, n_entries, apart=n_shared > n_entries)).all()


def test_a_crowd_at_one_position_leaves_room_for_others():
    adjacency = adjacency_of([(0, i) for i in range(1, 20_000)])  # 400 million pairs of leaves
    z = torch.ones(20_000, 2)
    z[0] = 0
    latent = latent_neighbors(z, adjacency.n_entries)
    assert latent.indices.equal(adjacency.indices)
    assert latent.indptr.equal(adjacency.indptr)


def test_a_reversed_pair_has_the_opposite_quadrant():
    z = torch.tensor([[0.0, 0.0], [1.0, 2.0], [-1.0, 3.0], [1.0, 0.0]])
    pattern = adjacency_of([(i, j) for i in range(4) for j in range(i)])
    found = torch.full((4, 4), -1)
    found[pattern.rows.long(), pattern.indices.long()] = quadrant(z, pattern)
    assert [found[0, 1], found[1, 0]] == [0, 3]
    assert [found[0, 2], found[2, 0]] == [2, 1]
    assert [found[1, 2], found[2, 1]] == [2, 1]
    assert [found[1, 3], found[3, 1]] == [1, 0]  # equal along the first axis


@pytest.mark.parametrize("overlap", ["both", "latent"])
def test_relations_divide_both_spaces(random_graph, overlap):
    adjacency = random_graph.symmetric
    found = quadrant_patterns(adjacency, overlap=overlap)
    assert set(found) == {(space, q) for space in ("graph", "latent") for q in range(4)}
    total = {space: sum(mask(found[space, q]).astype(int) for q in range(4)) for space in ("graph", "latent")}
    latent = mask(latent_neighbors(embed(adjacency), adjacency.n_entries))
    assert (latent & mask(adjacency)).any()
    assert (total["latent"] == latent).all()
    kept = mask(adjacency) if overlap == "both" else mask(adjacency) & ~latent
    assert (total["graph"] == kept).all()


def test_relations_of_a_graph_without_edges_are_empty():
    assert all(p.n_entries == 0 for p in quadrant_patterns(adjacency_of([], n_nodes=5)).values())


def test_what_cannot_be_is_refused():
    with pytest.raises(HeterophilyError, match='unknown overlap "bot"; did you mean "both"'):
        quadrant_patterns(adjacency_of([(0, 1)]), overlap="bot")
    with pytest.raises(HeterophilyError, match="n_entries must not be negative, got -1"):
        latent_neighbors(torch.zeros(2, 2), -1)


@pytest.mark.real
def test_latent_neighbors_of_a_real_graph_are_nearly_as_many_as_its_edges(real_graph):
    adjacency = real_graph("chameleon-f").symmetric
    latent = latent_neighbors(embed(adjacency), adjacency.n_entries)
    assert 0.99 * adjacency.n_entries < latent.n_entries <= adjacency.n_entries
    shared = (mask(latent) & mask(adjacency)).sum() / adjacency.n_entries
    assert shared == pytest.approx(0.16, abs=0.02)
