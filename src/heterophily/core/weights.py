"""Edge weights: one positive number per stored edge.

A repeated edge has the sum of its weights. In the symmetrized graph, an edge that is stored in both directions has
the mean of both weights, and an edge that is stored in one direction has its weight in both. Weights of 1 are the
same as no weights.

Symbols: m entries e = (i, j) of a pattern, w_e the weight of an entry.
"""

import torch
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.sparse import Pattern
from heterophily.core.types import IntArray


def check_weights(weights: Tensor) -> None:
    """Raise an error for the first weight that is not a positive finite number."""
    valid = (weights > 0) & torch.isfinite(weights)
    if bool(valid.all()):
        return
    edge = int((~valid).nonzero()[0])
    raise HeterophilyError(
        f"weights must be positive and finite, but edge {edge} has {float(weights[edge])} ({int((~valid).sum())} such "
        "weights); remove edges of weight 0, and transform negative weights, for example with exp, or leave them out"
    )


def sum_repeated(adjacency: Pattern, pairs: IntArray, weights: Tensor) -> Tensor | None:
    """Return one weight per entry of the adjacency of these pairs, (m,), or None if all weights are 1.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[0, 1], [1, 0], [0, 1]])
    >>> adjacency = Pattern.from_edges(pairs[:, 0], pairs[:, 1], shape=(2, 2))
    >>> sum_repeated(adjacency, pairs, torch.tensor([0.5, 1.0, 2.0]))
    tensor([2.5000, 1.0000])
    """
    entries = find_entries(adjacency, torch.from_numpy(pairs[:, 0]), torch.from_numpy(pairs[:, 1]))
    sums = torch.zeros(adjacency.n_entries, dtype=torch.double).index_add_(0, entries, weights.double()).float()
    return None if bool((sums == 1).all()) else sums


def find_entries(pattern: Pattern, rows: Tensor, columns: Tensor) -> Tensor:
    """Return the numbers of the entries (rows[e], columns[e]) of a pattern, and -1 where it has none, (E,).

    Examples
    --------
    >>> pattern = Pattern.from_edges([0, 0, 1], [0, 2, 1], shape=(2, 3))
    >>> find_entries(pattern, torch.tensor([1, 0, 1]), torch.tensor([1, 2, 0]))
    tensor([ 2,  1, -1])
    """
    codes = rows.long() * pattern.n_columns + columns.long()
    if not pattern.n_entries:
        return torch.full_like(codes, -1)
    stored = pattern.rows.long() * pattern.n_columns + pattern.indices.long()
    at = torch.searchsorted(stored, codes).clamp_max(pattern.n_entries - 1)
    return torch.where(stored[at] == codes, at, -1)


def symmetrized_weights(adjacency: Pattern, weights: Tensor, symmetric: Pattern) -> Tensor:
    """Return the weights of A ∪ Aᵀ: the mean of w_ij and w_ji, or the one that exists. Gradients reach the weights.

    Examples
    --------
    >>> adjacency = Pattern.from_edges([0, 1, 1], [1, 0, 2], shape=(3, 3))
    >>> symmetric = adjacency.symmetrized()
    >>> (symmetric * symmetrized_weights(adjacency, torch.tensor([1.0, 2.0, 4.0]), symmetric)).to_dense()
    tensor([[0.0000, 1.5000, 0.0000],
            [1.5000, 0.0000, 4.0000],
            [0.0000, 4.0000, 0.0000]])
    """
    rows, columns = symmetric.rows, symmetric.indices
    forward, backward = find_entries(adjacency, rows, columns), find_entries(adjacency, columns, rows)
    there = torch.where(forward >= 0, forward, backward)
    back = torch.where(backward >= 0, backward, forward)
    return (weights.index_select(0, there) + weights.index_select(0, back)) / 2
