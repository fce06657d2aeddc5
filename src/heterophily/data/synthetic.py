"""Random graphs with given class labels, compatibility matrix M, and degree D (paper, Appendix C).

M = h I + (1 - h) Q has the homophily h on its diagonal. Q is a row-stochastic matrix with a zero
diagonal in detailed balance with the class sizes, n_i Q_ij = n_j Q_ji, so an undirected graph with
the same mean degree in every class has exactly this M. Q is computed from a symmetric matrix Π of
preferences: Q_ij = u_i Π_ij u_j / n_i with u > 0 such that the rows sum to one.
"""

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np
import torch
from numpy.typing import ArrayLike

from heterophily.core.arguments import MAX_SEED, NUMBER, TEXT, check_argument, check_integer
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph, check_graph_type
from heterophily.core.sparse import sorted_unique
from heterophily.core.types import FloatArray, IntArray

EMBEDDED = "digits"
HOMOPHILY = {"low": 0.2, "mid": 0.5, "high": 0.8}
DEGREES = {"low": 4, "high": 18}
OFF_RING_PREFERENCE = 0.02  # for classes that are not adjacent on the ring
PATTERNS = ("easy", "hard")


def preference_pattern(kind: str, n_classes: int) -> FloatArray:
    """Return Π: `hard` prefers all other classes equally, `easy` the two adjacent ones on a ring."""
    if kind not in PATTERNS:
        raise unknown_name("pattern", kind, PATTERNS)
    pattern = np.full((n_classes, n_classes), 1.0 if kind == "hard" else OFF_RING_PREFERENCE)
    ring = np.arange(n_classes)
    pattern[ring, (ring + 1) % n_classes] = pattern[(ring + 1) % n_classes, ring] = 1.0
    np.fill_diagonal(pattern, 0.0)
    return pattern


def target_matrix(class_sizes: ArrayLike, homophily: float, *, pattern: ArrayLike) -> FloatArray:
    """Compute M = h I + (1 - h) Q for class sizes n, homophily h, and preferences Π."""
    if not 0 <= homophily <= 1:
        raise HeterophilyError(f"homophily must be between 0 and 1, got {homophily}")
    sizes, preferences = np.asarray(class_sizes, dtype=float), np.asarray(pattern, dtype=float)
    symmetric = (preferences == preferences.T).all()
    if not symmetric or (preferences < 0).any() or preferences.diagonal().any():
        raise HeterophilyError("pattern must be symmetric and non-negative with a zero diagonal")
    u = _balancing(sizes, preferences)
    q = u[:, None] * preferences * u[None, :] / sizes[:, None]
    return homophily * np.eye(len(sizes)) + (1 - homophily) * q


def _balancing(sizes: FloatArray, preferences: FloatArray) -> FloatArray:
    """Find u > 0 with Σ_j u_i Π_ij u_j = n_i; the iteration diverges if there is no solution."""
    u = np.sqrt(sizes)
    for _ in range(100_000):
        mass = u * (preferences @ u)
        if not mass.all():
            raise HeterophilyError("every class must have nodes and prefer another class")
        if np.abs(mass / sizes - 1).max() < 1e-12:
            return u
        u = u * np.sqrt(sizes / mass)
        if u.max() > 1e100:
            break
    raise HeterophilyError(
        "no graph with equal degrees has these preferences: one class is larger than all classes "
        "that may connect to it; use a pattern with more similar preferences"
    )


def draw_edges(labels: ArrayLike, matrix: ArrayLike, *, degree: float, seed: int = 0) -> IntArray:
    """Draw undirected edges (E, 2), each once, uniformly: n_a D M_ab pairs for classes a < b.

    Within a class, there are n_a D M_aa / 2 pairs. Pairs are distinct and contain two different
    nodes, so degrees are nearly Poisson distributed with mean D.
    """
    y, m = np.asarray(labels), np.asarray(matrix, dtype=float)
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(y == k) for k in range(len(m))]
    _check_balance(m, [len(nodes) for nodes in members])
    pairs = []
    for a, b in combinations_with_replacement(range(len(m)), 2):
        expected = len(members[a]) * degree * m[a, b] / (2 if a == b else 1)
        count = int(expected) + int(rng.random() < expected % 1)
        pairs.append(_draw_pairs(members[a], members[b], count, rng))
    return np.concatenate(pairs)


def _check_balance(matrix: FloatArray, sizes: list[int]) -> None:
    if matrix.shape != (len(sizes), len(sizes)) or (matrix < 0).any():
        raise HeterophilyError(f"matrix must be square and non-negative, got shape {matrix.shape}")
    if np.abs(matrix.sum(axis=1) - 1).max() > 1e-6:
        raise HeterophilyError("each row of matrix must sum to 1; normalize the rows")
    flow = np.asarray(sizes)[:, None] * matrix
    if np.abs(flow - flow.T).max() > 1e-6 * max(sizes):
        raise HeterophilyError(
            "matrix must satisfy n_a M_ab = n_b M_ba for class sizes n, because edges are "
            "undirected and degrees equal; compute it with target_matrix"
        )


def _draw_pairs(left: IntArray, right: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    n, same = len(left), left is right
    total = n * (n - 1) // 2 if same else n * len(right)
    if count > total:
        raise HeterophilyError(
            f"{count} edges do not fit between classes of {n} and {len(right)} nodes; use a lower degree"
        )
    code = _distinct(total, count, rng)
    # Within a class, the pairs at circular distances 1, 2, ..., n/2 are all pairs, each once.
    other = left[(code + code // n + 1) % n] if same else right[code // n]
    return np.stack([left[code % n], other], axis=1)


def _distinct(total: int, count: int, rng: np.random.Generator) -> IntArray:
    """Draw `count` distinct numbers below `total`, uniformly."""
    if total < 4 * count:
        return rng.permutation(total)[:count]
    numbers = np.zeros(0, dtype=np.int64)
    while len(numbers) < count:
        more = rng.integers(total, size=int(1.1 * (count - len(numbers))) + 16)
        numbers = sorted_unique(np.concatenate([numbers, more]))
    return rng.permutation(numbers)[:count]


def synthetic_graph(
    base: Graph, *, homophily: float = 0.2, pattern: str = "easy", degree: float = 18, seed: int = 0
) -> Graph:
    """Connect the nodes of a graph with random edges of a given compatibility matrix.

    M = h I + (1 - h) Q,  with the homophily h and the preferences Q for other classes

    Parameters
    ----------
    base
        Graph that provides nodes, features, labels, and splits. All nodes must have a label.
    homophily
        Fraction of a node's neighbors that are of its own class, between 0 and 1.
    pattern
        ``"easy"`` connects a class mostly to two other classes, which makes classes easy to tell
        apart by their neighbors; ``"hard"`` connects it equally to all other classes.
    degree
        Mean number of neighbors.

    Raises
    ------
    HeterophilyError
        If a node has no label, or no graph satisfies the parameters.

    Examples
    --------
    >>> from heterophily import diagnose, load, synthetic_graph
    >>> graph = synthetic_graph(load("digits"), homophily=0.5, pattern="hard", degree=10)
    >>> round(diagnose(graph).homophily.edge, 2)
    0.5
    """
    check_graph_type(base)
    check_argument("homophily", homophily, NUMBER)
    check_argument("pattern", pattern, TEXT)
    check_argument("degree", degree, NUMBER)
    check_integer("seed", seed, low=0, high=MAX_SEED)
    if not 0 < degree < float("inf"):
        raise HeterophilyError(f"degree must be a positive number, got {degree}")
    if not bool(base.labeled.all()):
        raise HeterophilyError(f"all nodes must have a label, but {base.name} has nodes without one")
    sizes = torch.bincount(base.labels, minlength=base.n_classes).numpy()
    preferences = preference_pattern(pattern, base.n_classes)
    matrix = target_matrix(sizes, homophily, pattern=preferences)
    edges = draw_edges(base.labels.numpy(), matrix, degree=degree, seed=seed)
    name = f"{base.name}, homophily {homophily}, {pattern}, degree {degree}"
    return Graph.from_edges(
        np.concatenate([edges, edges[:, ::-1]]),
        base.features,
        labels=base.labels,
        n_classes=base.n_classes,
        splits=base.splits,
        name=name,
        node_ids=base.node_ids,
        class_names=base.class_names,
    )


def synthetic_benchmark(base: Graph, *, seed: int = 0) -> Iterator[tuple[tuple[str, str, str], Graph]]:
    """Generate the twelve synthetic graphs of the paper.

    Yields
    ------
    A key (homophily, pattern, degree) and its graph. Homophily is ``"high"``, ``"mid"``, or
    ``"low"``; the pattern is ``"easy"`` or ``"hard"``; the degree is ``"high"`` or ``"low"``.

    Examples
    --------
    >>> from heterophily import load, synthetic_benchmark
    >>> graphs = dict(synthetic_benchmark(load("digits")))
    >>> len(graphs)
    12
    >>> graphs["low", "hard", "high"].name
    'digits, homophily 0.2, hard, degree 18'
    """
    for degree, d in reversed(DEGREES.items()):
        for level, h in reversed(HOMOPHILY.items()):
            for kind in PATTERNS:
                graph = synthetic_graph(base, homophily=h, pattern=kind, degree=d, seed=seed)
                yield (level, kind, degree), graph


def digits() -> Graph:
    """Return the 1,797 images of scikit-learn's digits as nodes without edges; 64 pixels, ten classes."""
    from sklearn.datasets import load_digits

    data = load_digits()
    names = [str(k) for k in range(10)]
    features = (data.data / 16).astype(np.float32)
    return Graph.from_edges([], features, labels=data.target, class_names=names, name=EMBEDDED)


def embedded() -> Graph:
    """Return the embedded graph: digits that are mostly connected to the next and previous digit."""
    return synthetic_graph(digits(), homophily=0.2, pattern="easy", degree=8).replace(name=EMBEDDED)
