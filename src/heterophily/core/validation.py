"""Validation of graphs, and conversion of the arrays that users pass.

Every message states what was expected, what was received, and what to do next.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.types import Array, IntArray
from heterophily.core.weights import check_weights

if TYPE_CHECKING:
    from heterophily.core.graph import Graph
    from heterophily.core.split import Split

ArrayInput: TypeAlias = ArrayLike | Tensor
LabelInput: TypeAlias = ArrayInput | None
SparseInput: TypeAlias = sp.sparray | sp.spmatrix
FeatureInput: TypeAlias = ArrayInput | Matrix | SparseInput | None
FREE_NODES = 2**20  # nodes that a graph may have, however few edges name them
FREE_CLASSES = 1000  # classes that a graph may have, however few nodes it has
MAX_EXACT = 2.0**53  # below which a float represents every integer
MAX_CLASSES = 10_000  # matrices of classes by classes are dense
ARRAYS = frozenset({"adjacency", "features", "weights"})  # their validation reads every entry


def check_graph(graph: "Graph", *, changed: Collection[str] = ARRAYS) -> None:
    """Raise a `HeterophilyError` if the graph is invalid. Large arrays are checked only if `changed`."""
    n = graph.n_nodes
    if n == 0:
        raise HeterophilyError("the graph has no nodes; pass edges, features, or labels")
    for what, length in (("features", graph.features.shape[0]), ("labels", len(graph.labels))):
        if length != n:
            raise HeterophilyError(f"{what} must have one row per node ({n}), got {length} rows")
    k, f = graph.n_classes, graph.features.shape[1]
    if k > MAX_CLASSES:
        raise HeterophilyError(
            f"a graph may have up to {MAX_CLASSES:,} classes, got {k:,}; use another column as the label, or divide "
            "numbers into classes with label_bins"
        )
    named = {"node_ids": n, "class_names": k, "class_values": k, "feature_names": f}
    for kind, names, size in ((kind, getattr(graph, kind), size) for kind, size in named.items()):
        if names is not None and len(names) != size:
            raise HeterophilyError(f"{kind} must have {size} names, got {len(names)}")
    if "adjacency" in changed:
        _check_pattern("adjacency", graph.adjacency, n)
    if "features" in changed and isinstance(graph.features, Matrix):
        _check_pattern("features", graph.features.pattern, graph.n_features)
    if "features" in changed:
        _check_features(graph)
    if "weights" in changed and graph.weights is not None:
        _check_weights(graph.weights, graph.n_edges)
    _check_labels(graph)
    for name, split in graph.splits.items():
        _check_split(graph, name, split)


def _check_pattern(what: str, pattern: Pattern, n_columns: int) -> None:
    indptr, indices = pattern.indptr, pattern.indices
    ends = int(indptr[0]) == 0 and int(indptr[-1]) == len(indices)
    rising = bool((indptr[1:] >= indptr[:-1]).all())
    inside = not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < n_columns)
    if not (ends and rising and inside and pattern.n_columns == n_columns):
        raise HeterophilyError(
            f"{what} is not a valid compressed matrix with {n_columns} columns; create graphs with Graph.from_edges"
        )


def _check_features(graph: "Graph") -> None:
    values = graph.features.values if isinstance(graph.features, Matrix) else graph.features
    pattern = graph.features.pattern if isinstance(graph.features, Matrix) else None
    if values.dim() != 2 if pattern is None else values.shape != pattern.indices.shape:
        raise HeterophilyError(
            "features must be an (N, F) matrix with one value per stored entry, got values of shape "
            f"{tuple(values.shape)}; create graphs with Graph.from_edges"
        )
    finite = torch.isfinite(values)
    if bool(finite.all()):
        return
    where = (~finite).nonzero()[0]
    node = int(where[0] if pattern is None else pattern.rows[where[0]])
    column = int(where[1] if pattern is None else pattern.indices[where[0]])
    raise HeterophilyError(
        f"features must be finite, but node {node} has {float(values[tuple(where)])} in column "
        f"{column} ({int((~finite).sum())} such values); replace or remove them first"
    )


def _check_weights(weights: Tensor, n_edges: int) -> None:
    if weights.shape != (n_edges,):
        raise HeterophilyError(
            f"weights must have one value per stored edge, ({n_edges},), got shape {tuple(weights.shape)}; "
            "create graphs with Graph.from_edges"
        )
    check_weights(weights)


def _check_labels(graph: "Graph") -> None:
    low, high = int(graph.labels.min()), int(graph.labels.max())
    if low < -1:
        raise HeterophilyError(
            f"labels must be 0, 1, ... or -1 for unknown, got {low} at node "
            f"{int(graph.labels.argmin())}; number the classes from 0"
        )
    if high >= graph.n_classes:
        raise HeterophilyError(
            f"labels must be below n_classes = {graph.n_classes}, got {high} at node "
            f"{int(graph.labels.argmax())}; pass a larger n_classes"
        )


def _check_split(graph: "Graph", name: str, split: "Split") -> None:
    part_of = np.full(graph.n_nodes, "", dtype="U5")
    for part, nodes in split.parts.items():
        ids = nodes.numpy()
        outside = ids[(ids < 0) | (ids >= graph.n_nodes)]
        if len(outside):
            raise HeterophilyError(
                f"split {name!r}: {part} has node {outside[0]}, but nodes are numbered 0 to {graph.n_nodes - 1}"
            )
        if (ids[1:] == ids[:-1]).any():
            raise HeterophilyError(f"split {name!r}: {part} lists a node twice")
        taken = ids[part_of[ids] != ""]
        if len(taken):
            raise HeterophilyError(
                f"split {name!r}: node {taken[0]} is in {part_of[taken[0]]} and in {part} "
                f"({len(taken)} such nodes); the parts must not overlap"
            )
        part_of[ids] = part
        if part != "test" and bool((graph.labels.cpu()[nodes] < 0).any()):
            raise HeterophilyError(f"split {name!r}: {part} has nodes without a label; remove them from the split")
    if len(split.train) == 0:
        raise HeterophilyError(f"split {name!r} has no training nodes")


def check_edges(pairs: IntArray, n_nodes: int) -> None:
    """Raise an error for the first edge (i, j) with an end outside 0, ..., N-1."""
    outside = (pairs < 0) | (pairs >= n_nodes)
    if outside.any():
        edge, end = np.argwhere(outside)[0]
        raise HeterophilyError(
            f"edge {edge} has node {pairs[edge, end]}, but nodes are numbered 0 to {n_nodes - 1}; "
            "renumber the nodes, or pass features, labels, or n_nodes for all of them"
        )


def _array(values: ArrayInput, expected: str) -> Array:
    try:
        if not isinstance(values, Tensor):
            return np.asarray(values)
        plain = values.detach().cpu().to_dense()
        return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    except ValueError as error:
        raise HeterophilyError(f"{expected}, got rows of different lengths ({error})") from error
    except (TypeError, RuntimeError) as error:
        raise HeterophilyError(f"{expected}, got {short_text(values)} ({error})") from error


def edge_array(edges: ArrayInput) -> IntArray:
    """Return edges as (E, 2) node numbers."""
    pairs = _array(edges, "edges must be (E, 2) pairs of node numbers")
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise HeterophilyError(
            f"edges must be (E, 2) pairs of node numbers, got shape {pairs.shape}; transpose a (2, E) edge index first"
        )
    if pairs.dtype.kind not in "iu":
        raise HeterophilyError(
            f"edges must be integer node numbers, got {pairs.dtype}; for string ids, read tables with Graph.from_files"
        )
    return pairs.astype(np.int64)


def feature_matrix(features: FeatureInput) -> Tensor | Matrix:
    """Return features as a float32 copy. Sparse features stay sparse."""
    if isinstance(features, Matrix):
        return features
    if isinstance(features, SparseInput):
        return Matrix.from_scipy(features)
    x = features.detach() if isinstance(features, Tensor) else _dense(features)
    if x.is_complex():
        raise HeterophilyError(
            f"features must be real numbers, got {x.dtype}; pass real and imaginary parts as columns"
        )
    if x.dim() != 2:
        raise HeterophilyError(f"features must be an (N, F) matrix, got shape {tuple(x.shape)}")
    if x.layout != torch.strided:
        rows, columns = x.to_sparse_coo().coalesce().indices().numpy()
        values = x.to_sparse_coo().coalesce().values().numpy()
        return Matrix.from_scipy(sp.coo_array((values, (rows, columns)), shape=tuple(x.shape)))
    return x.to(torch.float32, copy=True)


def _dense(features: ArrayLike | None) -> Tensor:
    try:
        return torch.from_numpy(np.require(features, requirements=["C", "W"]))
    except (TypeError, ValueError) as error:
        raise HeterophilyError(
            f"features must be an (N, F) matrix of numbers ({error}); encode text as numbers first"
        ) from error


def label_vector(labels: ArrayInput) -> Tensor:
    """Return labels as integers, (N,)."""
    y = _array(labels, "labels must be one integer per node")
    y = y.squeeze(1) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1:
        raise HeterophilyError(f"labels must be one integer per node, got shape {y.shape}")
    integral = np.full(y.shape, y.dtype.kind in "iu")
    if y.dtype.kind == "f":
        numbers = y.astype(np.float64)
        integral = (numbers == np.round(numbers)) & (np.abs(numbers) < MAX_EXACT)
    if not integral.all():
        raise HeterophilyError(
            f"labels must be integers, with -1 for unknown, got {y[~integral].tolist()[0]!r}; for "
            "class names, read tables with Graph.from_files or encode them first"
        )
    return torch.from_numpy(y.astype(np.int64))


def weight_vector(weights: ArrayInput, n_edges: int) -> Tensor:
    """Return positive weights as float32, (E,)."""
    values = _array(weights, "weights must be one number per edge")
    values = values.squeeze(1) if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (n_edges,):
        raise HeterophilyError(f"weights must be one number per edge, ({n_edges},), got shape {values.shape}")
    if n_edges and values.dtype.kind not in "biuf":
        raise HeterophilyError(f"weights must be numbers, got {values.dtype}; convert them first")
    result = torch.from_numpy(values.astype(np.float64)).float()  # numbers that are too large become infinite
    check_weights(result)
    return result


def count_nodes(pairs: IntArray, x: Tensor | Matrix | None, y: Tensor | None, n_nodes: int | None) -> int:
    """Return the number of nodes of features, labels, and `n_nodes`, or else of the edges."""
    counts = {
        "features": None if x is None else x.shape[0],
        "labels": None if y is None else len(y),
        "n_nodes": n_nodes,
    }
    given = {what: count for what, count in counts.items() if count is not None}
    if len(set(given.values())) > 1:
        received = ", ".join(f"{what} {count}" for what, count in given.items())
        raise HeterophilyError(f"features, labels, and n_nodes must have the same length, got {received}")
    if given:
        return next(iter(given.values()))
    n = max(int(pairs.max()) + 1, 0) if len(pairs) else 0
    if n > max(FREE_NODES, 100 * len(pairs)):
        raise HeterophilyError(
            f"{len(pairs)} edges with node numbers up to {n - 1} describe a graph of mostly isolated nodes; number the "
            "nodes from 0, or pass features, labels, or n_nodes for all of them"
        )
    return n


def count_classes(labels: Tensor) -> int:
    """Return the number of classes of labels 0, 1, ..., which must not be much larger than their number."""
    n = int(labels.max()) + 1 if len(labels) else 0
    if n > max(FREE_CLASSES, len(labels)):
        raise HeterophilyError(
            f"labels must be 0, 1, ... or -1 for unknown, got {n - 1} at node {int(labels.argmax())} of a graph with "
            f"{len(labels)} nodes; number the classes consecutively, or pass n_classes"
        )
    return n


def node_numbers(nodes: ArrayInput) -> Tensor:
    """Return the node numbers of a mask or a list in ascending order."""
    ids = np.atleast_1d(_array(nodes, "a split needs node numbers or a boolean mask"))
    if ids.dtype == bool:
        ids = ids.nonzero()[0]
    if ids.size and (ids.dtype.kind not in "iu" or ids.ndim > 1):
        raise HeterophilyError(f"a split needs node numbers or a boolean mask, got {ids.dtype}")
    return torch.from_numpy(np.sort(ids.astype(np.int64).reshape(-1)))
