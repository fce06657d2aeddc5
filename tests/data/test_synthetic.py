import numpy as np
import pytest
import torch
from scipy import stats

from heterophily.core.compatibility import discriminability, observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.data.synthetic import (
    DEGREES,
    HOMOPHILY,
    PATTERNS,
    _draw_pairs,
    digits,
    draw_edges,
    preference_pattern,
    synthetic_benchmark,
    synthetic_graph,
    target_matrix,
)

CORA = (351, 217, 418, 818, 426, 298, 180)
Q = {
    "easy": """
        .000 .511 .009 .163 .007 .065 .246
        .826 .000 .112 .042 .002 .017 .001
        .007 .058 .000 .926 .001 .007 .001
        .070 .011 .473 .000 .369 .072 .005
        .006 .001 .001 .708 .000 .284 .000
        .077 .012 .010 .197 .406 .000 .297
        .480 .002 .001 .025 .001 .492 .000""",
    "hard": """
        .000 .076 .159 .433 .162 .108 .062
        .123 .000 .151 .411 .154 .102 .059
        .133 .078 .000 .446 .167 .111 .064
        .186 .109 .228 .000 .233 .154 .089
        .134 .079 .164 .448 .000 .111 .064
        .127 .074 .155 .424 .159 .000 .061
        .121 .071 .149 .406 .152 .101 .000""",
}
KEYS = [(h, kind, d) for d in ("high", "low") for h in ("high", "mid", "low") for kind in PATTERNS]
UNLIKELY = 1e-3  # level of each test; seeds are fixed


def target(sizes, h, kind):
    return target_matrix(sizes, h, pattern=preference_pattern(kind, len(sizes)))


@pytest.mark.parametrize("kind", PATTERNS)
def test_preferences_on_coras_classes_are_those_of_the_specification(kind):
    printed = np.array(Q[kind].split(), dtype=float).reshape(7, 7)
    np.testing.assert_allclose(target(CORA, 0.0, kind), printed, atol=0.00051)


@pytest.mark.parametrize("kind", PATTERNS)
@pytest.mark.parametrize("h", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("sizes", [CORA, (5, 5), (300, 200, 250, 240)], ids=len)
def test_a_target_is_stochastic_balanced_and_has_its_homophily_on_the_diagonal(sizes, h, kind):
    matrix = target(sizes, h, kind)
    flow = np.array(sizes)[:, None] * matrix
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(flow, flow.T, rtol=1e-9)
    np.testing.assert_allclose(matrix.diagonal(), h)


@pytest.mark.parametrize(("h", "easy", "hard"), [(0.8, 0.09, 0.09), (0.5, 0.31, 0.43), (0.2, 0.38, 0.93)])
def test_easy_and_hard_differ_in_discriminability_at_low_homophily(h, easy, hard):
    for kind, similarity in (("easy", easy), ("hard", hard)):
        matrix = torch.from_numpy(target(CORA, h, kind))
        assert 1 - discriminability(matrix) == pytest.approx(similarity, abs=0.0051)


@pytest.mark.parametrize(
    ("sizes", "h", "pattern", "reason"),
    [
        ((5, 5), 1.1, [[0, 1], [1, 0]], "homophily must be between 0 and 1, got 1.1"),
        ((5, 5), float("nan"), [[0, 1], [1, 0]], "homophily must be between"),
        ((5, 5), 0.5, [[0, 1], [2, 0]], "must be symmetric"),
        ((5, 5), 0.5, [[1, 1], [1, 1]], "zero diagonal"),
        ((5, 5), 0.5, [[0, -1], [-1, 0]], "non-negative"),
        ((5,), 0.5, [[0]], "every class must have nodes and prefer another class"),
        ((0, 5), 0.5, [[0, 1], [1, 0]], "every class must have nodes and prefer another class"),
        ((5, 10), 0.5, [[0, 1], [1, 0]], "one class is larger than all classes that may connect"),
    ],
)
def test_an_impossible_target_is_explained(sizes, h, pattern, reason):
    with pytest.raises(HeterophilyError, match=reason):
        target_matrix(sizes, h, pattern=pattern)


def test_an_unknown_pattern_is_answered_with_the_closest():
    with pytest.raises(HeterophilyError, match='unknown pattern "esy"; did you mean "easy"'):
        preference_pattern("esy", 3)


@pytest.fixture(scope="module")
def twelve():
    return dict(synthetic_benchmark(digits()))


@pytest.fixture(params=KEYS, ids="-".join)
def drawn_graph(request, twelve):
    """One of the twelve graphs on digits, the M it was drawn from, and its degree D."""
    level, kind, degree = request.param
    graph = twelve[request.param]
    sizes = np.bincount(graph.labels.numpy())
    return graph, target(sizes, HOMOPHILY[level], kind), DEGREES[degree]


def test_the_twelve_graphs_are_all_combinations(twelve):
    assert list(twelve) == KEYS
    assert len({graph.checksum for graph in twelve.values()}) == 12


def test_only_edges_are_new(drawn_graph):
    graph, base = drawn_graph[0], digits()
    assert torch.equal(graph.features, base.features)
    assert torch.equal(graph.labels, base.labels)


def test_edges_are_simple_and_stored_in_both_directions(drawn_graph):
    adjacency = drawn_graph[0].to_scipy().toarray()
    assert set(np.unique(adjacency)) == {0, 1}
    assert not adjacency.diagonal().any()
    assert (adjacency == adjacency.T).all()


def test_each_pair_of_classes_has_its_budget_of_edges(drawn_graph):
    graph, matrix, degree = drawn_graph
    labels, sizes = graph.labels.numpy(), np.bincount(graph.labels.numpy())
    found = np.zeros_like(matrix)
    np.add.at(found, (labels[graph.adjacency.rows], labels[graph.adjacency.indices]), 1)
    # A pair of classes is rounded by less than one edge, which counts twice on the diagonal.
    assert (np.abs(found - sizes[:, None] * degree * matrix) < 1 + np.eye(10)).all()


def test_the_realised_matrix_is_the_target_up_to_sampling_error(drawn_graph):
    graph, matrix, degree = drawn_graph
    labels, degrees = graph.labels.numpy(), graph.degrees.numpy()
    realised = observed_compatibility(graph.symmetric, graph.labels, 10).numpy()
    inverse = np.divide(1, degrees, where=degrees > 0, out=np.zeros(len(degrees)))
    n = np.bincount(labels[degrees > 0])
    # A node of degree d has multinomial shares with variance M_ab (1 - M_ab) / d.
    variance = matrix * (1 - matrix) * (np.bincount(labels, inverse) / n**2)[:, None]
    expected = np.bincount(labels)[:, None] * degree * matrix
    z = ((realised - matrix) / np.sqrt(variance))[expected >= 5]
    assert np.abs(z).max() < stats.norm.isf(UNLIKELY / 2 / len(z))
    assert (z**2).sum() < stats.chi2.isf(UNLIKELY, len(z))


def test_degrees_are_nearly_poisson(drawn_graph):
    graph, _, degree = drawn_graph
    degrees = graph.degrees.double()
    assert degrees.mean() == pytest.approx(degree, abs=110 / 1_797)  # 55 budgets are rounded
    assert degrees.var() / degrees.mean() == pytest.approx(1, abs=0.17)
    per_class = [float(degrees[graph.labels == k].mean()) for k in range(10)]
    error = np.sqrt(degree / 174)  # of the mean of the smallest class
    assert np.abs(np.array(per_class) - degree).max() < stats.norm.isf(UNLIKELY) * error


def test_a_million_edges_are_distinct_exact_in_number_and_poisson():
    n, degree = 100_000, 20
    labels = np.arange(n) % 10
    edges = draw_edges(labels, target([n // 10] * 10, 0.2, "easy"), degree=degree)
    assert len(edges) == pytest.approx(n * degree / 2, abs=55)
    assert (edges[:, 0] != edges[:, 1]).all()
    low, high = edges.min(axis=1), edges.max(axis=1)
    assert len(np.unique(low * n + high)) == len(edges)
    degrees = np.bincount(edges.ravel(), minlength=n)
    dispersion = degrees.var(ddof=1) / degrees.mean()
    assert abs(dispersion - 1) < stats.norm.isf(UNLIKELY) * np.sqrt(2 / n)


@pytest.mark.parametrize("n", range(8))
def test_all_pairs_within_a_class_are_reachable_each_once(n):
    nodes = np.arange(10, 10 + n)
    pairs = _draw_pairs(nodes, nodes, n * (n - 1) // 2, np.random.default_rng(0))
    every = {frozenset((int(i), int(j))) for i in nodes for j in nodes if i < j}
    assert len(pairs) == len(every)
    assert {frozenset(pair) for pair in pairs.tolist()} == every


@pytest.mark.parametrize(("n", "m"), [(3, 4), (4, 3), (1, 5), (0, 2), (2, 0)])
def test_all_pairs_between_classes_are_reachable_each_once(n, m):
    left, right = np.arange(n), np.arange(n, n + m)
    pairs = _draw_pairs(left, right, n * m, np.random.default_rng(0))
    assert sorted(map(tuple, pairs.tolist())) == [(i, j) for i in range(n) for j in range(n, n + m)]


@pytest.mark.parametrize("count", [3, 7])  # by rejection, by permutation
@pytest.mark.parametrize("n", [6, 7])
def test_pairs_within_a_class_are_uniform(n, count):
    rng, nodes, draws = np.random.default_rng(0), np.arange(n), 4_000
    drawn = np.concatenate([_draw_pairs(nodes, nodes, count, rng) for _ in range(draws)])
    low, high = drawn.min(axis=1), drawn.max(axis=1)
    found = np.zeros((n, n))
    np.add.at(found, (low, high), 1)
    found = found[np.triu_indices(n, 1)]
    # Draws without replacement vary less than a multinomial, so the test is conservative.
    assert stats.chisquare(found).pvalue > UNLIKELY


def test_an_expected_number_of_edges_is_rounded_at_random():
    labels, matrix = np.array([0, 0, 0, 1, 1, 1]), np.array([[0.0, 1.0], [1.0, 0.0]])
    found = [len(draw_edges(labels, matrix, degree=1.1, seed=s)) for s in range(2_000)]
    assert set(found) == {3, 4}  # 3.3 on average
    error = np.sqrt(0.3 * 0.7 / len(found))
    assert abs(np.mean(found) - 3.3) < stats.norm.isf(UNLIKELY / 2) * error


def test_the_seed_decides():
    first, again, other = (synthetic_graph(digits(), seed=seed) for seed in (1, 1, 2))
    assert first.checksum == again.checksum != other.checksum


@pytest.mark.parametrize(
    ("matrix", "degree", "reason"),
    [
        ([[0.5, 0.5], [0.25, 0.75]], 1, "n_a M_ab = n_b M_ba"),
        ([[0.5, 0.4], [0.4, 0.5]], 1, "must sum to 1"),
        ([[1.5, -0.5], [-0.5, 1.5]], 1, "non-negative"),
        ([[0.5, 0.5]], 1, "square"),
        ([[0.0, 1.0], [1.0, 0.0]], 4, "12 edges do not fit between classes of 3 and 3 nodes"),
        ([[1.0, 0.0], [0.0, 1.0]], 4, "6 edges do not fit between classes of 3 and 3 nodes"),
    ],
)
def test_edges_that_cannot_be_drawn_are_explained(matrix, degree, reason):
    with pytest.raises(HeterophilyError, match=reason):
        draw_edges([0, 0, 0, 1, 1, 1], matrix, degree=degree)


def test_edges_need_all_labels():
    graph = Graph.from_edges([], labels=[0, 1, -1])
    with pytest.raises(HeterophilyError, match="all nodes must have a label, but graph has"):
        synthetic_graph(graph)
