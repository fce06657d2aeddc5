"""Conversion from and to PyTorch Geometric, NetworkX, and SciPy."""

import warnings
from collections.abc import Hashable
from numbers import Real
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.extras import require
from heterophily.core.graph import PARTS, Graph
from heterophily.core.sparse import Matrix
from heterophily.core.split import splits_from_masks
from heterophily.core.types import FloatArray
from heterophily.core.validation import FeatureInput, LabelInput, SparseInput

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data


UNSUPPORTED = {  # attributes of other classes of PyTorch Geometric
    "node_types": "one type of nodes and edges, got a HeteroData; convert it with data.to_homogeneous()",
    "src": "a fixed graph, got a TemporalData; pass the edges up to a point in time as Data",
}


def check_pyg(data: object) -> None:
    """Raise an error for data of PyTorch Geometric that is not a single graph with one type of nodes."""
    for attribute, expected in UNSUPPORTED.items():
        if getattr(data, attribute, None) is not None:
            raise HeterophilyError(f"expected {expected}")
    if getattr(data, "_slice_dict", None) is not None and getattr(data, "num_graphs", 1) > 1:
        raise HeterophilyError("expected one graph, got a batch of several graphs; pass one graph at a time")


def from_pyg(data: "Data", *, name: str = "graph") -> Graph:
    """Convert a PyTorch Geometric `Data`. Masks of shape (N, S) become S splits."""
    check_pyg(data)
    if not hasattr(data, "edge_index") or not hasattr(data, "get"):
        raise HeterophilyError(f"expected a Data of PyTorch Geometric, got {short_text(data)}")
    if data.edge_index is None:
        raise HeterophilyError("the PyG Data has no edge_index; set data.edge_index, (2, E)")
    edges = data.edge_index if isinstance(data.edge_index, Tensor) else torch.stack(data.edge_index)
    masks = ((part, data.get(f"{part}_mask")) for part in PARTS)
    return Graph.from_edges(
        edges.T,
        data.x,
        weights=pyg_weights(data, len(edges.T)),
        labels=data.y,
        n_nodes=data.get("num_nodes"),
        splits=splits_from_masks({part: m.cpu().numpy().T for part, m in masks if m is not None}),
        name=name,
    )


def pyg_weights(data: "Data", n_edges: int) -> Tensor | None:
    """Return `edge_weight`, or else `edge_attr` if it has one column of positive numbers."""
    weights, attributes = data.get("edge_weight"), data.get("edge_attr")
    if attributes is None or weights is not None:
        return weights
    if attributes.numel() != n_edges:
        _warn("edge_attr of the PyG Data will not be used, because edges can have a weight, but no features")
        return None
    column: Tensor = attributes.reshape(-1)
    if not bool((torch.isfinite(column) & (column > 0)).all()):
        _warn("edge_attr of the PyG Data will not be used, because it is not a positive weight of each edge")
        return None
    _warn("edge_attr of the PyG Data will be used as edge weights; store weights as edge_weight, or remove edge_attr")
    return column


def _warn(message: str) -> None:
    warnings.warn(message, HeterophilyWarning, stacklevel=5)


def to_pyg(graph: Graph, *, sparse: bool | None = None) -> "Data":
    """Convert to a PyTorch Geometric `Data` with sparse or dense `x`. Splits become masks of shape (N, S)."""
    require("conversion to PyTorch Geometric", "torch_geometric")
    from torch_geometric.data import Data

    adjacency = graph.adjacency
    data = Data(
        x=_pyg_features(graph, sparse=graph.is_sparse if sparse is None else sparse),
        edge_index=torch.stack([adjacency.rows.long(), adjacency.indices.long()]),
        y=graph.labels.clone(),
        num_nodes=graph.n_nodes,
    )
    if graph.weights is not None:
        data.edge_weight = graph.weights.clone()
    for part in PARTS if graph.splits else ():
        masks = [split.mask(part, graph.n_nodes) for split in graph.splits.values()]
        data[f"{part}_mask"] = torch.stack(masks, dim=1)
    return data


def _pyg_features(graph: Graph, *, sparse: bool) -> Tensor:
    if not isinstance(graph.features, Matrix):
        return graph.features.to_sparse() if sparse else graph.features.clone()
    if not sparse:
        return graph.features.to_dense()
    matrix = graph.features
    entries = torch.stack([matrix.pattern.rows.long(), matrix.pattern.indices.long()])
    return torch.sparse_coo_tensor(
        entries, matrix.values.clone(), matrix.shape, is_coalesced=True, check_invariants=False
    )


def from_networkx(graph: "nx.Graph[Hashable]", *, label: str = "label", weight: str | None = "weight") -> Graph:
    """Convert a NetworkX graph. Without vectors `x`, all numeric attributes are features, sorted by name."""
    from heterophily.core.labels import encode_classes

    if not hasattr(graph, "adj") or not hasattr(graph, "is_directed"):
        raise HeterophilyError(f"expected a NetworkX graph, got {short_text(graph)}")
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    edges = [(number[u], number[v], w) for u, v, w in graph.edges(data=weight or "", default=1)]
    if not graph.is_directed():
        edges += [(v, u, w) for u, v, w in edges if u != v]
    classes = [graph.nodes[node].get(label) for node in nodes]
    labels, names = encode_classes([None if c is None else str(c) for c in classes])
    return Graph.from_edges(
        [edge[:2] for edge in edges],
        _networkx_features(graph, label),
        weights=[edge[2] for edge in edges],
        labels=labels,
        n_nodes=len(nodes),
        node_ids=[str(node) for node in nodes],
        class_names=names,
        n_classes=len(names),
    )


def _networkx_features(graph: "nx.Graph[Hashable]", label: str) -> FloatArray | None:
    rows = [dict(graph.nodes[node]) for node in graph.nodes]
    vectors = [row["x"] for row in rows if np.ndim(row.get("x", 0)) == 1]
    if vectors:
        if len(vectors) < len(rows) or len(set(map(len, vectors))) > 1:
            raise HeterophilyError(
                'either all nodes or no node must have a vector in attribute "x", all of the same '
                "length; add the missing ones or remove them all"
            )
        return np.array(vectors, dtype=np.float32)
    # NumPy scalars are instances of Real, too.
    names = sorted({k for row in rows for k, v in row.items() if k != label and isinstance(v, Real)})
    for node, row in zip(graph.nodes, rows, strict=True):
        missing = [k for k in names if not isinstance(row.get(k), Real)]
        if missing:
            raise HeterophilyError(f"node {node!r} has no numeric attribute {missing[0]!r}, but other nodes do; set it")
    return np.array([[row[k] for k in names] for row in rows], dtype=np.float32) if names else None


def to_networkx(graph: Graph) -> "nx.DiGraph[Hashable]":
    """Convert to a directed NetworkX graph with node attributes `x` and, if known, `label`."""
    require("conversion to NetworkX", "networkx")
    import networkx as nx

    result: nx.DiGraph[Hashable] = nx.DiGraph(name=graph.name)
    ids = graph.node_ids or range(graph.n_nodes)
    dense = graph.features.to_dense() if isinstance(graph.features, Matrix) else graph.features
    for node, x, label in zip(ids, dense.tolist(), graph.labels.tolist(), strict=True):
        attributes = {"x": x} if x else {}
        if label >= 0:
            attributes["label"] = graph.class_names[label] if graph.class_names else label
        result.add_node(node, **attributes)
    rows, columns = graph.adjacency.rows.tolist(), graph.adjacency.indices.tolist()
    result.add_edges_from((ids[i], ids[j]) for i, j in zip(rows, columns, strict=True))
    if graph.weights is not None:
        weights = zip(result.edges, graph.weights.tolist(), strict=True)
        nx.set_edge_attributes(result, dict(weights), "weight")
    return result


def from_scipy(adjacency: SparseInput, features: FeatureInput = None, *, labels: LabelInput = None) -> Graph:
    """Convert a square SciPy matrix. Its nonzero entries become edges with these weights."""
    if not sp.issparse(adjacency):
        raise HeterophilyError(f"expected a SciPy sparse matrix, got {short_text(adjacency)}")
    entries = sp.coo_array(cast("sp.csr_array", adjacency))
    if entries.shape[0] != entries.shape[1]:
        raise HeterophilyError(f"an adjacency matrix must be square, got {entries.shape}")
    stored = entries.data != 0
    pairs = np.stack([entries.row[stored], entries.col[stored]], axis=1)
    weights = entries.data[stored]
    return Graph.from_edges(pairs, features, weights=weights, labels=labels, n_nodes=entries.shape[0])
