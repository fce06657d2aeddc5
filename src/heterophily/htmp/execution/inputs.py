"""Graphs from tensors: the inputs of PyTorch and PyTorch Geometric.

Gradients reach features and edge weights. Tensors may change in place between two calls: what was computed from
the edges, features, and weights of the last call is used again only if their contents are equal.
"""

from functools import cached_property
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.interop import check_pyg
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.validation import check_edges, edge_array, feature_matrix, label_vector
from heterophily.core.weights import check_weights, find_entries
from heterophily.htmp.parts import GraphLike

if TYPE_CHECKING:
    from torch_geometric.data import Data


class InputGraph(Graph):
    """A graph of tensors, or the subgraph of a loader, whose nodes have the numbers `n_id` in the full graph."""

    n_id: Tensor | None = None

    @cached_property
    @override
    def structure_checksum(self) -> str:
        """SHA-256 of edges and float32 features, so that graphs are recognized in other data types."""
        x = self.features
        values = (x.values if isinstance(x, Matrix) else x).detach().float()
        plain = x.pattern * values if isinstance(x, Matrix) else values
        return Graph._from_validated({**self._fields, "features": plain}).structure_checksum


class InputGraphs:
    """Creates the graph of each call, and shares what it has in common with the last one."""

    def __init__(self) -> None:
        self._last: tuple[dict[str, Tensor | None], InputGraph] | None = None

    def open(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        *,
        n_classes: int,
        labels: Tensor | None = None,
        n_id: Tensor | None = None,
    ) -> InputGraph:
        """Return the graph of these tensors."""
        check_tensors(x, edge_index, edge_weight)
        contents = {"edge_index": edge_index, "x": x, "edge_weight": edge_weight}
        copies, last = self._last or (dict.fromkeys(contents), None)
        same = {name: _equal(copies[name], tensor) for name, tensor in contents.items()}
        if last is not None and not (same["edge_index"] and last.n_nodes == len(x)):
            last = None
        adjacency = last.adjacency if last else _adjacency(edge_index, len(x)).to(x.device)
        graph = InputGraph(
            adjacency,
            x if x.layout == torch.strided else feature_matrix(x),
            torch.full((len(x),), -1, device=x.device) if labels is None else label_vector(labels).to(x.device),
            n_classes,
            name="the input",
            weights=None if edge_weight is None else sum_of_repeated(adjacency, edge_index, edge_weight),
        )
        graph.__dict__["n_id"] = n_id
        if last is not None:
            _share(last, graph, everything=same["x"] and same["edge_weight"])
        self._last = {name: _copy(tensor) for name, tensor in contents.items()}, graph
        return graph


def _adjacency(edge_index: Tensor, n_nodes: int) -> Pattern:
    pairs = edge_array(edge_index.T)
    check_edges(pairs, n_nodes)
    return Pattern.from_edges(pairs[:, 0], pairs[:, 1], shape=(n_nodes, n_nodes))


def sum_of_repeated(adjacency: Pattern, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
    """Return one weight per entry of the adjacency, the sum over repeated edges, with gradients."""
    entries = find_entries(adjacency, edge_index[0], edge_index[1])
    return edge_weight.new_zeros(adjacency.n_entries).index_add(0, entries, edge_weight)


def check_tensors(x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> None:
    """Raise an error for tensors that are not node features, an edge index, and edge weights."""
    if x.dim() != 2 or not x.is_floating_point():
        raise HeterophilyError(f"x must be a floating-point tensor (N, F), got {_describe(x)}")
    if x.requires_grad and x.layout != torch.strided:
        raise HeterophilyError("no gradient reaches a sparse x; pass x.to_dense() or x.detach()")
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise HeterophilyError(f"edge_index must be an integer tensor (2, E), got {_describe(edge_index)}")
    if edge_weight is None:
        return
    if edge_weight.shape != edge_index.shape[1:] or not edge_weight.is_floating_point():
        raise HeterophilyError(
            f"edge_weight must be a floating-point tensor ({edge_index.shape[1]},) with one number per edge, got "
            f"{_describe(edge_weight)}"
        )
    check_weights(edge_weight.detach())


def node_labels(data: "Data") -> Tensor | None:
    """Return the labels of a PyG `Data` if they are class numbers of its nodes, or else None."""
    y = data.get("y")
    is_class = isinstance(y, Tensor) and not y.is_floating_point() and y.shape == (len(data.x),)
    return y if is_class else None


def labels_of_data(data: "Data") -> Tensor:
    """Return the labels of a PyG `Data`, or raise an error."""
    y = node_labels(data)
    if y is None:
        raise HeterophilyError("the loss needs labels: an integer tensor data.y with one class number per node")
    return y


def check_data(data: "Data") -> None:
    """Raise an error for data of PyTorch Geometric that is not a single graph with features and edges."""
    check_pyg(data)
    for name in ("x", "edge_index"):
        if not isinstance(getattr(data, name, None), Tensor):
            received = type(data).__name__
            raise HeterophilyError(
                f"the network expects a Graph, tensors x and edge_index, or a PyG Data with both, got a {received} "
                f"without the tensor {name}"
            )


def without_gradients(graph: GraphLike) -> GraphLike:
    """Return a graph without gradients, whose cached results are not those of the graph."""
    if not isinstance(graph, InputGraph) or not _needs_gradients(graph):
        return graph
    weights = None if graph.weights is None else graph.weights.detach()
    x = graph.features
    features = x.pattern * x.values.detach() if isinstance(x, Matrix) else x.detach()
    return Graph._from_validated({**graph._fields, "features": features, "weights": weights})


def _needs_gradients(graph: Graph) -> bool:
    return any(part is not None and part.requires_grad for part in (_values(graph), graph.weights))


def graph_of_data(data: "Graph | Data") -> Graph:
    """Return a `Graph` itself, or the graph of a PyG `Data`."""
    if isinstance(data, Graph):
        return data
    check_data(cast("Data", data))
    return Graph.from_pyg(cast("Data", data))


def _describe(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
    return type(value).__name__


def _copy(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach().clone()


def _equal(old: Tensor | None, new: Tensor | None) -> bool:
    if old is None or new is None:
        return old is new
    if (old.shape, old.dtype, old.layout, old.device) != (new.shape, new.dtype, new.layout, new.device):
        return False
    if new.layout == torch.strided:
        return torch.equal(old, new.detach())
    pairs = ((each.detach().to_sparse_coo().coalesce()) for each in (old, new))
    first, second = pairs
    return torch.equal(first.indices(), second.indices()) and torch.equal(first.values(), second.values())


def _share(last: InputGraph, graph: InputGraph, *, everything: bool) -> None:
    """Give a graph with the same edges what was computed for the last one."""
    shared = ["symmetric"]
    if everything:
        shared.append("structure_checksum")
        if not _needs_gradients(graph) and not _needs_gradients(last):
            shared.append("_cache")
    graph.__dict__.update({key: last.__dict__[key] for key in shared if key in last.__dict__})


def _values(graph: Graph) -> Tensor:
    return graph.features.values if isinstance(graph.features, Matrix) else graph.features
