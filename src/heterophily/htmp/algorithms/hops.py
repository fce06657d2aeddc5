"""Neighborhoods by distance: k-hop, second hop by threshold, common neighbors, path counts.

Rows are processed in blocks whose products have at most `MAX_BLOCK_ENTRIES` entries, so memory stays close
to the size of the result, even if (A°)² is dense.

Symbols: A is the adjacency matrix, symmetric and without self-loops (stored ones are ignored); A° = A + I;
N°(i) is the closed neighborhood of i; deg°_i = |N°(i)|.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import scipy.sparse as sp
import torch

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.types import Array, BoolArray, FloatArray
from heterophily.htmp.execution.batch import concatenated_ranges, without_replacement

MAX_BLOCK_ENTRIES = 2**22  # entries of one product
TOLERANCE = 1e-9  # rounding error of sums of 1/deg°, which are compared with 1
RULES = ("strict", "thresholded")


def k_hop(adjacency: Pattern, k: int) -> Pattern:
    """Pairs at distance exactly k: 1[(A°)^k > 0] - 1[(A°)^(k-1) > 0]."""
    check_count("k", k)
    return stack(rings[k] for _, rings in ring_blocks(adjacency, k)).pattern


def second_hop(adjacency: Pattern, *, rule: str = "strict", limit: int = 0) -> Pattern:
    """Pairs at distance exactly two; `thresholded` adds edges that H2GCN's reference implementation retains.

    1[S°² - S° - I > 0] has the edges (i, j) with Σ_{k in N°(i) ∩ N°(j)} 1/deg°_k > 1; the sums are the
    entries of A° D°^(-1) A°. With a `limit`, each row retains a random sample of at most that many entries.
    """
    if rule not in RULES:
        raise unknown_name("second hop", rule, RULES)
    generator = torch.Generator().manual_seed(0)

    def limited(block: sp.csr_array) -> sp.csr_array:
        return _limited(block, limit, generator) if limit else block

    if rule == "strict":
        return stack(limited(rings[2]) for _, rings in ring_blocks(adjacency, 2)).pattern
    a = to_csr(adjacency)
    closed = (a + _identity(a)).astype(np.float64)
    scaled = sp.diags_array(1 / closed.sum(axis=1)) @ closed

    def heavy_edges(rows: slice) -> sp.csr_array:
        sums = a[rows].multiply(closed[rows] @ scaled).tocsr()
        return _filtered(sums, sums.data > 1 + TOLERANCE)

    blocks = ring_blocks(adjacency, 2)
    return stack(limited(rings[2] + heavy_edges(rows)) for rows, rings in blocks).pattern


def common_neighbors(adjacency: Pattern, *, at_least: int = 2) -> Pattern:
    """Pairs i ≠ j that are not adjacent: 1[A² ≥ at_least] outside A° (the second hop of UGCN)."""
    check_count("at_least", at_least)
    a, excluded = to_csr(adjacency), adjacency.shape[0] + 1
    closed = a + _identity(a)

    def block(rows: slice) -> sp.csr_array:
        counts = a[rows] @ a + excluded * closed[rows]
        return _filtered(counts, (counts.data >= at_least) & (counts.data < excluded))

    return stack(block(rows) for rows in row_blocks(_walks(a, 2))).pattern


def path_counts(adjacency: Pattern, *, k: int = 2) -> Matrix:
    """(A°)^k: the number of paths of k steps, each of which may stay (HOG-GCN)."""
    check_count("k", k)
    a = to_csr(adjacency).astype(np.float64)
    closed = a + _identity(a)

    def block(rows: slice) -> sp.csr_array:
        counts = closed[rows]
        for _ in range(k - 1):
            counts = counts @ closed
        return counts

    return stack(block(rows) for rows in row_blocks(_walks(closed, k)))


def ring_blocks(adjacency: Pattern, depth: int) -> Iterator[tuple[slice, list[sp.csr_array]]]:
    """Yield blocks of rows with the 0/1 matrices of the pairs at distances 0, 1, ..., depth.

    ring_(t+1) = 1[ring_t A > 0] outside ring_0 + ... + ring_t, whose entries are marked with `visited`.
    """
    a, visited = to_csr(adjacency), adjacency.shape[0] + 1
    start = _identity(a)
    for rows in row_blocks(_walks(a, depth)):
        rings = [start[rows]]
        nearer = rings[0]
        for _ in range(depth):
            reached = rings[-1] @ a + visited * nearer
            ring = _filtered(reached, reached.data < visited)
            ring.data[:] = 1
            rings.append(ring)
            nearer = nearer + ring
        yield rows, rings


def row_blocks(sizes: Array, limit: int | None = None) -> Iterator[slice]:
    """Yield slices of consecutive rows with at most `limit` entries (`MAX_BLOCK_ENTRIES`), or of one row."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    start = 0
    while start < len(sizes):
        fitting = int(np.searchsorted(ends, ends[start] + (limit or MAX_BLOCK_ENTRIES), side="right")) - 1
        stop = max(fitting, start + 1)
        yield slice(start, stop)
        start = stop


def stack(blocks: Iterable[sp.csr_array]) -> Matrix:
    """Stack blocks of rows vertically, with ascending columns within a row."""
    lengths, indices, values = [], [], []
    for block in blocks:
        ordered = block.tocsc().tocsr()  # two counting sorts are faster than sorting each row
        lengths.append(np.diff(ordered.indptr))
        indices.append(ordered.indices.astype(np.int32))
        values.append(ordered.data.astype(np.float32))
    indptr = np.concatenate([[0], *lengths]).cumsum()
    pattern = Pattern.from_arrays(indptr, np.concatenate(indices), n_columns=ordered.shape[1])
    return Matrix(pattern, torch.from_numpy(np.concatenate(values)))


def to_csr(adjacency: Pattern) -> sp.csr_array:
    """Return A as a SciPy array of integer ones, without self-loops."""
    pattern = adjacency.without_diagonal()
    parts = (pattern.indices.cpu().numpy(), pattern.indptr.cpu().numpy())
    return sp.csr_array((np.ones(pattern.n_entries, np.int32), *parts), shape=pattern.shape)


def check_count(what: str, value: int) -> None:
    """Raise an error unless the value is a positive integer."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise HeterophilyError(f"{what} must be a positive integer, got {value!r}")


def _identity(a: sp.csr_array) -> sp.csr_array:
    return sp.eye_array(a.shape[0], dtype=a.dtype, format="csr")


def _walks(a: sp.csr_array, k: int) -> FloatArray:
    """Return an upper bound of the number of entries in each row of A^k."""
    walks: FloatArray = np.ones(a.shape[0])
    for _ in range(k):
        walks = np.minimum(a @ walks, a.shape[1])
    return walks


def _limited(matrix: sp.csr_array, limit: int, generator: torch.Generator) -> sp.csr_array:
    """Sample at most `limit` entries of each row."""
    counts = torch.from_numpy(np.diff(matrix.indptr)).long()
    many = counts > limit
    keep = torch.ones(matrix.nnz, dtype=torch.bool)
    starts = torch.from_numpy(matrix.indptr[:-1]).long()[many]
    keep[concatenated_ranges(starts, counts[many])] = False
    keep[starts.unsqueeze(1) + without_replacement(counts[many], limit, generator)] = True
    return _filtered(matrix, keep.numpy())


def _filtered(matrix: sp.csr_array, keep: BoolArray) -> sp.csr_array:
    """Return the matrix with some of its stored entries."""
    ends = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
    return sp.csr_array((matrix.data[keep], matrix.indices[keep], ends), shape=matrix.shape)
