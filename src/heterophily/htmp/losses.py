"""Losses: classification, in the three forms of published programs, and the terms of single methods.

A term of an architecture reads what the parts noted during the forward pass; it may own weights and may have
something to do before training begins.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, cast

from torch import Tensor
from torch.nn import functional as F

from heterophily.htmp.parts import Context, Sizes, W, Weights

if TYPE_CHECKING:
    from heterophily.htmp.network import Network


def classification(
    logits: Tensor,
    targets: Tensor,
    *,
    form: str = "nll",
    weights: Tensor | None = None,
    virtual: tuple[int, float] | None = None,
) -> Tensor:
    """-log p_c; `ce_of_probabilities` -p_c + log Σ_k exp(p_k); `negative_probability` -p_c.

    The mean over nodes, weighted by class. With `virtual = (k, w)`, the last k rows are virtual nodes, and
    the other rows represent nodes with a total weight of w. The result is the weighted mean of both groups.
    """
    if virtual is not None and len(logits) > virtual[0]:
        k, represented = virtual
        halves = zip(logits.split([len(logits) - k, k]), targets.split([len(targets) - k, k]), strict=True)
        part, last = (classification(*half, form=form, weights=weights) for half in halves)
        weight = float(k) if weights is None else weights[targets[-k:]].sum()
        return (represented * part + weight * last) / (represented + weight)
    if form == "nll":
        return F.cross_entropy(logits, targets, weights)
    probabilities = logits.softmax(dim=1)
    if form == "ce_of_probabilities":
        return F.cross_entropy(probabilities, targets, weights)
    return F.nll_loss(probabilities, targets, weights)


@dataclass(frozen=True)
class AuxiliaryLoss(Generic[W]):
    """A loss that is added to the classification loss. Subclasses implement `__call__`."""

    requires: ClassVar[tuple[type, ...]] = ()  # parts that must be in the same architecture
    full_graph_reason = ""  # why the loss needs the full graph; empty if mini-batches work

    def weights(self, size: Sizes) -> W:
        """Return the learnable weights by name."""
        return cast("W", Weights())

    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: W) -> Tensor:
        """Return the loss, already weighted; `nodes` are the training nodes."""
        raise NotImplementedError
