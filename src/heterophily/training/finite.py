"""Predictions that are not numbers are an error, never a class."""

import torch
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix


def check_logits(logits: Tensor, graph: Graph, predictor: nn.Module) -> Tensor:
    """Return logits (N, K) if they define probabilities. A class may have the logit minus infinity."""
    return _check(logits, torch.isfinite(logits.amax(dim=1)), graph, predictor)


def check_embeddings(embeddings: Tensor, graph: Graph, predictor: nn.Module) -> Tensor:
    """Return representations (N, d) if all of them are finite."""
    return _check(embeddings, torch.isfinite(embeddings).all(dim=1), graph, predictor)


def _check(values: Tensor, fine: Tensor, graph: Graph, predictor: nn.Module) -> Tensor:
    if bool(fine.all()):
        return values
    wrong = (~fine).nonzero().squeeze(1)
    raise HeterophilyError(
        f"the predictions for {len(wrong)} of {len(values)} nodes of {graph.name} are not finite, first for node "
        f"{int(wrong[0])}: {_cause(graph, predictor)}"
    )


def _cause(graph: Graph, predictor: nn.Module) -> str:
    damaged = [name for name, w in predictor.state_dict().items() if w.is_floating_point() and bool(w.isnan().any())]
    if damaged:
        return f"the weights {damaged[0]} contain NaN; fit the model again"
    values = graph.features.values if isinstance(graph.features, Matrix) else graph.features
    largest = float(values.abs().max()) if values.numel() else 0.0
    return (
        f"the largest feature is {largest:.3g}, and products of such numbers exceed the range of float32 (3.4e+38); "
        "scale the features, for example to mean 0 and variance 1, or lower learning_rate"
    )
