"""GBK-GNN: one kernel for similar and one for dissimilar neighbors, selected by a trained gate."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.dense import product
from heterophily.core.errors import check_option
from heterophily.core.spaces import Choice, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Pattern, edge_sum, segment_sum
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.channel import Channel, Operator
from heterophily.htmp.combine import Add
from heterophily.htmp.guidance import ChannelInput, Guidance, Ones, RowMean
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Deviation, Method, define_method
from heterophily.htmp.neighborhoods import Ego, Neighborhood, Raw, WithSelf
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context, Init, Sizes, Weights, init_uniform
from heterophily.htmp.transform import Linear


@define_method
class GBKGNN(Method):
    """One kernel for similar and one for dissimilar neighbors, selected by a trained gate.

    Z_i = Z_i W_r + mean_j[σ_ij Z_j] W_p + b_p + mean_j[(1-σ_ij) Z_j] W_n + b_n
    """

    name, title = "gbk-gnn", "GBK-GNN"
    paper = (
        "Du et al., GBK-GNN: gated bi-kernel graph neural networks for modeling both homophily and "
        "heterophily, WWW 2022"
    )

    gate_weight: Annotated[
        float, Choice(1.0, 2.0, 4.0, 14.0, 20.0, 24.0, 28.0, 30.0, 36.0), "Weight of the gate's loss."
    ] = 1.84
    hetero_message: Annotated[Literal["neighbor", "ego"], "What the second kernel transforms."] = "neighbor"
    kernel_merge: Literal["add", "parity"] = "add"
    gate_target: Literal["same_label", "both_nonzero"] = "same_label"
    gate_loss: Literal["binary", "probabilities_as_logits"] = "binary"
    gate_self_loops: bool = False
    width: Annotated[PositiveInt, Choice(16, 32, 64)] = 16
    learning_rate: Annotated[PositiveFloat, Choice(0.001, 0.01)] = 0.001
    weight_decay: Annotated[NonNegativeFloat, Choice(1e-4, 1e-3, 1e-2)] = 1e-3

    @override
    def architecture(self) -> Architecture:
        linear = ParityLinear if self.kernel_merge == "parity" else Linear
        neighbors = WithSelf() if self.gate_self_loops else Raw()
        complement = EgoGateComplement() if self.hetero_message == "ego" else GateComplement()
        return Architecture(
            channels=(Ego() * Ones(), neighbors * Gate(), neighbors * complement),
            combine=Add(),
            transform=linear(init=("linear", Init("glorot", bias="linear")), bias_channels=(1, 2)),
            dropout=Dropout(layer=self.dropout),
            losses=(GateLoss(self.gate_weight, self.gate_target, self.gate_loss),),
        )

    deviations = (
        Deviation(
            "The reference implementation applies the second kernel to the state of the receiver.",
            {"hetero_message": "ego"},
        ),
        Deviation("It concatenates the kernels if the width is even.", {"kernel_merge": "parity"}),
        Deviation(
            "It trains the gate on whether both class numbers are positive, with probabilities as logits.",
            {"gate_target": "both_nonzero", "gate_loss": "probabilities_as_logits"},
        ),
        Deviation("It treats a node as its own neighbor.", {"gate_self_loops": True}),
    )


@dataclass(frozen=True, eq=False)
class DiagonalOperator:
    """diag(v) @ Z."""

    values: Tensor  # (N,)

    def __matmul__(self, state: Tensor) -> Tensor:
        return self.values.unsqueeze(1) * state


@dataclass(frozen=True)
class Gate(Guidance[nn.ParameterDict]):
    """Mean over neighbors, weighted by a learned gate for homophilous edges.

    B_ij = σ_ij / d_i, σ_ij = sig( lrelu(s · U_j + r · U_i) ), U = Z W_g

    Examples
    --------
    >>> Gate().symbol
    'B^aw'
    """

    symbol = "B^aw"

    @override
    def weights(self, size: Sizes) -> nn.ParameterDict:
        d = size.d_out
        bound = (6 / (1 + d)) ** 0.5
        return nn.ParameterDict(
            {"W": Init().new_matrix(size.d_in, d), "r": init_uniform(bound, d), "s": init_uniform(bound, d)}
        )

    @override
    def values(self, seen: ChannelInput, w: nn.ParameterDict) -> Tensor:
        u, hood = product(seen.inputs, w["W"]), seen.channel.neighborhood
        gate = torch.sigmoid(F.leaky_relu(edge_sum(seen.pattern, u @ w["r"], u @ w["s"]), 0.2))
        seen.context.carry["gate", seen.context.layer, hood] = gate
        seen.context.add_aux_output("gate", (hood, seen.pattern, gate))
        return gate * RowMean().cached_matrix(seen.context.graph, seen.adjacency).values


@dataclass(frozen=True)
class GateComplement(Guidance):
    """Mean over neighbors, weighted by the complement of the `Gate` on the same neighborhood.

    B_ij = (1 - σ_ij) / d_i

    Examples
    --------
    >>> GateComplement().symbol
    '1-B^aw'
    """

    symbol = "1-B^aw"

    @override
    def shares_weights_with(self, neighborhood: Neighborhood) -> Channel | None:
        return neighborhood * Gate()

    @override
    def values(self, seen: ChannelInput, w: Weights) -> Tensor:
        gate = seen.context.carry["gate", seen.context.layer, seen.channel.neighborhood]
        return (1 - gate) * RowMean().cached_matrix(seen.context.graph, seen.adjacency).values


@dataclass(frozen=True)
class EgoGateComplement(GateComplement):
    """Complement of the `Gate` that weights the message of the receiver, as in the reference implementation.

    Z_i = Σ_j (1 - σ_ij) / d_i U_i

    Examples
    --------
    >>> EgoGateComplement().symbol
    '1-B^aw'
    """

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> Operator:
        return DiagonalOperator(segment_sum(seen.pattern, self.values(seen, w)))


@dataclass(frozen=True)
class GateLoss(AuxiliaryLoss):
    """Cross-entropy of the gates: whether an edge between training nodes connects equal classes.

    λ Σ_l mean_ij( -t log σ_ij - (1-t) log(1-σ_ij) ), t = 1[y_i = y_j]

    Parameters
    ----------
    weight
        λ.
    target
        `same_label`, or `both_nonzero` for t = 1 if both class numbers are positive, as in the
        reference implementation of GBK-GNN.
    form
        `binary`, or `probabilities_as_logits` to use (1-σ, σ) as logits, as in the reference
        implementation.

    Examples
    --------
    >>> GateLoss(0.1).weight
    0.1
    """

    weight: float = 1.0
    target: str = "same_label"
    form: str = "binary"
    requires = (Gate,)

    def __post_init__(self) -> None:
        check_option("gate_target", self.target, ("same_label", "both_nonzero"))
        check_option("gate_loss", self.form, ("binary", "probabilities_as_logits"))

    @override
    def __call__(self, network: "Network", context: Context, nodes: Tensor, w: Weights) -> Tensor:
        graph, labels = context.graph, context.labels
        assert labels is not None
        total = torch.zeros((), device=labels.device)
        facts = tuple(bytes(each.cpu().numpy()) for each in (labels, nodes))  # both may change in place
        for hood, pattern, gate in context.aux_outputs["gate"]:
            key = ("training edges", self.target, hood, facts)
            edges, same = graph.cached(key, partial(self._edges, pattern, labels, nodes))
            if len(edges):
                total = total + self._loss(gate.index_select(0, edges), same)
        return self.weight * total

    def _edges(self, pattern: Pattern, labels: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The entries between training nodes, and t for each."""
        inside = torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
        inside[nodes] = True
        rows, columns = pattern.rows.long(), pattern.indices.long()
        known = (inside[rows] & inside[columns]).nonzero().squeeze(1)
        left, right = labels[rows[known]], labels[columns[known]]
        return known, left == right if self.target == "same_label" else (left > 0) & (right > 0)

    def _loss(self, gate: Tensor, target: Tensor) -> Tensor:
        if self.form == "binary":
            return F.binary_cross_entropy(gate, target.to(gate.dtype))
        return F.softplus(torch.where(target, 1 - 2 * gate, 2 * gate - 1)).mean()


@dataclass(frozen=True)
class ParityLinear(Linear):
    """Linear maps to half the width in all channels but the first, if the width is even.

    U_1 = Z W_1, U_r = Z W_r + b_r with d/2 columns

    Examples
    --------
    >>> ParityLinear().bias
    'after'
    """

    @override
    def _columns(self, size: Sizes, r: int) -> int:
        return size.d_out // 2 if r > 0 and size.d_out % 2 == 0 else super()._columns(size, r)
