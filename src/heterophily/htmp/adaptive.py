"""COMBINE as an adaptive sum, Σ_r α_r ⊙ Z_r with learned weights per node or per layer (AdaAdd)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.core.fused import gated_sum
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.part import Context, Dense, Sizes, init_scalar, init_uniform


@dataclass(frozen=True)
class AdaptiveSum(Combine):
    """Sum with one learned weight per node and channel.

    Z = κ Σ_r α_r ⊙ Z_r, α = softmax( [sig(Z_1 a_1) ‖ .. ‖ sig(Z_R a_R)] V / R ), κ = 3 if R = 3,
    else 1

    Parameters
    ----------
    norm
        Whether to apply a layer norm to the messages when computing α.

    Examples
    --------
    >>> AdaptiveSum().symbol
    'AdaAdd'
    """

    norm: bool = False
    symbol = "AdaAdd"

    def weights(self, size: Sizes) -> dict[str, nn.Module | nn.Parameter]:
        """The vectors a, as (R, d), V (R, R), and the norms."""
        r, d = size.n_channels, size.d_out
        found: dict[str, nn.Module | nn.Parameter] = {
            "a": init_uniform(1.0, r, d),
            "V": init_uniform(r**-0.5, r, r),
        }
        if self.norm:
            found["norms"] = nn.ModuleList(nn.LayerNorm(d) for _ in range(r))
        return found

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """κ Σ_r α_r ⊙ Z_r."""
        count = len(messages)
        scale = 3.0 if count == 3 else 1.0
        if not self.norm:
            attend = torch.block_diag(*w.a.unsqueeze(2))
            state, alpha = gated_sum(messages, attend, w.V / count, scale=scale)
        else:
            states = [norm(m) for norm, m in zip(w.norms, messages, strict=True)]
            scores = torch.stack([m @ a for m, a in zip(states, w.a, strict=True)], dim=1)
            alpha = (torch.sigmoid(scores) @ w.V / count).softmax(dim=1)
            state = weigh(messages, alpha * scale)
        context.add_aux_output("alpha", alpha)
        return state


@dataclass(frozen=True)
class DegreeGatedSum(Combine):
    """Sum with one learned weight per node and channel, which also depends on the degree.

    Z = Σ_r α_r ⊙ Z_r, α = softmax( sig([Z_1 ‖ .. ‖ Z_R ‖ d] W_att + b_att) W_mix + b_mix )

    Notes
    -----
    d is the degree of a node, at least 1, and 0 for prototypes.

    Examples
    --------
    >>> DegreeGatedSum().symbol
    'AdaAdd'
    """

    symbol = "AdaAdd"

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """W_att (R d + 1, R) and W_mix (R, R), with biases."""
        r = size.n_channels
        return {"attend": Dense(r * size.d_out + 1, r), "mix": Dense(r, r)}

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Σ_r α_r ⊙ Z_r."""
        attend, last = w.attend.weight[:-1], w.attend.weight[-1]
        # The column d of [Z_1 ‖ .. ‖ d] meets the last row of W_att: d ⊗ last, turned.
        offset = torch.addcmul(
            w.attend.bias.unsqueeze(1), last.unsqueeze(1), degree_column(context).T
        )
        state, alpha = gated_sum(messages, attend, w.mix.weight, offset=offset, bias=w.mix.bias)
        context.add_aux_output("alpha", alpha)
        return state


def degree_column(context: Context) -> Tensor:
    """Degrees (N, 1), isolated nodes as 1, prototypes as 0."""

    def compute() -> Tensor:
        degrees = context.graph.degrees.clamp_min(1).to(torch.get_default_dtype())
        if context.n_virtual:
            degrees[-context.n_virtual :] = 0
        return degrees.unsqueeze(1)

    if "degree column" not in context.bound:
        context.bound["degree column"] = compute()
    column: Tensor = context.bound["degree column"]
    return column


@dataclass(frozen=True)
class SimilaritySum(Combine):
    """Balance of graph and features with one learned weight per node, plus the node itself.

    Z = s ⊙ Z_2 + (1 - s) ⊙ Z_3 + γ k ⊙ Z_1, s = sig(H a + β), k = H u + κ,
    H the input of the layer

    Parameters
    ----------
    ego_weight
        γ, weight of the node itself.
    score_bias_init
        Initial value of β.

    Examples
    --------
    >>> SimilaritySum(0.1).symbol
    'AdaAdd'
    """

    ego_weight: float = 0.1  # γ
    score_bias_init: float = 0.0  # initial β
    symbol = "AdaAdd"
    arity = (3, 3)

    def weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        """The vectors a and u (d_in), β and κ."""
        return {
            "a": init_uniform(1.0, size.d_in, 1),
            "beta": init_scalar(self.score_bias_init),
            "u": init_uniform(1.0, size.d_in, 1),
            "kappa": init_scalar(0.0),
        }

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """The balance of graph and features, and the node itself."""
        ego, graph, features = messages
        balance = torch.sigmoid(heard @ w.a + w.beta)
        own = heard @ w.u + w.kappa
        return torch.lerp(features, graph, balance) + self.ego_weight * own * ego


@dataclass(frozen=True)
class AttentionSum(Combine):
    """Sum with attention over channels.

    Z = Σ_r β_r ⊙ Z_r, β = softmax_r( v · tanh(Z_r Q + q) )

    Parameters
    ----------
    width_inside
        Number of columns of Q.
    head
        `none` applies a log-softmax to the messages first, as in the reference implementation of
        UGCN.

    Examples
    --------
    >>> AttentionSum().symbol
    'AdaAdd'
    """

    width_inside: int = 16
    head: str = "linear"
    symbol = "AdaAdd"

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """Q, q and v."""
        inside = Dense(size.d_out, self.width_inside)
        return {"inside": inside, "v": Dense(self.width_inside, 1, bias=False)}

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """Σ_r β_r ⊙ Z_r."""
        states = [m.log_softmax(dim=1) for m in messages] if self.head == "none" else messages
        scores = torch.cat([w.v(torch.tanh(w.inside(z))) for z in states], dim=1)
        return weigh(states, scores.softmax(dim=1))


@dataclass(frozen=True)
class GlobalSum(Combine):
    """Sum with one learned weight per layer and channel.

    Z = softplus(ς) Σ_r ω_r Z_r, ω a softmax of R learned numbers

    Parameters
    ----------
    scale_init
        Initial value of ς.

    Examples
    --------
    >>> GlobalSum().symbol
    'AdaAdd'
    """

    scale_init: float = 2.0  # initial ς
    symbol = "AdaAdd"

    def weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        """ς and the numbers before the softmax, one per channel."""
        return {
            "scale": init_scalar(self.scale_init),
            "omega": nn.Parameter(torch.zeros(size.n_channels)),
        }

    def __call__(self, messages: Messages, heard: Any, w: Any, context: Context) -> Tensor:
        """softplus(ς) Σ_r ω_r Z_r."""
        shares = w.omega.softmax(dim=0) * F.softplus(w.scale)
        return weigh(messages, shares.unsqueeze(0))


def weigh(messages: Messages, weights: Tensor) -> Tensor:
    """Σ_r weights[:, r] ⊙ Z_r."""
    total = weights[:, 0:1] * messages[0]
    for r, message in enumerate(messages[1:], start=1):
        total = torch.addcmul(total, weights[:, r : r + 1], message)
    return total
