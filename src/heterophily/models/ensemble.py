"""Ensembles: the weighted mean of the probabilities of several predictors, with a temperature."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from heterophily.core.graph import Graph

SMALLEST = 1e-12  # of a mean probability, so that its logarithm is finite


class Ensemble(nn.Module):
    """Predictor whose logits are log(Σ_m w_m softmax(logits_m)) / T.

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
    temperature: Tensor  # ()

    def __init__(
        self, members: Sequence[nn.Module], weights: Sequence[float] | None = None, *, temperature: float = 1.0
    ) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        given = torch.tensor([1.0] * len(members) if weights is None else list(weights))
        self.register_buffer("weights", given / given.sum())
        self.register_buffer("temperature", torch.tensor(float(temperature)))

    def forward(self, graph: Graph) -> Tensor:
        """Return logits, (N, K)."""
        pairs = zip(self.weights, self.members, strict=True)
        mean = cast("Tensor", sum(w * member(graph).softmax(dim=1) for w, member in pairs))
        return mean.clamp_min(SMALLEST).log() / self.temperature
