"""Nearest features of large graphs: faiss proposes candidates, exact cosines choose among them.

Rows with many features are first projected on `WIDTH` random directions, which nearly keeps their
angles. An inverted file then compares a row only with the cells that are nearest to it, in time
O(N √N) instead of O(N²). Some true neighbors are missed; the cosines of those found are exact.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from heterophily.core.errors import HeterophilyError
from heterophily.core.progress import track

WIDTH = 512  # most dimensions that faiss sees
SPARE = 8  # candidates per wanted neighbor among projected rows
PROBES = 32  # cells that a search visits
BLOCK = 2**22  # numbers compared at a time
DECIMALS = 10


def approximate_neighbors(unit: Any, k: int) -> tuple[Any, Any, Any]:
    """Triples (i, j, cos) of about the k nearest of every node, given rows of length one."""
    points = _projected(unit)
    index = _inverted_file(points)
    n_candidates = (k if unit.shape[1] <= WIDTH else SPARE * k) + 1
    size = max(BLOCK // (n_candidates * points.shape[1]), 1)
    found = []
    for start in track(range(0, len(points), size), "similar features, approximate"):
        own = np.arange(start, min(start + size, len(points)))
        found.append(_best(unit, own, index.search(points[own], n_candidates)[1], k))
    i, j, cosine = zip(*found, strict=True)
    return np.concatenate(i), np.concatenate(j), np.concatenate(cosine)


def _projected(unit: Any) -> Any:
    """Rows of length one with at most `WIDTH` dimensions, in single precision, (N, d)."""
    if unit.shape[1] > WIDTH:
        unit = unit @ np.random.default_rng(0).normal(size=(unit.shape[1], WIDTH))
    points: Any = unit.toarray() if isinstance(unit, sp.csr_array) else unit
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return (points / np.maximum(lengths, 1e-12)).astype(np.float32)


def _inverted_file(points: Any) -> Any:
    """A faiss index by inner product, with √N cells."""
    try:
        import faiss
    except ImportError as error:
        raise HeterophilyError(
            f"the nearest features of {len(points):,} nodes need faiss; install heterophily[knn], "
            "or pass exact=True to compare all pairs"
        ) from error
    n, width = points.shape
    cells = faiss.IndexFlatIP(width)
    index = faiss.IndexIVFFlat(cells, width, max(int(n**0.5), 1), faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1  # else small graphs cause a warning
    index.nprobe = PROBES
    index.train(points)
    index.add(points)
    return index


def _best(unit: Any, own: Any, candidates: Any, k: int) -> tuple[Any, Any, Any]:
    """The k candidates with the largest cosine of each row, ties by node number; -1 is none."""
    i, j = np.repeat(own, candidates.shape[1]), np.sort(candidates, axis=1).ravel()
    cosine = np.where((j >= 0) & (i != j), _products(unit, i, j), -1.0).round(DECIMALS)
    order = (-cosine.reshape(candidates.shape)).argsort(axis=1, kind="stable")[:, :k]
    chosen = (order + np.arange(len(own))[:, None] * candidates.shape[1]).ravel()
    return i[chosen], j[chosen], cosine[chosen]


def _products(unit: Any, i: Any, j: Any) -> Any:
    if isinstance(unit, sp.csr_array):
        return unit[i].multiply(unit[j]).sum(axis=1)
    return np.einsum("ef,ef->e", unit[i], unit[j])
