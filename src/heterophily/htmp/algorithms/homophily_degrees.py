"""Homophily degrees of HOG-GCN with their own gradient, a few rows at a time.

Two hops of a dense graph have tens of millions of pairs. A chain of tensor operations would process all of
them about thirty times per step. Blocks that fit into the cache process them once forward and once
backward.

Symbols: m entries e = (i, j) of B, N rows.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.core.kernels import HALF
from heterophily.core.sparse import Pattern
from heterophily.core.types import AutogradContext

MAX_BLOCK_ENTRIES = 2**18  # entries of one block
EPSILON = 1e-12  # lower bound of the L1 norm of a row


def homophily_degrees(
    pattern: Pattern,
    counts: Tensor,
    mask: Tensor,
    similarity: Tensor,
    *,
    attribute_weight: float,
    topology_weight: float,
) -> tuple[Tensor, Tensor]:
    """G = r ⊙ (B ⊙ (μ S + ξ T)) and T = norm1(B ⊙ Θ) on the entries of B, from B, Θ and S (m,).

    The inverse row sums r are constants of the gradient, as in the reference implementation.
    """
    weights = (attribute_weight, topology_weight)
    pair: tuple[Tensor, Tensor] = _HomophilyDegrees.apply(mask, similarity, counts, pattern, weights)
    return pair


class _HomophilyDegrees(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: AutogradContext,
        mask: Tensor,
        similarity: Tensor,
        counts: Tensor,
        pattern: Pattern,
        weights: tuple[float, float],
    ) -> tuple[Tensor, Tensor]:
        mu, xi = weights
        relation, topology = torch.empty_like(mask), torch.empty_like(mask)
        lengths, inverses = mask.new_empty(pattern.shape[0]), mask.new_empty(pattern.shape[0])
        for rows, e, indptr in _blocks(pattern):
            b, t = counts[e], topology[e]
            torch.mul(b, mask[e], out=t)
            lengths[rows] = _row_sums(t.abs(), indptr).clamp_min_(EPSILON)
            t.div_(_repeat(lengths[rows], indptr))
            g = torch.mul(similarity[e], mu, out=relation[e]).add_(t, alpha=xi).mul_(b)
            sums = _row_sums(g, indptr)
            inverses[rows] = torch.where(sums != 0, 1 / sums, 0.0)
            g.mul_(_repeat(inverses[rows], indptr))
        ctx.save_for_backward(mask, counts, lengths, inverses)
        ctx.pattern, ctx.weights = pattern, weights
        ctx.set_materialize_grads(False)
        return relation, topology

    @staticmethod
    @once_differentiable
    def backward(
        ctx: AutogradContext, grad_relation: Tensor | None, grad_topology: Tensor | None
    ) -> tuple[Tensor, Tensor, None, None, None]:
        mask, counts, lengths, inverses = ctx.saved_tensors
        pattern, (mu, xi) = ctx.pattern, ctx.weights
        grad_mask, grad_similarity = torch.zeros_like(mask), torch.zeros_like(mask)
        for rows, e, indptr in _blocks(pattern):
            b = counts[e]
            flow = torch.zeros_like(b)  # the gradient of T
            if grad_relation is not None:
                torch.mul(grad_relation[e], _repeat(inverses[rows], indptr), out=flow).mul_(b)
                torch.mul(flow, mu, out=grad_similarity[e])
                flow.mul_(xi)
            if grad_topology is not None:
                flow += grad_topology[e]
            # T = V / ℓ with V = B ⊙ Θ and ℓ_i = Σ_j |V_ij|: dV = (dT - sgn(V) Σ_j dT T) / ℓ.
            masked = b * mask[e]
            change = _row_sums(flow * masked, indptr) / lengths[rows]
            correction = torch.where(lengths[rows] > EPSILON, change, 0.0)
            flow -= masked.sign_().mul_(_repeat(correction, indptr))
            torch.mul(flow.div_(_repeat(lengths[rows], indptr)), b, out=grad_mask[e])
        return grad_mask, grad_similarity, None, None, None


def _blocks(pattern: Pattern) -> Iterator[tuple[slice, slice, Tensor]]:
    """Yield rows, their entries, and where each row starts among these."""
    indptr = pattern.indptr.cpu().numpy()
    step = MAX_BLOCK_ENTRIES if pattern.indptr.device.type == "cpu" else max(1, pattern.n_entries)
    inner = np.searchsorted(indptr, np.arange(step, pattern.n_entries, step))
    for start, stop in pairwise(np.unique([0, *inner, pattern.shape[0]]).tolist()):
        first, last = int(indptr[start]), int(indptr[stop])
        yield slice(start, stop), slice(first, last), pattern.indptr[start : stop + 1] - first


def _repeat(numbers: Tensor, indptr: Tensor) -> Tensor:
    """Repeat the number of each row for its entries. NumPy is twice as fast as PyTorch."""
    if numbers.device.type != "cpu" or numbers.dtype in HALF:
        return numbers.repeat_interleave(indptr.diff())
    return torch.from_numpy(np.repeat(numbers.numpy(), indptr.diff().numpy()))


def _row_sums(values: Tensor, indptr: Tensor) -> Tensor:
    """Sum the entries of each row. NumPy is ten times as fast as PyTorch on the CPU."""
    if values.dtype in HALF:  # neither library sums them
        return _row_sums(values.float(), indptr).to(values.dtype)
    if values.device.type != "cpu":
        return torch.segment_reduce(values, "sum", offsets=indptr.long(), axis=0)
    sums, filled = values.new_zeros(len(indptr) - 1), indptr.diff() > 0
    starts = indptr[:-1][filled].numpy()
    if len(starts):
        sums[filled] = torch.from_numpy(np.add.reduceat(values.numpy(), starts))
    return sums
