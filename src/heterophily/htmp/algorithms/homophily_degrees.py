"""HOG-GCN's degrees of homophily with their own gradient, a few rows at a time.

Two hops of a dense graph are tens of millions of pairs. As a chain of tensor operations the equation
would cross all of them some thirty times per step; in pieces that the cache holds it crosses them once
forward and once backward. Symbols: m entries e = (i, j) of B, N rows.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heterophily.core.sparse import Pattern

PIECE = 2**18  # entries that are worked on together
FLOOR = 1e-12  # of the length of a row


def homophily(
    pattern: Pattern,
    counts: Tensor,
    mask: Tensor,
    similarity: Tensor,
    *,
    attribute_weight: float,
    topology_weight: float,
) -> tuple[Tensor, Tensor]:
    """G = r ⊙ (B ⊙ (μ S + ξ T)) and T = norm1(B ⊙ Θ) on the entries of B, from B, Θ and S (m,).

    The inverse row sums r are a constant of the gradient, as in the published program.
    """
    weights = (attribute_weight, topology_weight)
    pair: tuple[Tensor, Tensor] = _Homophily.apply(mask, similarity, counts, pattern, weights)
    return pair


class _Homophily(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        mask: Tensor,
        similarity: Tensor,
        counts: Tensor,
        pattern: Pattern,
        weights: tuple[float, float],
    ) -> tuple[Tensor, Tensor]:
        mu, xi = weights
        relation, topology = torch.empty_like(mask), torch.empty_like(mask)
        lengths, inverses = mask.new_empty(pattern.shape[0]), mask.new_empty(pattern.shape[0])
        for rows, e, indptr in _pieces(pattern):
            b, t = counts[e], topology[e]
            torch.mul(b, mask[e], out=t)
            lengths[rows] = _sums(t.abs(), indptr).clamp_min_(FLOOR)
            t.div_(_spread(lengths[rows], indptr))
            g = torch.mul(similarity[e], mu, out=relation[e]).add_(t, alpha=xi).mul_(b)
            sums = _sums(g, indptr)
            inverses[rows] = torch.where(sums != 0, 1 / sums, 0.0)
            g.mul_(_spread(inverses[rows], indptr))
        ctx.save_for_backward(mask, counts, lengths, inverses)
        ctx.pattern, ctx.weights = pattern, weights
        ctx.set_materialize_grads(False)
        return relation, topology

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_relation: Tensor | None, grad_topology: Tensor | None
    ) -> tuple[Tensor, Tensor, None, None, None]:
        mask, counts, lengths, inverses = ctx.saved_tensors
        pattern, (mu, xi) = ctx.pattern, ctx.weights
        grad_mask, grad_similarity = torch.zeros_like(mask), torch.zeros_like(mask)
        for rows, e, indptr in _pieces(pattern):
            b = counts[e]
            flow = torch.zeros_like(b)  # the gradient of T
            if grad_relation is not None:
                torch.mul(grad_relation[e], _spread(inverses[rows], indptr), out=flow).mul_(b)
                torch.mul(flow, mu, out=grad_similarity[e])
                flow.mul_(xi)
            if grad_topology is not None:
                flow += grad_topology[e]
            # T = V / ℓ with V = B ⊙ Θ and ℓ_i = Σ_j |V_ij|: dV = (dT - sgn(V) Σ_j dT T) / ℓ.
            masked = b * mask[e]
            drawn = _sums(flow * masked, indptr) / lengths[rows]
            draws = torch.where(lengths[rows] > FLOOR, drawn, 0.0)
            flow -= masked.sign_().mul_(_spread(draws, indptr))
            torch.mul(flow.div_(_spread(lengths[rows], indptr)), b, out=grad_mask[e])
        return grad_mask, grad_similarity, None, None, None


def _pieces(pattern: Pattern) -> Iterator[tuple[slice, slice, Tensor]]:
    """Rows, their entries, and where each row begins and ends among those."""
    indptr = pattern.indptr.cpu().numpy()
    step = PIECE if pattern.indptr.device.type == "cpu" else max(1, pattern.n_entries)
    inner = np.searchsorted(indptr, np.arange(step, pattern.n_entries, step))
    for start, stop in pairwise(np.unique([0, *inner, pattern.shape[0]]).tolist()):
        first, last = int(indptr[start]), int(indptr[stop])
        yield slice(start, stop), slice(first, last), pattern.indptr[start : stop + 1] - first


def _spread(numbers: Tensor, indptr: Tensor) -> Tensor:
    """The number of each row on its entries; NumPy repeats twice as fast as PyTorch gathers."""
    if numbers.device.type != "cpu":
        return numbers.repeat_interleave(indptr.diff())
    return torch.from_numpy(np.repeat(numbers.numpy(), indptr.diff().numpy()))


def _sums(values: Tensor, indptr: Tensor) -> Tensor:
    """Sums over the entries of each row; NumPy's are ten times as fast as PyTorch's on the CPU."""
    if values.device.type != "cpu":
        return torch.segment_reduce(values, "sum", offsets=indptr.long(), axis=0)
    sums, filled = values.new_zeros(len(indptr) - 1), indptr.diff() > 0
    starts = indptr[:-1][filled].numpy()
    if len(starts):
        sums[filled] = torch.from_numpy(np.add.reduceat(values.numpy(), starts))
    return sums
