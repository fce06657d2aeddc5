"""Nearest features of large graphs: faiss proposes candidates, exact cosines choose among them.

Rows with many features are first projected on `WIDTH` random directions, which nearly keeps their
angles. An inverted file then compares a row only with the cells that are nearest to it, in time
O(N √N) instead of O(N²). Some true neighbors are missed; the cosines of those found are exact.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from heterophily.errors import HeterophilyError
from heterophily.progress import track

WIDTH = 256  # most dimensions that faiss sees
SPARE = 4  # candidates per wanted neighbor
PROBES = 32  # cells that a search visits
BLOCK = 2**12  # rows compared at a time
DECIMALS = 10


def approximate_neighbors(unit: Any, k: int) -> tuple[Any, Any, Any]:
    """Triples (i, j, cos) of about the k nearest of every node, given rows of length one."""
    points = _projected(unit)
    index = _inverted_file(points)
    starts = track(range(0, len(points), BLOCK), "similar features, approximate")
    found = [_best(unit, points, index, np.arange(s, min(s + BLOCK, len(points))), k) for s in starts]
    i, j, cosine = zip(*found, strict=True)
    return np.concatenate(i), np.concatenate(j), np.concatenate(cosine)


def _projected(unit: Any) -> Any:
    """Rows of at most `WIDTH` dimensions in single precision, (N, d)."""
    if unit.shape[1] > WIDTH:
        unit = unit @ np.random.default_rng(0).normal(size=(unit.shape[1], WIDTH))
    points = unit.toarray() if sp.issparse(unit) else unit
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return (points / np.maximum(lengths, 1e-12)).astype(np.float32)


def _inverted_file(points: Any) -> Any:
    """A faiss index by inner product, with about √N cells."""
    try:
        import faiss
    except ImportError as error:
        raise HeterophilyError(
            f"the nearest features of {len(points):,} nodes need faiss; install heterophily[knn], "
            "or pass exact=True to compare all pairs"
        ) from error
    n_cells = max(int(len(points) ** 0.5), 1)
    cells = faiss.IndexFlatIP(points.shape[1])
    index = faiss.IndexIVFFlat(cells, points.shape[1], n_cells, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1
    index.nprobe = PROBES
    index.train(points)
    index.add(points)
    return index


def _best(unit: Any, points: Any, index: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
    """The k candidates with the largest cosine of each row, ties by node number."""
    candidates = np.sort(index.search(points[own], SPARE * k + 1)[1], axis=1)  # -1 if too few
    i, j = np.repeat(own, candidates.shape[1]), candidates.ravel()
    cosine = np.where((j >= 0) & (i != j), _products(unit, i, j), -1).round(DECIMALS)
    nearest = (-cosine.reshape(candidates.shape)).argsort(axis=1, kind="stable")[:, :k]
    chosen = (nearest + np.arange(len(own))[:, None] * candidates.shape[1]).ravel()
    return i[chosen], j[chosen], cosine[chosen]


def _products(unit: Any, i: Any, j: Any) -> Any:
    if sp.issparse(unit):
        return unit[i].multiply(unit[j]).sum(axis=1)
    return np.einsum("ef,ef->e", unit[i], unit[j])
