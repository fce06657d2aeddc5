"""Sparse matrices and the products of message passing, with gradients.

A `Pattern` is an unweighted adjacency matrix A_r, stored by rows. A `Matrix` is A_r ⊙ B_r, a pattern with
one value per entry. Every operation costs O(entries · width), and none forms a dense matrix of the
pattern's shape.

Symbols: m entries e = (i, j), N rows, M columns, d columns of a dense factor, H heads.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from heterophily.core import gradients
from heterophily.core.dropout import dropout
from heterophily.core.types import Array, IntArray

INT32_MAX = 2**31 - 1
MAX_CACHED_ENTRIES = 2**23  # of patterns whose entries are numbered only once (32 MB)


@dataclass(frozen=True, eq=False, repr=False)
class Pattern:
    """Sparse matrix of zeros and ones, stored by rows.

    Row i has ones in the columns ``indices[indptr[i]:indptr[i+1]]``. `pattern @ dense` is the product with
    a dense matrix, and `pattern * values` is a `Matrix` with these values.

    Parameters
    ----------
    indptr
        Start of each row, (N + 1,).
    indices
        Columns, (m,), ascending within a row and without duplicates.
    n_columns
        Number of columns M.

    Examples
    --------
    >>> pattern = Pattern.from_edges([0, 0, 1], [1, 2, 0], shape=(3, 3))
    >>> pattern
    Pattern(3 x 3, 3 entries)
    >>> pattern @ torch.tensor([[1.0], [2.0], [4.0]])
    tensor([[6.],
            [1.],
            [0.]])
    """

    indptr: Tensor
    indices: Tensor
    n_columns: int

    @classmethod
    def from_edges(cls, rows: ArrayLike | Tensor, columns: ArrayLike | Tensor, *, shape: tuple[int, int]) -> "Pattern":
        """Create the pattern of the pairs (rows[e], columns[e]). Duplicates are stored once."""
        row_ids, column_ids = (_as_int64(ids) for ids in (rows, columns))
        keys = sorted_unique(row_ids * shape[1] + column_ids)
        rows_sorted, columns_sorted = np.divmod(keys, max(shape[1], 1))
        indptr = np.zeros(shape[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows_sorted, minlength=shape[0]), out=indptr[1:])
        return cls.from_arrays(indptr, columns_sorted, n_columns=shape[1])

    @classmethod
    def from_arrays(cls, indptr: Array, indices: Array, *, n_columns: int) -> "Pattern":
        """Copy compressed rows that are sorted and have no duplicates, as int32 if they fit."""
        small = max(len(indices), len(indptr), n_columns) <= INT32_MAX
        dtype = np.int32 if small else np.int64
        starts, columns = (torch.from_numpy(np.array(a, dtype)) for a in (indptr, indices))
        return cls(starts, columns, n_columns)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self.indptr) - 1, self.n_columns

    @cached_property
    def n_entries(self) -> int:
        """Number of stored entries m."""
        return len(self.indices)

    @cached_property
    def degrees(self) -> Tensor:
        """Number of entries per row, (N,) int64."""
        return self.indptr.long().diff()

    @cached_property
    def rows(self) -> Tensor:
        """Row of each entry, (m,). `indices` are the columns."""
        ids = torch.arange(self.shape[0], dtype=self.indices.dtype, device=self.indices.device)
        return ids.repeat_interleave(self.degrees)

    @property
    def entries(self) -> Tensor:
        """The numbers 0, ..., m-1 of all entries, cached unless there are too many."""
        return self._entries if self.n_entries <= MAX_CACHED_ENTRIES else self._count()

    @cached_property
    def _entries(self) -> Tensor:
        return self._count()

    def _count(self) -> Tensor:
        return torch.arange(self.n_entries, dtype=self.indptr.dtype, device=self.indptr.device)

    @cached_property
    def _transposition(self) -> tuple["Pattern", Tensor]:
        columns = Matrix(self, self._count()).to_scipy().tocsc()
        pattern = Pattern.from_arrays(columns.indptr, columns.indices, n_columns=self.shape[0])
        device = self.indices.device
        order = torch.from_numpy(columns.data).to(device, self.indices.dtype)
        return pattern.to(device), order

    @property
    def T(self) -> "Pattern":  # noqa: N802, the name of a transpose everywhere
        """Transpose, computed once."""
        return self._transposition[0]

    @property
    def transposing_order(self) -> Tensor:
        """Entries of this pattern in the order of the transpose, (m,): `values[order]` belongs to `T`."""
        return self._transposition[1]

    def with_heads(self, count: int) -> tuple["Pattern", Tensor]:
        """Return the pattern of H heads, with row i H + h for head h, and the order of its values in (m, H).

        A tensor (N, H, d) can then be viewed as a matrix (N H, d) without a copy.
        """
        if count not in self._heads:
            rows, degrees = self.rows.long(), self.degrees
            entries = torch.arange(self.n_entries, device=rows.device).unsqueeze(1)
            heads = torch.arange(count, device=rows.device)
            starts = self.indptr.long()[:-1]
            # Within the block of a row, the entries of a head are consecutive.
            within = entries - starts[rows].unsqueeze(1)
            first = (starts[rows] * count).unsqueeze(1)
            position = first + heads * degrees[rows].unsqueeze(1) + within
            order = torch.empty(self.n_entries * count, dtype=torch.long, device=rows.device)
            order[position.flatten()] = (entries * count + heads).flatten()
            columns = (self.indices.long().unsqueeze(1) * count + heads).flatten()[order]
            indptr = (starts * count).unsqueeze(1) + heads * degrees.unsqueeze(1)
            indptr = torch.cat([indptr.flatten(), self.indptr.long()[-1:] * count])
            dtype = self.indices.dtype
            wide = Pattern(indptr.to(dtype), columns.to(dtype), self.n_columns * count)
            self._heads[count] = wide, order.to(dtype)
        return self._heads[count]

    @cached_property
    def _heads(self) -> dict[int, tuple["Pattern", Tensor]]:
        return {}

    @cached_property
    def layout(self) -> Tensor:
        """The pattern as a PyTorch CSR tensor of zeros."""
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
        """Return A ∪ Aᵀ, which is the same object if A is symmetric."""
        if self._is_symmetric():
            return self
        rows, columns = self.rows.long(), self.indices.long()
        both = torch.cat([rows, columns]), torch.cat([columns, rows])
        return Pattern.from_edges(*both, shape=self.shape).to(self.indices.device)

    def _is_symmetric(self) -> bool:
        rows = Matrix(self, torch.ones(self.n_entries, dtype=torch.int8)).to_scipy()
        columns = rows.tocsc()
        same = (np.array_equal(getattr(rows, a), getattr(columns, a)) for a in ("indptr", "indices"))
        return self.shape[0] == self.shape[1] and all(same)

    def without_diagonal(self) -> "Pattern":
        """Return A without self-loops, which is the same object if it has none."""
        off = self.rows != self.indices
        if bool(off.all()):
            return self
        rows, columns = self.rows[off], self.indices[off]
        return Pattern.from_edges(rows, columns, shape=self.shape).to(self.indices.device)

    def to(self, device: torch.device | str) -> "Pattern":
        """Return the pattern on another device."""
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
    """Sparse matrix A_r ⊙ B_r: a pattern with one value per entry. `matrix @ dense` is the product.

    Parameters
    ----------
    pattern
        Places of the entries.
    values
        Values of the entries, (m,), or (m, H) for H heads.

    Examples
    --------
    >>> matrix = Pattern.from_edges([0, 1], [1, 0], shape=(2, 2)) * torch.tensor([0.5, 2.0])
    >>> matrix.to_dense()
    tensor([[0.0000, 0.5000],
            [2.0000, 0.0000]])
    """

    pattern: Pattern
    values: Tensor

    @classmethod
    def from_scipy(cls, matrix: sp.sparray | sp.spmatrix) -> "Matrix":
        """Copy a SciPy sparse matrix. Duplicate entries are summed, and stored zeros are removed."""
        rows = sp.csr_array(cast("sp.csr_array", matrix), copy=True).astype(np.float32, copy=False)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        pattern = Pattern.from_arrays(rows.indptr, rows.indices, n_columns=rows.shape[1])
        return cls(pattern, torch.from_numpy(rows.data))

    def to_scipy(self) -> sp.csr_array:
        """Return the entries as a SciPy array."""
        parts = (self.values.detach(), self.pattern.indices, self.pattern.indptr)
        return sp.csr_array(tuple(part.cpu().numpy() for part in parts), shape=self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.pattern.shape

    @cached_property
    def transposed_values(self) -> Tensor:
        """Values without gradient in the order of the transposed pattern."""
        return self.values.detach().index_select(0, self.pattern.transposing_order)

    @property
    def T(self) -> "Matrix":  # noqa: N802
        """Transpose, through which gradients reach the values."""
        return Matrix(self.pattern.T, self.values[self.pattern.transposing_order])

    def dropout(self, rate: float, *, training: bool = True) -> "Matrix":
        """Apply dropout to the stored entries. All others are zero anyway."""
        return Matrix(self.pattern, dropout(self.values, rate)) if rate and training else self

    def to(self, device: torch.device | str) -> "Matrix":
        """Return the matrix on another device."""
        if self.values.device == torch.device(device):
            return self
        return Matrix(self.pattern.to(device), self.values.to(device))

    def to_dense(self) -> Tensor:
        """Return a dense tensor, (N, M)."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.pattern.rows.long(), self.pattern.indices.long()), self.values)

    def __matmul__(self, dense: Tensor) -> Tensor:
        return spmm(self, dense)

    def __repr__(self) -> str:
        return f"Matrix({self.shape[0]} x {self.shape[1]}, {self.pattern.n_entries} entries)"


def spmm(matrix: Matrix | Pattern, dense: Tensor) -> Tensor:
    """Σ_j B_ij dense_j for every row i, with B_ij = 1 on the entries of a pattern.

    Shapes: values (m,) with dense (M, d) give (N, d); values (m, H) with dense (M, H, d) give (N, H, d).
    """
    weighted, pattern = (matrix, matrix.pattern) if isinstance(matrix, Matrix) else (None, matrix)
    if dense.shape[0] != pattern.n_columns:
        raise ValueError(
            f"a {pattern.shape[0]} x {pattern.n_columns} matrix needs a factor with "
            f"{pattern.n_columns} rows, got {tuple(dense.shape)}"
        )
    values = None if weighted is None else weighted.values
    return gradients.Spmm.apply(dense, values, pattern, weighted)


def sddmm(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j for every entry (i, j): (N, d) and (M, d) give (m,), with heads (m, H)."""
    return gradients.Sddmm.apply(left, right, pattern)


def segment_sum(pattern: Pattern, values: Tensor) -> Tensor:
    """Sum of the values of each row: (m,) or (m, H) give (N,) or (N, H)."""
    return gradients.SegmentSum.apply(values, pattern)


def edge_sum(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left_i + right_j for every entry (i, j): (N,) and (M,) give (m,), with heads (m, H)."""
    return gradients.EdgeSum.apply(left, right, pattern)


def edge_softmax(pattern: Pattern, scores: Tensor) -> Tensor:
    """exp(s_e) / Σ_{e' in the row of e} exp(s_e') for every entry e, (m,) or (m, H)."""
    return gradients.EdgeSoftmax.apply(scores, pattern)


def sorted_unique(numbers: IntArray) -> IntArray:
    """Return distinct numbers in ascending order, 15 times as fast as `np.unique` if there are many."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]])]


def _as_int64(ids: ArrayLike | Tensor) -> IntArray:
    return (ids.cpu().numpy() if isinstance(ids, Tensor) else np.asarray(ids)).astype(np.int64)
