"""Dense products and their gradients, with the fastest library of the processor.

The default is slow in two cases. If a result has 2 to 15 columns, for example one for every class, MKL
takes about twice as long for Z W as for the transposed product (Wᵀ Zᵀ)ᵀ. On AMD processors, MKL does not
use the 512-bit registers, but oneDNN does and takes half the time in single precision
(`benchmarks/products.py`).
"""

from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from heterophily.core.machine import TUNED, mkl_uses_narrow_registers
from heterophily.core.types import AutogradContext

if TYPE_CHECKING:
    from heterophily.core.sparse import Matrix

NARROW_COLUMNS = range(2, 16)  # of W for which MKL is slow
MIN_ROWS = 4  # of Wᵀ from which the product is fast; narrower weights are padded with zeros
MIN_ONEDNN_MULTIPLICATIONS = 2**20  # below, the setup of oneDNN takes longer than it saves


def product(state: "Tensor | Matrix", weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Z W + b, with Z (N, d) dense or sparse, W (d, k), and b (k,) or none."""
    if not isinstance(state, Tensor):
        result = state @ weight
    elif _is_narrow(weight) or _use_onednn(state, weight):
        result = _Product.apply(state, weight)
    elif bias is not None:
        return torch.addmm(bias, state, weight)
    else:
        result = state @ weight
    return result if bias is None else result + bias


def matmul(left: Tensor, right: Tensor) -> Tensor:
    """A B, without a gradient."""
    return onednn_matmul(left, _compact(right)) if _use_onednn(left, right) else left @ right


def transposed_product(state: Tensor, weight: Tensor) -> Tensor:
    """Wᵀ Zᵀ, (k, N), without a gradient."""
    k = weight.shape[1]
    filled = weight if k >= MIN_ROWS else F.pad(weight, (0, MIN_ROWS - k))
    return matmul(filled.T, state.T)[:k]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: AutogradContext, state: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(state, weight)
        if _is_narrow(weight):
            return transposed_product(state, weight).T.contiguous()
        return matmul(state, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        state, weight = ctx.saved_tensors
        grad_state = matmul(grad, weight.T) if ctx.needs_input_grad[0] else None
        grad_weight = matmul(grad.T, state).T.contiguous() if ctx.needs_input_grad[1] else None
        return grad_state, grad_weight


def _is_tuned() -> bool:
    return TUNED and not torch.compiler.is_compiling()


def _is_narrow(weight: Tensor) -> bool:
    return _is_tuned() and weight.shape[1] in NARROW_COLUMNS and weight.device.type == "cpu"


def _use_onednn(left: Tensor, right: Tensor) -> bool:
    single = left.dtype == right.dtype == torch.float32 and left.device.type == "cpu"
    large = left.numel() * right.shape[1] >= MIN_ONEDNN_MULTIPLICATIONS
    # A copy does not pay off for few rows.
    pays = left.shape[0] >= NARROW_COLUMNS.stop or _is_compact(right)
    return single and large and pays and _is_tuned() and onednn_is_faster()


def _is_compact(factor: Tensor) -> bool:
    return factor.is_contiguous() or factor.T.is_contiguous()


def _compact(factor: Tensor) -> Tensor:
    """Copy a factor with gaps, such as a slice of columns, for which oneDNN takes 500 times as long."""
    if _is_compact(factor):
        return factor
    by_rows = factor.stride(0) >= factor.stride(1)
    return factor.contiguous() if by_rows else factor.T.contiguous().T


@cache
def onednn_is_faster() -> bool:
    """Return whether oneDNN uses wider registers than MKL and works."""
    return mkl_uses_narrow_registers() and onednn_works()


def onednn_works() -> bool:
    """Return whether PyTorch's undocumented oneDNN operator exists and works as expected."""
    left, right = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(3, 4)
    try:
        return torch.equal(onednn_matmul(left, right), left @ right)
    except (AttributeError, RuntimeError, TypeError):
        return False


def onednn_matmul(left: Tensor, right: Tensor) -> Tensor:
    """Return A B, computed by oneDNN. B must be contiguous or the transpose of a contiguous matrix."""
    return torch.ops.mkldnn._linear_pointwise(left, right.T, None, "none", [], "")
