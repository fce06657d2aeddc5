"""The compatibility matrix M: how classes connect (paper, Section 4).

C (N, K) contains the one-hot labels, with zero rows for unknown labels. C_nb = norm1(A C) (N, K) contains the
semantic neighborhoods, the fraction of each class among a node's neighbors. M = norm1(Cᵀ C_nb) (K, K) is the
average neighborhood of each class.

CMD and the weighted matrix M̃ of a network are those of the newer version of the paper (Zheng et al., Understanding
and enhancing message passing on heterophilic graphs via compatibility matrix, NeurIPS 2025).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from heterophily.core.sparse import Matrix, Pattern

EPSILON = 1e-12  # lower bound of norms in denominators
MIN_CONFIDENCE = 1e-6  # smaller values are rounding errors of a uniform row


def norm1(rows: Tensor) -> Tensor:
    """Divide each row by its L1 norm. Rows of zeros stay zero."""
    return rows / rows.abs().sum(dim=1, keepdim=True).clamp_min(EPSILON)


def doubly_stochastic(counts: Tensor, *, n_iterations: int = 1000, tolerance: float = 1e-9) -> Tensor:
    """Return the symmetric matrix with row and column sums of 1 that scales rows and columns of C + Cᵀ, (K, K).

    These are the iterations of Sinkhorn and Knopp. Zeros count as 1e-7, so that every class has a neighbor.
    """
    matrix = (counts + counts.T).double().clamp_min(1e-7)
    for _ in range(n_iterations):
        last, matrix = matrix, matrix / matrix.sum(dim=0)
        matrix = matrix / matrix.sum(dim=1, keepdim=True)
        if float((matrix - last).abs().max()) < tolerance:
            break
    return ((matrix + matrix.T) / 2).to(counts.dtype)


def neighbor_counts(adjacency: Pattern, labels: Tensor, n_classes: int) -> Tensor:
    """A C: the number of neighbors of each class, (N, K). Neighbors with unknown labels are ignored."""
    classes = labels[adjacency.indices.long()]
    known = classes >= 0
    codes = adjacency.rows.long()[known] * n_classes + classes[known]
    counts = torch.bincount(codes, minlength=len(labels) * n_classes)
    return counts.reshape(len(labels), n_classes)


def semantic_neighborhoods(adjacency: Pattern, labels: Tensor, n_classes: int) -> Tensor:
    """C_nb = norm1(A C), (N, K): the class fractions among labeled neighbors, zero without any."""
    return norm1(neighbor_counts(adjacency, labels, n_classes).double())


def observed_compatibility(adjacency: Pattern, labels: Tensor, n_classes: int) -> Tensor:
    """M = norm1(Cᵀ C_nb), (K, K): each labeled node that has neighbors has the same weight."""
    neighborhoods = semantic_neighborhoods(adjacency, labels, n_classes)
    known = labels >= 0
    sums = torch.zeros(n_classes, n_classes, dtype=torch.double, device=labels.device)
    return norm1(sums.index_add_(0, labels[known], neighborhoods[known]))


def directed_compatibility(adjacency: Pattern, labels: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """Return M of incoming and M of outgoing edges, (K, K) each, without self-loops; A_ij = 1 for an edge i → j.

    Examples
    --------
    >>> cycle = Pattern.from_edges([0, 1, 2], [1, 2, 0], shape=(3, 3))
    >>> incoming, outgoing = directed_compatibility(cycle, torch.tensor([0, 1, 2]), 3)
    >>> outgoing[0].tolist(), incoming[0].tolist()
    ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    """
    out = adjacency.without_diagonal()
    return observed_compatibility(out.T, labels, n_classes), observed_compatibility(out, labels, n_classes)


def edge_compatibility(adjacency: Pattern, labels: Tensor, n_classes: int) -> Tensor:
    """norm1(Cᵀ A C), (K, K): each edge between labeled nodes has the same weight, unlike in M."""
    counts = neighbor_counts(adjacency, labels, n_classes).double()
    known = labels >= 0
    sums = torch.zeros(n_classes, n_classes, dtype=torch.double, device=labels.device)
    return norm1(sums.index_add_(0, labels[known], counts[known]))


def weighted_compatibility(sums: Tensor, labels: Tensor) -> Tensor:
    """M̃ = (CᵀC)⁻¹ Cᵀ (Ȧ C), (K, K): the weight that a node of class i gives to all its messages from class j.

    Ȧ (N, N) contains the weights with which a network aggregates messages. Entries of Ȧ and M̃ may be negative, and
    rows need not sum to 1. M̃ is the identity for Ȧ = I, M for the mean over neighbors, R, and I - M for I - R.

    Parameters
    ----------
    sums
        Ȧ C, the total weight of each class in the messages of a node, (N, K). Unlabeled senders are ignored.
    labels
        Classes of the receivers, (N,), with -1 for nodes to ignore.
    """
    known, n_classes = labels >= 0, sums.shape[1]
    totals = torch.zeros(n_classes, n_classes, dtype=torch.double, device=labels.device)
    totals.index_add_(0, labels[known], sums[known].double())
    sizes = torch.bincount(labels[known], minlength=n_classes)
    return totals / sizes.clamp_min(1).unsqueeze(1)


def cmd(matrix: Tensor) -> float:
    """CMD(M) = 1/(K(K-1)) Σ_(i≠j) ‖M_i - M_j‖₁, the mean L1 distance between different rows, without empty rows.

    CMD(I) = 2, and 0 means that all rows are equal. Of a matrix with rows that sum to 1, the largest value is 2.
    """
    rows = matrix[matrix.abs().sum(dim=1) > 0].double()
    if len(rows) < 2:
        return 0.0
    return float(torch.cdist(rows, rows, p=1).sum() / (len(rows) * (len(rows) - 1)))


def similarity(matrix: Tensor) -> Tensor:
    """Cosine similarity of the rows of M, (K, K). Rows of zeros have similarity zero."""
    unit = matrix / matrix.norm(dim=1, keepdim=True).clamp_min(EPSILON)
    return unit @ unit.T


def discriminability(matrix: Tensor) -> float:
    """1 - mean cosine similarity of two different rows of M, without rows of zeros.

    It is 1 if no two classes have neighbors of the same class (M is a permutation, possibly the identity)
    and 0 if all classes have the same neighborhood, so that aggregation is not informative. A high value
    does not require homophily, which is the main point of the paper. The discrimination loss of CMGNN
    increases it, with learned instead of one-hot prototypes.
    """
    rows = matrix[matrix.abs().sum(dim=1) > 0]
    if len(rows) < 2:
        return 0.0
    similarities = similarity(rows)
    off_diagonal = similarities.sum() - similarities.diagonal().sum()
    return float(1 - off_diagonal / (len(rows) * (len(rows) - 1)))


def neighborhood_overlap(adjacency: Pattern, labels: Tensor, n_classes: int, *, among: Tensor | None = None) -> Tensor:
    """Return the overlap of the semantic neighborhoods of every two classes, (K, K), from 0 to 1.

    The nodes of classes a and b are projected on the line through their means, M_a - M_b. With the
    two distribution functions F on that line, the overlap is 1 - max_t |F_a(t) - F_b(t)|. The error of the
    best threshold is half of the overlap, so 1 means that neighborhoods do not distinguish the classes.
    With a mask `among`, only its nodes are compared, along the lines of all nodes.
    """
    neighborhoods = semantic_neighborhoods(adjacency, labels, n_classes)
    means = observed_compatibility(adjacency, labels, n_classes)
    nonempty = neighborhoods.sum(dim=1) > 0
    nonempty = nonempty if among is None else nonempty & among
    members = [neighborhoods[nonempty & (labels == k)] for k in range(n_classes)]
    overlap = torch.ones(n_classes, n_classes, dtype=torch.double)
    for a in range(n_classes):
        for b in range(a):
            line = means[a] - means[b]
            overlap[a, b] = overlap[b, a] = 1 - _largest_gap(members[a] @ line, members[b] @ line)
    return overlap


def _largest_gap(left: Tensor, right: Tensor) -> float:
    if not len(left) or not len(right):
        return 0.0
    # After the projection, equal neighborhoods may differ in the last bits.
    left, right = (side.round(decimals=9).sort().values for side in (left, right))
    points = torch.cat([left, right])
    shares = [torch.searchsorted(side, points, right=True) / len(side) for side in (left, right)]
    return float((shares[0] - shares[1]).abs().max())


def neighborhood_accuracy(adjacency: Pattern, labels: Tensor, n_classes: int) -> tuple[float, float]:
    """Return how often the neighbors' classes predict a node's class, and the fraction of the largest class.

    The prediction for a labeled node is argmax_k log π_k + Σ_j n_ij log P_kj, where n_ij is the number of
    its neighbors of class j, P_kj is the fraction of class j among the neighbors of class k without those
    of the node, and π_k is the fraction of the other nodes in class k. No aggregation of true labels does
    better if neighbors are sampled independently from M. Unlike a mean of M's rows, it accounts for the
    number of neighbors that are available to distinguish similar rows.
    """
    sizes = torch.bincount(labels[labels >= 0], minlength=n_classes).double()
    correct = correct_predictions([adjacency], labels, n_classes)
    return float(correct.double().mean()), float(sizes.max() / sizes.sum())


def correct_predictions(adjacencies: Sequence[Pattern], labels: Tensor, n_classes: int) -> Tensor:
    """Return whether the classes of all kinds of neighbors together predict the class of each labeled node.

    The kinds of neighbors, such as incoming and outgoing edges, are independent given the class: their evidence
    Σ_j n_ij log P_kj is added. See `neighborhood_accuracy`.
    """
    classes = labels[labels >= 0]
    sizes, nodes = torch.bincount(classes, minlength=n_classes).double(), torch.arange(len(classes))
    prior = sizes.log().repeat(len(classes), 1)
    prior[nodes, classes] = (sizes[classes] - 1).log()
    scores = prior
    for adjacency in adjacencies:
        scores = _evidence(adjacency, labels, n_classes) + scores
    return scores.argmax(dim=1) == classes


def _evidence(adjacency: Pattern, labels: Tensor, n_classes: int) -> Tensor:
    """Return Σ_j n_ij log P_kj of the labeled nodes, (n, K), where P_kj excludes the node itself."""
    known = labels >= 0
    counts = neighbor_counts(adjacency, labels, n_classes)[known].double()
    classes = labels[known]
    totals = torch.zeros(n_classes, n_classes, dtype=torch.double).index_add_(0, classes, counts)
    evidence, nodes = counts @ _log_shares(totals).T, torch.arange(len(classes))
    evidence[nodes, classes] = (counts * _log_shares(totals[classes] - counts)).sum(dim=1)
    return evidence


def _log_shares(totals: Tensor) -> Tensor:
    smoothed = totals + 1  # so that unobserved pairs of classes stay possible
    return (smoothed / smoothed.sum(dim=1, keepdim=True)).log()


def confidence(soft: Tensor) -> Tensor:
    """g_i = log K - H(Ĉ_i), (N,): 0 for a uniform row, log K for a one-hot row."""
    entropy = -(soft * (soft + 1e-8).log()).sum(dim=1)
    gain = math.log(soft.shape[1]) - entropy
    return torch.where(gain < MIN_CONFIDENCE, 0.0, gain)


def degree_weights(degrees: Tensor, n_classes: int, *, rule: str = "three_branches") -> Tensor:
    """w_i = d_i/2K up to K neighbors, 0.25 + d_i/4K up to 3K, else 1, (N,).

    Rule `overwritten` applies the second branch to all nodes up to 3K, as the reference implementation does.
    """
    d, k = degrees.to(torch.get_default_dtype()), n_classes
    middle = torch.where(d <= 3 * k, 0.25 + d / (4 * k), 1.0)
    return middle if rule == "overwritten" else torch.where(d <= k, d / (2 * k), middle)


def estimated_compatibility(adjacency: Pattern | Matrix, soft: Tensor, weights: Tensor) -> Tensor:
    """M̂ = norm1( norm1((w ⊙ g ⊙ Ĉ)ᵀ) norm1(A (g ⊙ Ĉ)) ), (K, K), from soft labels Ĉ (N, K)."""
    sure = confidence(soft).unsqueeze(1) * soft
    neighborhoods = norm1(adjacency @ sure)
    return norm1(norm1((weights.unsqueeze(1) * sure).T) @ neighborhoods)
