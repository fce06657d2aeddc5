"""The inputs of a classifier: graphs of several libraries, and labels of any type."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
import torch
from numpy.typing import ArrayLike

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Array, BoolArray

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

GraphInput: TypeAlias = Union[Graph, "Data", "nx.Graph[Hashable]"]
UNKNOWN = -1  # label of a node whose class is unknown


def as_graph(data: GraphInput) -> Graph:
    """Return a graph of this library from a graph of this or another library."""
    if isinstance(data, Graph):
        return data
    if hasattr(data, "edge_index"):
        return Graph.from_pyg(data)
    if hasattr(data, "adj") and hasattr(data, "nodes"):
        return Graph.from_networkx(data)
    raise HeterophilyError(
        "expected a Graph, a Data of PyTorch Geometric, or a NetworkX graph, "
        f"got {type(data).__name__}; create a graph with Graph.from_edges"
    )


def read_input(data: GraphInput, y: ArrayLike | None = None) -> tuple[Graph, Array]:
    """Return a graph and the classes as the user wrote them, (K,), from the graph or from labels `y` of all nodes."""
    graph = as_graph(data)
    if y is not None:
        return with_labels(graph, y)
    names = graph.class_names
    if names is None:
        return graph, np.arange(graph.n_classes)
    values = [] if isinstance(data, Graph) or hasattr(data, "edge_index") else (v for _, v in data.nodes(data="label"))
    return graph, own_classes(names, values)


def own_classes(names: Sequence[str], values: Iterable[object]) -> Array:
    """Return class names as the values of the user that have these names, (K,)."""
    own = {str(value).strip(): value for value in values}
    return np.array([own.get(name, name) for name in names])


def with_labels(graph: Graph, y: ArrayLike) -> tuple[Graph, Array]:
    """Return a graph with other labels, and its sorted classes, (K,)."""
    values = np.asarray(y)
    if values.shape != (graph.n_nodes,):
        raise HeterophilyError(
            f"y must contain one label for each of the {graph.n_nodes} nodes, got shape {values.shape}; "
            "use None, NaN, or -1 for unknown labels"
        )
    known = known_labels(values)
    try:
        classes, codes = np.unique(np.array(values[known].tolist()), return_inverse=True)
    except (TypeError, ValueError) as error:
        raise HeterophilyError(f"the labels in y must be text or numbers: {error}") from error
    labels = torch.full((graph.n_nodes,), UNKNOWN)
    labels[torch.from_numpy(known)] = torch.from_numpy(codes)
    names = tuple(map(str, classes.tolist()))
    return graph.replace(labels=labels, n_classes=len(classes), class_names=names, splits={}), classes


def known_labels(values: Array) -> BoolArray:
    """Return which labels are known: not None, not NaN, and not -1 among integers."""
    if values.dtype.kind in "iu":
        return np.asarray(values != UNKNOWN)
    if values.dtype.kind == "f":
        return ~np.isnan(values)
    return np.array([not _is_missing(value) for value in values.tolist()], dtype=bool)


def _is_missing(value: object) -> bool:
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")  # of pandas


def align_labels(graph: Graph, names: Sequence[str]) -> Graph:
    """Return the graph with classes in the order of `names`, if both have names that differ."""
    if graph.class_names is None or tuple(graph.class_names) == tuple(names):
        return graph
    if unknown := [name for name in graph.class_names if name not in names]:
        raise HeterophilyError(
            f"{graph.name} has the class {unknown[0]!r}, but the classifier was fitted with {', '.join(names)}; "
            "remove this label or fit again"
        )
    numbers = torch.tensor([*(list(names).index(name) for name in graph.class_names), UNKNOWN])
    return graph.replace(labels=numbers[graph.labels], n_classes=len(names), class_names=tuple(names))
