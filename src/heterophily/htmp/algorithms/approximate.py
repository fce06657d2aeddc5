"""Approximate nearest features for large graphs: faiss proposes candidates, and exact cosines rank them.

Rows with many features are first projected on `MAX_WIDTH` random directions, which nearly preserves angles.
An inverted file then compares a row only with the nearest clusters, in time O(N √N) instead of O(N²). Some
true neighbors are missed. The cosines of the neighbors that are found are exact.
"""

from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from heterophily.core.extras import require
from heterophily.core.progress import track
from heterophily.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    import faiss

MAX_WIDTH = 512  # dimensions of the vectors that faiss searches
CANDIDATES_PER_NEIGHBOR = 8  # for projected rows
N_PROBES = 32  # clusters that a search visits
MAX_BLOCK_ENTRIES = 2**22  # numbers that are compared at a time
DECIMALS = 10

Rows: TypeAlias = FloatArray | sp.csr_array
Triples: TypeAlias = tuple[IntArray, IntArray, FloatArray]


def approximate_neighbors(unit: Rows, k: int) -> Triples:
    """Return triples (i, j, cos) of about the k nearest neighbors of every node, given rows of norm one."""
    points = _projected(unit)
    index = _inverted_file(points)
    n_candidates = (k if unit.shape[1] <= MAX_WIDTH else CANDIDATES_PER_NEIGHBOR * k) + 1
    size = max(MAX_BLOCK_ENTRIES // (n_candidates * points.shape[1]), 1)
    triples = []
    for start in track(range(0, len(points), size), "similar features, approximate"):
        rows = np.arange(start, min(start + size, len(points)))
        triples.append(_best(unit, rows, index.search(points[rows], n_candidates)[1], k))
    i, j, cosine = zip(*triples, strict=True)
    return np.concatenate(i), np.concatenate(j), np.concatenate(cosine)


def _projected(unit: Rows) -> FloatArray:
    """Return rows of norm one with at most `MAX_WIDTH` dimensions, in single precision, (N, d)."""
    if unit.shape[1] > MAX_WIDTH:
        unit = unit @ np.random.default_rng(0).normal(size=(unit.shape[1], MAX_WIDTH))
    points: FloatArray = unit.toarray() if isinstance(unit, sp.csr_array) else unit
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return (points / np.maximum(lengths, 1e-12)).astype(np.float32)


def _inverted_file(points: FloatArray) -> "faiss.IndexIVFFlat":
    """Create a faiss index by inner product with √N clusters."""
    require(f"finding the nearest features of {len(points):,} nodes without exact=True", "faiss")
    import faiss

    n, width = points.shape
    clusters = faiss.IndexFlatIP(width)
    index = faiss.IndexIVFFlat(clusters, width, max(int(n**0.5), 1), faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1  # otherwise, small graphs cause a warning
    index.nprobe = N_PROBES
    index.train(points)
    index.add(points)
    return index


def _best(unit: Rows, rows: IntArray, candidates: IntArray, k: int) -> Triples:
    """Select the k candidates with the largest cosines, ties by node number; -1 means no candidate."""
    i, j = np.repeat(rows, candidates.shape[1]), np.sort(candidates, axis=1).ravel()
    cosine = np.where((j >= 0) & (i != j), _products(unit, i, j), -1.0).round(DECIMALS)
    order = (-cosine.reshape(candidates.shape)).argsort(axis=1, kind="stable")[:, :k]
    chosen = (order + np.arange(len(rows))[:, None] * candidates.shape[1]).ravel()
    return i[chosen], j[chosen], cosine[chosen]


def _products(unit: Rows, i: IntArray, j: IntArray) -> FloatArray:
    if isinstance(unit, sp.csr_array):
        return cast("FloatArray", unit[i].multiply(unit[j]).sum(axis=1))
    return np.einsum("ef,ef->e", unit[i], unit[j])
