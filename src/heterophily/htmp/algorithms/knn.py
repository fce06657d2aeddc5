"""Neighbors by features: the k nodes with the largest cosine similarity (SimP-GCN, UGCN).

cos(i, j) = x_i·x_j / (‖x_i‖ ‖x_j‖), in double precision and in blocks of rows, so that the N × N
similarities never have to fit into memory. Similarities that agree to ten decimals are treated as equal,
and the smaller node number wins. A row of zeros is similar to no other.
"""

from collections.abc import Iterator
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from heterophily.core.errors import unknown_name
from heterophily.core.graph import Features
from heterophily.core.progress import track
from heterophily.core.sparse import Matrix
from heterophily.core.types import BoolArray, FloatArray, IntArray
from heterophily.htmp.algorithms.approximate import Rows, Triples, approximate_neighbors
from heterophily.htmp.algorithms.hops import check_count

MIN_APPROXIMATE_NODES = 100_000  # N² similarities of more nodes take too long
N_ANCHORS = 10_000  # nodes of a large graph that select pairs
MAX_BLOCK_ENTRIES = 2**22  # similarities in memory at a time
DENSE_FRACTION = 0.05  # with more nonzero features, dense products are faster
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
    """Return the k largest positive cos(i, j), j ≠ i, in row i; `binary` replaces nonzero features by 1.

    `ascending` retains (i, j) only if i < j, and `symmetric` adds (j, i) for every (i, j). With 100,000
    nodes or more, faiss proposes candidates and the result is approximate, unless `exact` is true.
    """
    check_count("k", k)
    if pairs not in PAIRS:
        raise unknown_name("choice of pairs", pairs, PAIRS)
    unit = unit_rows(features, binary=binary)
    n = unit.shape[0]
    is_exact = n < MIN_APPROXIMATE_NODES if exact is None else exact
    i, j, cosine = (exact_neighbors if is_exact else approximate_neighbors)(unit, k)
    keep = (cosine > 0) & ((i < j) | (pairs == "all"))
    nearest = sp.csr_array((cosine[keep], (i[keep], j[keep])), shape=(n, n))
    return Matrix.from_scipy(nearest.maximum(nearest.T) if symmetric else nearest)


def exact_neighbors(unit: Rows, k: int) -> Triples:
    """Return triples (i, j, cos) of the k nearest neighbors of every node, by comparing all pairs."""
    return _join(_top(s, rows, k) for rows, s in similarities(unit, np.arange(unit.shape[0])))


def most_and_least_similar(features: Features, *, count: int = 5, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return pairs i < j (P, 2) of each node with its most and its least similar nodes, and cos (P,).

    Features are binarized, and similarities of zero are included (the self-supervision of SimP-GCN). With
    100,000 nodes or more, only 10,000 random nodes select pairs, because a training step does not use more.
    """
    check_count("count", count)
    unit = unit_rows(features, binary=True)
    n = unit.shape[0]
    anchors = np.arange(n)
    if n >= MIN_APPROXIMATE_NODES:
        anchors = np.sort(np.random.default_rng(seed).choice(n, N_ANCHORS, replace=False))
    i, j, cosine = _join(
        side
        for rows, s in similarities(unit, anchors)
        for side in (_top(s, rows, count), _negated(*_top(-s, rows, count)))
    )
    keys, first = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_index=True)
    chosen = torch.from_numpy(np.stack(np.divmod(keys, n), axis=1))
    return chosen, torch.from_numpy(cosine[first].astype(np.float32))


def unit_rows(features: Features, *, binary: bool = False) -> Rows:
    """Return features with rows of norm one or zero, dense unless few of them are nonzero."""
    x = _as_double(features, binary=binary)
    lengths = np.sqrt((x**2).sum(axis=1))
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if isinstance(x, sp.csr_array) and x.nnz <= DENSE_FRACTION * x.shape[0] * x.shape[1]:
        return (sp.diags_array(scale) @ x).tocsr()
    return scale[:, None] * (x.toarray() if isinstance(x, sp.csr_array) else x)


def similarities(unit: Rows, anchors: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield blocks of B anchors with their cosines to all nodes, (B, N)."""
    size = max(MAX_BLOCK_ENTRIES // unit.shape[0], 1)
    columns = unit.T.tocsr() if isinstance(unit, sp.csr_array) else unit.T
    for start in track(range(0, len(anchors), size), "similar features"):
        rows = anchors[start : start + size]
        products = cast("Rows", unit[rows] @ columns)
        dense = products.toarray() if isinstance(products, sp.csr_array) else products
        yield rows, dense.round(DECIMALS, out=dense)


def _as_double(features: Features, *, binary: bool) -> Rows:
    if isinstance(features, Matrix):
        stored = features.to_scipy().astype(np.float64)
        if binary:
            stored.data = (stored.data != 0).astype(np.float64)
            stored.eliminate_zeros()
        return stored
    values = features.detach().cpu()
    x = (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).numpy()
    return (x != 0).astype(np.float64) if binary else x.astype(np.float64)


def _top(similarity: FloatArray, nodes: IntArray, k: int) -> Triples:
    """Return triples (i, j, s_ij) of the k largest values per row off the diagonal."""
    k = min(k, similarity.shape[1] - 1)
    if k == 0:
        return nodes[:0], nodes[:0], similarity[0, :0]
    similarity[np.arange(len(nodes)), nodes] = -np.inf
    least = torch.from_numpy(similarity).topk(k, dim=1).values[:, -1:].numpy()
    rows, columns = np.nonzero(similarity >= least)
    values = similarity[rows, columns]
    keep = _break_ties(rows, values > least[rows, 0], k)
    return nodes[rows[keep]], columns[keep], values[keep]


def _break_ties(rows: IntArray, above: BoolArray, k: int) -> BoolArray:
    """Select all values above the k-th, and the first ones in node order that equal it, k in total."""
    n_above = np.bincount(rows, weights=above).astype(np.int64)
    before: IntArray = np.cumsum(~above) - ~above  # ties in all rows before this entry
    ties_before_row: IntArray = before[np.searchsorted(rows, rows)]
    return above | (before - ties_before_row < k - n_above[rows])


def _negated(i: IntArray, j: IntArray, values: FloatArray) -> Triples:
    return i, j, -values


def _join(blocks: Iterator[Triples]) -> Triples:
    i, j, values = zip(*blocks, strict=True)
    return np.concatenate(i), np.concatenate(j), np.concatenate(values)
