"""Graphs drawn from class labels, a compatibility matrix M and a degree D (paper, Appendix C).

M = h I + (1 - h) Q has homophily h on the diagonal; Q is a zero-diagonal row-stochastic matrix in
detailed balance with the class sizes, n_i Q_ij = n_j Q_ji, so that an undirected graph with equal
mean degree in every class realises M exactly. Q comes from a symmetric pattern Π of preferences:
Q_ij = u_i Π_ij u_j / n_i with u > 0 such that the rows sum to one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph

EMBEDDED = "digits"
HOMOPHILY = {"low": 0.2, "mid": 0.5, "high": 0.8}
DEGREES = {"low": 4, "high": 18}
RING_REST = 0.02  # preference for classes that are not neighbors on the ring
PATTERNS = ("easy", "hard")


def preference_pattern(kind: str, n_classes: int) -> Any:
    """Π: `hard` likes every other class equally, `easy` the two neighbors on a ring of classes."""
    if kind not in PATTERNS:
        raise unknown_name("pattern", kind, PATTERNS)
    pattern = np.full((n_classes, n_classes), 1.0 if kind == "hard" else RING_REST)
    ring = np.arange(n_classes)
    pattern[ring, (ring + 1) % n_classes] = pattern[(ring + 1) % n_classes, ring] = 1.0
    np.fill_diagonal(pattern, 0.0)
    return pattern


def target_matrix(class_sizes: Any, homophily: float, *, pattern: Any) -> Any:
    """M = h I + (1 - h) Q for class sizes n, homophily h and preferences Π."""
    if not 0 <= homophily <= 1:
        raise HeterophilyError(f"homophily must be between 0 and 1, got {homophily}")
    sizes, preferences = np.asarray(class_sizes, dtype=float), np.asarray(pattern, dtype=float)
    if (
        (preferences != preferences.T).any()
        or (preferences < 0).any()
        or preferences.diagonal().any()
    ):
        raise HeterophilyError(
            "preferences must be symmetric and non-negative with a zero diagonal"
        )
    u = _balancing(sizes, preferences)
    q = u[:, None] * preferences * u[None, :] / sizes[:, None]
    return homophily * np.eye(len(sizes)) + (1 - homophily) * q


def _balancing(sizes: Any, preferences: Any) -> Any:
    """Find u > 0 with Σ_j u_i Π_ij u_j = n_i; without a solution the iteration diverges."""
    u = np.sqrt(sizes)
    for _ in range(100_000):
        mass = u * (preferences @ u)
        if not mass.all():
            raise HeterophilyError(
                "every class needs another class to connect to; check preferences"
            )
        if np.abs(mass / sizes - 1).max() < 1e-12:
            return u
        u = u * np.sqrt(sizes / mass)
        if u.max() > 1e100:
            break
    raise HeterophilyError(
        "no graph with equal degrees has these preferences: one class is larger than all that "
        "may connect to it; use a flatter pattern"
    )


def draw_edges(labels: Any, matrix: Any, *, degree: float, seed: int = 0) -> Any:
    """Draw undirected edges (E, 2), each once: for classes a < b, n_a D M_ab pairs, uniformly.

    Within a class it is n_a D M_aa / 2 pairs. Pairs are distinct and no node meets itself, so
    degrees are nearly Poisson with mean D.
    """
    y, m = np.asarray(labels), np.asarray(matrix, dtype=float)
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(y == k) for k in range(len(m))]
    _check_balance(m, [len(nodes) for nodes in members])
    drawn = [
        _draw_pairs(members[a], members[b], _budget(members, m, degree, a, b, rng), rng)
        for a in range(len(m))
        for b in range(a, len(m))
    ]
    return np.concatenate(drawn) if drawn else np.zeros((0, 2), dtype=np.int64)


def _check_balance(matrix: Any, sizes: list[int]) -> None:
    if matrix.shape != (len(sizes), len(sizes)) or (matrix < 0).any():
        raise HeterophilyError(f"the matrix must be square and non-negative, got {matrix.shape}")
    if np.abs(matrix.sum(axis=1) - 1).max() > 1e-6:
        raise HeterophilyError("each row of the matrix must sum to 1; normalise the rows")
    flow = np.asarray(sizes)[:, None] * matrix
    if np.abs(flow - flow.T).max() > 1e-6 * max(sizes):
        raise HeterophilyError(
            "an undirected graph with equal degrees needs n_a M_ab = n_b M_ba for class sizes n; "
            "make the matrix with target_matrix"
        )


def _budget(members: Any, m: Any, degree: float, a: int, b: int, rng: np.random.Generator) -> int:
    expected = len(members[a]) * degree * m[a, b] / (2 if a == b else 1)
    return int(expected) + int(rng.random() < expected % 1)


def _draw_pairs(left: Any, right: Any, count: int, rng: np.random.Generator) -> Any:
    same = left is right
    n = len(left)
    total = n * (n - 1) // 2 if same else n * len(right)
    if count > total:
        raise HeterophilyError(
            f"{count} edges do not fit between classes of {n} and {len(right)} nodes; "
            "lower the degree"
        )
    code = _distinct(total, count, rng)
    if not same:
        return np.stack([left[code % n], right[code // n]], axis=1) if n else _no_pairs()
    # Pairs at circular distance 1, 2, .. n/2 are all pairs, each once.
    return (
        np.stack([left[code % n], left[(code + code // n + 1) % n]], axis=1) if n else _no_pairs()
    )


def _no_pairs() -> Any:
    return np.zeros((0, 2), dtype=np.int64)


def _distinct(total: int, count: int, rng: np.random.Generator) -> Any:
    """Draw `count` distinct numbers below `total`, uniformly."""
    if total < 4 * count:
        return rng.permutation(total)[:count]
    kept = np.zeros(0, dtype=np.int64)
    while len(kept) < count:
        more = rng.integers(total, size=int(1.1 * (count - len(kept))) + 16)
        kept = np.sort(np.concatenate([kept, more]))
        kept = kept[np.concatenate([[True], kept[1:] != kept[:-1]])]
    return rng.permutation(kept)[:count]


def synthetic_graph(
    base: Graph, *, homophily: float = 0.2, pattern: str = "easy", degree: float = 18, seed: int = 0
) -> Graph:
    """Keep the nodes, features and labels of `base` and draw new edges with a chosen M."""
    if not bool(base.labeled.all()):
        raise HeterophilyError(f"{base.name} has nodes without a label; edges need all classes")
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


def synthetic_benchmark(
    base: Graph, *, seed: int = 0
) -> Iterator[tuple[tuple[str, str, str], Graph]]:
    """The paper's twelve: homophily high/mid/low × easy/hard × degree high/low, with their keys."""
    for degree, d in reversed(DEGREES.items()):
        for level, h in reversed(HOMOPHILY.items()):
            for kind in PATTERNS:
                graph = synthetic_graph(base, homophily=h, pattern=kind, degree=d, seed=seed)
                yield (level, kind, degree), graph


def digits() -> Graph:
    """Scikit-learn's bundled digits as nodes without edges: 1,797 × 64 pixels, ten classes."""
    from sklearn.datasets import load_digits

    data = load_digits()
    names = [str(k) for k in range(10)]
    features = (data.data / 16).astype(np.float32)
    return Graph.from_edges([], features, labels=data.target, class_names=names, name=EMBEDDED)


def embedded() -> Graph:
    """The embedded graph of the demo: digits that mostly meet the next and the previous digit."""
    return synthetic_graph(digits(), homophily=0.2, pattern="easy", degree=8).replace(name=EMBEDDED)
