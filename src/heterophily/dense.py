"""Products of tall matrices with few columns, such as one for every class.

Where a result has 2 to 15 columns, the matrix products behind PyTorch take about twice as long as the same
written with rows and columns exchanged, (Wᵀ Zᵀ)ᵀ for Z W and (Gᵀ Z)ᵀ for the gradient Zᵀ G of W
(`benchmarks/narrow.py`). Logits are such products in every method.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

NARROW = range(2, 16)  # numbers of columns that are slow
LEAST = 4  # rows of Wᵀ that are fast; fewer are filled up with zeros


def product(state: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Z W + b, with Z dense (N, d) or a sparse matrix, W (d, k) and b (k), if any."""
    dense = isinstance(state, Tensor)
    narrow = dense and weight.shape[1] in NARROW and weight.device.type == "cpu"
    if dense and not narrow and bias is not None:
        return torch.addmm(bias, state, weight)
    result: Tensor = _Narrow.apply(state, weight) if narrow else state @ weight
    return result if bias is None else result + bias


def turned_product(state: Tensor, weight: Tensor) -> Tensor:
    """Wᵀ Zᵀ, (k, N), without a gradient."""
    k = weight.shape[1]
    filled = weight if k >= LEAST else F.pad(weight, (0, LEAST - k))
    return (filled.T @ state.T)[:k]


class _Narrow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, state: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(state, weight)
        return turned_product(state, weight).T.contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        state, weight = ctx.saved_tensors
        grad_state = grad @ weight.T if ctx.needs_input_grad[0] else None
        grad_weight = (grad.T @ state).T.contiguous() if ctx.needs_input_grad[1] else None
        return grad_state, grad_weight
