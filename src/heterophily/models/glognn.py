"""GloGNN: messages between all pairs of nodes, with coefficients in closed form."""

from dataclasses import dataclass
from typing import Annotated, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from typing_extensions import override

from heterophily.core.errors import check_option
from heterophily.core.graph import Features, Graph
from heterophily.core.kernels import HALF
from heterophily.core.spaces import Choice, DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from heterophily.core.sparse import Matrix
from heterophily.htmp.architecture import Architecture, Dropout
from heterophily.htmp.combine import WeightedAdd
from heterophily.htmp.encoder import Predict, PredictWeights
from heterophily.htmp.guidance import ChannelInput, Guidance, Ones, SymmetricMean
from heterophily.htmp.method import Deviation, FeatureNorm, Method, define_method
from heterophily.htmp.neighborhoods import Adjacency, Ego, Neighborhood, WithSelf, structure_adjacency
from heterophily.htmp.parts import Context, Dense, Sizes, Weights, apply_dropout
from heterophily.htmp.transform import NoTransform

TENTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@define_method
class GloGNN(Method):
    """Messages between all pairs of nodes, with coefficients in closed form.

    H^l = (1-γ) Z* H^(l-1) + γ H⁰, Z* = argmin ‖H - (1-γ) Z H - γ H⁰‖² + α ‖Z‖² + β ‖Z - Σ λ_k S°^k‖²
    """

    name, title = "glognn", "GloGNN"
    paper = "Li et al., Finding global homophily in graph neural networks when meeting heterophily, ICML 2022"

    alpha: Annotated[float, Choice(0.0, 1.0, 10.0)] = 1.0
    beta: Annotated[float, Choice(0.1, 1.0, 10.0, 100.0, 1000.0)] = 100.0
    gamma: Annotated[float, Choice(*TENTHS[:-1])] = 0.5
    delta: Annotated[float, Choice(*TENTHS), "Weight of the features in Z⁰."] = 0.5
    n_orders: Annotated[PositiveInt, Choice(1, 2, 3, 4, 5, 6), "Number of hops."] = 4
    variant: Annotated[Literal["glognn", "glognn++"], Choice("glognn", "glognn++")] = "glognn"
    feature_dropout: Annotated[bool, "Whether dropout applies to the features."] = True
    n_layers: Annotated[PositiveInt, Choice(1, 2, 3)] = 1
    dropout: Annotated[DropoutRate, Choice(*TENTHS[1:9])] = 0.5
    feature_norm: FeatureNorm = "l1"
    learning_rate: Annotated[PositiveFloat, Choice(0.005, 0.01)] = 0.01
    weight_decay: Annotated[NonNegativeFloat, Choice(0.0, 1e-5, 5e-5, 1e-4)] = 1e-4

    @override
    def architecture(self) -> Architecture:
        coefficients = ClosedFormCoefficients(self.alpha, self.beta, self.gamma, self.n_orders, self.variant)
        return Architecture(
            encoder=PredictFromBoth(dropout=self.dropout, share=self.delta),
            channels=((Ego() * Ones()).with_input("initial"), AllPairs() * coefficients),
            combine=WeightedAdd(self.gamma),
            transform=NoTransform(),
            dropout=Dropout(input=self.dropout if self.feature_dropout else 0.0),
            activation="none",
        )

    deviations = (
        Deviation(
            "Dropout applies to the features. The reference implementation computes it and discards the result.",
            {"feature_dropout": False},
        ),
        Deviation("The weights of the hops are learned. The authors' other two rules are omitted."),
    )


class PredictFromBothWeights(PredictWeights):
    """Weights of `PredictFromBoth`."""

    structure: Dense  # W_a (N, d)


@dataclass(frozen=True)
class PredictFromBoth(Predict):
    """Classifier before propagation, from features and structure.

    Z⁰ = drop( relu( δ (X W_x + b_x) + (1-δ) (S W_a + b_a) ) ) W_o + b_o (N, K),
    S = D°^(-1/2) (A + I) D°^(-1/2)

    Parameters
    ----------
    share
        δ, weight of the features.

    Examples
    --------
    >>> PredictFromBoth(share=0.5).uses_structure
    True
    """

    share: float = 0.5  # δ
    structure = WithSelf()

    @override
    def weights(self, size: Sizes) -> PredictFromBothWeights:
        w = super().weights(size)
        structure = Dense(size.n_nodes, size.d_out)
        return PredictFromBothWeights(inner=w.inner, outer=w.outer, structure=structure)

    @override
    def __call__(self, x: Features, w: PredictWeights, context: Context) -> Tensor:
        assert isinstance(w, PredictFromBothWeights)
        adjacency = structure_adjacency(WithSelf(), context.graph)
        filter_ = SymmetricMean().cached_matrix(context.graph, adjacency)  # S°
        structure = filter_ @ w.structure.weight + w.structure.bias
        hidden = F.relu(torch.lerp(structure, w.inner(x), self.share))
        return w.outer(apply_dropout(hidden, self.dropout, training=context.training))


@dataclass(frozen=True)
class AllPairs(Neighborhood):
    """All nodes, without storing a matrix of all pairs.

    A_r = 1

    Examples
    --------
    >>> AllPairs().symbol
    '1'
    """

    symbol = "1"
    uses_weights = True  # of the edges in S

    @override
    def check_guidance(self, guidance: "Guidance") -> str:
        if guidance.covers_all_pairs:
            return ""
        return "the matrix of all pairs is never formed; use AllPairs() * ClosedFormCoefficients()"

    @override
    def adjacency(self, graph: Graph) -> Adjacency:
        return WithSelf().adjacency(graph)


class ClosedFormWeights(Weights):
    """Weights of `ClosedFormCoefficients`, which all layers share."""

    orders: nn.Parameter  # λ (n_orders,)
    diagonal: nn.Parameter  # of Σ, (K,), for the `++` variant


@dataclass(frozen=True)
class ClosedFormCoefficients(Guidance):
    """Coefficients between all nodes that best reconstruct the states, in closed form.

    Z* = argmin_Z ‖H - (1-γ) Z H - γ H₀‖² + α ‖Z‖² + β ‖Z - Σ_k λ_k S^k‖²

    Parameters
    ----------
    alpha
        α, weight of the norm.
    beta
        β, weight of the distance from the multi-hop adjacency.
    gamma
        γ, weight of the initial state H₀.
    n_orders
        Number of powers of S.
    variant
        `glognn`, or `glognn++` with a learned diagonal matrix.

    Notes
    -----
    The minimum is Z* = [(1-γ) H Hᵀ + β Σ_k λ_k S^k - γ(1-γ) H₀ Hᵀ] [(1-γ)² H Hᵀ + (α+β) I]^(-1).
    The variant `glognn++` inserts a learned diagonal Σ into both products and multiplies by it.
    With the push-through identity, only K × K systems are solved: Z* H = c H T + β Σ_k λ_k S^k H G
    - γ c H₀ T, c = 1-γ, G = (c² HᵀH + (α+β) I)^(-1), T = HᵀH G.

    Examples
    --------
    >>> ClosedFormCoefficients().symbol
    'B^re'
    """

    alpha: float = 1.0
    beta: float = 1.0
    gamma: float = 0.5
    n_orders: int = 2
    variant: str = "glognn"
    full_graph_reason = "its coefficients join every node with every node"
    covers_all_pairs = True
    symbol = "B^re"
    kind = "RelaEst"

    def __post_init__(self) -> None:
        check_option("variant", self.variant, ("glognn", "glognn++"))

    @override
    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        return "" if isinstance(neighborhood, AllPairs) else "use it with AllPairs()"

    @override
    def shared_weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        orders, k = self.n_orders, size.n_classes
        weights = {"orders": nn.Parameter(torch.full((orders,), 1 / orders))}
        if self.variant == "glognn++":
            weights["diagonal"] = nn.Parameter(torch.full((k,), 1 / k))
        return weights

    @override
    def operator(self, seen: ChannelInput, w: Weights) -> "LowRankOperator":
        filter_ = SymmetricMean().cached_matrix(seen.context.graph, seen.adjacency)
        initial = cast("Tensor", seen.context.initial)
        return LowRankOperator(self, filter_, initial, seen.context.shared_weights)


@dataclass(frozen=True, eq=False)
class LowRankOperator:
    """Z* @ H of GloGNN in O(N K² + K³ + n_orders E K)."""

    form: ClosedFormCoefficients
    filter: Matrix
    initial: Tensor
    w: ClosedFormWeights

    def __matmul__(self, h: Tensor) -> Tensor:
        c, a = 1 - self.form.gamma, self.form.alpha + self.form.beta
        s = self.w.diagonal if self.form.variant == "glognn++" else h.new_ones(h.shape[1])
        gram = h.T @ h
        # Scaled by a > 0 the system is I plus a positive matrix: safe for Cholesky in float32. Half types have none.
        system = torch.eye(len(gram), dtype=h.dtype, device=h.device) + (c * c / a) * gram
        factor = torch.linalg.cholesky(system.float() if h.dtype in HALF else system)
        inner = torch.cholesky_inverse(factor).to(h.dtype) / a  # G
        t = (gram @ inner) * s  # T Σ
        q = h @ (inner * s)  # H G Σ
        spread, total = q, 0.0
        for weight in self.w.orders:
            spread = self.filter @ spread
            total = total + weight * spread
        return c * (h * s) @ t + self.form.beta * total - self.form.gamma * c * (self.initial * s) @ t
