"""From a recipe or a name to a network, and the network as users of PyTorch Geometric expect it."""

from typing import Any

from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.htmp.network import Network
from heterophily.htmp.recipe import Recipe
from heterophily.models import find_recipe


def build(
    model: str | Recipe, graph: Graph, *, preset: str = "published", **settings: Any
) -> Network:
    """Build the network of a recipe, a registered name or a file, sized for a graph.

    Settings come in this order: the recipe's defaults, the preset (`reference` sets every quirk of the
    published program), and what is given here. Unknown names are refused.
    """
    recipe = find_recipe(model).with_settings(preset=preset, **settings)
    if graph.n_features == 0:
        raise HeterophilyError(f"{recipe.name} needs node features, {graph.name} has none")
    if graph.n_classes < 2:
        raise HeterophilyError(
            f"{recipe.name} needs two classes, {graph.name} has {graph.n_classes}"
        )
    return Network(recipe, graph)


class EdgeIndexAdapter(nn.Module):
    """A network called with `(x, edge_index)`, as layers of PyTorch Geometric are.

    >>> import torch
    >>> graph = Graph.from_edges([(0, 1), (1, 2)], torch.eye(3), labels=[0, 1, 0])
    >>> adapted = EdgeIndexAdapter(build("gcn", graph))
    >>> adapted(torch.eye(3), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([3, 2])
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self._last: tuple[Tensor, Tensor, Graph] | None = None

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Logits (N, K); the graph is kept while the same tensors come again."""
        if self._last is None or self._last[0] is not x or self._last[1] is not edge_index:
            graph = Graph.from_edges(
                edge_index.T, x.detach(), n_nodes=len(x), n_classes=self.network.n_classes
            )
            self._last = x, edge_index, graph.to(x.device)
        logits: Tensor = self.network(self._last[2])
        return logits
