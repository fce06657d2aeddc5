"""Direction: neighborhoods of incoming and outgoing edges, and their degree average.

A node receives messages from the nodes with an edge to it (`In`), from the nodes to which it has an edge (`Out`), or
from both in separate channels (`Both`). All other neighborhoods use the symmetrized graph.
"""

from dataclasses import dataclass
from typing import Literal

from typing_extensions import override

from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix
from heterophily.htmp.channel import Channel
from heterophily.htmp.execution.batch import SampledMatrix
from heterophily.htmp.guidance import FixedGuidance, Guidance, row_sums, safe_inverse, scale_rows_and_columns
from heterophily.htmp.neighborhoods import Adjacency, Neighborhood, Raw, WithSelf, to_default_dtype, weighted_symmetric

Direction = Literal["symmetric", "in", "out", "both"]
DIRECTION = (  # help text of the setting
    "Edges whose nodes send messages: `symmetric` ignores the direction, and `both` has separate weights for `in` "
    "and `out`."
)


@dataclass(frozen=True)
class In(Neighborhood):
    """Nodes with an edge to the node, without the node itself.

    (A_r)_ij = 1 if there is an edge j → i

    Examples
    --------
    >>> In().symbol
    'A_←'
    """

    symbol = "A_←"
    kind = "Raw"
    uses_weights = is_directed = True

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return outgoing(graph).T if graph.is_directed else weighted_symmetric(graph)


@dataclass(frozen=True)
class Out(Neighborhood):
    """Nodes to which the node has an edge, without the node itself.

    (A_r)_ij = 1 if there is an edge i → j

    Examples
    --------
    >>> Out().symbol
    'A_→'
    """

    symbol = "A_→"
    kind = "Raw"
    uses_weights = is_directed = True

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return outgoing(graph) if graph.is_directed else weighted_symmetric(graph)


@dataclass(frozen=True)
class Both:
    """Incoming and outgoing edges in separate channels, which have separate weights W_r.

    Both() * B = (In() * B, Out() * B)

    Parameters
    ----------
    with_self
        Whether the node itself is a neighbor in both channels.

    Examples
    --------
    >>> from heterophily.htmp.guidance import RowMean
    >>> [channel.neighborhood for channel in Both() * RowMean()]
    [In(), Out()]
    """

    with_self: bool = False

    def __mul__(self, guidance: Guidance) -> tuple[Channel, Channel]:
        into, out = directed_neighborhoods("both", with_self=self.with_self)
        return into * guidance, out * guidance


@dataclass(frozen=True)
class DirectedMean(FixedGuidance):
    """Sum over incoming or outgoing edges, normalized by the degrees of receivers and senders.

    A ⊙ B = D_r^(-1/2) A D_s^(-1/2), D_r the row sums and D_s the column sums of A

    Examples
    --------
    >>> DirectedMean().symbol
    'B^d'
    """

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        return "" if neighborhood.is_directed else "it has no direction; use SymmetricMean()"

    @override
    def matrix(self, adjacency: Adjacency) -> Matrix:
        senders = adjacency.sender_sums if isinstance(adjacency, SampledMatrix) else row_sums(adjacency.T)
        return scale_rows_and_columns(
            adjacency, *(safe_inverse(sums.sqrt()) for sums in (row_sums(adjacency), senders))
        )


def directed_neighborhoods(direction: Direction, *, with_self: bool = False) -> tuple[Neighborhood, ...]:
    """Return the neighborhoods of a setting `direction`, one per channel.

    Examples
    --------
    >>> directed_neighborhoods("in", with_self=True)
    (WithSelf(of=In()),)
    """
    neighborhoods: dict[Direction, tuple[Neighborhood, ...]] = {"symmetric": (Raw(),), "in": (In(),), "out": (Out(),)}
    plain = neighborhoods.get(direction, (In(), Out()))
    return tuple(map(WithSelf, plain)) if with_self else plain


def outgoing(graph: Graph) -> Adjacency:
    """Return A without self-loops, with its weights, if it has any."""
    pattern = graph.adjacency.without_diagonal()
    if graph.weights is None:
        return pattern
    off_diagonal = graph.adjacency.rows != graph.adjacency.indices
    return to_default_dtype(pattern * graph.weights[off_diagonal])
