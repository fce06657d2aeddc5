"""Weights of the classes in the loss, as in scikit-learn: none, `balanced`, or a dictionary."""

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor

from heterophily.core.arguments import NAME, NUMBER, check_argument, short_text
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph

ClassWeight: TypeAlias = Mapping[str, float] | Mapping[int, float] | str | None  # the only text is "balanced"


def make_class_weights(class_weight: ClassWeight, graph: Graph, nodes: Tensor) -> Tensor | None:
    """Return the weights of the classes (K,) for the given training nodes, or None for equal weights."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return balanced_class_weights(graph, nodes)
    if isinstance(class_weight, Mapping):
        return _given_class_weights(class_weight, graph)
    raise HeterophilyError(f"class_weight must be None, 'balanced', or a dictionary, got {short_text(class_weight)}")


def balanced_class_weights(graph: Graph, nodes: Tensor) -> Tensor:
    """Return class weights n / (K n_k) over the training nodes, and 0 for a class without any."""
    counts = torch.bincount(graph.labels[nodes], minlength=graph.n_classes)
    weights = counts.sum() / (graph.n_classes * counts.clamp_min(1))
    return torch.where(counts > 0, weights, 0.0).to(torch.get_default_dtype())


def _given_class_weights(class_weight: Mapping[str, float] | Mapping[int, float], graph: Graph) -> Tensor:
    """Return weights by class name or number. The weight of a class that is not listed is 1."""
    names = [str(name) for name in graph.class_names or range(graph.n_classes)]
    weights = torch.ones(graph.n_classes, device=graph.labels.device)
    for key, value in class_weight.items():
        check_argument("a class in class_weight", key, NAME)
        check_argument("a weight in class_weight", value, NUMBER)
        if isinstance(key, str) and key not in names:
            raise unknown_name("class in class_weight", key, names)
        number = names.index(key) if isinstance(key, str) else int(key)
        if not 0 <= number < graph.n_classes:
            raise HeterophilyError(f"class_weight must have classes from 0 to {graph.n_classes - 1}, got {key}")
        if not 0 <= float(value) < float("inf"):
            raise HeterophilyError(f"class_weight must have finite weights of at least 0, got {value} for {key}")
        weights[number] = float(value)
    return weights
