"""Neighborhoods by geometry: the graph and its drawing, each cut into four quadrants (Geom-GCN).

A node has neighbors in the graph and, in the plane, latent neighbors near it. Both are told apart
by whether they lie to its left or right and below or above it.

Symbols: z_i in R² the position of node i; ρ a radius.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.algorithms.isomap import embed

HALVINGS = 64  # of the interval in which ρ lies
OVERLAPS = ("both", "latent")


def quadrant_patterns(
    adjacency: Pattern, *, overlap: str = "both", seed: int = 0
) -> dict[tuple[str, int], Pattern]:
    """The pairs of each space, `graph` and `latent`, by quadrant 0, 1, 2, 3.

    A pair that is an edge and a latent neighbor belongs to both spaces, or only to `latent`.
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
    """Ordered pairs i ≠ j with ‖z_i - z_j‖ < ρ, for the largest ρ that gives at most `n_entries`.

    Pairs at equal distance enter together or not at all. Where nodes that share a position make up
    more pairs than that, as the leaves of a large star do, only pairs of two positions count.
    """
    if n_entries < 0:
        raise HeterophilyError(f"n_entries must not be negative, got {n_entries}")
    places, at, sizes = np.unique(
        positions.cpu().numpy(), axis=0, return_inverse=True, return_counts=True
    )
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


def _near_places(places: Any, sizes: Any, n_pairs: int) -> Any:
    """Pairs of places, once each, up to the largest distance that `n_pairs` pairs of nodes allow.

    The pairs of nodes include each node with itself; the distance is found by bisection.
    """
    tree = cKDTree(places)
    low, high = 0.0, 2 * float(np.linalg.norm(tree.maxes - tree.mins)) + 1
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fits = tree.count_neighbors(tree, middle, weights=sizes) <= n_pairs
        low, high = (middle, high) if fits else (low, middle)
    pairs = tree.query_pairs(low, output_type="ndarray")
    return sp.csr_array((np.ones(len(pairs)), pairs.T), shape=(tree.n, tree.n))


def _without(pattern: Pattern, other: Pattern) -> Pattern:
    """The entries of one pattern that the other does not have."""
    codes = [p.rows.long() * p.n_columns + p.indices.long() for p in (pattern, other)]
    return _subset(pattern, ~torch.isin(*codes))


def _subset(pattern: Pattern, keep: Tensor) -> Pattern:
    rows, columns = pattern.rows[keep], pattern.indices[keep]
    return Pattern.from_edges(rows, columns, shape=pattern.shape)
