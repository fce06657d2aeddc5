"""OrderedGNN: a gate that orders the dimensions of the node and of its neighborhood."""

from typing import Annotated, Literal

from typing_extensions import override

from heterophily.core.spaces import Choice
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import OrderedGate
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.method import (
    Deviation,
    DropoutRate,
    Method,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    define_method,
)
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.transform import NoTransform


@define_method
class OrderedGNN(Method):
    """A gate that orders the dimensions of the node and of its neighborhood.

    Z^l = LN(G ⊙ z + (1-G) ⊙ R z), g^l = g^(l-1) + (1-g^(l-1)) ⊙ q,
    q = cumsum(softmax([z ‖ R z] W_g + b_g))
    """

    name, title = "ordered-gnn", "OrderedGNN"
    paper = (
        "Song et al., Ordered GNN: ordering message passing to deal with heterophily and "
        "over-smoothing, ICLR 2023"
    )

    n_chunks: Annotated[PositiveInt, "Number of columns of the gate; must divide the width."] = 64
    shared_gate: Annotated[bool, Choice(False, True), "One gate for all layers."] = True
    gate: Literal["ordered", "simple", "off"] = "ordered"
    n_input_layers: Annotated[PositiveInt, Choice(1, 2, 3)] = 1
    layer_dropout: Annotated[DropoutRate, Choice(0.1, 0.2)] = 0.1
    width: PositiveInt = 256
    n_layers: PositiveInt = 8
    dropout: Annotated[DropoutRate, Choice(0.1, 0.2, 0.3, 0.4)] = 0.3
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.005, 0.01)] = 0.005
    weight_decay: Annotated[NonNegativeFloat, Choice(5e-8, 5e-6, 5e-4, 5e-2)] = 5e-4

    @override
    def architecture(self) -> Architecture:
        p = self.dropout
        return Architecture(
            encoder=Embed(self.n_input_layers, norm=True, dropout=p),
            channels=(Ego() * Ones(), Raw() * RowMean()),
            combine=OrderedGate(self.n_chunks, self.shared_gate, self.gate),
            transform=NoTransform(),
            head=Head(),
            dropout=Dropout(input=p, layer=self.layer_dropout, head=p),
            activation="none",
        )

    deviations = (
        Deviation(
            "The cumulative sum of the gate runs from left to right, as in the implementations. The "
            "paper writes the mirror image."
        ),
        Deviation("The layer norms of the input are trained. The authors' optimizer omits them."),
        Deviation(
            "All parameters have the same weight decay. The authors' implementation has two."
        ),
    )
