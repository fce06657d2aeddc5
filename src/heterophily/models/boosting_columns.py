"""The table of the method `boosting`: one row per node, with columns that describe its neighborhood.

The first columns describe features and degrees. They can be computed for every graph. The remaining columns,
positions and label shares, exist only for the graph with which the trees were trained. The label shares use only the
labels of training nodes, and never a node's own label.
"""

from functools import partial

import numpy as np

from heterophily.core import neighborhood as nb
from heterophily.core.graph import Graph
from heterophily.core.sparse import Pattern
from heterophily.core.types import FloatArray, IntArray

N_FOLDS = 10  # in which training nodes hide their labels from each other


def inductive_columns(
    graph: Graph, projection: FloatArray | None, *, n_hops: int, statistics: tuple[str, ...]
) -> FloatArray:
    """Return features, their statistics over neighbors, and degrees, (N, d)."""
    x, adjacency = nb.project_features(graph.features, projection), graph.symmetric
    blocks = [x]
    for hop in range(1, n_hops + 1):
        columns = nb.neighbor_statistics(adjacency, x, n_hops=hop)
        blocks += [columns[name] for name in statistics]
    degrees = np.stack(list(nb.degree_columns(adjacency).values()), axis=1)
    return np.concatenate([*blocks, degrees], axis=1)


def label_columns(adjacency: Pattern, labels: IntArray, n_classes: int, *, seed: int) -> FloatArray:
    """Return label shares of neighbors, of walks of two steps, and of label propagation, (N, d).

    Labels of -1 are unknown. Shares without any label are missing. A node's own label is never used: walks may
    return to the node, so the labels of a fold are hidden from all of its nodes.
    """
    folds = nb.make_folds(labels, n_folds=N_FOLDS, seed=seed)
    compute = [partial(function, adjacency, n_classes=n_classes) for function in (_two_hop_shares, _propagated)]
    blocks = [_one_hop_shares(adjacency, labels, n_classes=n_classes)]
    blocks += [nb.out_of_fold(function, labels, folds) for function in compute]
    return np.concatenate(blocks, axis=1)


def _one_hop_shares(adjacency: Pattern, labels: IntArray, *, n_classes: int) -> FloatArray:
    shares, counts = nb.label_shares(adjacency, labels, n_classes, smoothing=0.0)
    return np.column_stack([_known(shares), np.log1p(counts)])


def _two_hop_shares(adjacency: Pattern, labels: IntArray, *, n_classes: int) -> FloatArray:
    shares, counts = nb.two_hop_label_shares(adjacency, labels, n_classes, smoothing=0.0)
    return np.column_stack([_known(shares), np.log1p(counts)])


def _propagated(adjacency: Pattern, labels: IntArray, *, n_classes: int) -> FloatArray:
    return _known(nb.propagated_labels(adjacency, labels, n_classes, smoothing=0.0))


def _known(shares: FloatArray) -> FloatArray:
    """Return shares of which the first of two is redundant, with missing values where no label is known."""
    result = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, np.nan).astype(np.float32)
    return result[:, 1:] if shares.shape[1] == 2 else result
