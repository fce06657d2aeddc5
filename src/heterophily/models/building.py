"""Networks from methods."""

import warnings
from collections.abc import Callable, Hashable
from typing import TypeVar

import torch
from typing_extensions import override

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.graph import Graph
from heterophily.core.sparse import Pattern
from heterophily.core.types import Value
from heterophily.htmp.checks import check_sparse_features, weight_use
from heterophily.htmp.execution.fold_head import FoldedNetwork, can_fold_head
from heterophily.htmp.method import Method, complete_architecture, make_method
from heterophily.htmp.network import WEIGHT_PER_PAIR, Network, transductive_reason
from heterophily.models import Model, find_method
from heterophily.models.boosting import BoostedTrees, Boosting
from heterophily.models.ensemble import Ensemble

T = TypeVar("T")
Predictor = Network | Ensemble | BoostedTrees


def build(
    model: Model,
    graph: Graph | None = None,
    *,
    in_features: int | None = None,
    n_classes: int | None = None,
    n_nodes: int | None = None,
    preset: str = "published",
    **settings: Value,
) -> Network:
    """Build the network of a method for a graph, or for sizes. Of an ensemble, build one member.

    Parameters
    ----------
    model
        Name of a registered method, method class, method, or path of a file that defines one.
    graph
        Graph with features and at least two classes.
    in_features, n_classes, n_nodes
        Sizes, if there is no graph yet. Only methods with a weight per node need the number of nodes.
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
        If a setting is unknown or invalid, or the graph or the sizes do not fit the method.

    Examples
    --------
    >>> from heterophily import load
    >>> build("gcn", load("digits"), width=32).method.width
    32
    >>> build("h2gcn", in_features=64, n_classes=10).n_classes
    10
    """
    method = make_method(find_method(model), settings, preset=preset).single()
    sizes = (in_features, n_classes, n_nodes)
    if graph is None:
        return _build_for_sizes(method, *sizes)
    if sizes != (None, None, None):
        raise HeterophilyError("build needs a graph or sizes, got both; omit in_features, n_classes, and n_nodes")
    _check_sizes(method, graph)
    problem = check_sparse_features(complete_architecture(method)) if graph.is_sparse else ""
    if problem:
        raise HeterophilyError(f"{method.name} cannot be used with {graph.name}: {problem}")
    _report_unused_weights(method, graph)
    return _network(method, graph)


def _network(method: Method, graph: Graph) -> Network:
    return (FoldedNetwork if can_fold_head(method) else Network)(method, graph)


class SizesOnly(Graph):
    """A graph of which only the sizes are known. Parts that read its edges raise an error."""

    @override
    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        raise HeterophilyError(f"{self.name} computes initial weights from the edges of a graph; pass a graph")


def _build_for_sizes(method: Method, n_features: int | None, n_classes: int | None, n_nodes: int | None) -> Network:
    """Build a network without a graph. Without `n_nodes`, states have the number of nodes of the graph they see."""
    if n_features is None or n_classes is None:
        raise HeterophilyError("build needs a graph, or in_features and n_classes; pass one of them")
    reason = transductive_reason(complete_architecture(method))
    if reason == WEIGHT_PER_PAIR:
        raise HeterophilyError(f"{method.name} {reason}; pass a graph")
    if reason and n_nodes is None:
        raise HeterophilyError(f"{method.name} {reason}; pass n_nodes or a graph")
    count = 1 if n_nodes is None else n_nodes
    edges, x = Pattern.from_edges([], [], shape=(count, count)), torch.zeros(1, n_features).expand(count, -1)
    graph = SizesOnly(edges, x, torch.full((count,), -1), n_classes, name=method.name)
    _check_sizes(method, graph)
    network = _network(method, graph)
    for state in network.states:
        state.has_any_size = n_nodes is None
    return network


def build_predictor(method: Method, graph: Graph) -> Predictor:
    """Build the untrained predictor of any method: its network, an ensemble of them, or trees without branches.

    Examples
    --------
    >>> from heterophily import load
    >>> type(build_predictor(Boosting(), load("digits"))).__name__
    'BoostedTrees'
    """
    if not isinstance(method, Boosting):
        networks = [build(method, graph) for _ in range(method.n_members)]
        return Ensemble(networks) if len(networks) > 1 else networks[0]
    _check_sizes(method, graph)
    _report_unused_weights(method, graph)
    return BoostedTrees(method, graph)


def _check_sizes(method: Method, graph: Graph) -> None:
    if graph.n_features == 0 and method.needs_features:
        raise HeterophilyError(
            f"{method.name} needs node features, but {graph.name} has none; add_structural_features(graph) adds some"
        )
    if graph.n_classes < 2:
        raise HeterophilyError(f"{method.name} needs at least two classes, but {graph.name} has {graph.n_classes}")


def _report_unused_weights(method: Method, graph: Graph) -> None:
    """Warn once per graph and method if the weights have no effect."""

    def report() -> None:
        message = (
            f"{method.name} does not use edge weights, only which nodes are connected; "
            "docs/how-to/direction.md lists the methods that use them"
        )
        warnings.warn(message, HeterophilyWarning, stacklevel=5)

    is_unused = not method.is_network or weight_use(method.architecture()) == "none"
    if graph.weights is not None and is_unused:
        graph.cached(("unused weights", method.name), report)
