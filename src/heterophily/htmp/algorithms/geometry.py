"""Neighborhoods by geometry: the graph and its planar embedding, each divided into four quadrants (Geom-GCN).

A node has its neighbors in the graph and, as latent neighbors, the nodes that are near it in the plane.
Both are divided by whether they are to the left or right of the node, and below or above it.

Symbols: z_i in R² is the position of node i; ρ is a radius.
"""

import numpy as np
import scipy.sparse as sp
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.types import FloatArray, IntArray
from heterophily.htmp.algorithms.isomap import embed

N_BISECTIONS = 64  # of the interval that contains ρ
OVERLAPS = ("both", "latent")


def quadrant_patterns(adjacency: Pattern, *, overlap: str = "both", seed: int = 0) -> dict[tuple[str, int], Pattern]:
    """Return the pairs of each space, `graph` and `latent`, by quadrant 0, 1, 2, 3.

    With overlap `both`, a pair that is an edge and a latent neighbor belongs to both spaces, with `latent`
    only to the latent space.
    """
    if overlap not in OVERLAPS:
        raise unknown_name("overlap", overlap, OVERLAPS)
    adjacency = adjacency.to("cpu")
    positions = embed(adjacency, seed=seed)
    latent = latent_neighbors(positions, adjacency.n_entries)
    graph = adjacency if overlap == "both" else _without(adjacency, latent)
    return {
        (space, q): _subset(pattern, quadrant(positions, pattern) == q)
        for space, pattern in (("graph", graph), ("latent", latent))
        for q in range(4)
    }


def latent_neighbors(positions: Tensor, n_entries: int) -> Pattern:
    """Return the pairs i ≠ j with ‖z_i - z_j‖ < ρ, for the largest ρ that gives at most `n_entries`.

    Pairs at equal distances are included together or not at all. If nodes with equal positions, such as the
    leaves of a large star, form more pairs than that, only pairs of different positions are included.
    """
    if n_entries < 0:
        raise HeterophilyError(f"n_entries must not be negative, got {n_entries}")
    places, at, sizes = np.unique(positions.cpu().numpy(), axis=0, return_inverse=True, return_counts=True)
    n, n_places = len(at), len(places)
    n_shared = int((sizes**2).sum()) - n
    together = n_shared <= n_entries
    near = _near_places(places, sizes, n_entries + n + (0 if together else n_shared))
    near = near + near.T + sp.eye_array(n_places) * together
    member = sp.csr_array((np.ones(n), (np.arange(n), at.ravel())), shape=(n, n_places))
    return Matrix.from_scipy(member @ near @ member.T).pattern.without_diagonal()


def quadrant(positions: Tensor, pattern: Pattern) -> Tensor:
    """2·1[z_v > z_u along the first axis] + 1[.. along the second] for every entry (v, u), (m,).

    The reversed pair has the opposite quadrant, 0 ↔ 3 and 1 ↔ 2, unless a coordinate is equal.
    """
    z = positions.to(pattern.indices.device)
    greater = z[pattern.rows.long()] > z[pattern.indices.long()]
    return 2 * greater[:, 0].long() + greater[:, 1].long()


def _near_places(places: FloatArray, sizes: IntArray, n_pairs: int) -> sp.csr_array:
    """Return pairs of positions, once each, up to the largest distance with at most `n_pairs` pairs of nodes.

    The pairs of nodes include each node with itself. The distance is found by bisection.
    """
    tree = cKDTree(places)
    low, high = 0.0, 2 * float(np.linalg.norm(tree.maxes - tree.mins)) + 1
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        fits = tree.count_neighbors(tree, middle, weights=sizes) <= n_pairs
        low, high = (middle, high) if fits else (low, middle)
    pairs = tree.query_pairs(low, output_type="ndarray")
    return sp.csr_array((np.ones(len(pairs)), pairs.T), shape=(tree.n, tree.n))


def _without(pattern: Pattern, other: Pattern) -> Pattern:
    """Return the entries of one pattern that are not in the other."""
    codes = [p.rows.long() * p.n_columns + p.indices.long() for p in (pattern, other)]
    return _subset(pattern, ~torch.isin(*codes))


def _subset(pattern: Pattern, keep: Tensor) -> Pattern:
    rows, columns = pattern.rows[keep], pattern.indices[keep]
    return Pattern.from_edges(rows, columns, shape=pattern.shape)
