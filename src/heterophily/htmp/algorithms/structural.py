"""Neighborhoods by structure: nodes whose surroundings have similar degrees (WRGNN, struc2vec).

The ring of depth t of a node contains the nodes at distance t. Its compact list contains the degrees in the
ring with their frequencies. f_t(u, v) = f_(t-1)(u, v) + DTW(list_t(u), list_t(v)), f_(-1) = 0, if both
rings exist. The sender u distributes a weight of one over its relation:

ω_t(u→v) = exp(-f_t(u, v)) / Σ_v' exp(-f_t(u, v'))

The warping is exact, whereas the authors approximate it, and the depth is limited, whereas theirs is the
diameter. The cost of the rings is that of A, A², ..., A^depth.
"""

import math

import numpy as np
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError
from heterophily.core.sparse import Matrix, Pattern, edge_softmax
from heterophily.core.types import FloatArray, IntArray
from heterophily.htmp.algorithms.hops import ring_blocks
from heterophily.htmp.algorithms.warping import warping_distances


def structural_relations(adjacency: Pattern, *, depth: int = 2, duplicates: bool = False) -> list[Matrix]:
    """Return, for t = 0, ..., depth, the matrix with ω_t(u→v) in row v (the receiver) and column u.

    With `duplicates`, a pair that both ends selected is stored twice, as in the authors' multigraph. Such a
    matrix has duplicate entries.
    """
    if depth < 0:
        raise HeterophilyError(f"depth must not be negative, got {depth}")
    degrees, lists = ring_lists(adjacency, depth)
    pairs, votes = candidate_pairs(adjacency.without_diagonal().degrees.cpu().numpy())
    distance: FloatArray = np.zeros(len(pairs))
    relations = []
    for ring in lists:
        exists = (np.diff(ring.indptr)[pairs] > 0).all(axis=1)
        pairs, votes, distance = pairs[exists], votes[exists], distance[exists]
        distance = distance + warping_distances(ring, degrees, pairs)
        times = votes if duplicates else 1
        relations.append(_weighted(pairs.repeat(times, axis=0), distance.repeat(times), adjacency))
    return relations


def ring_lists(adjacency: Pattern, depth: int) -> tuple[IntArray, list[sp.csr_array]]:
    """Return the distinct degrees and, for t = 0, ..., depth, their frequencies in each ring, sparse."""
    node_degrees = adjacency.without_diagonal().degrees.cpu().numpy()
    degrees, of_node = np.unique(node_degrees, return_inverse=True)
    n = len(node_degrees)
    one_hot = sp.csr_array((np.ones(n), (np.arange(n), of_node)), shape=(n, len(degrees)))
    blocks = [[ring @ one_hot for ring in rings] for _, rings in ring_blocks(adjacency, depth)]
    lists = [sp.vstack(rings, format="csr") for rings in zip(*blocks, strict=True)]
    for ring in lists:
        ring.sort_indices()
    return degrees, lists


def candidate_pairs(node_degrees: IntArray) -> tuple[IntArray, IntArray]:
    """Return pairs u < v of which one end selected the other, and how many ends did, 1 or 2."""
    chosen = candidates(node_degrees)
    n, count = chosen.shape
    node, other = np.repeat(np.arange(n), count), chosen.ravel()
    keys = np.minimum(node, other) * n + np.maximum(node, other)
    pairs, votes = np.unique(keys, return_counts=True)
    return np.stack(np.divmod(pairs, n), axis=1), votes


def candidates(node_degrees: IntArray) -> IntArray:
    """Return the floor(2 log2 N) + 1 other nodes of nearest degree for every node, (N, c).

    Nodes of equal degree come first, then those of the nearest other degree, the larger one if two are
    equally near, in node order within a degree. In a small graph, they are all other nodes.
    """
    n = len(node_degrees)
    count = min(math.floor(2 * math.log2(n)) + 1, n - 1)
    by_degree = np.argsort(node_degrees, kind="stable")
    degrees, of_node = np.unique(node_degrees, return_inverse=True)
    starts = np.searchsorted(node_degrees[by_degree], degrees)
    members = np.split(by_degree, starts[1:])
    nearest = np.array([_nearest(degrees, members, c, count + 1) for c in range(len(degrees))])
    listed = nearest[of_node]  # (N, c + 1), including the node itself or one too many
    out = listed == np.arange(n)[:, None]
    out[~out.any(axis=1), -1] = True
    return listed[~out].reshape(n, count)


def _nearest(degrees: IntArray, members: list[IntArray], c: int, count: int) -> IntArray:
    """Return the `count` nodes whose degree is nearest to the c-th degree. Every degree has a node."""
    around = np.arange(max(c - count, 0), min(c + count + 1, len(degrees)))
    gaps = degrees[around] - degrees[c]
    order = around[np.lexsort((-gaps, np.abs(gaps)))][:count]
    return np.concatenate([members[k][:count] for k in order])[:count]


def _weighted(pairs: IntArray, distance: FloatArray, adjacency: Pattern) -> Matrix:
    """Return ω of every pair in both directions, in the row of the receiver."""
    senders, receivers = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((receivers, senders))
    senders, receivers, f = senders[order], receivers[order], np.tile(distance, 2)[order]
    n = adjacency.shape[0]
    indptr = np.searchsorted(senders, np.arange(n + 1))
    pattern = Pattern.from_arrays(indptr, receivers, n_columns=n)
    nearest = np.full(n, np.inf)
    np.minimum.at(nearest, senders, f)
    scores = torch.from_numpy(nearest[senders] - f)  # the largest is 0, so nothing overflows
    return Matrix(pattern, edge_softmax(pattern, scores).float()).T
