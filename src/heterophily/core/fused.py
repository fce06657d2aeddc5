"""G ⊙ z + (1 - G) ⊙ m with its own gradient, a few rows at a time (OrderedGNN).

G repeats each column of a gate g (N, c) for a chunk of d/c columns. Neither G nor the steps of the gradient
are ever there for all nodes: pieces of rows stay in the processor's cache.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.core.dense import matmul
from heterophily.core.machine import CACHED_ROWS

ROWS = CACHED_ROWS


def blend(gate: Tensor, ego: Tensor, mean: Tensor) -> Tensor:
    """G ⊙ z + (1 - G) ⊙ m from g (N, c), z and m (N, d)."""
    result: Tensor = _Blend.apply(gate, ego, mean)
    return result


class _Blend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, ego: Tensor, mean: Tensor) -> Tensor:
        ctx.save_for_backward(gate, ego, mean)
        repeat, result = _repeat(gate, ego), torch.empty_like(ego)
        for g, z, m, out in _pieces(gate, ego, mean, result):
            torch.lerp(m, z, matmul(g, repeat), out=out)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gate, ego, mean = ctx.saved_tensors
        repeat, grads = _repeat(gate, ego), [torch.empty_like(t) for t in ctx.saved_tensors]
        for g, z, m, flow, *own in _pieces(gate, ego, mean, grad, *grads):
            grad_gate, grad_ego, grad_mean = own
            torch.mul(flow, matmul(g, repeat), out=grad_ego)
            torch.sub(flow, grad_ego, out=grad_mean)
            grad_gate.copy_(matmul((z - m).mul_(flow), repeat.T))
        return grads[0], grads[1], grads[2]


def _repeat(gate: Tensor, ego: Tensor) -> Tensor:
    """The matrix (c, d) that repeats columns; a product with it is faster than a copy of each."""
    chunks = gate.shape[1]
    one = torch.eye(chunks, dtype=gate.dtype, device=gate.device)
    return one.repeat_interleave(ego.shape[1] // chunks, dim=1)


def _pieces(*tensors: Tensor) -> Any:
    rows = ROWS if tensors[0].device.type == "cpu" else max(1, len(tensors[0]))
    return zip(*(tensor.split(rows) for tensor in tensors), strict=True)
