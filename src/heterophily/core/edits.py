"""Changed copies of graphs: parts, disjoint unions, and graphs without some edges or with other features.

Every function takes O(edges) and returns a graph whose symmetrized edges are already computed.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.types import IntArray
from heterophily.core.weights import sum_repeated


def replace_features(graph: Graph, features: Features) -> Graph:
    """Return a graph with other features, (N, F)."""
    return _share(graph.replace(features=features), graph, graph.symmetric, graph.symmetric_weights)


def _share(copy: Graph, graph: Graph, symmetric: Pattern, weights: Tensor | None) -> Graph:
    """Set the symmetrized edges of a copy, which is directed if the graph is."""
    copy.__dict__.update(symmetric=symmetric, symmetric_weights=weights, is_directed=graph.is_directed)
    return copy


def remove_edges(graph: Graph, node: int, neighbors: Tensor) -> Graph:
    """Return a graph without the edges between a node and some of its neighbors, in both directions.

    Examples
    --------
    >>> graph = Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    >>> remove_edges(graph, 0, torch.tensor([2])).adjacency.indices.tolist()
    [1, 2]
    """
    is_removed = torch.zeros(graph.n_nodes, dtype=torch.bool)
    is_removed[neighbors] = True

    def keep(pattern: Pattern, weights: Tensor | None) -> tuple[Pattern, Tensor | None]:
        rows, columns = pattern.rows, pattern.indices
        is_edge = ((rows == node) & is_removed[columns.long()]) | ((columns == node) & is_removed[rows.long()])
        return keep_entries(pattern, ~is_edge), None if weights is None else weights[~is_edge]

    adjacency, weights = keep(graph.adjacency, graph.weights)
    copy = graph.replace(adjacency=adjacency, weights=weights)
    return _share(copy, graph, *keep(graph.symmetric, graph.symmetric_weights))


def keep_entries(pattern: Pattern, mask: Tensor) -> Pattern:
    """Return a pattern with only the entries in the mask, (m,)."""
    counts = torch.bincount(pattern.rows[mask].long(), minlength=pattern.shape[0])
    indptr = torch.zeros_like(pattern.indptr)
    indptr[1:] = counts.cumsum(0)
    return Pattern(indptr, pattern.indices[mask], pattern.n_columns)


def remove_all_edges(graph: Graph) -> Graph:
    """Return a graph with the same nodes and without edges."""
    empty = Pattern.from_edges([], [], shape=(graph.n_nodes, graph.n_nodes))
    weights = None if graph.weights is None else graph.weights[:0]
    return _share(graph.replace(adjacency=empty, weights=weights), graph, empty, weights)


def rewire_edges(graph: Graph, generator: np.random.Generator) -> Graph:
    """Return a graph with random edges in which nodes have almost the same degrees.

    Each edge receives the second end of another one. Loops are lost, and repeated edges, which are few, are stored
    once with the sum of their weights.
    """
    rows, columns = graph.adjacency.rows.numpy(), graph.adjacency.indices.numpy()
    used = rows != columns if graph.is_directed else rows < columns
    weights = np.ones(len(rows), dtype=np.float32) if graph.weights is None else graph.weights.numpy()
    ends, weights = np.stack([rows[used], columns[used]]), weights[used]
    if not graph.is_directed:
        ends = np.where(generator.random(ends.shape[1]) < 0.5, ends[::-1], ends)
    ends[1] = generator.permutation(ends[1])
    is_kept = ends[0] != ends[1]
    pairs, weights = ends.T[is_kept].astype(np.int64), weights[is_kept]
    if not graph.is_directed:
        pairs, weights = np.concatenate([pairs, pairs[:, ::-1]]), np.concatenate([weights, weights])
    adjacency = Pattern.from_edges(*pairs.T, shape=(graph.n_nodes, graph.n_nodes))
    summed = None if graph.weights is None else sum_repeated(adjacency, pairs, torch.from_numpy(weights))
    return graph.replace(adjacency=adjacency, weights=summed)


def nodes_within(pattern: Pattern, node: int, n_hops: int) -> Tensor:
    """Return the nodes within some hops of a node, in ascending order.

    Examples
    --------
    >>> path = Pattern.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2], shape=(4, 4))
    >>> nodes_within(path, 0, 2)
    tensor([0, 1, 2])
    """
    reached = torch.zeros(pattern.shape[0], dtype=torch.bool)
    reached[node] = True
    for _ in range(n_hops):
        reached[pattern.indices[reached[pattern.rows.long()]].long()] = True
    return reached.nonzero().squeeze(1)


def subgraph(graph: Graph, nodes: Tensor) -> Graph:
    """Return the part of a graph with some nodes, in ascending order, and the edges between them."""
    inner = Matrix.from_scipy(graph.to_scipy()[nodes.numpy()][:, nodes.numpy()])
    copy = Graph(
        inner.pattern,
        select_rows(graph.features, nodes),
        graph.labels[nodes],
        graph.n_classes,
        name=graph.name,
        class_names=graph.class_names,
        feature_names=graph.feature_names,
        weights=None if graph.weights is None else inner.values,
    )
    return _share(copy, graph, copy.symmetric, copy.symmetric_weights)


def select_rows(features: Features, nodes: Tensor) -> Features:
    """Return some rows of X, sparse if X is."""
    return Matrix.from_scipy(features.to_scipy()[nodes.numpy()]) if isinstance(features, Matrix) else features[nodes]


def disjoint_union(graphs: Sequence[Graph]) -> Graph:
    """Return one graph with the nodes and edges of several graphs, in this order.

    Examples
    --------
    >>> pair = Graph.from_edges([(0, 1)])
    >>> disjoint_union([pair, pair]).adjacency.indices.tolist()
    [1, 3]
    """
    first = graphs[0]
    copy = Graph(
        _diagonal_blocks([graph.adjacency for graph in graphs]),
        _stack_features([graph.features for graph in graphs]),
        torch.cat([graph.labels for graph in graphs]),
        first.n_classes,
        name=first.name,
        class_names=first.class_names,
        feature_names=first.feature_names,
        weights=_join([graph.weights for graph in graphs]),
    )
    symmetric = _diagonal_blocks([graph.symmetric for graph in graphs])
    return _share(copy, first, symmetric, _join([graph.symmetric_weights for graph in graphs]))


def _join(weights: Sequence[Tensor | None]) -> Tensor | None:
    given = [each for each in weights if each is not None]
    return torch.cat(given) if given else None


def _stack_features(features: Sequence[Features]) -> Features:
    sparse = [x for x in features if isinstance(x, Matrix)]
    if not sparse:
        return torch.cat([x for x in features if isinstance(x, torch.Tensor)])
    pattern = _stacked([x.pattern for x in sparse], [0] * len(sparse), sparse[0].shape[1])
    return pattern * torch.cat([x.values for x in sparse])


def _diagonal_blocks(patterns: Sequence[Pattern]) -> Pattern:
    ends: IntArray = np.cumsum([pattern.n_columns for pattern in patterns])
    return _stacked(patterns, [0, *ends[:-1].tolist()], int(ends[-1]))


def _stacked(patterns: Sequence[Pattern], shifts: Sequence[int], n_columns: int) -> Pattern:
    """Return the rows of several patterns, with shifted columns."""
    counts = torch.cat([pattern.degrees for pattern in patterns])
    indptr = torch.zeros(len(counts) + 1, dtype=torch.long)
    indptr[1:] = counts.cumsum(0)
    columns = [pattern.indices + shift for pattern, shift in zip(patterns, shifts, strict=True)]
    dtype = patterns[0].indptr.dtype
    return Pattern(indptr.to(dtype), torch.cat(columns).to(dtype), n_columns)
