"""H2GCN: separate messages from the first and the second hop, with the states of all layers."""

from dataclasses import dataclass
from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.graph import Graph
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from heterophily.core.sparse import Pattern
from heterophily.htmp.algorithms.hops import second_hop
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Concat
from heterophily.htmp.encoder import Embed
from heterophily.htmp.fuse import ConcatLayers
from heterophily.htmp.guidance import SymmetricMean
from heterophily.htmp.method import Activation, Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Hop
from heterophily.htmp.transform import NoTransform


@define_method
class H2GCN(Method):
    """Separate messages from the first and the second hop, with the states of all layers.

    Z^l = [S(A) Z^(l-1) ‖ S(A_h2) Z^(l-1)], logits = drop([Z⁰ ‖ .. ‖ Z^L]) W_c
    """

    name, title = "h2gcn", "H2GCN"
    paper = (
        "Zhu et al., Beyond homophily in graph neural networks: current limitations and effective designs, NeurIPS 2020"
    )

    second_hop: Literal["strict", "thresholded"] = "strict"
    second_hop_limit: Annotated[NonNegativeInt, "Maximum number of second-hop neighbors per node; 0 for no limit."] = 0
    n_layers: Annotated[PositiveInt, Choice(1, 2)] = 2
    dropout: Annotated[DropoutRate, Choice(0.0, 0.5)] = 0.5
    activation: Annotated[Activation, Choice("relu", "none")] = "relu"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3)] = 5e-5

    @override
    def architecture(self) -> Architecture:
        hop = ThresholdedHop if self.second_hop == "thresholded" else Hop
        second = hop(2, self.second_hop_limit)
        return Architecture(
            encoder=Embed(activation=self.activation, bias=False, init="glorot"),
            channels=(Hop(1) * SymmetricMean(), second * SymmetricMean()),
            combine=Concat(),
            fuse=ConcatLayers(),
            transform=NoTransform(),
            head=Head(bias=False, init="glorot"),
            dropout=Dropout(head=self.dropout),
            activation="none",
        )

    deviations = (
        Deviation(
            "The reference implementation keeps some edges in the second hop, by a threshold.",
            {"second_hop": "thresholded"},
        ),
        Deviation("It minimizes -p_c, without a logarithm.", {"loss": "negative_probability"}),
        Deviation("If the second hop does not fit in memory, second_hop_limit reduces it to a random sample per node."),
        Deviation("ReLUs after propagation are omitted, because a non-negative state stays non-negative."),
    )


@dataclass(frozen=True)
class ThresholdedHop(Hop):
    """Second hop of the reference implementation, which retains some edges of the graph.

    (A_r)_ij = 1[dist(i, j) = 2], and some edges, selected by a threshold

    Examples
    --------
    >>> ThresholdedHop(2).symbol
    'A_h2'
    """

    @override
    def adjacency(self, graph: Graph) -> Pattern:
        return second_hop(graph.symmetric, rule="thresholded", limit=self.limit)
