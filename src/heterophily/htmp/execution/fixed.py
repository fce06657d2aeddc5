"""A network on one graph, as a function of the features, for `torch.export`.

Everything that depends only on the graph is computed before, so that tracing finds tensor operations only.
"""

import torch
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.htmp.execution.inputs import InputGraph
from heterophily.htmp.guidance import pattern_of
from heterophily.htmp.neighborhoods import adjacency_of
from heterophily.htmp.network import Network


class FixedGraph(nn.Module):
    """A network whose input is the features x of one graph. Export it with `torch.export` under `torch.no_grad()`.

    Parameters
    ----------
    network
        A network in evaluation mode, without states.
    graph
        The graph, which stays the same. Neighborhoods that depend on features are those of this graph.

    Raises
    ------
    HeterophilyError
        If the network has states, which belong to a training graph, or the features are sparse.

    Examples
    --------
    >>> from heterophily import build, load
    >>> graph = load("digits")
    >>> fixed = FixedGraph(build("gcn", graph).eval(), graph)
    >>> with torch.no_grad():
    ...     exported = torch.export.export(fixed, (graph.features,), strict=False).module()
    >>> exported(graph.features).shape
    torch.Size([1797, 10])
    """

    def __init__(self, network: Network, graph: Graph) -> None:
        super().__init__()
        name = network.method.name
        if not isinstance(network, Network):
            raise HeterophilyError(f"{name} cannot be exported, because it is not a single network")
        if network.states:
            raise HeterophilyError(f"{name} cannot be exported, because its states belong to a training graph")
        if graph.is_sparse:
            raise HeterophilyError("an exported network needs dense features; use graph.replace(features=...)")
        self.network = network.eval()
        with torch.no_grad():
            network(graph)  # computes the operators of the graph
        for channel in network.architecture.channels:
            pattern = pattern_of(adjacency_of(channel.neighborhood, graph))
            _ = pattern.rows, [wide.rows for wide, _ in pattern._heads.values()]  # for plain products
        self._fields = {**graph._fields, "splits": {}}
        self._shared = {"symmetric": graph.symmetric}
        retained = {key: value for key, value in graph._cache.items() if not _has_features(key)}
        self._shared_cache = retained

    @override
    def forward(self, x: Tensor) -> Tensor:
        """Return logits (N, K) for features x (N, F)."""
        graph = object.__new__(InputGraph)
        graph.__setstate__({**self._fields, "features": x})
        graph.__dict__.update(self._shared, _cache=dict(self._shared_cache))
        logits: Tensor = self.network(graph)
        self.network.context = None
        return logits


def _has_features(key: object) -> bool:
    """Return whether a value of a graph is computed from its features X."""
    inner = key[0] if isinstance(key, tuple) else key
    return isinstance(inner, tuple) and inner[:1] == ("features",)
