"""Networks from methods."""

import warnings

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.graph import Graph
from heterophily.core.types import Value
from heterophily.htmp.checks import check_sparse_features, weight_use
from heterophily.htmp.execution.fold_head import FoldedNetwork, can_fold_head
from heterophily.htmp.method import Method, complete_architecture, make_method
from heterophily.htmp.network import Network
from heterophily.models import Model, find_method
from heterophily.models.boosting import BoostedTrees, Boosting


def build(model: Model, graph: Graph, *, preset: str = "published", **settings: Value) -> Network:
    """Build the network of a method for a graph.

    Parameters
    ----------
    model
        Name of a registered method, method class, method, or path of a file that defines one.
    graph
        Graph with features and at least two classes.
    preset
        `published`, or `reference` for the settings of the reference implementation.
    **settings
        Settings that override those of the method and the preset.

    Returns
    -------
    A PyTorch module; `network(graph)` returns logits (N, K).

    Raises
    ------
    HeterophilyError
        If a setting is unknown or invalid, or the graph does not fit the method.

    Examples
    --------
    >>> from heterophily import load
    >>> build("gcn", load("digits"), width=32).method.width
    32
    """
    method = make_method(find_method(model), settings, preset=preset)
    _check_sizes(method, graph)
    problem = check_sparse_features(complete_architecture(method)) if graph.is_sparse else ""
    if problem:
        raise HeterophilyError(f"{method.name} cannot be used with {graph.name}: {problem}")
    _report_unused_weights(method, graph)
    network = FoldedNetwork if can_fold_head(method) else Network
    return network(method, graph)


def build_predictor(method: Method, graph: Graph) -> Network | BoostedTrees:
    """Build the untrained predictor of any method: its network, or trees without branches.

    Examples
    --------
    >>> from heterophily import load
    >>> type(build_predictor(Boosting(), load("digits"))).__name__
    'BoostedTrees'
    """
    if not isinstance(method, Boosting):
        return build(method, graph)
    _check_sizes(method, graph)
    _report_unused_weights(method, graph)
    return BoostedTrees(method, graph)


def _check_sizes(method: Method, graph: Graph) -> None:
    if graph.n_features == 0:
        raise HeterophilyError(
            f"{method.name} needs node features, but {graph.name} has none; add_structural_features(graph) adds some"
        )
    if graph.n_classes < 2:
        raise HeterophilyError(f"{method.name} needs at least two classes, but {graph.name} has {graph.n_classes}")


def _report_unused_weights(method: Method, graph: Graph) -> None:
    """Warn once per graph and method if the weights have no effect."""

    def report() -> None:
        message = (
            f"{method.name} does not use edge weights, only which nodes are connected; docs/direction.md lists the "
            "methods that use them"
        )
        warnings.warn(message, HeterophilyWarning, stacklevel=5)

    is_unused = not method.is_network or weight_use(method.architecture()) == "none"
    if graph.weights is not None and is_unused:
        graph.cached(("unused weights", method.name), report)
