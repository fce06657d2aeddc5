"""Operations that are fused with their gradients, because they take most of the time of some methods.

Tests compare each operation with its plain version. Symbols: N nodes, d columns, R channels.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.core.dense import matmul, transposed_product
from heterophily.core.machine import CACHED_ROWS
from heterophily.core.types import AutogradContext

ROWS = CACHED_ROWS  # rows that `blend` processes at a time


def gated_sum(
    messages: Sequence[Tensor],
    attend: Tensor,
    mix: Tensor,
    *,
    offset: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return κ Σ_r α_r ⊙ Z_r with α = softmax( sig([Z_1 ‖ .. ‖ Z_R] W + o) V + b ), and α without gradient.

    Shapes: messages Z_r (N, d), W (R d, R), V (R, R), offset o (R, N), bias b (R), α (N, R).
    Internally, gates are (R, N): a softmax of a few long rows is ten times as fast as of many short ones.
    """
    state, alpha = _GatedSum.apply(scale, attend, mix, offset, bias, *messages)
    return state, alpha.T


def plain_gated_sum(
    messages: Sequence[Tensor],
    attend: Tensor,
    mix: Tensor,
    *,
    offset: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return the same as `gated_sum`, with PyTorch's gradient."""
    scores = torch.cat(list(messages), dim=1) @ attend
    gates = torch.sigmoid(scores if offset is None else scores + offset.T)
    mixed = gates @ mix
    alpha = (mixed if bias is None else mixed + bias).softmax(dim=1)
    state = (alpha.unsqueeze(1) * torch.stack(list(messages), dim=2)).sum(dim=2)
    return scale * state, alpha.detach()


class _GatedSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: AutogradContext,
        scale: float,
        attend: Tensor,
        mix: Tensor,
        offset: Tensor | None,
        bias: Tensor | None,
        *messages: Tensor,
    ) -> tuple[Tensor, Tensor]:
        blocks = attend.split(messages[0].shape[1])
        terms = [transposed_product(z, block) for z, block in zip(messages, blocks, strict=True)]
        gates = torch.sigmoid(reduce(torch.add, terms if offset is None else [offset, *terms]))
        mixed = mix.T @ gates
        alpha = (mixed if bias is None else mixed + bias.unsqueeze(1)).softmax(dim=0)
        state = alpha[0].unsqueeze(1) * messages[0]
        for share, z in zip(alpha[1:], messages[1:], strict=True):
            state.addcmul_(share.unsqueeze(1), z)
        ctx.save_for_backward(attend, mix, gates, alpha, *messages)
        ctx.scale = scale
        ctx.mark_non_differentiable(alpha)
        return (state if scale == 1 else state.mul_(scale)), alpha

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        attend, mix, gates, alpha, *messages = ctx.saved_tensors
        grad = grad if ctx.scale == 1 else grad * ctx.scale
        blocks = attend.split(messages[0].shape[1])
        flow = alpha * torch.stack([torch.linalg.vecdot(grad, z) for z in messages])
        grad_mixed = flow - alpha * flow.sum(dim=0)
        grad_scores = (mix @ grad_mixed) * gates * (1 - gates)
        transposed = grad_scores.T
        grads = [
            (share.unsqueeze(1) * grad).addmm_(transposed, block.T) for share, block in zip(alpha, blocks, strict=True)
        ]
        grad_attend = torch.cat([(grad_scores @ z).T for z in messages])
        needed = ctx.needs_input_grad
        grad_offset = grad_scores if needed[3] else None
        grad_bias = grad_mixed.sum(dim=1) if needed[4] else None
        return None, grad_attend, gates @ grad_mixed.T, grad_offset, grad_bias, *grads


def blend(gate: Tensor, ego: Tensor, mean: Tensor) -> Tensor:
    """Return G ⊙ z + (1 - G) ⊙ m from g (N, c), z and m (N, d). G repeats each column of g d/c times.

    G and the terms of the gradient exist only for a few rows at a time, which stay in the processor's cache.
    """
    return _Blend.apply(gate, ego, mean)


def plain_blend(gate: Tensor, ego: Tensor, mean: Tensor) -> Tensor:
    """Return the same as `blend`, with PyTorch's gradient."""
    return torch.lerp(mean, ego, gate @ _repetition(gate, ego))


class _Blend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: AutogradContext, gate: Tensor, ego: Tensor, mean: Tensor) -> Tensor:
        ctx.save_for_backward(gate, ego, mean)
        repeat, result = _repetition(gate, ego), torch.empty_like(ego)
        for g, z, m, out in _row_blocks(gate, ego, mean, result):
            torch.lerp(m, z, matmul(g, repeat), out=out)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gate, ego, mean = ctx.saved_tensors
        repeat, grads = _repetition(gate, ego), [torch.empty_like(t) for t in ctx.saved_tensors]
        for g, z, m, flow, grad_gate, grad_ego, grad_mean in _row_blocks(gate, ego, mean, grad, *grads):
            torch.mul(flow, matmul(g, repeat), out=grad_ego)
            torch.sub(flow, grad_ego, out=grad_mean)
            grad_gate.copy_(matmul((z - m).mul_(flow), repeat.T))
        return grads[0], grads[1], grads[2]


def _repetition(gate: Tensor, ego: Tensor) -> Tensor:
    """Return the matrix (c, d) that repeats columns. A product with it is faster than copies of columns."""
    chunks = gate.shape[1]
    one = torch.eye(chunks, dtype=gate.dtype, device=gate.device)
    return one.repeat_interleave(ego.shape[1] // chunks, dim=1)


def _row_blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    rows = ROWS if tensors[0].device.type == "cpu" else max(1, len(tensors[0]))
    return zip(*(tensor.split(rows) for tensor in tensors), strict=True)
