"""Neighbors by features: the k nodes with the largest cosine similarity (SimP-GCN, UGCN).

cos(i, j) = x_i·x_j / (‖x_i‖ ‖x_j‖), in double precision and in blocks of rows, so that the N × N
similarities never stand in memory at once. Similarities that agree to ten decimals count as equal
and the smaller node number wins; a row of zeros is similar to none.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from heterophily.core.errors import unknown_name
from heterophily.core.graph import Features
from heterophily.core.progress import track
from heterophily.core.sparse import Matrix
from heterophily.htmp.algorithms.approximate import approximate_neighbors
from heterophily.htmp.algorithms.hops import check_count

LARGE = 100_000  # nodes from which N² similarities take too long
ANCHORS = 10_000  # nodes of a large graph that choose pairs
BLOCK = 2**22  # similarities in memory at a time
DENSE = 0.05  # share of nonzero features from which dense products are faster
DECIMALS = 10
PAIRS = ("all", "ascending")


def nearest_features(
    features: Features,
    k: int,
    *,
    binary: bool = False,
    symmetric: bool = False,
    pairs: str = "all",
    exact: bool | None = None,
) -> Matrix:
    """Row i has the k largest positive cos(i, j), j ≠ i; `binary` first puts 1 for each nonzero.

    Similarities of zero and below are no neighbors: zeros would weigh nothing anyway. `ascending`
    keeps (i, j) only if i < j, and `symmetric` adds (j, i) to every kept (i, j). From 100,000 nodes
    on, faiss proposes candidates and the search is approximate, unless `exact` is true.
    """
    check_count("k", k)
    if pairs not in PAIRS:
        raise unknown_name("choice of pairs", pairs, PAIRS)
    unit = unit_rows(features, binary=binary)
    n = unit.shape[0]
    found = exact_neighbors if exact or (exact is None and n < LARGE) else approximate_neighbors
    i, j, cosine = found(unit, k)
    keep = (cosine > 0) & ((i < j) | (pairs == "all"))
    nearest = sp.csr_array((cosine[keep], (i[keep], j[keep])), shape=(n, n))
    return Matrix.from_scipy(nearest.maximum(nearest.T) if symmetric else nearest)


def exact_neighbors(unit: Any, k: int) -> tuple[Any, Any, Any]:
    """Triples (i, j, cos) of the k nearest of every node, by comparing all pairs."""
    return _join(_top(s, own, k) for own, s in similarities(unit, np.arange(unit.shape[0])))


def most_and_least_similar(
    features: Features, *, count: int = 5, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Pairs i < j (P, 2) of each node with its most and its least similar nodes, and cos (P,).

    Features are binarised and zero similarities count (the self-supervision of SimP-GCN). From
    100,000 nodes on, 10,000 nodes drawn with `seed` choose: a step of training sees no more pairs.
    """
    check_count("count", count)
    unit = unit_rows(features, binary=True)
    n = unit.shape[0]
    drawn = np.random.default_rng(seed).choice(n, ANCHORS, replace=False) if n >= LARGE else None
    anchors = np.arange(n) if drawn is None else np.sort(drawn)
    i, j, cosine = _join(
        side
        for own, s in similarities(unit, anchors)
        for side in (_top(s, own, count), _negated(*_top(-s, own, count)))
    )
    keys, first = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_index=True)
    chosen = torch.from_numpy(np.stack(np.divmod(keys, n), axis=1))
    return chosen, torch.from_numpy(cosine[first].astype(np.float32))


def unit_rows(features: Features, *, binary: bool = False) -> Any:
    """Features with rows of length one, or zero; dense unless few of them are nonzero."""
    x: Any = features.to_scipy() if isinstance(features, Matrix) else _array(features)
    x = (x != 0).astype(np.float64) if binary else x.astype(np.float64)
    lengths = np.sqrt((x**2).sum(axis=1))
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if isinstance(x, sp.csr_array) and x.nnz <= DENSE * x.shape[0] * x.shape[1]:
        return sp.diags_array(scale) @ x
    return scale[:, None] * (x.toarray() if isinstance(x, sp.csr_array) else x)


def similarities(unit: Any, anchors: Any) -> Iterator[tuple[Any, Any]]:
    """For blocks of B anchors, their numbers and their cosines with all nodes, (B, N)."""
    size = max(BLOCK // unit.shape[0], 1)
    columns = unit.T.tocsr() if isinstance(unit, sp.csr_array) else unit.T
    for start in track(range(0, len(anchors), size), "similar features"):
        own = anchors[start : start + size]
        products = unit[own] @ columns
        dense = products.toarray() if isinstance(products, sp.csr_array) else products
        yield own, dense.round(DECIMALS, out=dense)


def _array(features: Tensor) -> Any:
    return features.detach().cpu().numpy()


def _top(similarity: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
    """Triples (i, j, s_ij) of the k largest values per row off the diagonal."""
    k = min(k, similarity.shape[1] - 1)
    if k == 0:
        return own[:0], own[:0], similarity[0, :0]
    similarity[np.arange(len(own)), own] = -np.inf
    least = torch.from_numpy(similarity).topk(k, dim=1).values[:, -1:].numpy()
    rows, columns = np.nonzero(similarity >= least)
    values = similarity[rows, columns]
    keep = _within_room(rows, values > least[rows, 0], k)
    return own[rows[keep]], columns[keep], values[keep]


def _within_room(rows: Any, above: Any, k: int) -> Any:
    """All values above the k-th, and as many that equal it as there is room, in node order."""
    n_above = np.bincount(rows, weights=above).astype(np.int64)
    before = np.cumsum(~above) - ~above  # ties in all rows before this entry
    ties_before_row = before[np.searchsorted(rows, rows)]
    return above | (before - ties_before_row < k - n_above[rows])


def _negated(i: Any, j: Any, values: Any) -> tuple[Any, Any, Any]:
    return i, j, -values


def _join(blocks: Iterator[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    i, j, values = zip(*blocks, strict=True)
    return np.concatenate(i), np.concatenate(j), np.concatenate(values)
