"""Architectures of several methods, assembled from the layers of PyTorch Geometric.

Both sides have the same widths, layers, heads, dropout, and optimizer. Features are dense, as these
layers require. Fixed filters receive a sparse matrix, and learned weights receive an edge index.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from training import accuracy

from heterophily import Graph

MODELS = ("gcn", "gat", "gcnii", "appnp", "mixhop", "fagcn")
WITH_WEIGHTS = ("gat", "fagcn")  # one learned weight per edge


class Stack(nn.Module):
    """Sequence of dense layers and convolutions of PyTorch Geometric."""

    def __init__(self, model: str, graph: Graph, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.model, self.settings = model, settings
        layers = getattr(self, f"_{model.replace('-', '_')}_layers")
        self.ends, self.layers = (
            nn.ModuleList(part)
            for part in layers(graph.n_features, int(settings["width"]), graph.n_classes, int(settings["n_layers"]))
        )

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Return the logits (N, K)."""
        logits: Tensor = getattr(self, f"_{self.model}")(x, edges)
        return logits

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, float(self.settings["dropout"]), self.training)

    def _gcn_layers(self, f: int, d: int, k: int, n: int) -> Any:
        sizes = [f, *[d] * (n - 1), k]
        return [], [pyg.GCNConv(a, b, cached=True) for a, b in pairwise(sizes)]

    def _gcn(self, x: Tensor, edges: Tensor) -> Any:
        for i, layer in enumerate(self.layers):
            x = layer(self._drop(F.relu(x) if i else x), edges)
        return x

    def _gat_layers(self, f: int, d: int, k: int, n: int) -> Any:
        heads, joined = int(self.settings["n_heads"]), self.settings["head_merge"] == "concat"
        inner = d * heads if joined else d
        options = {"heads": heads, "dropout": float(self.settings["attention_dropout"])}
        hidden = [pyg.GATConv(inner if i else f, d, concat=joined, **options) for i in range(n - 1)]
        return [], [*hidden, pyg.GATConv(inner if hidden else f, k, concat=False, **options)]

    def _gat(self, x: Tensor, edges: Tensor) -> Any:
        for i, layer in enumerate(self.layers):
            x = layer(self._drop(F.elu(x) if i else x), edges)
        return x

    def _gcnii_layers(self, f: int, d: int, k: int, n: int) -> Any:
        options = {"theta": self.settings["identity_decay"], "cached": True}
        options["shared_weights"] = not self.settings["star"]
        alpha = self.settings["initial_residual"]
        ends = [nn.Linear(f, d), nn.Linear(d, k)]
        return ends, [pyg.GCN2Conv(d, alpha, layer=i + 1, **options) for i in range(n)]

    def _gcnii(self, x: Tensor, edges: Tensor) -> Any:
        z = first = F.relu(self.ends[0](self._drop(x)))
        for layer in self.layers:
            z = F.relu(layer(self._drop(z), first, edges))
        return self.ends[1](self._drop(z))

    def _appnp_layers(self, f: int, d: int, k: int, n: int) -> Any:
        return [nn.Linear(f, d), nn.Linear(d, k)], [pyg.APPNP(10, 0.1, cached=True)]

    def _appnp(self, x: Tensor, edges: Tensor) -> Any:
        z = self.ends[1](self._drop(F.relu(self.ends[0](self._drop(x)))))
        return self.layers[0](z, edges)

    def _mixhop_layers(self, f: int, d: int, k: int, n: int) -> Any:
        convolutions = [pyg.MixHopConv(3 * d if i else f, d) for i in range(n)]
        return [nn.Linear(3 * d, k)], convolutions

    def _mixhop(self, x: Tensor, edges: Tensor) -> Any:
        for i, layer in enumerate(self.layers):
            x = layer(self._drop(F.relu(x)) if i else x, edges)
        return self.ends[0](x)

    def _fagcn_layers(self, f: int, d: int, k: int, n: int) -> Any:
        rate = float(self.settings["dropout"])
        convolutions = [pyg.FAConv(d, eps=0.3, dropout=rate) for _ in range(n)]
        return [nn.Linear(f, d), nn.Linear(d, k)], convolutions

    def _fagcn(self, x: Tensor, edges: Tensor) -> Any:
        z = first = self._drop(F.relu(self.ends[0](self._drop(x))))
        for layer in self.layers:
            z = layer(z, first, edges)
        return self.ends[1](z)


def edges_for(model: str, graph: Graph) -> Tensor:
    """Return an edge index for learned weights and a sparse matrix for fixed filters."""
    pattern = graph.symmetric
    if model in WITH_WEIGHTS:
        return torch.stack([pattern.rows.long(), pattern.indices.long()])
    parts = (pattern.indptr.long(), pattern.indices.long(), torch.ones(pattern.n_entries))
    return torch.sparse_csr_tensor(*parts, pattern.shape)


def pyg_epoch(model: str, graph: Graph, settings: Mapping[str, Any]) -> Callable[[], None]:
    """Return a function that runs one epoch of the network on the symmetrized graph."""
    network, data = Stack(model, graph, settings), graph.to_pyg()
    x = data.x.to_dense() if data.x.is_sparse else data.x
    edges, split = edges_for(model, graph), graph.split("0")
    adam = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)

    def epoch() -> None:
        network.train()
        adam.zero_grad()
        F.cross_entropy(network(x, edges)[split.train], data.y[split.train]).backward()
        adam.step()
        network.eval()
        with torch.no_grad():
            accuracy(network(x, edges), graph, split.val)

    return epoch
