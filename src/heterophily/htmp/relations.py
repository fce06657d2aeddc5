"""B^re: relations between nodes that a method estimates in every layer (GGCN, HOG-GCN, GloGNN)."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heterophily.core.errors import check_option
from heterophily.core.sparse import Matrix, Pattern, sddmm
from heterophily.htmp.algorithms.homophily_degrees import homophily_degrees
from heterophily.htmp.channel import Channel
from heterophily.htmp.guidance import ChannelInput, Guidance, SymmetricMean, degree_sums, pattern_of
from heterophily.htmp.neighborhoods import AllPairs, Neighborhood, PathCounts, Signed, WithSelf
from heterophily.htmp.part import Dense, Sizes, init_scalar

EPSILON = 1e-8  # of a product of two lengths


@dataclass(frozen=True)
class SignedSimilarity(Guidance):
    """Positive or negative part of the similarity of messages, scaled by structure.

    B_ij = ±Â_ij τ_ij relu(±cos(U_i, U_j)), τ_ij = softplus(a (Â_ii / Â_ij - 1) + b)

    Parameters
    ----------
    sign
        1 for the positive part, -1 for the negative part.
    normalization
        Normalization of Â = A + I: `symmetric` or `row`.

    Notes
    -----
    Â is the normalized adjacency matrix with self-loops. With row normalization, Â_ii / Â_ij is 1.

    Examples
    --------
    >>> SignedSimilarity(1).symbol
    'B^re_p'
    """

    sign: int = 1
    normalization: str = "symmetric"
    depends_on = "messages"
    kind = "RelaEst"

    def __post_init__(self) -> None:
        check_option("normalization", self.normalization, ("symmetric", "row"))

    @property
    def symbol(self) -> str:
        """B^re_p or B^re_n."""
        return "B^re_p" if self.sign > 0 else "B^re_n"

    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        """Only `Signed` defines its entries."""
        if neighborhood == Signed(self.sign):
            return ""
        return f"use Signed({self.sign}) * SignedSimilarity({self.sign})"

    def shares_weights_with(self, neighborhood: Neighborhood) -> Channel | None:
        """The positive relation, for the negative one."""
        return Signed(1) * replace(self, sign=1) if self.sign < 0 else None

    def weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        """Numbers a and b of the positive relation, which the negative one shares."""
        return {} if self.sign < 0 else {"a": init_scalar(0.5), "b": init_scalar(0.0)}

    def values(self, seen: ChannelInput, w: Any) -> Tensor:
        """One value per edge."""
        carry, key = seen.context.carry, ("similarity", seen.context.layer)
        if self.sign > 0:
            weight, delta = self.structure(seen)
            cosine = cosines(seen.pattern, seen.messages)
            carry[key] = weight * F.softplus(w.a * delta + w.b), cosine
        scale, cosine = carry[key]
        # ±relu(±e) is the positive or the negative part of e.
        return scale * (cosine.clamp_min(0) if self.sign > 0 else cosine.clamp_max(0))

    def structure(self, seen: ChannelInput) -> tuple[Tensor, Tensor]:
        """Â_ij on the edges and δ_ij, which may be one number for all, once per graph."""
        graph = seen.context.graph

        def compute() -> tuple[Tensor, Tensor]:
            times = 1 if seen.sampling_weight is None else seen.sampling_weight
            receivers, senders = (sums + 1 for sums in degree_sums(seen.adjacency))
            rows = receivers.index_select(0, seen.pattern.rows)
            if self.normalization == "row":
                return times / rows, rows.new_zeros(())
            rows, columns = rows.sqrt(), senders.sqrt().index_select(0, seen.pattern.indices)
            return times / (rows * columns), columns / rows - 1

        pair: tuple[Tensor, Tensor] = graph.cached(("ggcn", self.normalization), compute)
        return pair


def cosines(pattern: Pattern, state: Tensor) -> Tensor:
    """U_i · U_j / max(‖U_i‖ ‖U_j‖, 1e-8) on the entries; rows of zeros have no gradient.

    Where no product of lengths is below the floor, rows are divided before they are multiplied.
    """
    lengths = state.norm(dim=1, keepdim=True)
    known = lengths.detach()
    if bool(((known == 0) | (known > EPSILON**0.5)).all()):
        unit = torch.where(known > 0, state / lengths.clamp_min(EPSILON**0.5), 0.0)
        return sddmm(pattern, unit, unit)
    product = sddmm(pattern, lengths, lengths)
    dots = torch.where(product > 0, sddmm(pattern, state, state), 0.0)
    return dots / product.clamp_min(EPSILON)


@dataclass(frozen=True)
class EstimatedHomophily(Guidance):
    """Homophily degrees, estimated from attributes and a learned topology.

    G = norm1(B ⊙ H), H = μ P Pᵀ + ξ T, T = norm1(B ⊙ Θ)

    Parameters
    ----------
    attribute_weight
        μ, weight of the class probabilities P of a linear attribute model.
    topology_weight
        ξ, weight of the topology T with the learned mask Θ.
    width
        Width of the attribute model.

    Notes
    -----
    B are path counts. P are the class probabilities of the attribute model, which is linear in X
    and shared by all layers. All entries outside of B are zero.

    Examples
    --------
    >>> EstimatedHomophily().symbol
    'B^re'
    """

    attribute_weight: float = 0.4  # μ
    topology_weight: float = 1.0  # ξ
    width: int = 64  # of the attribute model
    weight_per_entry = True
    depends_on = "network"
    full_graph_reason = (
        "it learns a weight for every pair of nodes and divides by sums of whole rows"
    )
    symbol = "B^re"
    kind = "RelaEst"

    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        """It uses path counts."""
        return "" if isinstance(neighborhood, PathCounts) else "use it with PathCounts()"

    def shared_weights(self, size: Sizes) -> dict[str, nn.Module]:
        """The attribute model log P = log_softmax((X W_a + b_a) W_b + b_b)."""
        d, graph = self.width, size.graph
        return {"attributes": AttributeModel(graph.n_features, d, graph.n_classes)}

    def weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        """Θ, 1 on A + I and 0 on the other entries of B."""
        pattern = pattern_of(size.adjacency)
        near = WithSelf().adjacency(size.graph)
        return {"mask": nn.Parameter(_membership(pattern, pattern_of(near)))}

    def values(self, seen: ChannelInput, w: Any) -> Tensor:
        """G on the entries of B."""
        assert isinstance(seen.adjacency, Matrix)
        pattern, counts, context = seen.pattern, seen.adjacency.values, seen.context
        if "similarity" not in context.carry:
            log_p = context.shared_weights.attributes(context.x)
            context.add_aux_output("attribute log-probabilities", log_p)
            p = log_p.exp()
            context.carry["similarity"] = sddmm(pattern, p, p)
        relation, topology = homophily_degrees(
            pattern,
            counts,
            w.mask,
            context.carry["similarity"],
            attribute_weight=self.attribute_weight,
            topology_weight=self.topology_weight,
        )
        context.add_aux_output("topology", (pattern, topology))
        return relation


class AttributeModel(nn.Module):
    """log P = log_softmax((X W_a + b_a) W_b + b_b): classes from features alone."""

    def __init__(self, n_features: int, width: int, n_classes: int) -> None:
        super().__init__()
        self.inner, self.outer = Dense(n_features, width), Dense(width, n_classes)

    def forward(self, x: Any) -> Tensor:
        """Log P, (N, K)."""
        return F.log_softmax(self.outer(self.inner(x)), dim=1)


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

    def check_neighborhood(self, neighborhood: Neighborhood) -> str:
        """It connects all pairs of nodes."""
        return "" if isinstance(neighborhood, AllPairs) else "use it with AllPairs()"

    def shared_weights(self, size: Sizes) -> dict[str, nn.Parameter]:
        """λ (n_orders), and s, the diagonal of Σ, for the `++` variant."""
        orders, k = self.n_orders, size.n_classes
        found = {"orders": nn.Parameter(torch.full((orders,), 1 / orders))}
        if self.variant == "glognn++":
            found["diagonal"] = nn.Parameter(torch.full((k,), 1 / k))
        return found

    def operator(self, seen: ChannelInput, w: Any) -> "LowRankOperator":
        """Z*, as something with `@`."""
        filter_ = SymmetricMean().cached_matrix(seen.context.graph, seen.channel, seen.adjacency)
        return LowRankOperator(self, filter_, seen.context.initial, seen.context.shared_weights)


@dataclass(frozen=True, eq=False)
class LowRankOperator:
    """Z* @ H of GloGNN in O(N K² + K³ + n_orders E K)."""

    form: ClosedFormCoefficients
    filter: Matrix
    initial: Tensor
    w: Any

    def __matmul__(self, h: Tensor) -> Tensor:
        c, a = 1 - self.form.gamma, self.form.alpha + self.form.beta
        s = self.w.diagonal if self.form.variant == "glognn++" else h.new_ones(h.shape[1])
        gram = h.T @ h
        # Scaled by a > 0 the system is I plus a positive matrix: safe for Cholesky in float32.
        system = torch.eye(len(gram), dtype=h.dtype, device=h.device) + (c * c / a) * gram
        inner = torch.cholesky_inverse(torch.linalg.cholesky(system)) / a  # G
        t = (gram @ inner) * s  # T Σ
        q = h @ (inner * s)  # H G Σ
        spread, total = q, 0.0
        for weight in self.w.orders:
            spread = self.filter @ spread
            total = total + weight * spread
        return (
            c * (h * s) @ t + self.form.beta * total - self.form.gamma * c * (self.initial * s) @ t
        )


def _membership(pattern: Pattern, inner: Pattern) -> Tensor:
    n = pattern.n_columns
    codes, wanted = (p.rows.long() * n + p.indices.long() for p in (pattern, inner))
    at = torch.searchsorted(wanted, codes).clamp_max(len(wanted) - 1)
    return (wanted[at] == codes).to(torch.get_default_dtype())
