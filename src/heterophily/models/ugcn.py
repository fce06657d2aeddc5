"""UGCN: one network per neighborhood (raw, second hop, features), mixed per node at the end."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features, Graph
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Pattern
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Combine, Messages, weigh
from heterophily.htmp.guidance import Attention
from heterophily.htmp.method import Activation, Deviation, Method, define_method
from heterophily.htmp.neighborhoods import FeatureNeighbors, Neighborhood, WithSelf, with_diagonal
from heterophily.htmp.parts import Context, Dense, Init, Sizes
from heterophily.htmp.transform import Heads, Linear


@define_method
class UGCN(Method):
    """One network per neighborhood (raw, second hop, features), mixed per node at the end.

    E_c = elu(attention_c(drop([elu(attention_c(drop(X)))]_heads))), Z = Σ_c β_c ⊙ E_c
    """

    name, title = "ugcn", "UGCN"
    paper = "Jin et al., Universal graph convolutional networks, NeurIPS 2021"

    n_heads: PositiveInt = 8
    embedding_width: Annotated[PositiveInt, Choice(16, 32), "Width of the last layer."] = 16
    n_neighbors: Annotated[PositiveInt, Choice(3, 4, 5, 6, 7, 8, 9), "Number of nearest neighbors by features."] = 3
    head: Literal["linear", "none"] = "linear"
    knn_pairs: Literal["all", "ascending"] = "all"
    width: Annotated[PositiveInt, Choice(16, 32, 64)] = 64
    dropout: Annotated[DropoutRate, Choice(0.3, 0.5, 0.6)] = 0.6
    activation: Activation = "elu"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.005
    weight_decay: Annotated[NonNegativeFloat, Choice(5e-4, 5e-3)] = 5e-3

    @override
    def architecture(self) -> Architecture:
        p, attention = self.dropout, ColumnAttention()
        nearest = FeatureNeighborsWithSelf(self.n_neighbors, self.knn_pairs)
        heads = Linear(
            bias="none",
            init=Init("glorot_normal", gain=2**0.5),
            heads=Heads(self.n_heads, n_last_layer=1, init_separately=True),
        )
        return Architecture(
            channels=tuple(hood * attention for hood in (WithSelf(), CommonNeighbors(2), nearest)),
            combine=AttentionSum(head=self.head),
            transform=heads,
            head=Head() if self.head == "linear" else FirstColumns(),
            dropout=Dropout(input=p, layer=p, edge=p),
            activate_last=True,
            separate_networks=True,
            widths=(self.width, self.embedding_width),
        )

    deviations = (
        Deviation(
            "The network has a linear head, as published. The authors' implementation uses the first K of "
            "16 columns as classes.",
            {"head": "none"},
        ),
        Deviation(
            "All pairs of nearest neighbors are used. The authors' implementation drops a pair if the "
            "node with the larger number selected the other one.",
            {"knn_pairs": "ascending"},
        ),
        Deviation("Nodes of the second hop have at least two common neighbors, as in the authors' data."),
    )


@dataclass(frozen=True)
class FirstColumns(Head):
    """No output layer: the first K columns are the logits, as in the authors' implementation.

    logits = Z_·1, .., Z_·K

    Examples
    --------
    >>> FirstColumns().weights(16, 3) is None
    True
    """

    @override
    def weights(self, width: int, n_classes: int) -> None:
        if width < n_classes:
            raise HeterophilyError(
                f"ugcn without a head uses its first {n_classes} columns as classes, but has {width}; "
                "increase embedding_width or use head = linear"
            )


@dataclass(frozen=True)
class FeatureNeighborsWithSelf(FeatureNeighbors):
    """The k nodes with the most similar features, in both directions, and the node itself.

    (A_r)_ij = 1 if i = j or if cos(x_i, x_j) is among the k largest of i or of j

    Parameters
    ----------
    pairs
        `all`, or `ascending` to drop a pair if the node with the larger number selected the other one.

    Examples
    --------
    >>> FeatureNeighborsWithSelf(3).symbol
    'A_f'
    """

    pairs: Literal["all", "ascending"] = "all"

    @override
    def adjacency(self, graph: Graph) -> Pattern:
        return with_diagonal(self._nearest(graph, symmetric=True, pairs=self.pairs).pattern)


@dataclass(frozen=True)
class AttentionSum(Combine[nn.ModuleDict]):
    """Sum with attention over channels.

    Z = Σ_r β_r ⊙ Z_r, β = softmax_r( v · tanh(Z_r Q + q) )

    Parameters
    ----------
    width_inside
        Number of columns of Q.
    head
        `none` applies a log-softmax to the messages first, as in the reference implementation of
        UGCN.

    Examples
    --------
    >>> AttentionSum().symbol
    'AdaAdd'
    """

    width_inside: int = 16
    head: str = "linear"
    symbol = "AdaAdd"

    @override
    def weights(self, size: Sizes) -> nn.ModuleDict:
        inside = Dense(size.d_out, self.width_inside)
        return nn.ModuleDict({"inside": inside, "v": Dense(self.width_inside, 1, bias=False)})

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: nn.ModuleDict, context: Context) -> Tensor:
        states = [m.log_softmax(dim=1) for m in messages] if self.head == "none" else messages
        scores = torch.cat([w["v"](torch.tanh(w["inside"](z))) for z in states], dim=1)
        return weigh(states, scores.softmax(dim=1))


@dataclass(frozen=True)
class CommonNeighbors(Neighborhood):
    """Nodes two steps apart with several common neighbors, and the node itself.

    A_r = 1[(A²)_ij ≥ n, A_ij = 0] + I

    Parameters
    ----------
    at_least
        Minimum number n of common neighbors.

    Examples
    --------
    >>> CommonNeighbors(2).symbol
    'Ã_h2'
    """

    at_least: int = 2
    symbol = "Ã_h2"

    @override
    def adjacency(self, graph: Graph) -> Pattern:
        from heterophily.htmp.algorithms.hops import common_neighbors

        return with_diagonal(common_neighbors(graph.symmetric, at_least=self.at_least))


@dataclass(frozen=True)
class ColumnAttention(Attention):
    """Attention whose vectors r and s are initialized as single columns.

    B_ij = softmax_j( lrelu(U_i · r + U_j · s) )

    Examples
    --------
    >>> ColumnAttention().slope
    0.2
    """

    @override
    def _n_outputs(self, size: Sizes) -> int:
        return 1
