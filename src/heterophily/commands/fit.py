"""Fit a model to one graph, or the best of several."""

from typing import Any

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.models.settings import Tables, tuned
from heterophily.training.estimator import NodeClassifier

# Few, different and cheap: features alone, plain, deep, ego apart, mixed channels, and ours.
CANDIDATES = ("mlp", "gcn", "gcnii", "h2gcn", "acm-gcn", "cmgnn")


def fit_model(
    graph: Graph,
    model: str,
    *,
    split: str | None = None,
    own: Tables | None = None,
    **options: Any,
) -> NodeClassifier:
    """Fit a model with the settings of the dataset, if there are any, then the given ones.

    `auto` fits a handful of methods and keeps the one with the best validation accuracy.
    """
    if model != "auto":
        chosen = {**tuned(model, graph.name, own), **options}
        return NodeClassifier(model, **chosen).fit(graph, split=split)
    if own:
        raise HeterophilyError("settings of a file are for one method; name it, auto tries several")
    found = [fit_model(graph, name, split=split, **options) for name in CANDIDATES]
    return max(found, key=lambda fitted: fitted.run_.score("val"))
