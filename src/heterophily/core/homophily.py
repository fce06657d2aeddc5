"""Measures of homophily over the edges between labeled nodes.

Symbols: J (K, K) is the joint distribution of the classes at the two ends of a random edge, and p and q are
its marginals over sources and targets (equal on a symmetric graph).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from heterophily.core.compatibility import EPSILON, neighbor_counts
from heterophily.core.sparse import Pattern


@dataclass(frozen=True)
class Homophily:
    """Four measures of how often edges connect equal classes, and one of how informative they are."""

    edge: float
    node: float
    class_insensitive: float
    adjusted: float
    label_informativeness: float


def measure_homophily(adjacency: Pattern, labels: Tensor, n_classes: int) -> Homophily:
    """Compute all five measures. Nodes with unknown labels (-1) are excluded."""
    known = labels >= 0
    counts = neighbor_counts(adjacency, labels, n_classes)[known].double()  # (N', K)
    classes = labels[known]
    joint = torch.zeros(n_classes, n_classes, dtype=torch.double).index_add_(0, classes, counts)
    if not joint.any():
        return Homophily(*[float("nan")] * 5)
    return Homophily(
        edge=edge_homophily(joint),
        node=node_homophily(counts, classes),
        class_insensitive=class_insensitive_homophily(joint, torch.bincount(classes)),
        adjusted=adjusted_homophily(joint),
        label_informativeness=label_informativeness(joint),
    )


def edge_homophily(joint: Tensor) -> float:
    """Fraction of edges that connect equal classes: Σ_k J_kk."""
    return float(joint.diagonal().sum() / joint.sum())


def node_homophily(counts: Tensor, classes: Tensor) -> float:
    """Mean fraction of a node's neighbors that have its class, over nodes with neighbors."""
    degrees = counts.sum(dim=1)
    same = counts.gather(1, classes.unsqueeze(1)).squeeze(1)
    return float((same / degrees)[degrees > 0].mean())


def class_insensitive_homophily(joint: Tensor, sizes: Tensor) -> float:
    """1/(K-1) Σ_k max(0, J_kk / p_k - n_k / n): the excess over chance (Lim et al. 2021)."""
    out = joint.sum(dim=1)
    sizes = torch.nn.functional.pad(sizes, (0, len(out) - len(sizes))).double()
    present = out > 0
    excess = (joint.diagonal() / out.clamp_min(EPSILON) - sizes / sizes.sum()).clamp_min(0)
    return float(excess[present].sum() / max(len(out) - 1, 1))


def adjusted_homophily(joint: Tensor) -> float:
    """(Σ_k J_kk - Σ_k p_k q_k) / (1 - Σ_k p_k q_k): edges against chance (Platonov et al. 2023)."""
    p, q = (joint.sum(dim=axis) / joint.sum() for axis in (1, 0))
    chance = float((p * q).sum())
    return (edge_homophily(joint) - chance) / (1 - chance) if chance < 1 else float("nan")


def label_informativeness(joint: Tensor) -> float:
    """I(y_i; y_j) / H(y): information of one end of an edge about the other (Platonov et al. 2023)."""
    shares = joint / joint.sum()
    p, q = shares.sum(dim=1), shares.sum(dim=0)
    mean = (_entropy(p) + _entropy(q)) / 2
    return (2 * mean - _entropy(shares.flatten())) / mean if mean > 0 else float("nan")


def _entropy(shares: Tensor) -> float:
    positive = shares[shares > 0]
    return float(-(positive * positive.log()).sum())
