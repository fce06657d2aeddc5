"""The inputs of a classifier: graphs of several libraries, tables, and labels of any type."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
import torch
from numpy.typing import ArrayLike

from heterophily.core.arguments import short_text
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.interop import check_pyg
from heterophily.core.sparse import Matrix
from heterophily.core.structure import encode_structure, with_features
from heterophily.core.types import Array, BoolArray

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

    from heterophily.core.columns import Frame

GraphInput: TypeAlias = Union[Graph, "Data", "nx.Graph[Hashable]", tuple["Frame | None", "Frame"]]
UNKNOWN = -1  # label of a node whose class is unknown


def as_graph(data: GraphInput, *, encoder: FeatureEncoder | None = None) -> Graph:
    """Return a graph of this library from another graph, or from tables of nodes and edges."""
    if isinstance(data, Graph):
        return data
    if isinstance(data, tuple) and len(data) == 2:
        return Graph.from_frames(*data, encoder=encoder)
    if hasattr(data, "edge_index"):
        return Graph.from_pyg(data)
    if hasattr(data, "adj") and hasattr(data, "nodes"):
        return Graph.from_networkx(data)
    check_pyg(data)
    raise HeterophilyError(
        "expected a Graph, a pair of tables (nodes, edges), a Data of PyTorch Geometric, or a NetworkX graph, "
        f"got {type(data).__name__}; create a graph with Graph.from_edges"
    )


def read_input(data: GraphInput, y: ArrayLike | None = None) -> tuple[Graph, Array]:
    """Return a graph with features and the classes as the user wrote them, (K,).

    Labels are those of the graph, or else labels `y` of all nodes.
    """
    graph = with_features(as_graph(data))
    if y is not None:
        return with_labels(graph, y)
    names = graph.class_names
    if names is None:
        return graph, np.arange(graph.n_classes)
    if graph.class_values is not None:
        return graph, np.array(graph.class_values)
    is_networkx = hasattr(data, "adj") and not isinstance(data, Graph)
    values = (value for _, value in data.nodes(data="label")) if is_networkx else ()  # type: ignore[union-attr]
    return graph, own_classes(names, values)


def own_classes(names: Sequence[str], values: Iterable[object]) -> Array:
    """Return class names as the values of the user that have these names, (K,)."""
    own = {str(value).strip(): value for value in values}
    return np.array([own.get(name, name) for name in names])


def with_labels(graph: Graph, y: ArrayLike) -> tuple[Graph, Array]:
    """Return a graph with other labels, and its sorted classes, (K,)."""
    values = label_array(y)
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


def label_array(y: ArrayLike) -> Array:
    """Return labels of any type as an array. A tensor may require gradients."""
    try:
        return np.asarray(y.detach().cpu() if isinstance(y, torch.Tensor) else y)
    except (TypeError, ValueError, RuntimeError) as error:
        raise HeterophilyError(f"y must contain one label per node, got {short_text(y)} ({error})") from error


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
    """Return the graph with classes in the order of `names`.

    Labels of a graph without class names are class numbers. If it has other classes, as after `fit(graph, y)`, its
    labels are unknown.
    """
    if graph.class_names is None and graph.n_classes != len(names):
        labels = graph.labels if graph.n_classes < len(names) else torch.full_like(graph.labels, UNKNOWN)
        return graph.replace(labels=labels, n_classes=len(names))
    if graph.class_names is None or tuple(graph.class_names) == tuple(names):
        return graph
    if unknown := [name for name in graph.class_names if name not in names]:
        raise HeterophilyError(
            f"{graph.name} has the class {unknown[0]!r}, but the classifier was fitted with {', '.join(names)}; "
            "remove this label or fit again"
        )
    numbers = torch.tensor([*(list(names).index(name) for name in graph.class_names), UNKNOWN])
    return graph.replace(labels=numbers[graph.labels], n_classes=len(names), class_names=tuple(names))


def align_features(
    graph: Graph, *, encoder: FeatureEncoder | None, names: Sequence[str] | None, n_features: int
) -> Graph:
    """Return the graph with the features with which a classifier was fitted, or raise an error."""
    if encoder is not None and encoder.structure_ is not None and not graph.n_features:
        return encode_structure(graph, encoder)
    if encoder is None and graph.encoder is not None and graph.n_features:
        raise HeterophilyError(
            f"the columns of {graph.name} were encoded from tables, but the classifier was fitted on a graph without "
            "tables; pass a graph with the same features, or fit again on tables"
        )
    if encoder is not None and graph.encoder != encoder:
        raise HeterophilyError(
            f"the features of {graph.name} were not encoded by the encoder with which the classifier was fitted; pass "
            "the tables as predict((nodes, edges)), or read them with Graph.from_files(path, encoder=model.encoder_)"
        )
    if graph.n_features != n_features:
        raise HeterophilyError(
            f"the classifier was fitted with {n_features} features, but {graph.name} has {graph.n_features}; pass a "
            "graph with the same features"
        )
    return graph if encoder is not None else _align_names(graph, names)


def _align_names(graph: Graph, names: Sequence[str] | None) -> Graph:
    """Return the graph with its features in the order of `names`."""
    own = graph.feature_names
    if (None if own is None else tuple(own)) == (None if names is None else tuple(names)):
        return graph
    if own is None or names is None or set(own) != set(names):
        expected, received = (("features without names" if n is None else ", ".join(n[:8])) for n in (names, own))
        raise HeterophilyError(
            f"the classifier was fitted with {expected}, but {graph.name} has {received}; set feature_names of both "
            "graphs, or of neither"
        )
    order = [list(own).index(name) for name in names]
    features = graph.features
    if isinstance(features, Matrix):
        return graph.replace(features=Matrix.from_scipy(features.to_scipy()[:, order]), feature_names=tuple(names))
    return graph.replace(features=features[:, order], feature_names=tuple(names))
