"""Isomap: an embedding of a graph in the plane that approximates distances in the graph.

Classical scaling of all distances, or, above 10,000 nodes, of the distances from landmarks, which determine
the positions of the other nodes (Nyström; de Silva and Tenenbaum 2004).

Symbols: δ_il is the number of steps from node i to landmark l; L landmarks; J = I - 1/L centers; z_i in R².
"""

from functools import partial

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from heterophily.core.progress import track
from heterophily.core.sparse import Pattern
from heterophily.core.types import FloatArray, IntArray
from heterophily.htmp.algorithms.hops import to_csr

MAX_EXACT_NODES = 10_000  # every node of a smaller graph is a landmark
N_LANDMARKS = 400  # of a larger graph
MAX_DENSE_LANDMARKS = 500  # all eigenvectors are computed for fewer landmarks
BLOCK_ROWS = 256  # that are processed in double precision at a time
UNREACHABLE_FACTOR = 1.5  # distance of unreachable nodes in units of the largest finite distance
DECIMALS = 6  # so that nodes with equal distances have equal positions


def embed(adjacency: Pattern, *, seed: int = 0) -> Tensor:
    """z_i = -½ Λ^(-½) Vᵀ (δ_i² - mean over landmarks l of δ_l²), (N, 2).

    V Λ Vᵀ are the two largest eigenpairs of -½ J δ² J over the landmarks. If all nodes are landmarks, this
    is z = V √Λ. Otherwise, landmarks are sampled with `seed`. On each axis, the first node with the largest
    absolute coordinate has a positive one.
    """
    n = adjacency.shape[0]
    sample = np.random.default_rng(seed).permutation(n)[:N_LANDMARKS]
    landmarks = np.arange(n) if n <= MAX_EXACT_NODES else np.sort(sample)
    squared = squared_distances(adjacency, landmarks)  # (L, N)
    inner = squared if n <= MAX_EXACT_NODES else squared[:, landmarks]
    values, vectors = _two_largest(inner, seed)
    scale = np.divide(1, np.sqrt(values), out=np.zeros(2), where=values > 1e-9)
    shift = inner.mean(axis=1, dtype=np.float64) @ vectors
    return _oriented(-0.5 * (_product(squared.T, vectors) - shift) * scale)


def squared_distances(adjacency: Pattern, sources: IntArray) -> FloatArray:
    """δ² from the sources to all nodes, (L, N), with 1.5 times the largest distance for unreachable nodes."""
    a = to_csr(adjacency)
    distances = np.empty((len(sources), a.shape[0]), dtype=np.float32)
    for start in track(range(0, len(sources), BLOCK_ROWS), "distances in the graph"):
        rows = slice(start, start + BLOCK_ROWS)
        distances[rows] = dijkstra(a, indices=sources[rows], unweighted=True)
    reached = np.isfinite(distances)
    farthest = distances.max(where=reached, initial=0)
    np.copyto(distances, UNREACHABLE_FACTOR * farthest, where=~reached)
    return np.square(distances, out=distances)


def _two_largest(squared: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the two largest eigenvalues of -½ J δ² J, at least zero, and their eigenvectors, (L, 2)."""
    n = len(squared)
    if n <= MAX_DENSE_LANDMARKS or not squared.any():
        values, vectors = _all_eigenpairs(squared)
    else:
        start = np.random.default_rng(seed).normal(size=n)
        operator = LinearOperator((n, n), matvec=partial(_centered, squared), dtype=np.float64)
        values, vectors = eigsh(operator, k=2, which="LA", v0=start)
    order = np.argsort(values)[::-1][:2]
    return np.maximum(values[order], 0), vectors[:, order]


def _all_eigenpairs(squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return at least two eigenpairs, which are zero for a graph with one node."""
    n = len(squared)
    if n < 2 or not squared.any():
        return np.zeros(2), np.zeros((n, 2))
    values, vectors = np.linalg.eigh(_centered(squared, np.eye(n)))
    return values, vectors


def _centered(squared: FloatArray, factor: FloatArray) -> FloatArray:
    """-½ J δ² J times a vector or a matrix."""
    product = _product(squared, factor - factor.mean(axis=0))
    return -0.5 * (product - product.mean(axis=0))


def _product(squared: FloatArray, factor: FloatArray) -> FloatArray:
    """δ² in single precision times a factor in double precision, by blocks of rows."""
    starts = range(0, len(squared), BLOCK_ROWS)
    return np.concatenate([squared[start : start + BLOCK_ROWS] @ factor for start in starts])


def _oriented(z: FloatArray) -> Tensor:
    rounded = z.round(DECIMALS)
    farthest = rounded[np.abs(rounded).argmax(axis=0), [0, 1]]
    return torch.from_numpy(np.where(farthest < 0, -rounded, rounded) + 0.0)  # no -0.0
