"""Numbers that describe the neighborhood of a node, for models that take a table instead of a graph.

All functions take the symmetrized adjacency without self-loops, A (N, N), and cost O(edges) per column.
P = D⁻¹ A contains the steps of a random walk. Nodes without neighbors get zeros. Labels of -1 are unknown.

Label shares never depend on a node's own label. This is clear for its neighbors, because A has no self-loops.
Longer walks return to the node, so its label is hidden together with the labels of its fold (`out_of_fold`).
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.extmath import randomized_svd

from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.types import FloatArray, IntArray

MAX_COLUMNS = 64  # of features that are used as they are; more columns are projected
STATISTICS = ("mean", "min", "max", "std")
OVERSAMPLING = 10  # additional columns of the subspace iteration
POSITION_STEPS = 12  # of the subspace iteration


def as_scipy(features: Features | Pattern) -> FloatArray | sp.csr_array:
    """Return features or an adjacency as a NumPy array or SciPy matrix of float32."""
    if isinstance(features, Pattern):
        return Matrix(features, torch.ones(features.n_entries, device=features.indices.device)).to_scipy()
    return features.to_scipy() if isinstance(features, Matrix) else features.detach().cpu().numpy()


def feature_projection(features: Features, *, width: int = MAX_COLUMNS, seed: int = 0) -> FloatArray | None:
    """Return the first right singular vectors of X, (F, width), or None if X has at most that many columns.

    X V are the first principal components without centering, so sparse features stay sparse. The signs are
    fixed. A model stores V and applies it to other graphs.
    """
    matrix = as_scipy(features)
    n_components = min(width, *matrix.shape)
    if matrix.shape[1] <= width or not n_components:
        return None
    _, _, vectors = randomized_svd(matrix, n_components, n_iter=4, random_state=seed)
    return np.ascontiguousarray(vectors.T, dtype=np.float32)


def project_features(features: Features, projection: FloatArray | None) -> FloatArray:
    """Return X V, or X itself without a projection, as a dense matrix (N, d) of float32."""
    matrix = as_scipy(features)
    product = matrix if projection is None else matrix @ projection
    return np.asarray(product.toarray() if sp.issparse(product) else product, dtype=np.float32)


def walk_matrix(adjacency: Pattern) -> sp.csr_array:
    """P = D⁻¹ A, the transition probabilities of a random walk, (N, N)."""
    degrees = adjacency.degrees.cpu().numpy()
    inverse = np.divide(1.0, degrees, out=np.zeros(len(degrees)), where=degrees > 0)
    values = np.repeat(inverse, degrees)
    return sp.csr_array((values, *_compressed(adjacency)), shape=adjacency.shape)


def _compressed(adjacency: Pattern) -> tuple[IntArray, IntArray]:
    return adjacency.indices.cpu().numpy(), adjacency.indptr.cpu().numpy()


def neighbor_statistics(adjacency: Pattern, x: FloatArray, *, n_hops: int = 1) -> dict[str, FloatArray]:
    """Return mean, minimum, maximum, and standard deviation of x (N, d) over the neighbors, (N, d) each.

    With two hops, the mean and the deviation are those of the end of a random walk of two steps, and the
    extremes are those of all its ends. The walk may return to the node.
    """
    walk, center = walk_matrix(adjacency), x.mean(axis=0, keepdims=True)
    centered = np.asarray(x - center, dtype=np.float64)
    mean, square, low, high = centered, centered**2, x, x
    for _ in range(n_hops):
        mean, square = walk @ mean, walk @ square
        low, high = (_reduce(adjacency, each, function) for each, function in ((low, np.minimum), (high, np.maximum)))
    std = np.sqrt(np.maximum(square - mean**2, 0.0))
    reached = (adjacency.degrees.cpu().numpy() > 0)[:, None]
    values = (np.where(reached, mean + center, 0.0), low, high, std)
    return {name: value.astype(np.float32) for name, value in zip(STATISTICS, values, strict=True)}


def _reduce(adjacency: Pattern, x: FloatArray, function: np.ufunc) -> FloatArray:
    """Reduce x over the neighbors of each node, column by column, which bounds the memory by the edges."""
    indices, indptr = _compressed(adjacency)
    nonempty = np.flatnonzero(np.diff(indptr))
    result = np.zeros(x.shape, dtype=np.float32)
    if len(nonempty):
        columns = np.ascontiguousarray(x.T, dtype=np.float32)
        for k, column in enumerate(columns):
            result[nonempty, k] = function.reduceat(column[indices], indptr[nonempty])
    return result


def degree_columns(adjacency: Pattern) -> dict[str, FloatArray]:
    """Return log(1 + degree) and its statistics over the neighbors, by name."""
    degrees = np.log1p(adjacency.degrees.cpu().numpy().astype(np.float32))
    statistics = neighbor_statistics(adjacency, degrees[:, None])
    return {"degree": degrees, **{f"{name} degree of neighbors": value[:, 0] for name, value in statistics.items()}}


def spectral_positions(adjacency: Pattern, *, width: int = 16, seed: int = 0) -> FloatArray:
    """Return the first eigenvectors of L = (D + d I)^-½ A (D + d I)^-½, times their eigenvalues, (N, width).

    Connected nodes have similar positions. The mean degree d keeps the eigenvectors from concentrating on a few
    nodes with few neighbors. A subspace iteration with a fixed seed computes them; each column has a mean square
    of its squared eigenvalue, and its entry with the largest absolute value is positive. Positions of different
    graphs cannot be compared. Nodes without neighbors are at zero, and so are missing columns of small graphs.
    """
    n_nodes = adjacency.shape[0]
    positions = np.zeros((n_nodes, width), dtype=np.float32)
    if not adjacency.n_entries:
        return positions
    matrix = _normalized(adjacency, added_degree=adjacency.n_entries / n_nodes)
    values, vectors = _leading_eigenvectors(matrix, min(width, n_nodes), seed=seed)
    scaled = vectors * values * np.sqrt(n_nodes)
    scaled *= np.sign(scaled[np.abs(scaled).argmax(axis=0), np.arange(scaled.shape[1])])
    positions[:, : scaled.shape[1]] = np.where(adjacency.degrees.cpu().numpy()[:, None] > 0, scaled, 0.0)
    return positions


def _normalized(adjacency: Pattern, *, added_degree: float = 0.0) -> sp.csr_array:
    """D^-½ A D^-½, with a number that is added to all degrees in D."""
    degrees = adjacency.degrees.cpu().numpy() + added_degree
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
    return sp.csr_array(sp.diags_array(root) @ as_scipy(adjacency) @ sp.diags_array(root))


def _leading_eigenvectors(matrix: sp.csr_array, count: int, *, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a symmetric matrix with eigenvalues in [-1, 1], and their vectors."""
    n_columns = min(count + OVERSAMPLING, matrix.shape[0])
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[0], n_columns))
    for _ in range(POSITION_STEPS):
        basis, _ = np.linalg.qr(matrix @ basis + basis)  # the shift makes the largest eigenvalues dominate
    values, rotation = np.linalg.eigh(basis.T @ (matrix @ basis))
    order = np.argsort(-values)[:count]
    return values[order], basis @ rotation[:, order]


def one_hot(labels: IntArray, n_classes: int) -> FloatArray:
    """C, with a row of zeros for each unknown label, (N, K)."""
    rows = np.zeros((len(labels), n_classes))
    known = np.flatnonzero(labels >= 0)
    rows[known, labels[known]] = 1.0
    return rows


def label_shares(
    adjacency: Pattern, labels: IntArray, n_classes: int, *, smoothing: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the share of each class among the labeled neighbors, (N, K), and the number of these, (N,).

    share = (A C + s p) / (A C 1 + s) with the class frequencies p. Without labeled neighbors it is p.
    """
    return _smoothed(as_scipy(adjacency) @ one_hot(labels, n_classes), labels, smoothing)


def two_hop_label_shares(
    adjacency: Pattern, labels: IntArray, n_classes: int, *, smoothing: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return smoothed shares of the classes at the end of a walk of two steps, (N, K), and their number, (N,).

    Each of a node's neighbors has the same weight: A P C. Use `out_of_fold` to hide the node's own label.
    """
    counts = as_scipy(adjacency) @ (walk_matrix(adjacency) @ one_hot(labels, n_classes))
    return _smoothed(counts, labels, smoothing)


def propagated_labels(
    adjacency: Pattern,
    labels: IntArray,
    n_classes: int,
    *,
    restart: float = 0.1,
    n_steps: int = 10,
    smoothing: float = 1e-6,
) -> FloatArray:
    """Return label propagation, (N, K): F ← (1 - r) S F + r C with S = D^-½ A D^-½, as shares of each row.

    Use `out_of_fold` to hide the node's own label. Rows that no label reaches contain the class frequencies, or
    zeros without smoothing.
    """
    step, start = _normalized(adjacency), one_hot(labels, n_classes)
    state = start
    for _ in range(n_steps):
        state = (1 - restart) * (step @ state) + restart * start
    shares, _ = _smoothed(state, labels, smoothing)
    return shares


def _smoothed(counts: FloatArray, labels: IntArray, smoothing: float) -> tuple[FloatArray, FloatArray]:
    frequencies = one_hot(labels, counts.shape[1]).sum(axis=0)
    prior = frequencies / max(frequencies.sum(), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    shares = (counts + smoothing * prior) / np.maximum(total + smoothing, 1e-12)
    return shares.astype(np.float32), total[:, 0].astype(np.float32)


def make_folds(labels: IntArray, *, n_folds: int = 5, seed: int = 0) -> IntArray:
    """Return a fold number for each node, (N,): stratified for labeled nodes, and -1 for all others."""
    folds = np.full(len(labels), -1, dtype=np.int64)
    generator = np.random.default_rng(seed)
    known = np.flatnonzero(labels >= 0)
    shuffled = generator.permutation(known)
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds[by_class] = np.arange(len(by_class)) % n_folds
    return folds


def out_of_fold(compute: Callable[[IntArray], FloatArray], labels: IntArray, folds: IntArray) -> FloatArray:
    """Return rows of `compute(labels)` that do not depend on the node's own label, nor on others of its fold.

    Nodes with fold -1 have no label and see all labels.
    """
    result = compute(labels)
    for fold in range(int(folds.max(initial=-1)) + 1):
        members = folds == fold
        result[members] = compute(np.where(members, -1, labels))[members]
    return result
