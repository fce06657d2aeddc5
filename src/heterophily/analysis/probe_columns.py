"""The columns from which cheap classifiers predict a node's class: features, neighbors, labels, position.

Symbols: S are the sampled nodes, A_S (n, N) are their rows of the symmetrized adjacency, P = D⁻¹ A, and C (N, K)
are the one-hot labels. All columns cost O(edges).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from heterophily.core.graph import Graph
from heterophily.core.neighborhood import (
    as_scipy,
    degree_columns,
    feature_projection,
    one_hot,
    project_features,
    spectral_positions,
    walk_matrix,
)
from heterophily.core.types import FloatArray, IntArray

MAX_WIDTH = 256  # columns of projected features
MAX_NEIGHBOR_WIDTH = 64  # columns of neighbors' features
MAX_ENTRIES = 2**25  # of a column block of all nodes: 128 MB
POSITION_WIDTH = 16
SMOOTHING = 1.0  # labeled neighbors that the class frequencies count for


@dataclass(frozen=True, eq=False)
class ProbeColumns:
    """Columns of the sampled nodes by kind, and what is needed to compute label columns without some labels."""

    fixed: Mapping[str, FloatArray]  # kind -> (n, d)
    nodes: IntArray  # S
    classes: IntArray  # of S
    n_classes: int
    adjacency: sp.csr_array  # A_S
    walk: sp.csr_array  # P
    counts: FloatArray  # A_S C
    counts_of_two_hops: FloatArray  # A_S P C, without walks that return
    returns: FloatArray  # (A P)_ii of the sampled nodes
    prior: FloatArray  # (K,)

    def has(self, kinds: tuple[str, ...]) -> bool:
        """Return whether a set of columns is defined; without features, neighbors have none either."""
        return "features" in self.fixed or any(kind in ("labels", "position") for kind in kinds)

    def label_columns(self, hidden: IntArray) -> FloatArray:
        """Return shares of the classes one and two hops away, without the labels of some sampled nodes.

        Parameters
        ----------
        hidden
            Positions in the sample whose labels are hidden. A node's own label is always hidden.
        """
        own = one_hot(self.classes[hidden], self.n_classes)
        labels = sp.csr_array(
            (np.ones(len(hidden)), (self.nodes[hidden], self.classes[hidden])),
            shape=(self.walk.shape[0], self.n_classes),
        )
        one = self.counts - (self.adjacency @ labels).toarray()
        two = self.counts_of_two_hops - (self.adjacency @ (self.walk @ labels)).toarray()
        two[hidden] += self.returns[hidden, None] * own  # their own labels were subtracted twice
        return np.hstack([self._shares(one), self._shares(two), np.log1p(one.sum(axis=1, keepdims=True))])

    def _shares(self, counts: FloatArray) -> FloatArray:
        total = counts.sum(axis=1, keepdims=True)
        return np.asarray((counts + SMOOTHING * self.prior) / (total + SMOOTHING))


def probe_columns(graph: Graph, nodes: IntArray) -> ProbeColumns:
    """Compute all columns of the sampled nodes."""
    adjacency, labels = graph.symmetric, graph.labels.numpy()
    walk, rows = walk_matrix(adjacency), sp.csr_array(as_scipy(adjacency))[nodes]
    known = one_hot(labels, graph.n_classes)
    returns = rows @ (1 / np.maximum(adjacency.degrees.numpy(), 1))
    two_hops = rows @ (walk @ known) - returns[:, None] * known[nodes]
    return ProbeColumns(
        fixed=_fixed_columns(graph, nodes, walk),
        nodes=nodes,
        classes=labels[nodes],
        n_classes=graph.n_classes,
        adjacency=rows,
        walk=walk,
        counts=rows @ known,
        counts_of_two_hops=two_hops,
        returns=returns,
        prior=known.sum(axis=0) / known.sum(),
    )


def _fixed_columns(graph: Graph, nodes: IntArray, walk: sp.csr_array) -> dict[str, FloatArray]:
    degrees = degree_columns(graph.symmetric)
    positions = spectral_positions(graph.symmetric, width=POSITION_WIDTH)[nodes]
    columns = {"position": np.column_stack([positions, *(column[nodes] for column in degrees.values())])}
    if not graph.n_features:
        return columns
    width = max(1, min(MAX_WIDTH, MAX_ENTRIES // max(graph.n_nodes, 1)))
    x = project_features(graph.features, feature_projection(graph.features, width=width))
    columns["features"] = x[nodes]
    one = walk @ x[:, :MAX_NEIGHBOR_WIDTH]
    columns["neighbors"], columns["two hops"] = one[nodes], walk[nodes] @ one
    columns["average"] = _averaged(graph, x, nodes)
    return columns


def _averaged(graph: Graph, x: FloatArray, nodes: IntArray) -> FloatArray:
    """Return the input of the second layer of a linear GCN, S° S° X, with S° = D°^-½ (A + I) D°^-½."""
    adjacency = as_scipy(graph.symmetric)
    scale = sp.diags_array(1 / np.sqrt(adjacency.sum(axis=1) + 1))
    mean = sp.csr_array(scale @ (adjacency + sp.eye_array(graph.n_nodes)) @ scale)
    return np.asarray(mean[nodes] @ (mean @ x))
