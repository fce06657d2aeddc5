"""The kernels under `sparse`: products over the entries of a pattern, without gradients.

On the CPU they are `embedding_bag` and `sampled_addmm`; other devices take plain gathers and scatters.
Symbols: m entries e = (i, j), N rows, M columns, d columns of a dense factor, H heads.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from heterophily.sparse import Pattern

# Columns below which PyTorch's sampled product falls back to a loop, up to ten times slower.
VECTOR = 8


def _on_cpu(pattern: "Pattern", tensor: Tensor) -> bool:
    """Whether the fast kernels apply; they want at least one entry."""
    return tensor.device.type == "cpu" and pattern.n_entries > 0


def product(pattern: "Pattern", values: Tensor | None, dense: Tensor) -> Tensor:
    """Σ_j B_ij dense_j: values (m,) or 1 with (M, d) give (N, d), (m, H) with (M, H, d) give (N, H, d)."""
    if dense.dim() == 3:
        wide, order = pattern.with_heads(dense.shape[1])
        flat = None if values is None else values.reshape(-1).index_select(0, order)
        result = product(wide, flat, dense.reshape(-1, dense.shape[2]))
        return result.view(pattern.shape[0], *dense.shape[1:])
    if not _on_cpu(pattern, dense):
        return _plain_product(pattern, values, dense)
    return F.embedding_bag(
        pattern.indices,
        dense.contiguous(),
        pattern.indptr,
        mode="sum",
        per_sample_weights=values,
        include_last_offset=True,
    )


def _plain_product(pattern: "Pattern", values: Tensor | None, dense: Tensor) -> Tensor:
    messages = dense.index_select(0, pattern.indices)
    weighted = messages if values is None else values.unsqueeze(-1) * messages
    return dense.new_zeros(pattern.shape[0], dense.shape[1]).index_add_(0, pattern.rows, weighted)


def dots(pattern: "Pattern", left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j on the entries: (N, d) and (M, d) give (m,), with heads (m, H)."""
    if left.dim() == 3:
        wide, order = pattern.with_heads(left.shape[1])
        found = dots(wide, left.reshape(-1, left.shape[2]), right.reshape(-1, right.shape[2]))
        return torch.empty_like(found).index_copy_(0, order.long(), found).view(-1, left.shape[1])
    if not _on_cpu(pattern, left):
        return _plain_dots(pattern, left, right)
    if 1 < left.shape[1] < VECTOR:
        left, right = (F.pad(factor, (0, VECTOR - factor.shape[1])) for factor in (left, right))
    layout = pattern.layout.to(left.dtype)
    return torch.sparse.sampled_addmm(layout, left.contiguous(), right.T, beta=0).values()


def _plain_dots(pattern: "Pattern", left: Tensor, right: Tensor) -> Tensor:
    return (left.index_select(0, pattern.rows) * right.index_select(0, pattern.indices)).sum(-1)


def row_sums(pattern: "Pattern", values: Tensor) -> Tensor:
    """Sums over the entries of each row: (m,) or (m, H) give (N,) or (N, H)."""
    columns = values.unsqueeze(-1) if values.dim() == 1 else values
    if not _on_cpu(pattern, values):
        sums = columns.new_zeros(pattern.shape[0], columns.shape[1])
        sums = sums.index_add_(0, pattern.rows, columns)
    else:
        bag = (pattern.entries, columns.contiguous(), pattern.indptr)
        sums = F.embedding_bag(*bag, mode="sum", include_last_offset=True)
    return sums.squeeze(-1) if values.dim() == 1 else sums
