"""State: values that training sets without gradients, saved with the weights.

A frozen part of the architecture, a `StatePart`, describes the state, and the network owns the module. The
engine calls the methods below for every state and contains no code for any particular one.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.graph import Features, Graph
from heterophily.htmp.execution.batch import full_graph_of
from heterophily.htmp.parts import Context, GraphLike

if TYPE_CHECKING:
    from heterophily.htmp.network import Network

Recognition = Literal["checksum", "fixed", "recomputed"]


@dataclass(frozen=True)
class StatePart:
    """Description of a state. Subclasses implement `create`."""

    adds_virtual_nodes: ClassVar[bool] = False
    full_graph_reason: ClassVar[str] = ""  # why training needs the full graph; empty if mini-batches work

    def create(self, graph: Graph) -> "State":
        """Return the state of a network that is built for this graph."""
        raise NotImplementedError


class State(nn.Module):
    """Values that training sets without gradients: buffers that are saved with the weights."""

    initialized: Tensor  # a buffer, so a loaded network counts as initialized
    training_graph: Tensor  # checksum of the structure of the training graph, (32,) bytes
    update_from: Literal["evaluation", "training"] = "evaluation"  # whose logits `update` receives
    used_in_forward: ClassVar[bool] = True  # False if only losses read the state
    n_virtual: int = 0  # virtual nodes that `add_virtual_nodes` appends
    has_any_size: bool = False  # whether the network was built for any number of nodes
    recognition: Recognition = "checksum"  # how the training graph is recognized; see `recognize`

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("initialized", torch.tensor(False))
        self.register_buffer("training_graph", torch.zeros(32, dtype=torch.uint8))
        self.recognized: GraphLike | None = None  # the training graph, or a graph with the same checksum
        self.register_load_state_dict_post_hook(_clear_cache)

    def __getstate__(self) -> dict[str, object]:
        """Return the values without what was computed from them."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.clear_cache()
        return copied.__dict__

    @override
    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: object) -> None:
        """Load values, with their number of nodes if the network was built for any number."""
        for name, buffer in self._buffers.items() if self.has_any_size else ():
            loaded = state_dict.get(f"{prefix}{name}")
            if buffer is not None and loaded is not None and loaded.shape[1:] == buffer.shape[1:]:
                setattr(self, name, buffer.new_empty(loaded.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def clear_cache(self) -> None:
        """Discard what was computed from earlier values."""
        self.recognized = None

    def mark_initialized(self, graph: Graph) -> None:
        """Store that the values belong to this training graph."""
        self.training_graph = _checksum(graph).to(self.training_graph.device)
        self.initialized = torch.ones_like(self.initialized)
        self.recognized = graph

    def is_training_graph(self, graph: GraphLike) -> bool:
        """Return whether edges and features are those of the training graph, whatever the labels."""
        if self.recognition != "checksum":
            return self.recognition == "fixed"
        if graph is self.recognized:
            return True
        full = full_graph_of(graph)
        if full is not self.recognized and not torch.equal(_checksum(full), self.training_graph.cpu()):
            return False
        self.recognized = full
        return True

    def initialize(self, network: "Network", graph: Graph, nodes: Tensor, *, block: int | None = None) -> None:
        """Set the values before the first epoch, from at most `block` rows of X at a time."""

    def update(self, graph: Graph, logits: Tensor) -> None:
        """Set the values after validation has improved."""

    def needs_adaptation(self, graph: GraphLike) -> bool:
        """Return whether `adapt` has to be called before a forward pass over this graph."""
        return False

    def adapt(self, graph: GraphLike, predict: Callable[[], Tensor]) -> None:
        """Set temporary values for unseen nodes; `predict` returns logits that use them."""

    def end_adaptation(self) -> None:
        """Discard the temporary values."""

    def forget(self, nodes: Tensor) -> AbstractContextManager[None]:
        """Replace what is stored about some nodes by no information, in a `with` block."""
        return nullcontext()

    def add_virtual_nodes(self, graph: GraphLike, features: Callable[[], Features]) -> GraphLike:
        """Return the graph with virtual nodes after all real nodes."""
        return graph

    def prepare(self, context: Context) -> None:
        """Compute the values that parts read in this pass."""

    def loss_nodes(self, context: Context, nodes: Tensor) -> Tensor:
        """Return the nodes that the classification loss uses, in place of the training nodes."""
        return nodes

    def summary(self) -> dict[str, Tensor]:
        """Return values for reports by name."""
        return {}


class RecognizesGraph(Protocol):
    """A module that stores values of the nodes of its training graph, such as `State`."""

    recognition: Recognition

    def is_training_graph(self, graph: Graph) -> bool:
        """Return whether the stored values belong to this graph."""


def modules_with_memory(module: nn.Module) -> "list[RecognizesGraph]":
    """Return all parts of a module that store values of the nodes of its training graph."""
    return [cast("RecognizesGraph", each) for each in module.modules() if hasattr(each, "recognition")]


@contextmanager
def recognize(module: nn.Module, recognition: Recognition) -> Iterator[None]:
    """Let a module accept changed copies of its training graph, in a `with` block.

    With `fixed`, predictions on copies use the stored values of the training graph, such as soft labels. With
    `recomputed`, these values are computed again for each copy.
    """
    for each in modules_with_memory(module):
        each.recognition = recognition
    try:
        yield
    finally:
        for each in modules_with_memory(module):
            each.recognition = "checksum"


def _clear_cache(state: State, _: object) -> None:
    state.clear_cache()


def _checksum(graph: Graph) -> Tensor:
    return torch.tensor(list(bytes.fromhex(graph.structure_checksum)), dtype=torch.uint8)
