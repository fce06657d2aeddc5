"""Fit a model by name: a method with its tuned settings, or the best of several."""

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Value
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.models.settings import Tables, merge_settings
from heterophily.training.class_weight import ClassWeight
from heterophily.training.estimator import NodeClassifier
from heterophily.training.parameters import AUTO
from heterophily.training.scoring import ScoringLike


def fit_model(
    graph: Graph,
    model: str,
    *,
    split: str | None = None,
    user_tables: Tables | None = None,
    scoring: ScoringLike | None = None,
    class_weight: ClassWeight = None,
    neighbors: Neighbors = NEIGHBORS,
    **options: Value,
) -> NodeClassifier:
    """Fit a model with the tuned settings of the dataset, if there are any, and then the given ones.

    `auto` has no tuned settings, and the given ones replace those of all its candidates. The `options` are
    settings and parameters of `NodeClassifier`.
    """
    values = dict(options)
    if model != AUTO:
        values, _ = merge_settings(model, graph.name, user_tables, options)
    elif user_tables:
        raise HeterophilyError("a settings file is for one method; pass the name of a method instead of auto")
    classifier = NodeClassifier(
        model,
        scoring=scoring,
        class_weight=class_weight,
        neighbors=neighbors,
        **values,  # type: ignore[arg-type]
    )
    return classifier.fit(graph, split=split)
