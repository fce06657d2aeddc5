"""What the parts of an architecture share: sizes, weights, and what a part has access to.

A part is a frozen dataclass with one main method. If it has learnable weights, `weights(size)` creates them; the
network owns them and passes them to the main method as `w`. Symbols: N nodes, F features, K classes, d width.
"""

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import TypeVar

from heterophily.core.dense import product
from heterophily.core.dropout import dropout
from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix

if TYPE_CHECKING:
    from heterophily.htmp.neighborhoods import Adjacency, Neighborhood

S = TypeVar("S")
T = TypeVar("T")
X = TypeVar("X", bound=Features)
W = TypeVar("W", bound=nn.Module, default=Any)  # weights of a part; any kind if omitted


class GraphLike(Protocol):
    """What parts may use of the input of message passing: a `Graph`, or a `Batch` of its nodes.

    Virtual nodes, if there are any, come after all real nodes. Neighborhoods come from `adjacency_of`.
    """

    @property
    def name(self) -> str:
        """Name in error messages."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes, including virtual nodes."""

    @property
    def n_features(self) -> int:
        """Number F of features."""

    @property
    def n_classes(self) -> int:
        """Number K of classes."""

    @property
    def features(self) -> Features:
        """X (N, F), not normalized."""

    @property
    def labels(self) -> Tensor:
        """Class numbers (N,), -1 if unknown."""

    @property
    def degrees(self) -> Tensor:
        """Number of neighbors in the full graph, (N,)."""

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, which is computed once per key."""


@dataclass(frozen=True)
class Sizes:
    """The sizes from which a part creates its weights."""

    n_nodes: int
    n_features: int
    n_classes: int
    d_in: int
    d_out: int
    n_channels: int = 1
    layer: int = 0  # counted from 1; 0 before the layers
    n_layers: int = 0
    heads: int = 1
    neighborhood: "Neighborhood | None" = None  # of the channel, for a guidance with a weight per entry
    adjacency_of: "Callable[[Neighborhood], Adjacency] | None" = None  # while the network is built

    is_last: bool = field(init=False)  # whether this is the last layer

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_last", self.layer == self.n_layers)


@dataclass
class Context:
    """What parts read and write during one forward pass."""

    graph: GraphLike
    x: Features  # X, normalized by `feature_norm`
    training: bool
    shared_weights: Any  # weights that a part shares between layers
    initial: Features | None = None  # Z⁰
    inputs: dict[str, Features | None] = field(default_factory=dict)  # of the channels of the current layer
    outputs: list[list[Features]] = field(default_factory=list)  # Z⁰, .., Z^l of each stack of layers
    bound: dict[Hashable, Any] = field(default_factory=dict)  # operators that depend only on the graph
    layer: int = 0
    n_virtual: int = 0  # rows at the end of every state that are not nodes
    states: Sequence[nn.Module] = ()  # states of the network
    representation: Tensor | None = None  # fused representation before the head, if there are virtual nodes
    logits: Tensor | None = None  # logits of all nodes, if there are virtual nodes
    labels: Tensor | None = None  # class numbers (N,), and those of virtual nodes
    aux_outputs: dict[str, list[Any]] = field(default_factory=dict)  # what losses read
    carry: dict[Hashable, Any] = field(default_factory=dict)  # what parts carry across layers

    def copy(self, *, training: bool) -> "Context":
        """Return a context from which a pass continues without changing this one."""
        return dataclasses.replace(
            self,
            training=training,
            outputs=[list(outputs) for outputs in self.outputs],
            aux_outputs={key: list(values) for key, values in self.aux_outputs.items()},
            carry=dict(self.carry),
        )

    def state(self, kind: type[S]) -> S:
        """Return the state of this type."""
        return next(state for state in self.states if isinstance(state, kind))

    def add_aux_output(self, key: str, value: object) -> None:
        """Store a value for a loss of the architecture."""
        self.aux_outputs.setdefault(key, []).append(value)


class Weights(nn.Module):
    """Learnable weights of a part, by name. A subclass declares their types."""

    def __init__(self, **items: nn.Module | nn.Parameter) -> None:
        super().__init__()
        for name, item in items.items():
            setattr(self, name, item)


@dataclass(frozen=True)
class Init:
    """Initialization of a matrix (i, o) and of its bias (o).

    Parameters
    ----------
    matrix
        `linear` for uniform in ±1/√i, `uniform_out` for ±1/√o, `glorot` for ±√(6/(i+o)), or
        `glorot_normal` for a standard deviation of gain · √(2/(i+o)).
    bias
        `linear` and `uniform_out` as for the matrix, `glorot_row` for a (1, o) matrix, or `zero`. By
        default that of the matrix, and zero for the two others.
    gain
        Factor for `glorot_normal`.

    Examples
    --------
    >>> Init("glorot_normal", bias="linear", gain=2.0).new_matrix(3, 2).shape
    torch.Size([3, 2])
    """

    matrix: str = "glorot"
    bias: str = ""
    gain: float = 1.0

    def new_matrix(self, i: int, o: int) -> nn.Parameter:
        """Create a weight matrix (i, o)."""
        if self.matrix == "glorot_normal":
            return nn.Parameter(torch.randn(i, o) * self.gain * (2 / (i + o)) ** 0.5)
        bounds = {"linear": max(i, 1) ** -0.5, "uniform_out": o**-0.5, "glorot": (6 / (i + o)) ** 0.5}
        return init_uniform(bounds[self.matrix], i, o)

    def new_bias(self, i: int, o: int) -> nn.Parameter:
        """Create the bias (o) of a matrix (i, o)."""
        kind = self.bias or self.matrix
        if kind == "glorot_row":
            return nn.Parameter(Init().new_matrix(1, o).detach()[0])
        bounds = {"linear": max(i, 1) ** -0.5, "uniform_out": o**-0.5}
        return nn.Parameter(torch.empty(o).uniform_(-1, 1) * bounds.get(kind, 0.0))


class Dense(nn.Module):
    """x W + b with W (i, o) and an initialization; x may be sparse."""

    bias: nn.Parameter  # None without a bias

    def __init__(self, i: int, o: int, *, bias: bool = True, init: str | Init = "linear") -> None:
        super().__init__()
        init = Init(init) if isinstance(init, str) else init
        self.weight = init.new_matrix(i, o)
        self.register_parameter("bias", init.new_bias(i, o) if bias else None)

    def forward(self, x: Features) -> Tensor:
        """X W + b."""
        return product(x, self.weight, self.bias)


class DenseBlock(nn.Module):
    """f( norm( drop(x) W + b ) ): dropout, a dense layer, a norm, and an activation; x may be sparse."""

    def __init__(self, i: int, o: int, *, dropout: float = 0.0, norm: str = "none", activation: str = "relu") -> None:
        super().__init__()
        self.dense = Dense(i, o)
        self.norm = NORMS[norm](o) if norm != "none" else None
        self.rate, self.activation = dropout, activation

    def forward(self, x: Features) -> Tensor:
        """Return one row per row of x."""
        z: Tensor = self.dense(apply_dropout(x, self.rate, training=self.training))
        z = z if self.norm is None else self.norm(z)
        return ACTIVATIONS[self.activation](z)


def norm_reason(norm: str) -> str:
    """Return why a norm needs the full graph; empty if mini-batches work."""
    return "its batch norm averages over all nodes; use a layer norm" if norm == "batch" else ""


def init_uniform(bound: float, *shape: int) -> nn.Parameter:
    """Create a weight, uniform in ±bound."""
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))


def init_scalar(value: float) -> nn.Parameter:
    """Create a learned number."""
    return nn.Parameter(torch.tensor(float(value)))


def apply_dropout(state: X, rate: float | None, *, training: bool) -> X:
    """Apply inverted dropout in training, to stored entries if the state is sparse."""
    if not training or not rate:
        return state
    dropped = state.dropout(rate) if isinstance(state, Matrix) else dropout(state, rate)
    return cast("X", dropped)


NORMS: dict[str, type[nn.BatchNorm1d] | type[nn.LayerNorm]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": F.relu,
    "elu": F.elu,
    "tanh": torch.tanh,
}
