"""The products of `sparse` over the entries of a pattern, without gradients.

On the CPU, they use `embedding_bag` and `sampled_addmm`. A dense factor that does not fit into the cache is
cut into slices of columns, because its rows are read many times. If most entries of a pattern are stored,
as in two hops of a dense graph, full products of a few rows at a time are faster (`benchmarks/wide.py`).
Other devices use plain gather and scatter operations.

Symbols: m entries e = (i, j), N rows, M columns, d columns of a dense factor, H heads.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional as F

from heterophily.core.dense import matmul
from heterophily.core.machine import CACHED_VALUES

if TYPE_CHECKING:
    from heterophily.core.sparse import Pattern

HALF = (torch.bfloat16, torch.float16)  # types that the fast kernels do not support
MIN_VECTOR_COLUMNS = 8  # below, PyTorch's sampled product is a loop, up to ten times slower
MAX_CACHED_NUMBERS = CACHED_VALUES  # above, a dense factor does not fit into the cache
SLICE_COLUMNS = 32  # of one slice of such a factor
MIN_READS_PER_ROW = 24  # on average, from which copies of slices pay off
# Full blocks of rows are faster for B Z if at least this fraction of B is stored and Z has this many columns.
DENSE_FRACTION = 0.4
MIN_WIDE_COLUMNS = 128
MAX_BLOCK_ENTRIES = 2**22  # numbers in a full block of rows (16 MB)


def _on_cpu(pattern: "Pattern", tensor: Tensor) -> bool:
    """Whether the fast kernels apply. They need at least one entry, and cannot be compiled or exported."""
    is_plain = tensor.dtype in HALF or torch.compiler.is_compiling()
    return tensor.device.type == "cpu" and pattern.n_entries > 0 and not is_plain


def _reads_rows_often(pattern: "Pattern", tensor: Tensor) -> bool:
    """Whether rows are read so often that one head at a time is faster than all heads together."""
    return _on_cpu(pattern, tensor) and pattern.n_entries > MIN_READS_PER_ROW * pattern.n_columns


def product(pattern: "Pattern", values: Tensor | None, dense: Tensor) -> Tensor:
    """Σ_j B_ij dense_j: values (m,) or 1 with (M, d) give (N, d), (m, H) with (M, H, d) give (N, H, d)."""
    if dense.dim() == 3 and _reads_rows_often(pattern, dense):
        per_head = [None] * dense.shape[1] if values is None else values.T.contiguous().unbind()
        heads = zip(per_head, dense.unbind(dim=1), strict=True)
        return torch.stack([product(pattern, v, head) for v, head in heads], dim=1)
    if dense.dim() == 3:
        wide, order = pattern.with_heads(dense.shape[1])
        flat = None if values is None else values.reshape(-1).index_select(0, order)
        result = product(wide, flat, dense.reshape(-1, dense.shape[2]))
        return result.view(pattern.shape[0], *dense.shape[1:])
    if not _on_cpu(pattern, dense):
        return _plain_product(pattern, values, dense)
    if is_nearly_dense(pattern, dense) and dense.shape[1] >= MIN_WIDE_COLUMNS:
        return _full_product(pattern, values, dense)
    reads_often = pattern.n_entries > MIN_READS_PER_ROW * sum(pattern.shape)
    if reads_often and dense.numel() > MAX_CACHED_NUMBERS:
        return torch.cat([_bag(pattern, values, part) for part in dense.split(SLICE_COLUMNS, 1)], 1)
    return _bag(pattern, values, dense)


def _bag(pattern: "Pattern", values: Tensor | None, dense: Tensor) -> Tensor:
    return _sum_bags(dense, pattern.indices, pattern.indptr, values)


def _sum_bags(dense: Tensor, indices: Tensor, indptr: Tensor, values: Tensor | None) -> Tensor:
    """Weighted sums of rows: `F.embedding_bag` without its checks, which take as long as a small product."""
    result: Tensor = torch.embedding_bag(dense.contiguous(), indices, indptr, False, 0, False, values, True)[0]
    return result


def _plain_product(pattern: "Pattern", values: Tensor | None, dense: Tensor) -> Tensor:
    messages = dense.index_select(0, pattern.indices)
    weighted = messages if values is None else values.unsqueeze(-1) * messages
    return dense.new_zeros(pattern.shape[0], dense.shape[1]).index_add_(0, pattern.rows, weighted)


def dots(pattern: "Pattern", left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j on the entries: (N, d) and (M, d) give (m,), with heads (m, H)."""
    if left.dim() == 3 and _reads_rows_often(pattern, left):
        heads = zip(left.unbind(dim=1), right.unbind(dim=1), strict=True)
        return torch.stack([dots(pattern, *head) for head in heads], dim=1)
    if left.dim() == 3:
        wide, order = pattern.with_heads(left.shape[1])
        flat = dots(wide, left.reshape(-1, left.shape[2]), right.reshape(-1, right.shape[2]))
        return torch.empty_like(flat).index_copy_(0, order.long(), flat).view(-1, left.shape[1])
    if not _on_cpu(pattern, left):
        return _plain_dots(pattern, left, right)
    if is_nearly_dense(pattern, left):
        return _full_dots(pattern, left, right)
    if 1 < left.shape[1] < MIN_VECTOR_COLUMNS:
        padding = (0, MIN_VECTOR_COLUMNS - left.shape[1])
        left, right = F.pad(left, padding), F.pad(right, padding)
    layout, transposed = pattern.layout.to(left.dtype), right.contiguous().T
    return torch.sparse.sampled_addmm(layout, left.contiguous(), transposed, beta=0).values()


def _plain_dots(pattern: "Pattern", left: Tensor, right: Tensor) -> Tensor:
    return (left.index_select(0, pattern.rows) * right.index_select(0, pattern.indices)).sum(-1)


def is_nearly_dense(pattern: "Pattern", factor: Tensor) -> bool:
    """Whether full blocks of rows are faster for a product with this factor."""
    (n, m), single = pattern.shape, factor.dim() == 2
    return single and _on_cpu(pattern, factor) and pattern.n_entries >= DENSE_FRACTION * n * m


def _blocks(pattern: "Pattern") -> Iterator[tuple[slice, slice]]:
    """Yield a few rows at a time, and their entries."""
    n, m = pattern.shape
    step = max(1, MAX_BLOCK_ENTRIES // m)
    for start in range(0, n, step):
        stop = min(start + step, n)
        yield slice(start, stop), slice(int(pattern.indptr[start]), int(pattern.indptr[stop]))


def _full_rows(pattern: "Pattern", values: Tensor | None, like: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield a few rows at a time as dense blocks with the data type of `like`."""
    stored = like.new_ones(pattern.n_entries) if values is None else values.detach()
    for rows, entries in _blocks(pattern):
        indptr = pattern.indptr[rows.start : rows.stop + 1] - entries.start
        parts = (part.numpy() for part in (stored[entries], pattern.indices[entries], indptr))
        block = sp.csr_array(tuple(parts), shape=(rows.stop - rows.start, pattern.n_columns))
        yield rows, torch.from_numpy(block.toarray())


def _full_product(pattern: "Pattern", values: Tensor | None, dense: Tensor) -> Tensor:
    result = dense.new_empty(pattern.shape[0], dense.shape[1])
    for rows, block in _full_rows(pattern, values, dense):
        result[rows] = matmul(block, dense)
    return result


def full_transposed(pattern: "Pattern", values: Tensor | None, dense: Tensor) -> Tensor:
    """Σ_i B_ij dense_i by full blocks, because reordering the entries would take longer."""
    result = dense.new_zeros(pattern.shape[1], dense.shape[1])
    for rows, block in _full_rows(pattern, values, dense):
        result += matmul(block.T, dense[rows])
    return result


def _full_dots(pattern: "Pattern", left: Tensor, right: Tensor) -> Tensor:
    result = left.new_empty(pattern.n_entries)
    for rows, entries in _blocks(pattern):
        positions = (pattern.rows[entries] - rows.start) * pattern.n_columns
        positions += pattern.indices[entries]
        block = matmul(left[rows], right.T)
        torch.index_select(block.view(-1), 0, positions, out=result[entries])
    return result


def row_maxima(pattern: "Pattern", values: Tensor) -> Tensor:
    """Largest entry of each row: (m,) or (m, H) give (N,) or (N, H). Empty rows are undefined."""
    if torch.compiler.is_compiling():
        lowest = values.new_full((pattern.shape[0], *values.shape[1:]), -torch.inf)
        rows = pattern.rows.long().view(-1, *[1] * (values.dim() - 1)).expand_as(values)
        return lowest.scatter_reduce(0, rows, values, "amax")
    if not _reads_rows_often(pattern, values):
        return torch.segment_reduce(values, "max", offsets=pattern.indptr.long(), axis=0)
    filled = pattern.degrees > 0
    starts = pattern.indptr[:-1][filled].numpy()
    maxima = values.new_empty(pattern.shape[0], *values.shape[1:])
    maxima[filled] = torch.from_numpy(np.maximum.reduceat(values.detach().numpy(), starts, axis=0))
    return maxima


def row_sums(pattern: "Pattern", values: Tensor) -> Tensor:
    """Sums over the entries of each row: (m,) or (m, H) give (N,) or (N, H)."""
    columns = values.unsqueeze(-1) if values.dim() == 1 else values
    if not _on_cpu(pattern, values):
        sums = columns.new_zeros(pattern.shape[0], columns.shape[1])
        sums = sums.index_add_(0, pattern.rows, columns)
    else:
        sums = _sum_bags(columns, pattern.entries, pattern.indptr, None)
    return sums.squeeze(-1) if values.dim() == 1 else sums
