"""Dense transcription of a method: every sparse matrix in its products becomes a dense (N, M) matrix.

Inside `densely()`, the two kernels of message passing, the product with a sparse matrix and the dot
products on a pattern, multiply dense matrices including zeros, like a program with dense adjacency
matrices. Constant matrices are created once. Values and gradients do not change, so the difference in
time is the cost of the zeros.
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
    """Compute with dense matrices."""
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
    """Compute B Z with a dense B (N, M), one head after the other."""
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
    """Compute the dot products of all pairs of rows, and select those on the pattern."""
    if left.dim() == 3:
        heads = range(left.shape[1])
        return torch.stack([dots(pattern, left[:, h], right[:, h]) for h in heads], dim=1)
    return (left @ right.T).flatten().index_select(0, places(pattern))


def full(pattern: Pattern, values: Tensor) -> Tensor:
    """Return the dense matrix."""
    matrix = values.new_zeros(pattern.shape[0] * pattern.shape[1])
    return matrix.index_copy_(0, places(pattern), values.detach()).view(pattern.shape)


def places(pattern: Pattern) -> Tensor:
    """Return the positions of the entries in the flattened dense matrix."""
    if pattern not in _AT:
        _AT[pattern] = pattern.rows.long() * pattern.n_columns + pattern.indices.long()
    return _AT[pattern]
