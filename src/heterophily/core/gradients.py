"""Autograd functions of the sparse products in `sparse`. The transpose of a pattern is computed only once.

Symbols: m entries e = (i, j) of B, G the gradient of the result.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.core import kernels
from heterophily.core.types import AutogradContext

if TYPE_CHECKING:
    from heterophily.core.sparse import Matrix, Pattern


class Spmm(torch.autograd.Function):
    """B Z. The gradients are Bᵀ G for the dense factor Z, and G_i · Z_j for the values of B."""

    @staticmethod
    def forward(
        ctx: AutogradContext, dense: Tensor, values: Tensor | None, pattern: "Pattern", matrix: "Matrix | None"
    ) -> Tensor:
        learned = values is not None and values.requires_grad
        ctx.save_for_backward(dense if learned else None)
        ctx.pattern, ctx.matrix = pattern, matrix
        return kernels.product(pattern, values, dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        (dense,) = ctx.saved_tensors
        grad_dense = grad_values = None
        if ctx.needs_input_grad[0]:
            grad_dense = _transposed_product(ctx.pattern, ctx.matrix, grad)
        if ctx.needs_input_grad[1]:
            grad_values = kernels.dots(ctx.pattern, grad, dense)
        return grad_dense, grad_values, None, None


def _transposed_product(pattern: "Pattern", matrix: "Matrix | None", dense: Tensor) -> Tensor:
    """Bᵀ Z, where B has the values of the matrix or ones."""
    if kernels.is_nearly_dense(pattern, dense):
        return kernels.full_transposed(pattern, None if matrix is None else matrix.values, dense)
    values = None if matrix is None else matrix.transposed_values
    return kernels.product(pattern.T, values, dense)


class Sddmm(torch.autograd.Function):
    """L_i · R_j on the entries."""

    @staticmethod
    def forward(ctx: AutogradContext, left: Tensor, right: Tensor, pattern: "Pattern") -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.pattern = pattern
        return kernels.dots(pattern, left, right)

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        left, right = ctx.saved_tensors
        pattern, grad_left, grad_right = ctx.pattern, None, None
        if ctx.needs_input_grad[0]:
            grad_left = kernels.product(pattern, grad, right)
        if ctx.needs_input_grad[1]:
            grad_right = _transposed_product(pattern, pattern * grad, left)
        return grad_left, grad_right, None


class SegmentSum(torch.autograd.Function):
    """Sum of the values of each row."""

    @staticmethod
    def forward(ctx: AutogradContext, values: Tensor, pattern: "Pattern") -> Tensor:
        ctx.pattern = pattern
        return kernels.row_sums(pattern, values)

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor, None]:
        return grad.index_select(0, ctx.pattern.rows), None


class EdgeSum(torch.autograd.Function):
    """l_i + r_j on the entries."""

    @staticmethod
    def forward(ctx: AutogradContext, left: Tensor, right: Tensor, pattern: "Pattern") -> Tensor:
        ctx.pattern = pattern
        return left.index_select(0, pattern.rows).add_(right.index_select(0, pattern.indices))

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        pattern = ctx.pattern
        transposed = grad.index_select(0, pattern.transposing_order)
        return kernels.row_sums(pattern, grad), kernels.row_sums(pattern.T, transposed), None


class EdgeSoftmax(torch.autograd.Function):
    """Softmax of the scores of each row."""

    @staticmethod
    def forward(ctx: AutogradContext, scores: Tensor, pattern: "Pattern") -> Tensor:
        top = kernels.row_maxima(pattern, scores)
        raised = top.index_select(0, pattern.rows).neg_().add_(scores).exp_()
        share = raised.div_(kernels.row_sums(pattern, raised).index_select(0, pattern.rows))
        ctx.save_for_backward(share)
        ctx.pattern = pattern
        return share

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor, None]:
        (share,) = ctx.saved_tensors
        flow = share * grad
        mean = kernels.row_sums(ctx.pattern, flow).index_select(0, ctx.pattern.rows)
        return flow.sub_(mean.mul_(share)), None
