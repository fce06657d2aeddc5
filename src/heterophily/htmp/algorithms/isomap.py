"""Isomap: a graph drawn in the plane so that distances come near the distances in steps.

Classical scaling of all distances, or above 10,000 nodes of the distances from some landmarks, by
which the other nodes are placed (Nyström; de Silva and Tenenbaum 2004).

Symbols: δ_il the steps from node i to landmark l; L landmarks; J = I - 1/L centres; z_i in R².
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from heterophily.core.progress import track
from heterophily.core.sparse import Pattern
from heterophily.htmp.algorithms.hops import to_csr

EXACT = 10_000  # nodes up to which every node is a landmark
LANDMARKS = 400  # of larger graphs
SMALL = 500  # landmarks up to which all eigenvectors are computed
BLOCK = 256  # rows in double precision at a time
UNREACHABLE = 1.5  # in units of the largest finite distance
DECIMALS = 6  # of a step: nodes with equal distances get equal positions, not rounding noise


def embed(adjacency: Pattern, *, seed: int = 0) -> Tensor:
    """z_i = -½ Λ^(-½) Vᵀ (δ_i² - mean over landmarks l of δ_l²), (N, 2).

    V Λ Vᵀ are the two largest eigenpairs of -½ J δ² J over the landmarks; where all nodes are
    landmarks, this is z = V √Λ. Landmarks of larger graphs are drawn with `seed`. Along each axis
    the node that is farthest out, the first of them, has a positive coordinate.
    """
    n = adjacency.shape[0]
    drawn = np.random.default_rng(seed).permutation(n)[:LANDMARKS]
    landmarks = np.arange(n) if n <= EXACT else np.sort(drawn)
    squared = squared_distances(adjacency, landmarks)  # (L, N)
    inner = squared if n <= EXACT else squared[:, landmarks]
    values, vectors = _two_largest(inner, seed)
    scale = np.divide(1, np.sqrt(values), out=np.zeros(2), where=values > 1e-9)
    shift = inner.mean(axis=1, dtype=np.float64) @ vectors
    return _oriented(-0.5 * (_product(squared.T, vectors) - shift) * scale)


def squared_distances(adjacency: Pattern, sources: Any) -> Any:
    """δ² from the sources to all nodes, (L, N); unreachable is 1.5 times the largest distance."""
    a = to_csr(adjacency)
    distances = np.empty((len(sources), a.shape[0]), dtype=np.float32)
    for start in track(range(0, len(sources), BLOCK), "distances in the graph"):
        rows = slice(start, start + BLOCK)
        distances[rows] = dijkstra(a, indices=sources[rows], unweighted=True)
    reached = np.isfinite(distances)
    farthest = distances.max(where=reached, initial=0)
    np.copyto(distances, UNREACHABLE * farthest, where=~reached)
    return np.square(distances, out=distances)


def _two_largest(squared: Any, seed: int) -> tuple[Any, Any]:
    """The two largest eigenvalues of -½ J δ² J, raised to zero, and their vectors, (L, 2)."""
    n = len(squared)
    if n <= SMALL or not squared.any():
        values, vectors = _all_eigenpairs(squared)
    else:
        start = np.random.default_rng(seed).normal(size=n)
        operator = LinearOperator((n, n), matvec=partial(_centred, squared), dtype=np.float64)
        values, vectors = eigsh(operator, k=2, which="LA", v0=start)
    order = np.argsort(values)[::-1][:2]
    return np.maximum(values[order], 0), vectors[:, order]


def _all_eigenpairs(squared: Any) -> tuple[Any, Any]:
    """At least two eigenpairs, with zeros where a graph of one node has none."""
    n = len(squared)
    if n < 2 or not squared.any():
        return np.zeros(2), np.zeros((n, 2))
    values, vectors = np.linalg.eigh(_centred(squared, np.eye(n)))
    return values, vectors


def _centred(squared: Any, factor: Any) -> Any:
    """-½ J δ² J times a vector or a matrix."""
    product = _product(squared, factor - factor.mean(axis=0))
    return -0.5 * (product - product.mean(axis=0))


def _product(squared: Any, factor: Any) -> Any:
    """δ² in single precision times a factor in double precision, by blocks of rows."""
    starts = range(0, len(squared), BLOCK)
    return np.concatenate([squared[start : start + BLOCK] @ factor for start in starts])


def _oriented(z: Any) -> Tensor:
    rounded = z.round(DECIMALS)
    farthest = rounded[np.abs(rounded).argmax(axis=0), [0, 1]]
    return torch.from_numpy(np.where(farthest < 0, -rounded, rounded) + 0.0)  # no -0.0
