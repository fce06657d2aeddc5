"""Modules that are called with a graph, with tensors, or with the `Data` of PyTorch Geometric."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast

import torch
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.interop import pyg_weights
from heterophily.htmp.execution.batch import Batch
from heterophily.htmp.execution.inputs import InputGraphs, check_data, node_labels
from heterophily.htmp.parts import Context, GraphLike

if TYPE_CHECKING:
    from torch_geometric.data import Data

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound="GraphModule")


def in_own_dtype(method: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """Let a method create all numbers in the data type of the weights, which `.double()` changes.

    `torch.autocast` has no effect inside, because it does not know the sparse kernels.
    """

    @wraps(method)
    def call(module: M, /, *args: P.args, **kwargs: P.kwargs) -> R:
        device = next((p.device.type for p in module.parameters()), "cpu")
        if torch.is_autocast_enabled(device):
            with torch.autocast(device, enabled=False):
                return call(module, *args, **kwargs)
        own, default = module.dtype, torch.get_default_dtype()
        if own == default:
            return method(module, *args, **kwargs)
        torch.set_default_dtype(own)
        try:
            return method(module, *args, **kwargs)
        finally:
            torch.set_default_dtype(default)

    return call


class GraphModule(nn.Module):
    """A module that is called with a graph. Subclasses implement `run`."""

    n_classes = 0

    def __init__(self) -> None:
        super().__init__()
        self.context: Context | None = None  # of the last forward pass
        self.inputs = InputGraphs()

    def __getstate__(self) -> dict[str, object]:
        """Return everything but what the last forward pass left, because copies have no forward pass yet."""
        return {**self.__dict__, "context": None, "inputs": InputGraphs()}

    @property
    def dtype(self) -> torch.dtype:
        """The data type of the weights."""
        return next((p.dtype for p in self.parameters()), torch.get_default_dtype())

    def forward(
        self,
        graph: "GraphLike | Context | Tensor | Data",
        edge_index: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Return one row per node: the logits (N, K) of a network.

        Parameters
        ----------
        graph
            A graph, a batch, features x (N, F), or a `Data` of PyTorch Geometric. Subgraphs of its loaders contain
            the numbers `n_id` of their nodes. A `Context` continues a forward pass.
        edge_index, edge_weight
            Edges from source to target, (2, E), and their weights, (E,), if the first argument is x.
        """
        if torch.compiler.is_dynamo_compiling():
            from heterophily.htmp.execution.eager import run_eagerly

            return run_eagerly(self, graph, edge_index, edge_weight)
        return self.evaluate(graph, edge_index, edge_weight)

    @in_own_dtype
    def evaluate(
        self, graph: "GraphLike | Context | Tensor | Data", edge_index: Tensor | None, edge_weight: Tensor | None
    ) -> Tensor:
        """Return the output for the arguments of `forward`."""
        return self.run(graph if isinstance(graph, Context) else self.as_graph(graph, edge_index, edge_weight))

    def run(self, graph: GraphLike | Context) -> Tensor:
        """Return the output for a graph, or for a pass that continues from a `Context`."""
        raise NotImplementedError

    def as_graph(
        self, graph: "GraphLike | Tensor | Data", edge_index: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> GraphLike:
        """Return the graph of the arguments of `forward`."""
        if not isinstance(graph, Tensor) and (edge_index is not None or edge_weight is not None):
            raise HeterophilyError(
                f"a {type(graph).__name__} contains its edges and weights; omit edge_index and edge_weight, or pass x "
                "first"
            )
        if isinstance(graph, Graph | Batch):
            return graph
        if isinstance(graph, Tensor):
            if edge_index is None:
                raise HeterophilyError("the network expects a graph or x and edge_index, got x without edge_index")
            return self.inputs.open(graph, edge_index, edge_weight, n_classes=self.n_classes)
        check_data(data := cast("Data", graph))
        x, edge_index = cast("Tensor", data.x), cast("Tensor", data.edge_index)
        weights, labels = pyg_weights(data, edge_index.shape[1]), node_labels(data)
        return self.inputs.open(x, edge_index, weights, n_classes=self.n_classes, labels=labels, n_id=data.get("n_id"))
