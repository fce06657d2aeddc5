"""Neighborhoods by distance: k-hop, second hop by threshold, common neighbors, path counts.

Rows are treated in blocks whose products have at most `BLOCK` entries, so that the memory stays
near the size of the result, however dense (A°)² is.

Symbols: A the adjacency, symmetric and without self-loops (stored ones are left out); A° = A + I;
N°(i) the closed neighborhood of i; deg°_i = |N°(i)|.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.sparse import Matrix, Pattern
from heterophily.htmp.execution.batch import concatenated_ranges, without_replacement

BLOCK = 2**22  # entries of one product
TOLERANCE = 1e-9  # sums of 1/deg° that equal 1 are not above 1, however they round
RULES = ("strict", "thresholded")


def hop(adjacency: Pattern, k: int) -> Pattern:
    """Pairs at distance exactly k: 1[(A°)^k > 0] - 1[(A°)^(k-1) > 0]."""
    check_count("k", k)
    return stack(rings[k] for _, rings in ring_blocks(adjacency, k)).pattern


def second_hop(adjacency: Pattern, *, rule: str = "strict", limit: int = 0) -> Pattern:
    """Pairs at distance exactly two; `thresholded` adds edges that H2GCN's program leaves in.

    1[S°² - S° - I > 0] has the edges (i, j) with Σ_{k in N°(i) ∩ N°(j)} 1/deg°_k > 1; the sums are
    the entries of A° D°^(-1) A°. With a `limit` each row keeps at most that many, drawn once.
    """
    if rule not in RULES:
        raise unknown_name("second hop", rule, RULES)
    generator = torch.Generator().manual_seed(0)

    def kept(block: Any) -> Any:
        return _limited(block, limit, generator) if limit else block

    if rule == "strict":
        return stack(kept(rings[2]) for _, rings in ring_blocks(adjacency, 2)).pattern
    a = to_csr(adjacency)
    closed = (a + _identity(a)).astype(np.float64)
    scaled = sp.diags_array(1 / closed.sum(axis=1)) @ closed

    def heavy_edges(rows: slice) -> Any:
        sums = a[rows].multiply(closed[rows] @ scaled).tocsr()
        return _kept(sums, sums.data > 1 + TOLERANCE)

    blocks = ring_blocks(adjacency, 2)
    return stack(kept(rings[2] + heavy_edges(rows)) for rows, rings in blocks).pattern


def common_neighbors(adjacency: Pattern, *, at_least: int = 2) -> Pattern:
    """Pairs i ≠ j that are not adjacent: 1[A² ≥ at_least] outside A° (the second hop of UGCN)."""
    check_count("at_least", at_least)
    a, bar = to_csr(adjacency), adjacency.shape[0] + 1
    closed = a + _identity(a)

    def block(rows: slice) -> Any:
        counts = a[rows] @ a + bar * closed[rows]
        return _kept(counts, (counts.data >= at_least) & (counts.data < bar))

    return stack(block(rows) for rows in row_blocks(_walks(a, 2))).pattern


def path_counts(adjacency: Pattern, *, k: int = 2) -> Matrix:
    """(A°)^k: the number of paths of k steps, each of which may stay (HOG-GCN)."""
    check_count("k", k)
    a = to_csr(adjacency).astype(np.float64)
    closed = a + _identity(a)

    def block(rows: slice) -> Any:
        counts = closed[rows]
        for _ in range(k - 1):
            counts = counts @ closed
        return counts

    return stack(block(rows) for rows in row_blocks(_walks(closed, k)))


def ring_blocks(adjacency: Pattern, depth: int) -> Iterator[tuple[slice, list[Any]]]:
    """For each block of rows, in order, the 0/1 matrices of the pairs at distance 0, 1, .. depth.

    ring_(t+1) = 1[ring_t A > 0] outside ring_0 + .. + ring_t; `bar` marks what was seen before.
    """
    a, bar = to_csr(adjacency), adjacency.shape[0] + 1
    start = _identity(a)
    for rows in row_blocks(_walks(a, depth)):
        rings = [start[rows]]
        seen = rings[0]
        for _ in range(depth):
            reached = rings[-1] @ a + bar * seen
            ring = _kept(reached, reached.data < bar)
            ring.data[:] = 1
            rings.append(ring)
            seen = seen + ring
        yield rows, rings


def row_blocks(sizes: Any, limit: int | None = None) -> Iterator[slice]:
    """Slices of consecutive rows that together have at most `limit` entries (`BLOCK`), or of one row."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    start = 0
    while start < len(sizes):
        fitting = int(np.searchsorted(ends, ends[start] + (limit or BLOCK), side="right")) - 1
        stop = max(fitting, start + 1)
        yield slice(start, stop)
        start = stop


def stack(blocks: Iterable[Any]) -> Matrix:
    """Put blocks of rows on top of each other, columns ascending within a row."""
    lengths, indices, values = [], [], []
    for block in blocks:
        ordered = block.tocsc().tocsr()  # two counting sorts are faster than sorting each row
        lengths.append(np.diff(ordered.indptr))
        indices.append(ordered.indices.astype(np.int32))
        values.append(ordered.data.astype(np.float32))
    indptr = np.concatenate([[0], *lengths]).cumsum()
    pattern = Pattern.from_arrays(indptr, np.concatenate(indices), n_columns=ordered.shape[1])
    return Matrix(pattern, torch.from_numpy(np.concatenate(values)))


def to_csr(adjacency: Pattern) -> Any:
    """A as a SciPy array of integer ones, without self-loops."""
    pattern = adjacency.without_diagonal()
    parts = (pattern.indices.cpu().numpy(), pattern.indptr.cpu().numpy())
    return sp.csr_array((np.ones(pattern.n_entries, np.int32), *parts), shape=pattern.shape)


def check_count(what: str, value: int) -> None:
    """Refuse what is not a positive whole number."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise HeterophilyError(f"{what} must be a positive whole number, got {value!r}")


def _identity(a: Any) -> Any:
    return sp.eye_array(a.shape[0], dtype=a.dtype, format="csr")


def _walks(a: Any, k: int) -> Any:
    """A bound on the entries of each row of A^k."""
    walks = np.ones(a.shape[0])
    for _ in range(k):
        walks = np.minimum(a @ walks, a.shape[1])
    return walks


def _limited(matrix: Any, limit: int, generator: torch.Generator) -> Any:
    """At most `limit` of the entries of each row, all equally likely."""
    counts = torch.from_numpy(np.diff(matrix.indptr)).long()
    many = counts > limit
    keep = torch.ones(matrix.nnz, dtype=torch.bool)
    starts = torch.from_numpy(matrix.indptr[:-1]).long()[many]
    keep[concatenated_ranges(starts, counts[many])] = False
    keep[starts.unsqueeze(1) + without_replacement(counts[many], limit, generator)] = True
    return _kept(matrix, keep.numpy())


def _kept(matrix: Any, keep: Any) -> Any:
    """Only the chosen ones of the stored entries."""
    ends = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    return sp.csr_array((matrix.data[keep], matrix.indices[keep], ends), shape=matrix.shape)
