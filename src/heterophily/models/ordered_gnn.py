"""OrderedGNN: a gate that orders the dimensions of the node and of its neighborhood."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.dense import product
from heterophily.core.errors import HeterophilyError, check_option
from heterophily.core.fused import blend
from heterophily.core.graph import Features
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.encoder import Embed
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Raw
from heterophily.htmp.parts import Context, Dense, Sizes, Weights
from heterophily.htmp.transform import NoTransform


@define_method
class OrderedGNN(Method):
    """A gate that orders the dimensions of the node and of its neighborhood.

    Z^l = LN(G ⊙ z + (1-G) ⊙ R z), g^l = g^(l-1) + (1-g^(l-1)) ⊙ q,
    q = cumsum(softmax([z ‖ R z] W_g + b_g))
    """

    name, title = "ordered-gnn", "OrderedGNN"
    paper = "Song et al., Ordered GNN: ordering message passing to deal with heterophily and over-smoothing, ICLR 2023"

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
        Deviation("All parameters have the same weight decay. The authors' implementation has two."),
    )


class OrderedGateWeights(Weights):
    """Weights of `OrderedGate`."""

    norm: nn.LayerNorm
    gate: Dense  # unless all layers share it


@dataclass(frozen=True)
class OrderedGate(Combine[OrderedGateWeights]):
    """Gate that assigns the first dimensions to the node and the others to its neighbors.

    Z = LN(G ⊙ Z_1 + (1 - G) ⊙ Z_2),
    g^l = g^(l-1) + (1 - g^(l-1)) ⊙ cumsum(softmax([Z_1 ‖ Z_2] W_g + b_g))

    Parameters
    ----------
    n_chunks
        Number of columns of g^l. G repeats each column, so this number must divide the width.
    shared
        Whether all layers share the gate.
    gate
        `ordered`, `simple` for a sigmoid, or `off` for Z = LN(Z_2).

    Examples
    --------
    >>> OrderedGate(16).symbol
    'AdaCat'
    """

    n_chunks: int = 64
    shared: bool = True
    gate: str = "ordered"
    symbol = "AdaCat"
    arity = (2, 2)
    carried_keys = ("gate",)

    @property
    @override
    def requires_equal_widths(self) -> bool:
        return self.shared and self.gate != "off"

    def __post_init__(self) -> None:
        check_option("gate", self.gate, ("ordered", "simple", "off"))

    def _gate(self, size: Sizes) -> dict[str, nn.Module]:
        if self.gate == "off":
            return {}
        width, chunks = size.d_out, self.n_chunks
        if width % chunks:
            raise HeterophilyError(f"n_chunks must divide the width {width}, got {chunks}")
        return {"gate": Dense(2 * width, chunks)}

    @override
    def shared_weights(self, size: Sizes) -> dict[str, nn.Module]:
        return self._gate(size) if self.shared else {}

    @override
    def weights(self, size: Sizes) -> OrderedGateWeights:
        own = {} if self.shared else self._gate(size)
        return OrderedGateWeights(norm=nn.LayerNorm(size.d_out), **own)

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: OrderedGateWeights, context: Context) -> Tensor:
        ego, mean = messages
        if self.gate == "off":
            return w.norm(mean)
        return w.norm(blend(self.gate_values(messages, w, context), ego, mean))

    def gate_values(self, messages: Messages, w: OrderedGateWeights, context: Context) -> Tensor:
        """g^l (N, c), non-decreasing along chunks and along layers."""
        dense = (context.shared_weights if self.shared else w).gate
        ego, mean = messages
        upper, lower = dense.weight.split(ego.shape[1])
        raw = product(ego, upper, dense.bias).add_(product(mean, lower))
        if self.gate == "simple":
            return torch.sigmoid(raw)
        opened = raw.softmax(dim=1).cumsum(dim=1)
        before = context.carry.get("gate")
        gate = opened if before is None else before + (1 - before) * opened
        context.carry["gate"] = gate
        return gate
