"""B_r: the weight of each neighbor (paper, Section 3 and Appendix A).

Degree averages are computed once per graph. If the graph has edge weights, degrees are sums of weights, and
attention adds the logarithm of a weight to the score: B_ij ∝ w_ij exp(..). Attention, gates, and estimated relations
depend on the states of every layer. A new guidance defines `matrix(adjacency)` if it depends only on the graph, or
`values(seen, w)`, one value per entry of the neighborhood, if it depends on states.

Symbols: Z is the input of a channel, U = Z W are its messages, and node i receives messages from node j.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from typing_extensions import override

from heterophily.core.dense import product
from heterophily.core.dropout import dropout
from heterophily.core.graph import Features
from heterophily.core.sparse import Matrix, Pattern, edge_softmax, edge_sum, segment_sum
from heterophily.htmp.channel import Channel, ComplementOperator, IdentityOperator, Operator, PowerOperator
from heterophily.htmp.execution.batch import SampledMatrix
from heterophily.htmp.neighborhoods import Adjacency, Ego, Neighborhood
from heterophily.htmp.parts import Context, GraphLike, Sizes, W, Weights

MAX_ATTENTION_VALUES = 2**24  # entries times heads that may be stored at the same time: 64 MB per copy


@dataclass(frozen=True)
class ChannelInput:
    """What a guidance has access to."""

    channel: Channel
    adjacency: Adjacency  # A_r, a `Pattern` or `Matrix`; None for prototypes
    inputs: Features  # Z (N, d_in)
    messages: Tensor  # U (N, d_out)
    context: Context

    @property
    def pattern(self) -> Pattern:
        """The entries of the neighborhood."""
        return pattern_of(self.adjacency)

    @property
    def weights(self) -> Tensor | None:
        """The weights of the neighborhood, if it has any, (m,)."""
        if isinstance(self.adjacency, SampledMatrix):
            return self.adjacency.weights
        return self.adjacency.values if isinstance(self.adjacency, Matrix) else None

    @property
    def log_multiplicity(self) -> Tensor | None:
        """Logarithm of the edge weights times the sampling weights, to add to the scores of a softmax, (m,)."""
        weights = self.weights if self.channel.neighborhood.uses_weights else None
        factors = [factor.log() for factor in (weights, self.sampling_weight) if factor is not None]
        return sum(factors[1:], factors[0]) if factors else None

    @property
    def sampling_weight(self) -> Tensor | None:
        """Number of entries that each sampled entry represents, (m,)."""
        return self.adjacency.sampling_weight if isinstance(self.adjacency, SampledMatrix) else None

    @property
    def degrees(self) -> Tensor:
        """Number of entries of each full row, (N,)."""
        return (self.adjacency if isinstance(self.adjacency, SampledMatrix) else self.pattern).degrees


@dataclass(frozen=True)
class Guidance(Generic[W]):
    """Base class of all guidance. Subclasses implement `operator`."""

    weight_per_entry = False  # whether a weight belongs to each entry, so that no other graph fits
    # What B_r is computed from: the graph alone, also weights and states of the network, also the
    # messages U, or also the inputs Z of the channel.
    depends_on: ClassVar[Literal["graph", "network", "messages", "inputs"]] = "inputs"
    requires: ClassVar[tuple[type, ...]] = ()  # parts that must be in the same architecture
    supports_powers: ClassVar[bool] = False  # whether the operator is a fixed matrix with powers
    covers_all_pairs: ClassVar[bool] = False  # whether it works on all pairs of nodes
    accepts_sparse_inputs: ClassVar[bool] = True  # whether Z may be a sparse matrix
    supports_heads: ClassVar[bool] = False  # whether messages may have several heads
    weight_per_column: ClassVar[bool] = False  # whether messages must have the width of the layer
    full_graph_reason = ""  # why a message needs more than its receiver's neighbors, so that batches fail

    @property
    def symbol(self) -> str:
        """How the paper's table writes it."""
        return "B"

    @property
    def kind(self) -> str:
        """DegAvg (degrees), AdaWeight (learned) or RelaEst (estimated relation)."""
        return "AdaWeight"

    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        """Return why a neighborhood cannot be used with this guidance; empty if it can."""
        return ""

    def shares_weights_with(self, neighborhood: Neighborhood) -> Channel | None:
        """Return the channel whose weights this guidance uses, which must precede it."""
        return None

    def weights(self, size: Sizes) -> W:
        """Weights of one layer."""
        return cast("W", Weights())

    def shared_weights(self, size: Sizes) -> Mapping[str, nn.Module | nn.Parameter]:
        """Weights that all layers share."""
        return {}

    def operator(self, seen: ChannelInput, w: W) -> Operator:
        """A_r ⊙ B_r as something with `@`."""
        return Matrix(seen.pattern, self.values(seen, w))

    def values(self, seen: ChannelInput, w: W) -> Tensor:
        """One value per entry of the neighborhood, (m,) or (m, H)."""
        raise NotImplementedError


@dataclass(frozen=True)
class FixedGuidance(Guidance):
    """Guidance that depends on the graph alone and is computed once."""

    depends_on = "graph"
    supports_powers = True
    symbol = "B^d"
    kind = "DegAvg"

    def matrix(self, adjacency: Adjacency) -> Matrix:
        """A_r ⊙ B_r."""
        raise NotImplementedError

    def operator(self, seen: ChannelInput, w: Weights) -> Operator:
        """Return the matrix, raised to the power of the neighborhood."""
        matrix = self.cached_matrix(seen.context.graph, seen.adjacency)
        power = seen.channel.neighborhood.power
        return matrix if power == 1 else PowerOperator(matrix, power) if power else IdentityOperator()

    def cached_matrix(self, graph: GraphLike, adjacency: Adjacency) -> Matrix:
        """The matrix of this graph and neighborhood, computed once."""
        matrix: Matrix = graph.cached((self, adjacency), lambda: self.matrix(adjacency))
        return matrix


@dataclass(frozen=True)
class Ones(Guidance):
    """Weight 1 for every neighbor.

    B_ij = 1

    Examples
    --------
    >>> Ones().symbol
    'I'
    """

    depends_on = "graph"
    symbol = "I"
    kind = "DegAvg"

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> Operator:
        return IdentityOperator() if isinstance(seen.channel.neighborhood, Ego) else seen.adjacency


@dataclass(frozen=True)
class SymmetricMean(FixedGuidance):
    """Symmetrically normalized sum over neighbors.

    A ⊙ B = D^(-1/2) A D^(-1/2), D the row sums of A

    Examples
    --------
    >>> SymmetricMean().symbol
    'B^d'
    """

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        return "the degrees of receivers and senders differ; use DirectedMean()" if neighborhood.is_directed else ""

    @override
    def matrix(self, adjacency: Adjacency) -> Matrix:
        return scale_rows_and_columns(adjacency, *(safe_inverse(sums.sqrt()) for sums in degree_sums(adjacency)))


@dataclass(frozen=True)
class RowMean(FixedGuidance):
    """Mean over neighbors; 0 if there are none.

    A ⊙ B = D^(-1) A, D the row sums of A

    Examples
    --------
    >>> RowMean().symbol
    'B^d'
    """

    @override
    def matrix(self, adjacency: Adjacency) -> Matrix:
        return scale_rows_and_columns(adjacency, safe_inverse(row_sums(adjacency)), None)


@dataclass(frozen=True)
class Complement(Guidance):
    """Difference between the node and an average of its neighbors.

    I - A ⊙ B

    Examples
    --------
    >>> Complement(RowMean()).symbol
    'I-B^d'
    """

    of: FixedGuidance = RowMean()  # guidance B of the average
    depends_on = "graph"
    kind = "DegAvg"

    @property
    @override
    def symbol(self) -> str:
        return f"I-{self.of.symbol}"

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> ComplementOperator:
        return ComplementOperator(self.of.cached_matrix(seen.context.graph, seen.adjacency))


@dataclass(frozen=True)
class Attention(Guidance[nn.ParameterDict]):
    """Softmax over neighbors of learned scores, per head.

    B_ij = softmax_j( lrelu(U_i · r + U_j · s) )

    Examples
    --------
    >>> Attention().symbol
    'B^aw'
    """

    slope: float = 0.2  # negative slope of the leaky ReLU
    supports_heads = weight_per_column = True
    depends_on = "messages"
    symbol = "B^aw"

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        heads, d = size.heads, size.d_out
        spread = 2**0.5 * (2 / (d + self._n_outputs(size))) ** 0.5
        r, s = (nn.Parameter(spread * torch.randn(heads, d)) for _ in range(2))
        return nn.ParameterDict({"r": r, "s": s})

    def _n_outputs(self, size: Sizes) -> int:
        """Return the number of outputs for the Glorot initialization."""
        return size.heads * size.d_out

    @override
    def operator(self, seen: ChannelInput, w: nn.ParameterDict) -> Operator:
        heads = seen.messages.shape[1] if seen.messages.dim() == 3 else 1
        many = seen.pattern.n_entries * heads > MAX_ATTENTION_VALUES
        return SequentialHeads(self, seen, w) if many else super().operator(seen, w)

    @override
    def values(self, seen: ChannelInput, w: nn.ParameterDict) -> Tensor:
        message = seen.messages
        # One product with a block per head, instead of two copies of U times a vector each.
        blocks = torch.block_diag(*torch.stack([w["r"], w["s"]], dim=2))
        scores = product(message.flatten(1), blocks).view(*message.shape[:-1], 2)
        return self.softmax_scores(seen, *(score.contiguous() for score in scores.unbind(dim=-1)))

    def softmax_scores(self, seen: ChannelInput, left: Tensor, right: Tensor) -> Tensor:
        """α from U_i · r and U_j · s."""
        scores = F.leaky_relu(edge_sum(seen.pattern, left, right), self.slope)
        times = seen.log_multiplicity
        if times is not None:
            scores = scores + (times if scores.dim() == 1 else times.unsqueeze(1))
        share = edge_softmax(seen.pattern, scores)
        if seen.weights is not None and not seen.channel.neighborhood.uses_weights:
            share = share * seen.weights
        return share


@dataclass(frozen=True, eq=False)
class SequentialHeads:
    """Attention over a neighborhood with many entries: one head at a time, computed again for gradients.

    Memory is that of one head, O(m), instead of all heads and all steps in between.
    """

    attention: Attention
    seen: ChannelInput
    w: nn.ParameterDict
    rate: float = 0.0

    def dropout(self, rate: float) -> "SequentialHeads":
        """The same with dropout on the entries."""
        return replace(self, rate=rate)

    def __matmul__(self, state: Tensor) -> Tensor:
        if state.dim() == 2:
            return (self @ state.unsqueeze(1)).squeeze(1)
        heads = zip(state.unbind(dim=1), self.w["r"], self.w["s"], strict=True)
        parts = [checkpoint(self._head, *head, use_reentrant=False) for head in heads]
        return torch.stack(parts, dim=1)

    def _head(self, state: Tensor, r: Tensor, s: Tensor) -> Tensor:
        share = self.attention.softmax_scores(self.seen, state @ r, state @ s)
        shares = dropout(share, self.rate)
        return (self.seen.pattern * shares) @ state.contiguous()


def pattern_of(adjacency: Adjacency) -> Pattern:
    """The entries of a neighborhood, with or without weights."""
    return adjacency.pattern if isinstance(adjacency, Matrix) else adjacency


def row_sums(adjacency: Adjacency) -> Tensor:
    """Return weighted degrees, (N,), of the full rows if rows are sampled."""
    if isinstance(adjacency, SampledMatrix):
        return adjacency.sums
    if isinstance(adjacency, Matrix):
        return segment_sum(adjacency.pattern, adjacency.values)
    return adjacency.degrees.to(torch.get_default_dtype())


def degree_sums(adjacency: Adjacency) -> tuple[Tensor, Tensor]:
    """Return weighted degrees of receivers and of senders, which differ only if rows are sampled."""
    sums = row_sums(adjacency)
    return sums, adjacency.sender_sums if isinstance(adjacency, SampledMatrix) else sums


def safe_inverse(values: Tensor) -> Tensor:
    """1/v with 1/0 := 0."""
    return torch.where(values > 0, 1 / values.clamp_min(1e-30), 0.0)


def scale_rows_and_columns(adjacency: Adjacency, left: Tensor, right: Tensor | None) -> Matrix:
    """diag(left) M diag(right)."""
    pattern = pattern_of(adjacency)
    values = left.index_select(0, pattern.rows)
    if right is not None:
        values = values * right.index_select(0, pattern.indices)
    return pattern * (values * adjacency.values if isinstance(adjacency, Matrix) else values)
