"""Gates and the sum that they weigh, in one step with its gradient.

The gates have one value per node and channel, three in ACM-GCN and CMGNN. They are kept as (R, N): few long
rows, on which a softmax is ten times as fast as on many short ones.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.core.dense import transposed_product


def gated_sum(
    messages: Sequence[Tensor],
    attend: Tensor,
    mix: Tensor,
    *,
    offset: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """κ Σ_r α_r ⊙ Z_r with α = softmax( sig([Z_1 ‖ .. ‖ Z_R] W + o) V + b ), and α.

    Shapes: messages Z_r (N, d), W (R d, R), V (R, R), offset o (R, N), bias b (R), α (N, R) without gradient.
    """
    state, alpha = _GatedSum.apply(scale, attend, mix, offset, bias, *messages)
    return state, alpha.T


class _GatedSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
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
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        attend, mix, gates, alpha, *messages = ctx.saved_tensors
        grad = grad if ctx.scale == 1 else grad * ctx.scale
        blocks = attend.split(messages[0].shape[1])
        flow = alpha * torch.stack([torch.linalg.vecdot(grad, z) for z in messages])
        grad_mixed = flow - alpha * flow.sum(dim=0)
        grad_scores = (mix @ grad_mixed) * gates * (1 - gates)
        turned = grad_scores.T
        grads = [
            (share.unsqueeze(1) * grad).addmm_(turned, block.T)
            for share, block in zip(alpha, blocks, strict=True)
        ]
        grad_attend = torch.cat([(grad_scores @ z).T for z in messages])
        wanted = ctx.needs_input_grad
        grad_offset = grad_scores if wanted[3] else None
        grad_bias = grad_mixed.sum(dim=1) if wanted[4] else None
        return None, grad_attend, gates @ grad_mixed.T, grad_offset, grad_bias, *grads
