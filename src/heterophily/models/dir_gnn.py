"""Dir-GNN: separate messages along incoming and outgoing edges, for any of three layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.graph import Features
from heterophily.core.spaces import Bounds, Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.htmp.architecture import Architecture, Dropout, Head
from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import Combine, Messages
from heterophily.htmp.direction import Both, DirectedMean
from heterophily.htmp.fuse import Fuse, LastLayer
from heterophily.htmp.guidance import Attention, Ones, RowMean
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.parts import Context, Init, Sizes, Weights, apply_dropout
from heterophily.htmp.transform import Heads, Linear, Transform

GAT_INIT = Init("glorot", bias="zero")


@define_method
class DirGNN(Method):
    """The settings that Dir-GCN, Dir-SAGE, and Dir-GAT have in common."""

    paper = "Rossi et al., Edge directionality improves learning on heterophilic graphs, LoG 2023"

    alpha: Annotated[float, Choice(0.0, 0.5, 1.0), Bounds(ge=0, le=1), "α, the weight of outgoing edges."] = 0.5
    jumping_knowledge: Annotated[
        Literal["max", "concat", "none"], Choice("max", "concat", "none"), "How the outputs of all layers are joined."
    ] = "max"
    normalize: Annotated[bool, Choice(False, True), "Divide each row of a layer's output by its norm."] = False
    width: Annotated[PositiveInt, Choice(32, 64, 128, 256, 512)] = 64
    n_layers: Annotated[PositiveInt, Choice(2, 3, 4, 5, 6)] = 3
    dropout: Annotated[DropoutRate, Choice(0.0, 0.2, 0.4, 0.6, 0.8)] = 0.0
    learning_rate: Annotated[PositiveFloat, Choice(0.0005, 0.001, 0.005, 0.01)] = 0.001
    weight_decay: NonNegativeFloat = 0.0
    patience: Annotated[PositiveInt, Choice(100, 200, 400)] = 200

    def assemble(self, channels: tuple[Channel, ...], transform: Transform) -> Architecture:
        """Return the architecture with these channels, of which the last two are incoming and outgoing edges."""
        jumps = self.jumping_knowledge != "none"
        return Architecture(
            channels=channels,
            combine=DirectedSum(self.alpha, self.dropout, normalize=self.normalize, transform_last=jumps),
            fuse=JUMPS[self.jumping_knowledge],
            transform=transform,
            head=Head() if jumps else None,
            dropout=Dropout(),
            activation="none",
        )

    deviations = (
        Deviation("α is constant. The authors' implementation can learn it, which is off by default."),
        Deviation(
            "Self-loops are omitted, and Dir-GAT adds one to each node. In the authors' implementation, stored "
            "self-loops are edges."
        ),
    )


@define_method
class DirGCN(DirGNN):
    """Normalized sums over incoming and over outgoing edges, with separate weights.

    Z^l = drop(relu(α (S_→ Z W_→ + b_→) + (1-α) (S_← Z W_← + b_←))), S = D_r^(-1/2) A D_s^(-1/2)
    """

    name, title = "dir-gcn", "Dir-GCN"

    @override
    def architecture(self) -> Architecture:
        return self.assemble(Both() * DirectedMean(), Linear(init="linear"))


@define_method
class DirSAGE(DirGNN):
    """The node itself, and means over incoming and over outgoing edges, with separate weights.

    Z^l = drop(relu(Z W_0 + b_0 + α (M_→ Z W_→ + b_→) + (1-α) (M_← Z W_← + b_←))), M = D^(-1) A
    """

    name, title = "dir-sage", "Dir-SAGE"

    @override
    def architecture(self) -> Architecture:
        return self.assemble((Ego() * Ones(), *(Both() * RowMean())), Linear(init="linear"))


@define_method
class DirGAT(DirGNN):
    """Attention over incoming and over outgoing edges, and the node itself, with separate weights.

    Z^l = drop(relu(α (α_→ Z W_→ + b_→) + (1-α) (α_← Z W_← + b_←))), α_ij = softmax_j(lrelu(U_i·r + U_j·s))
    """

    name, title = "dir-gat", "Dir-GAT"

    @override
    def architecture(self) -> Architecture:
        return self.assemble(Both(with_self=True) * Attention(), Linear(init=GAT_INIT, heads=Heads(1)))


@dataclass(frozen=True)
class DirectedSum(Combine):
    """Weighted sum of the messages of incoming and outgoing edges, then ReLU, dropout, and division by the norm.

    Z = norm(drop(relu(α Z_→ + (1-α) Z_← + Z_0)))

    Parameters
    ----------
    alpha
        α, weight of outgoing edges.
    rate
        Dropout rate.
    normalize
        Whether to divide each row by its Euclidean norm.
    transform_last
        Whether ReLU, dropout, and normalization also apply to the last layer.

    Notes
    -----
    The last two channels are incoming and outgoing edges. The messages of other channels have weight 1.

    Examples
    --------
    >>> DirectedSum(0.5).symbol
    'WeightedAdd'
    """

    alpha: float = 0.5
    rate: float = 0.0
    normalize: bool = False
    transform_last: bool = False
    symbol = "WeightedAdd"
    arity = (2, None)

    @override
    def weights(self, size: Sizes) -> Weights:
        is_linear = size.is_last and not self.transform_last
        return LinearWeights() if is_linear else Weights()

    @override
    def __call__(self, messages: Messages, inputs: Features | None, w: Weights, context: Context) -> Tensor:
        *others, into, out = messages
        z = sum(others, self.alpha * out + (1 - self.alpha) * into)
        if isinstance(w, LinearWeights):
            return z
        z = apply_dropout(torch.relu(z), self.rate, training=context.training)
        return F.normalize(z, dim=1) if self.normalize else z


class LinearWeights(Weights):
    """Marks a layer whose output is the sum itself."""


@dataclass(frozen=True)
class MaxOutputs(Fuse):
    """Maximum of the outputs of all layers, without Z⁰.

    Z = max(Z^1, .., Z^L)

    Examples
    --------
    >>> MaxOutputs().symbol
    'Max'
    """

    symbol = "Max"
    uses_initial = False

    @override
    def __call__(self, states: Sequence[Tensor], w: Weights) -> Tensor:
        return torch.stack(list(states[1:])).amax(dim=0)


@dataclass(frozen=True)
class ConcatOutputs(Fuse):
    """Concatenation of the outputs of all layers, without Z⁰.

    Z = [Z^1 ‖ .. ‖ Z^L]

    Examples
    --------
    >>> ConcatOutputs().width([7, 4, 4])
    8
    """

    symbol = "Cat"
    uses_initial = False
    concatenates = True

    @override
    def width(self, widths: Sequence[int]) -> int:
        return sum(widths[1:])

    @override
    def __call__(self, states: Sequence[Tensor], w: Weights) -> Tensor:
        return torch.cat(list(states[1:]), dim=1)


JUMPS: dict[str, Fuse] = {"max": MaxOutputs(), "concat": ConcatOutputs(), "none": LastLayer()}
