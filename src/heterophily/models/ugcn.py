"""UGCN: one network per neighborhood (raw, second hop, features), mixed per node at the end."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.adaptive import AttentionSum
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.guidance import Attention
from heterophily.htmp.method import (
    Activation,
    Deviation,
    DropoutRate,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import CommonNeighbors, FeatureNeighbors, WithSelf
from heterophily.htmp.transform import Linear


@define_method
class UGCN(Method):
    """One network per neighborhood (raw, second hop, features), mixed per node at the end.

    E_c = elu(attention_c(drop([elu(attention_c(drop(X)))]_heads))), Z = Σ_c β_c ⊙ E_c
    """

    name, title = "ugcn", "UGCN"
    paper = "Jin et al., Universal graph convolutional networks, NeurIPS 2021"

    n_heads: PositiveInt = 8
    embedding_width: Annotated[PositiveInt, Choice(16, 32), "Width of the last layer."] = 16
    n_neighbors: Annotated[
        PositiveInt, Choice(3, 4, 5, 6, 7, 8, 9), "Number of nearest neighbors by features."
    ] = 3
    head: Literal["linear", "none"] = "linear"
    knn_pairs: Literal["all", "ascending"] = "all"
    width: Annotated[PositiveInt, Choice(16, 32, 64)] = 64
    dropout: Annotated[DropoutRate, Choice(0.3, 0.5, 0.6)] = 0.6
    activation: Activation = "elu"
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.005
    weight_decay: Annotated[NonNegativeFloat, Choice(5e-4, 5e-3)] = 5e-3

    @override
    def architecture(self) -> Architecture:
        p, attention = self.dropout, Attention(init="column")
        nearest = FeatureNeighbors(
            self.n_neighbors, weighted=False, with_self=True, pairs=self.knn_pairs
        )
        heads = Linear(
            bias="none",
            init="glorot_normal",
            gain=2**0.5,
            n_heads=self.n_heads,
            n_heads_last_layer=1,
            init_per_head=True,
        )
        return Architecture(
            channels=tuple(hood * attention for hood in (WithSelf(), CommonNeighbors(2), nearest)),
            combine=AttentionSum(head=self.head),
            transform=heads,
            head=Head(kind=self.head),
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
        Deviation(
            "Nodes of the second hop have at least two common neighbors, as in the authors' data."
        ),
    )
