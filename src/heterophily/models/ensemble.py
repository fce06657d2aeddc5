"""Ensembles: the weighted mean of the probabilities of several predictors, calibrated."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.execution.inputs import graph_of_data
from heterophily.htmp.method import Method
from heterophily.htmp.network import Network

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Ensemble(nn.Module):
    """Predictor whose logits are log(Σ_m w_m softmax(logits_m / T_m)) / T + b.

    The members receive the features (X - mean) / scale. An ensemble of one member is a calibrated predictor.

    Parameters
    ----------
    members
        Predictors: modules whose `forward(graph)` returns logits, (N, K).
    weights
        w_m, which are divided by their sum. Equal by default.
    temperature
        T, which is above 1 for predictors that are too confident.
    """

    weights: Tensor  # (M,)
    member_temperatures: Tensor  # (M,)
    temperature: Tensor  # ()
    bias: Tensor  # (K,)
    feature_mean: Tensor  # (F,)
    feature_scale: Tensor  # (F,)

    def __init__(
        self, members: Sequence[nn.Module], weights: Sequence[float] | None = None, *, temperature: float = 1.0
    ) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        first = cast("Network", members[0])  # all predictors have these attributes
        self.n_nodes, self.n_features, self.n_classes = first.n_nodes, first.n_features, first.n_classes
        given = torch.tensor([1.0] * len(members) if weights is None else list(weights))
        self.register_buffer("weights", given / given.sum())
        self.register_buffer("member_temperatures", torch.ones(len(members)))
        self.register_buffer("temperature", torch.tensor(float(temperature)))
        self.register_buffer("bias", torch.zeros(self.n_classes))
        self.register_buffer("feature_mean", torch.zeros(self.n_features))
        self.register_buffer("feature_scale", torch.ones(self.n_features))
        self._last: tuple[Graph, Graph] | None = None

    @property
    def method(self) -> Method:
        """The method of the member with the largest weight."""
        return cast("Network", self.members[int(self.weights.argmax())]).method

    def forward(self, graph: "Graph | Data") -> Tensor:
        """Return logits, (N, K)."""
        return self._combine(graph_of_data(graph), lambda member, scaled: member(scaled))

    def evaluate(self, graph: Graph) -> Tensor:
        """Return logits without gradient, (N, K), computed in blocks of rows by members that support it."""
        with torch.no_grad():
            return self._combine(graph, _evaluate)

    def _combine(self, graph: Graph, predict: Callable[[nn.Module, Graph], Tensor]) -> Tensor:
        scaled = self.scale_features(graph)
        logits = [predict(member, scaled) for member in self.members]
        mean = mean_logits(logits, self.weights, self.member_temperatures)
        return mean / self.temperature + self.bias

    def scale_features(self, graph: Graph) -> Graph:
        """Return the graph that the members receive. The last graph is stored."""
        mean, scale = self.feature_mean, self.feature_scale
        if not mean.any() and bool((scale == 1).all()):
            return graph
        if self._last is None or self._last[0] is not graph:
            self._last = graph, with_features(graph, scaled_features(graph.features, mean, scale))
        return self._last[1]


def mean_logits(logits: Sequence[Tensor], weights: Tensor, temperatures: Tensor) -> Tensor:
    """Return log(Σ_m w_m softmax(logits_m / T_m)), (N, K)."""
    pairs = zip(logits, weights, temperatures, strict=True)
    return torch.stack([w.log() + (each / t).log_softmax(dim=1) for each, w, t in pairs]).logsumexp(dim=0)


def scaled_features(x: Features, mean: Tensor, scale: Tensor) -> Features:
    """Return (X - mean) / scale. Sparse features are not scaled."""
    return x if isinstance(x, Matrix) else (x - mean) / scale


def with_features(graph: Graph, features: Features) -> Graph:
    """Return a graph with other features, which shares the symmetrized edges."""
    result = graph.replace(features=features)
    result.__dict__["symmetric"] = graph.symmetric
    return result


def _evaluate(member: nn.Module, graph: Graph) -> Tensor:
    if isinstance(member, Network):
        return evaluate(member, graph)
    if isinstance(member, Ensemble):
        return member.evaluate(graph)
    logits: Tensor = member(graph)
    return logits
