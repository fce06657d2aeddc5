"""WRGNN, as WRGAT: the graph and relations of structural similarity, with attention in each."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.graph import Graph
from heterophily.core.spaces import Bounds, Choice, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Matrix
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.combine import Add
from heterophily.htmp.guidance import Attention, ChannelInput, Ones
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Neighborhood, Raw, to_default_dtype
from heterophily.htmp.parts import Sizes, init_uniform
from heterophily.htmp.transform import Linear


@define_method
class WRGNN(Method):
    """The graph and relations of structural similarity, with attention in each.

    Z = Z W_0 + b + Σ_r M_r, M_r[i] = mean or sum over j in N_r(i) of α_ij ω_ij U_j, U = Z W_r
    """

    name, title = "wrgnn", "WRGNN"
    paper = (
        "Suresh et al., Breaking the limit of graph neural networks by improving the assortativity of "
        "graphs with local mixing patterns, KDD 2021"
    )

    depth: Annotated[int, Bounds(ge=0, le=10), Choice(1, 2, 3), "Largest depth of a relation."] = 2
    raw_weight: Annotated[float, Choice(0.5, 1.0), "Weight of the edges of the graph."] = 1.0
    aggregate: Literal["mean", "sum"] = "mean"
    duplicates: bool = False
    width: Annotated[PositiveInt, Choice(64, 128)] = 128
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.01
    weight_decay: NonNegativeFloat = 5e-5

    @override
    def architecture(self) -> Architecture:
        attention = RelationAttention(aggregate=self.aggregate)
        depths = range(self.depth + 1)
        relations = (Structural(t, self.depth, self.duplicates) * attention for t in depths)
        raw = Raw() if self.raw_weight == 1 else WeightedRaw(self.raw_weight)
        return Architecture(
            channels=(Ego() * Ones(), raw * attention, *relations),
            combine=Add(),
            transform=Linear(bias_channels=(0,)),
            dropout=Dropout(layer=self.dropout),
        )

    deviations = (
        Deviation(
            "Relations have a depth of at most 2. The authors use depths up to the diameter, filtered to 10.",
            {"depth": 10},
        ),
        Deviation(
            "A pair that both ends selected counts once. In the authors' implementation it counts twice.",
            {"duplicates": True},
        ),
        Deviation(
            "Messages are the mean of an attention that already sums to one, as in the authors' "
            "implementation; aggregate = sum omits the division."
        ),
        Deviation("Dynamic time warping is exact. The authors approximate it with radius 1."),
    )


@dataclass(frozen=True)
class WeightedRaw(Raw):
    """Neighbors in the symmetrized graph, all with the same weight, which replaces edge weights.

    A_r = w A

    Examples
    --------
    >>> WeightedRaw(0.5).symbol
    'A'
    """

    weight: float = 1.0  # w
    uses_weights = False

    @override
    def adjacency(self, graph: Graph) -> Matrix:
        pattern = graph.symmetric
        return pattern * torch.full((pattern.n_entries,), float(self.weight))


@dataclass(frozen=True)
class Structural(Neighborhood):
    """Nodes with similar degrees in their surroundings.

    (A_r)_vu = exp(-f_t(u, v)) / Σ_v' exp(-f_t(u, v')), f_t the structural distance up to depth t

    Parameters
    ----------
    depth
        Depth t of the surroundings.
    max_depth
        Largest depth of all relations, which are computed together.
    duplicates
        Whether to count repeated pairs twice, as in the reference implementation of WRGNN.

    Examples
    --------
    >>> Structural(1).symbol
    'A_c'
    """

    depth: int = 0
    max_depth: int = 2
    duplicates: bool = False

    @override
    def adjacency(self, graph: Graph) -> Matrix:
        from heterophily.htmp.algorithms.cache import cached
        from heterophily.htmp.algorithms.structural import structural_relations

        key = f"structural {self.max_depth} {self.duplicates}"

        def compute() -> dict[str, Matrix]:
            relations = structural_relations(graph.symmetric, depth=self.max_depth, duplicates=self.duplicates)
            return {str(t): matrix for t, matrix in enumerate(relations)}

        stored = graph.cached(key, lambda: cached(graph.structure_checksum, key, compute))
        return to_default_dtype(stored[str(self.depth)])


@dataclass(frozen=True)
class RelationAttention(Attention):
    """Attention over one relation, divided by the number of neighbors for the mean.

    B_ij = softmax_j( lrelu(U_i · r + U_j · s) ) / d_i

    Parameters
    ----------
    aggregate
        `mean`, or `sum` to omit the division.

    Examples
    --------
    >>> RelationAttention(aggregate="sum").slope
    0.2
    """

    aggregate: Literal["mean", "sum"] = "mean"

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        bound = (6 / (size.n_channels - 1 + 2 * size.d_out)) ** 0.5
        r, s = (init_uniform(bound, size.heads, size.d_out) for _ in range(2))
        return nn.ParameterDict({"r": r, "s": s})

    @override
    def softmax_scores(self, seen: ChannelInput, left: Tensor, right: Tensor) -> Tensor:
        share = super().softmax_scores(seen, left, right)
        if self.aggregate == "sum":
            return share
        degrees = seen.degrees.to(share.dtype).clamp_min(1)
        return share / degrees.index_select(0, seen.pattern.rows)
