"""Losses: classification, in the three forms of published programs, and the terms of single methods.

A term of an architecture reads what the parts noted during the forward pass; it may own weights and may have
something to do before training begins.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.core.errors import check_option
from heterophily.core.graph import Graph
from heterophily.core.sparse import Pattern
from heterophily.htmp.guidance import Gate
from heterophily.htmp.part import Context, Dense, Sizes

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
        halves = zip(
            logits.split([len(logits) - k, k]), targets.split([len(targets) - k, k]), strict=True
        )
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
class AuxiliaryLoss:
    """A loss that is added to the classification loss. Subclasses implement `__call__`."""

    requires: ClassVar[tuple[type, ...]] = ()  # parts that must be in the same architecture
    full_graph_reason = ""  # why the loss needs the full graph; empty if mini-batches work

    def weights(self, size: Sizes) -> Mapping[str, nn.Module | nn.Parameter]:
        """Return the learnable weights by name."""
        return {}

    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Any) -> Tensor:
        """Return the loss, already weighted; `nodes` are the training nodes."""
        raise NotImplementedError


@dataclass(frozen=True)
class GateLoss(AuxiliaryLoss):
    """Cross-entropy of the gates: whether an edge between training nodes connects equal classes.

    λ Σ_l mean_ij( -t log σ_ij - (1-t) log(1-σ_ij) ), t = 1[y_i = y_j]

    Parameters
    ----------
    weight
        λ.
    target
        `same_label`, or `both_nonzero` for t = 1 if both class numbers are positive, as in the
        reference implementation of GBK-GNN.
    form
        `binary`, or `probabilities_as_logits` to use (1-σ, σ) as logits, as in the reference
        implementation.

    Examples
    --------
    >>> GateLoss(0.1).weight
    0.1
    """

    weight: float = 1.0
    target: str = "same_label"
    form: str = "binary"
    requires = (Gate,)

    def __post_init__(self) -> None:
        check_option("gate_target", self.target, ("same_label", "both_nonzero"))
        check_option("gate_loss", self.form, ("binary", "probabilities_as_logits"))

    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Any) -> Tensor:
        """λ Σ_l G_l."""
        graph = context.graph
        total = torch.zeros((), device=graph.labels.device)
        for hood, pattern, gate in context.aux_outputs["gate"]:
            key = ("training edges", self.target, hood, nodes)
            edges, same = graph.cached(key, partial(self._edges, pattern, graph.labels, nodes))
            if len(edges):
                total = total + self._loss(gate.index_select(0, edges), same)
        return self.weight * total

    def _edges(self, pattern: Pattern, labels: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The entries between training nodes, and t for each."""
        inside = torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
        inside[nodes] = True
        rows, columns = pattern.rows.long(), pattern.indices.long()
        known = (inside[rows] & inside[columns]).nonzero().squeeze(1)
        left, right = labels[rows[known]], labels[columns[known]]
        return known, left == right if self.target == "same_label" else (left > 0) & (right > 0)

    def _loss(self, gate: Tensor, target: Tensor) -> Tensor:
        if self.form == "binary":
            return F.binary_cross_entropy(gate, target.to(gate.dtype))
        return F.softplus(torch.where(target, 1 - 2 * gate, 2 * gate - 1)).mean()


@dataclass(frozen=True)
class SimilarityLoss(AuxiliaryLoss):
    """Squared error of predicting the similarity of features from the input of the last layer.

    λ mean_ij( w · |E_i - E_j| + w_0 - cos(x_i, x_j) )²

    Parameters
    ----------
    weight
        λ.
    n_pairs
        Number of pairs that are sampled in every step, from the five most and five least similar
        nodes of each node.

    Notes
    -----
    E is the input of the last layer. The pairs are each node with its five most and five least
    similar nodes, by binarized features.

    Examples
    --------
    >>> SimilarityLoss(0.1).weight
    0.1
    """

    weight: float = 1.0
    n_pairs: int = 10_000
    full_graph_reason = "its loss compares pairs of nodes from all over the graph"

    def weights(self, size: Sizes) -> dict[str, nn.Module]:
        """The vector w (d) and w_0."""
        return {"dense": Dense(size.d_out, 1)}

    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Any) -> Tensor:
        """λ times the mean squared error."""
        pairs, targets = context.graph.cached("similar pairs", lambda: similar_pairs(context.graph))
        if len(targets) > self.n_pairs:
            drawn = torch.randperm(len(targets))[: self.n_pairs].to(targets.device)
            pairs, targets = pairs[:, drawn], targets[drawn]
        state = context.inputs["previous"]
        predicted = w.dense((state[pairs[0]] - state[pairs[1]]).abs()).squeeze(1)
        return self.weight * F.mse_loss(predicted, targets)


def similar_pairs(graph: Graph) -> tuple[Tensor, Tensor]:
    """SimP-GCN's pairs (2, P) and the cosine similarities of their binarised features (P,)."""
    from heterophily.htmp.algorithms.cache import cached
    from heterophily.htmp.algorithms.knn import most_and_least_similar

    def compute() -> dict[str, Tensor]:
        pairs, targets = most_and_least_similar(graph.features)
        return {"pairs": pairs, "targets": targets}

    found = cached(graph.structure_checksum, "similar pairs", compute)
    device = graph.labels.device
    return found["pairs"].T.to(device), found["targets"].to(device, torch.get_default_dtype())


@dataclass(frozen=True)
class GroupLasso(AuxiliaryLoss):
    """Sum of the norms of all columns of the weights, which can set entire columns to zero.

    λ Σ_W Σ_k ‖W_·k‖₂

    Parameters
    ----------
    weight
        λ.

    Examples
    --------
    >>> GroupLasso(0.001).weight
    0.001
    """

    weight: float = 5e-4

    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Any) -> Tensor:
        """λ Σ ‖column‖₂."""
        weights = [p for name, p in network.named_parameters() if ".transform.W" in name]
        return self.weight * sum(p.norm(dim=0).sum() for p in weights)
