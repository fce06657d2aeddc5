"""Sparse matrices and the few kernels of message passing, each with its gradient.

A `Pattern` is a neighborhood indicator A_r (0/1, stored by rows); a `Matrix` is A_r ⊙ B_r, a
pattern with one value per entry. Everything costs O(entries · width) and nothing forms a dense
matrix of the pattern's shape. Gradients go through a transpose that is computed once.

Symbols: m entries e = (i, j), N rows, d columns of a dense factor, H heads.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.core import kernels
from heterophily.core.dropout import dropout

INT32_MAX = 2**31 - 1
MAX_CACHED_ENTRIES = 2**23  # entries of a pattern that may be numbered once and for all: 32 MB


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """A 0/1 matrix in compressed rows: row i has the columns `indices[indptr[i]:indptr[i+1]]`."""

    indptr: Tensor  # (N + 1,)
    indices: Tensor  # (m,), ascending within a row, no repeats
    n_columns: int

    @classmethod
    def from_edges(cls, rows: Any, columns: Any, *, shape: tuple[int, int]) -> "Pattern":
        """Build the pattern of the pairs (rows[e], columns[e]); repeated pairs count once."""
        row_ids, column_ids = (_as_int64(ids) for ids in (rows, columns))
        keys = np.sort(row_ids * shape[1] + column_ids)
        keys = keys[np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]])]
        rows_sorted, columns_sorted = np.divmod(keys, max(shape[1], 1))
        indptr = np.zeros(shape[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows_sorted, minlength=shape[0]), out=indptr[1:])
        return cls.from_arrays(indptr, columns_sorted, n_columns=shape[1])

    @classmethod
    def from_arrays(cls, indptr: Any, indices: Any, *, n_columns: int) -> "Pattern":
        """Copy compressed rows that are sorted and free of repeats, as int32 if they fit."""
        small = max(len(indices), len(indptr), n_columns) <= INT32_MAX
        dtype = np.int32 if small else np.int64
        return cls(
            torch.from_numpy(np.array(indptr, dtype=dtype)),
            torch.from_numpy(np.array(indices, dtype=dtype)),
            n_columns,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self.indptr) - 1, self.n_columns

    @property
    def n_entries(self) -> int:
        """Number m of stored entries."""
        return len(self.indices)

    @cached_property
    def degrees(self) -> Tensor:
        """Entries per row, (N,) int64."""
        return self.indptr.long().diff()

    @cached_property
    def rows(self) -> Tensor:
        """Row of each entry, (m,), beside `indices`, the column of each entry."""
        ids = torch.arange(self.shape[0], dtype=self.indices.dtype, device=self.indices.device)
        return ids.repeat_interleave(self.degrees)

    @property
    def entries(self) -> Tensor:
        """The numbers 0 .. m-1 of all entries, kept where they are not too many."""
        return self._entries if self.n_entries <= MAX_CACHED_ENTRIES else self._count()

    @cached_property
    def _entries(self) -> Tensor:
        return self._count()

    def _count(self) -> Tensor:
        return torch.arange(self.n_entries, dtype=self.indptr.dtype, device=self.indptr.device)

    @cached_property
    def _transposition(self) -> tuple["Pattern", Tensor]:
        indptr, indices = (array.cpu().numpy() for array in (self.indptr, self.indices))
        order = np.arange(self.n_entries, dtype=indices.dtype)
        turned = sp.csr_array((order, indices, indptr), shape=self.shape).tocsc()
        pattern = Pattern.from_arrays(turned.indptr, turned.indices, n_columns=self.shape[0])
        device = self.indices.device
        return pattern.to(device), torch.from_numpy(turned.data.astype(indices.dtype)).to(device)

    @property
    def T(self) -> "Pattern":  # noqa: N802, the name of a transpose everywhere
        """The transpose, computed once."""
        return self._transposition[0]

    @property
    def transposing_order(self) -> Tensor:
        """The entries of this pattern in the order of the transpose: values.T = values[order]."""
        return self._transposition[1]

    def with_heads(self, count: int) -> tuple["Pattern", Tensor]:
        """The pattern of H heads side by side, row (i, h) = i H + h, and where its values are in (m, H).

        States (N, H, d) are then a matrix (N H, d) without a copy.
        """
        if count not in self._heads:
            rows, degrees = self.rows.long(), self.degrees
            entries = torch.arange(self.n_entries, device=rows.device).unsqueeze(1)
            heads = torch.arange(count, device=rows.device)
            starts = self.indptr.long()[:-1]
            # Within the block of a row, the entries of a head follow each other.
            within = entries - starts[rows].unsqueeze(1)
            place = (
                (starts[rows] * count).unsqueeze(1) + heads * degrees[rows].unsqueeze(1) + within
            )
            order = torch.empty(self.n_entries * count, dtype=torch.long, device=rows.device)
            order[place.flatten()] = (entries * count + heads).flatten()
            columns = (self.indices.long().unsqueeze(1) * count + heads).flatten()[order]
            indptr = (starts * count).unsqueeze(1) + heads * degrees.unsqueeze(1)
            indptr = torch.cat([indptr.flatten(), self.indptr.long()[-1:] * count])
            kind = self.indices.dtype
            wide = Pattern(indptr.to(kind), columns.to(kind), self.n_columns * count)
            self._heads[count] = wide, order.to(kind)
        return self._heads[count]

    @cached_property
    def _heads(self) -> dict[int, tuple["Pattern", Tensor]]:
        return {}

    @cached_property
    def layout(self) -> Tensor:
        """The pattern as PyTorch's own sparse matrix of zeros."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            return torch.sparse_csr_tensor(
                self.indptr,
                self.indices,
                torch.zeros(self.n_entries, device=self.indices.device),
                self.shape,
                check_invariants=False,
            )

    def symmetrized(self) -> "Pattern":
        """A ∪ Aᵀ; the same object if A is symmetric."""
        if self._is_symmetric():
            return self
        rows, columns = self.rows.long(), self.indices.long()
        both = torch.cat([rows, columns]), torch.cat([columns, rows])
        return Pattern.from_edges(*both, shape=self.shape).to(self.indices.device)

    def _is_symmetric(self) -> bool:
        indptr, indices = (array.cpu().numpy() for array in (self.indptr, self.indices))
        ones = np.ones(self.n_entries, dtype=np.int8)
        turned = sp.csr_array((ones, indices, indptr), shape=self.shape).tocsc()
        same = np.array_equal(turned.indptr, indptr) and np.array_equal(turned.indices, indices)
        return bool(same and self.shape[0] == self.shape[1])

    def without_diagonal(self) -> "Pattern":
        """A without its self-loops; the same object if there are none."""
        off = self.rows != self.indices
        if bool(off.all()):
            return self
        rows, columns = self.rows[off], self.indices[off]
        return Pattern.from_edges(rows, columns, shape=self.shape).to(self.indices.device)

    def to(self, device: torch.device | str) -> "Pattern":
        """The same pattern on another device."""
        if self.indices.device == torch.device(device):
            return self
        return Pattern(self.indptr.to(device), self.indices.to(device), self.n_columns)

    def __matmul__(self, dense: Tensor) -> Tensor:
        return spmm(self, dense)

    def __mul__(self, values: Tensor) -> "Matrix":
        return Matrix(self, values)

    def __repr__(self) -> str:
        return f"Pattern({self.shape[0]} x {self.shape[1]}, {self.n_entries} entries)"


@dataclass(frozen=True, eq=False, repr=False)
class Matrix:
    """A pattern with a value per entry, A_r ⊙ B_r; `matrix @ dense` is the product."""

    pattern: Pattern
    values: Tensor  # (m,), or (m, H) for H heads

    @classmethod
    def from_scipy(cls, matrix: Any) -> "Matrix":
        """Copy a SciPy sparse matrix, repeated entries added up and stored zeros dropped."""
        rows = sp.csr_array(matrix, dtype=np.float32, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        pattern = Pattern.from_arrays(rows.indptr, rows.indices, n_columns=rows.shape[1])
        return cls(pattern, torch.from_numpy(rows.data))

    def to_scipy(self) -> sp.csr_array:
        """The same entries as a SciPy array."""
        parts = (self.values.detach(), self.pattern.indices, self.pattern.indptr)
        return sp.csr_array(tuple(part.cpu().numpy() for part in parts), shape=self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.pattern.shape

    @cached_property
    def transposed_values(self) -> Tensor:
        """The values, constant, in the order of the transposed pattern."""
        return self.values.detach().index_select(0, self.pattern.transposing_order)

    @property
    def T(self) -> "Matrix":  # noqa: N802
        """The transpose; gradients reach the values through it."""
        return Matrix(self.pattern.T, self.values[self.pattern.transposing_order])

    def dropout(self, rate: float, *, training: bool = True) -> "Matrix":
        """drop_p on the stored entries: a zero that is not stored stays zero either way."""
        return Matrix(self.pattern, dropout(self.values, rate)) if rate and training else self

    def to(self, device: torch.device | str) -> "Matrix":
        """The same matrix on another device."""
        if self.values.device == torch.device(device):
            return self
        return Matrix(self.pattern.to(device), self.values.to(device))

    def to_dense(self) -> Tensor:
        """All N × M values, for small matrices."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.pattern.rows.long(), self.pattern.indices.long()), self.values)

    def __matmul__(self, dense: Tensor) -> Tensor:
        return spmm(self, dense)

    def __repr__(self) -> str:
        return f"Matrix({self.shape[0]} x {self.shape[1]}, {self.pattern.n_entries} entries)"


def spmm(matrix: Matrix | Pattern, dense: Tensor) -> Tensor:
    """Σ_j B_ij dense_j for every row i, with B_ij = 1 on the entries of a bare pattern.

    Shapes: values (m,) with dense (M, d) give (N, d); values (m, H) with dense (M, H, d) give
    (N, H, d). Gradients: Bᵀ G for the dense factor, the SDDMM of G and the factor for values.
    """
    pattern, values = _parts(matrix)
    if dense.shape[0] != pattern.n_columns:
        raise ValueError(
            f"a {pattern.shape[0]} x {pattern.n_columns} matrix needs a factor with "
            f"{pattern.n_columns} rows, got {tuple(dense.shape)}"
        )
    result: Tensor = _Spmm.apply(dense, values, matrix)
    return result


def sddmm(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j for every entry (i, j): (N, d) and (M, d) give (m,), with heads (m, H)."""
    result: Tensor = _Sddmm.apply(left, right, pattern)
    return result


def segment_sum(pattern: Pattern, values: Tensor) -> Tensor:
    """Sum of the entry values of each row, (m,) or (m, H) to (N,) or (N, H)."""
    result: Tensor = _SegmentSum.apply(values, pattern)
    return result


def edge_sum(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left_i + right_j for every entry (i, j): (N,) and (M,) give (m,), with heads (m, H)."""
    result: Tensor = _EdgeSum.apply(left, right, pattern)
    return result


def edge_softmax(pattern: Pattern, scores: Tensor) -> Tensor:
    """exp(s_e) / Σ_{e' in the row of e} exp(s_e') for every entry e, (m,) or (m, H)."""
    result: Tensor = _EdgeSoftmax.apply(scores, pattern)
    return result


class _Spmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, values: Tensor | None, matrix: Matrix | Pattern) -> Tensor:
        learned = values is not None and values.requires_grad
        ctx.save_for_backward(dense if learned else None)
        ctx.matrix = matrix
        return kernels.product(_parts(matrix)[0], values, dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (dense,), matrix = ctx.saved_tensors, ctx.matrix
        grad_dense = grad_values = None
        if ctx.needs_input_grad[0]:
            grad_dense = _transposed_product(matrix, grad)
        if ctx.needs_input_grad[1]:
            grad_values = kernels.dots(matrix.pattern, grad, dense)
        return grad_dense, grad_values, None


def _transposed_product(matrix: Matrix | Pattern, dense: Tensor) -> Tensor:
    """Bᵀ dense, without a gradient."""
    pattern, values = _parts(matrix)
    if kernels.is_nearly_dense(pattern, dense):
        return kernels.full_transposed(pattern, values, dense)
    turned = matrix.transposed_values if isinstance(matrix, Matrix) else None
    return kernels.product(pattern.T, turned, dense)


def _parts(matrix: Matrix | Pattern) -> tuple[Pattern, Tensor | None]:
    return (matrix.pattern, matrix.values) if isinstance(matrix, Matrix) else (matrix, None)


class _Sddmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, pattern: Pattern) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.pattern = pattern
        return kernels.dots(pattern, left, right)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        left, right = ctx.saved_tensors
        pattern, grad_left, grad_right = ctx.pattern, None, None
        if ctx.needs_input_grad[0]:
            grad_left = kernels.product(pattern, grad, right)
        if ctx.needs_input_grad[1]:
            grad_right = _transposed_product(pattern * grad, left)
        return grad_left, grad_right, None


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, pattern: Pattern) -> Tensor:
        ctx.pattern = pattern
        return kernels.row_sums(pattern, values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.index_select(0, ctx.pattern.rows), None


class _EdgeSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, pattern: Pattern) -> Tensor:
        ctx.pattern = pattern
        return left.index_select(0, pattern.rows).add_(right.index_select(0, pattern.indices))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        turned = grad.index_select(0, ctx.pattern.transposing_order)
        return kernels.row_sums(ctx.pattern, grad), kernels.row_sums(ctx.pattern.T, turned), None


class _EdgeSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, pattern: Pattern) -> Tensor:
        top = kernels.row_maxima(pattern, scores)
        raised = top.index_select(0, pattern.rows).neg_().add_(scores).exp_()
        share = raised.div_(kernels.row_sums(pattern, raised).index_select(0, pattern.rows))
        ctx.save_for_backward(share)
        ctx.pattern = pattern
        return share

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (share,) = ctx.saved_tensors
        flow = share * grad
        mean = kernels.row_sums(ctx.pattern, flow).index_select(0, ctx.pattern.rows)
        return flow.sub_(mean.mul_(share)), None


def _as_int64(ids: Any) -> Any:
    return (ids.cpu().numpy() if isinstance(ids, Tensor) else np.asarray(ids)).astype(np.int64)
