"""Fit a method with its tuned settings, or select one of several by its validation score."""

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Value
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.models.settings import Tables, merge_settings
from heterophily.training.estimator import NodeClassifier
from heterophily.training.scoring import DEFAULT_SCORING, ScoringLike, find_scoring

# Few, different, and cheap: features only, plain, deep, separate ego, mixed channels, and CMGNN.
CANDIDATES = ("mlp", "gcn", "gcnii", "h2gcn", "acm-gcn", "cmgnn")


def fit_model(
    graph: Graph,
    model: str,
    *,
    split: str | None = None,
    user_tables: Tables | None = None,
    scoring: ScoringLike = DEFAULT_SCORING,
    neighbors: Neighbors = NEIGHBORS,
    **options: Value,
) -> NodeClassifier:
    """Fit a model with the tuned settings of the dataset, if there are any, and then the given ones.

    `auto` fits all `CANDIDATES` and returns the one with the best validation score.
    """
    if model != "auto":
        settings, _ = merge_settings(model, graph.name, user_tables, options)
        classifier = NodeClassifier(model, scoring=scoring, neighbors=neighbors, **settings)  # type: ignore[arg-type]
        return classifier.fit(graph, split=split)
    if user_tables:
        raise HeterophilyError("a settings file is for one method; pass the name of a method instead of auto")
    fitted = [
        fit_model(graph, name, split=split, user_tables=None, scoring=scoring, neighbors=neighbors, **options)
        for name in CANDIDATES
    ]
    name = find_scoring(scoring).name
    return max(fitted, key=lambda each: each.run_.score("val", name))
