"""Channels A_r ⊙ B_r, and the operators that they become in a forward pass.

A neighborhood times a guidance is a channel: `Hop(1) * RowMean()`. Its operator is a sparse matrix, the
identity, a complement I - B, a power, or anything else that supports `@`.
"""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from heterophily.core.errors import check_option
from heterophily.core.sparse import Matrix

if TYPE_CHECKING:
    from heterophily.htmp.guidance import Guidance
    from heterophily.htmp.neighborhoods import Neighborhood

STATES = ("previous", "initial", "nodes", "prototypes")


class Operator(Protocol):
    """Anything that maps the messages of all senders to those of all receivers."""

    def __matmul__(self, state: Tensor) -> Tensor:
        """Return the aggregated messages, (N, d)."""


@dataclass(frozen=True)
class Channel:
    """One neighborhood with its guidance and its input.

    Parameters
    ----------
    neighborhood, guidance
        A_r and B_r.
    input
        `previous` for the previous layer, `initial` for Z⁰, `nodes` for one learned row per node, or
        `prototypes`.
    activation
        Place of the ReLU of a message, if not that of the architecture.

    Examples
    --------
    >>> from heterophily.htmp.guidance import RowMean
    >>> from heterophily.htmp.neighborhoods import Raw
    >>> (Raw() * RowMean()).with_input("initial").input
    'initial'
    """

    neighborhood: "Neighborhood"
    guidance: "Guidance"
    input: str = "previous"
    activation: str | None = None

    def __post_init__(self) -> None:
        check_option("the input of a channel", self.input, STATES)

    @property
    def symbol(self) -> str:
        """The guidance in the notation of the paper's table: B^d of A_f is B^d_f."""
        hood, guidance = self.neighborhood.symbol, self.guidance.symbol
        if hood == "I" or "B" not in guidance:
            return "I"
        if hood.startswith("Ã"):
            guidance = guidance.replace("B", "B̃")
        mark = hood[2:] if hood[1:2] == "_" and "_" not in guidance else ""
        return f"{guidance}_{mark}" if mark else guidance

    def with_input(self, state: str) -> "Channel":
        """Return the channel with another input."""
        return dataclasses.replace(self, input=state)


@dataclass(frozen=True, eq=False)
class IdentityOperator:
    """I @ Z = Z."""

    def __matmul__(self, state: Tensor) -> Tensor:
        return state


@dataclass(frozen=True, eq=False)
class ComplementOperator:
    """(I - B) @ Z = Z - B @ Z."""

    matrix: Matrix

    def __matmul__(self, state: Tensor) -> Tensor:
        return state - self.matrix @ state


@dataclass(frozen=True, eq=False)
class PowerOperator:
    """B^k @ Z by k products; B^k is never formed."""

    matrix: Matrix
    times: int

    def __matmul__(self, state: Tensor) -> Tensor:
        for _ in range(self.times):
            state = self.matrix @ state
        return state
