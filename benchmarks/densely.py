"""The dense transcription of a recipe: every sparse matrix in its products becomes an (N, M) one.

Inside `densely()` the two kernels that carry message passing, the product with a sparse matrix and the dots
on a pattern, multiply full matrices, zeros included, as a program with adjacency matrices does. Matrices that
stay the same are filled once. Values and gradients do not change; what is measured is what the zeros cost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from heterophily.core import kernels
from heterophily.core.sparse import Pattern


@contextmanager
def densely() -> Iterator[None]:
    """Compute with full matrices."""
    before = kernels.product, kernels.dots
    kernels.product, kernels.dots = product, dots
    try:
        yield
    finally:
        kernels.product, kernels.dots = before


_ONES: WeakKeyDictionary[Pattern, Tensor] = WeakKeyDictionary()
_FULL = WeakTensorKeyDictionary()
_AT: WeakKeyDictionary[Pattern, Tensor] = WeakKeyDictionary()


def product(pattern: Pattern, values: Tensor | None, dense: Tensor) -> Tensor:
    """B Z with B (N, M); with H heads one after the other."""
    if dense.dim() == 3:
        parts = [None] * dense.shape[1] if values is None else list(values.unbind(dim=1))
        pairs = zip(parts, dense.unbind(dim=1), strict=True)
        return torch.stack([product(pattern, part, state) for part, state in pairs], dim=1)
    if values is None:
        if pattern not in _ONES:
            _ONES[pattern] = full(pattern, dense.new_ones(pattern.n_entries))
        return _ONES[pattern] @ dense
    if values not in _FULL:
        _FULL[values] = full(pattern, values)
    result: Tensor = _FULL[values] @ dense
    return result


def dots(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """All products of rows, and from them those on the pattern."""
    if left.dim() == 3:
        heads = range(left.shape[1])
        return torch.stack([dots(pattern, left[:, h], right[:, h]) for h in heads], dim=1)
    return (left @ right.T).flatten().index_select(0, places(pattern))


def full(pattern: Pattern, values: Tensor) -> Tensor:
    """The matrix with its zeros."""
    matrix = values.new_zeros(pattern.shape[0] * pattern.shape[1])
    return matrix.index_copy_(0, places(pattern), values.detach()).view(pattern.shape)


def places(pattern: Pattern) -> Tensor:
    """Where the entries are in the full matrix, counted row by row."""
    if pattern not in _AT:
        _AT[pattern] = pattern.rows.long() * pattern.n_columns + pattern.indices.long()
    return _AT[pattern]
