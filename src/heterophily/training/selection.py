"""Fit a model by name: a method with its tuned settings, or the best of several."""

from pathlib import Path

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.processes import is_distributed
from heterophily.core.types import Value
from heterophily.data.loading import as_graph
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.models.settings import Tables, merge_settings, read_settings
from heterophily.training.class_weight import ClassWeight
from heterophily.training.estimator import NodeClassifier
from heterophily.training.objective import is_benchmark
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


def fit(
    graph: str | Path | Graph,
    model: str | None = None,
    *,
    split: str | None = None,
    settings_file: str | Path | None = None,
    scoring: ScoringLike | None = None,
    class_weight: ClassWeight = None,
    neighbors: Neighbors = NEIGHBORS,
    **options: Value,
) -> NodeClassifier:
    """Train a model on a graph, with the bundled settings of the dataset if there are any.

    Parameters
    ----------
    graph
        Name of a dataset, path of a graph, or graph.
    model
        Name of a method, path of a Python file, or ``"auto"`` for the best of several. By default ``"auto"``, and
        ``"cmgnn"`` on benchmark datasets.
    split
        Name of a split of the graph; the first by default. A graph without splits uses all labeled nodes.
    settings_file
        TOML file with settings, as written by `search` and `tune`.
    scoring, class_weight, neighbors
        Parameters of `NodeClassifier`.
    **options
        Further parameters of `NodeClassifier` and settings of the method, such as ``width=128``.

    Returns
    -------
    A fitted `NodeClassifier`.

    Examples
    --------
    >>> from heterophily import fit
    >>> model = fit("digits", "gcn", max_epochs=3)
    >>> model.predict().shape
    (1797,)
    """
    opened = as_graph(graph)
    tables = None if settings_file is None else read_settings(Path(settings_file), datasets=[opened.name])
    return fit_model(
        opened,
        model or default_model(opened),
        split=split or next(iter(opened.splits), None),
        user_tables=tables,
        scoring=scoring,
        class_weight=class_weight,
        neighbors=neighbors,
        **options,
    )


def default_model(graph: Graph) -> str:
    """Return the model for a graph if none is given. Several processes cannot share `auto`."""
    return "cmgnn" if is_benchmark(graph) or is_distributed() else AUTO
