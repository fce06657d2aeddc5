"""Epoch time against the same architectures assembled from PyTorch Geometric's layers, in one run.

Run `python benchmarks/epoch.py [--graphs ...] [--epochs N]`. An epoch is a training forward and backward
pass, an optimiser step and an evaluation. Both sides have the same widths, layers, dropout and optimiser
and take turns; the ratio is the median of PyTorch Geometric's divided by ours.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from training import accuracy, epoch_of, graph_named, milliseconds, times

from heterophily import Graph, build

GRAPHS = ("chameleon-f", "pubmed", "flickr")
WIDTH, DROPOUT = 64, 0.5


class Stack(nn.Module):
    """Dense layers and convolutions of PyTorch Geometric in a row."""

    def __init__(self, model: str, graph: Graph) -> None:
        super().__init__()
        f, k, d = graph.n_features, graph.n_classes, WIDTH
        self.model = model
        self.first, self.last = nn.Linear(f, d), nn.Linear(d, k)
        layers: dict[str, Callable[[], list[nn.Module]]] = {
            "gcn": lambda: [pyg.GCNConv(f, d, cached=True), pyg.GCNConv(d, k, cached=True)],
            "gat": lambda: [
                pyg.GATConv(f, 8, heads=8, dropout=DROPOUT),
                pyg.GATConv(64, k, heads=8, concat=False, dropout=DROPOUT),
            ],
            "gcnii": lambda: [
                pyg.GCN2Conv(d, 0.2, theta=0.5, layer=i + 1, cached=True) for i in range(8)
            ],
            "appnp": lambda: [pyg.APPNP(10, 0.1, cached=True)],
            "mixhop": lambda: [pyg.MixHopConv(f, 200), pyg.MixHopConv(600, 200)],
            "fagcn": lambda: [pyg.FAConv(d, eps=0.3, dropout=DROPOUT) for _ in range(2)],
        }
        self.layers = nn.ModuleList(layers[model]())
        if model == "mixhop":
            self.last = nn.Linear(600, k)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Logits (N, K)."""
        logits: Tensor = getattr(self, f"_{self.model}")(x, edges)
        return logits

    def _drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, DROPOUT, self.training)

    def _gcn(self, x: Tensor, edges: Tensor) -> Any:
        one, two = self.layers
        return two(self._drop(F.relu(one(self._drop(x), edges))), edges)

    def _gat(self, x: Tensor, edges: Tensor) -> Any:
        one, two = self.layers
        return two(self._drop(F.elu(one(self._drop(x), edges))), edges)

    def _gcnii(self, x: Tensor, edges: Tensor) -> Any:
        z = first = F.relu(self.first(self._drop(x)))
        for layer in self.layers:
            z = F.relu(layer(self._drop(z), first, edges))
        return self.last(self._drop(z))

    def _appnp(self, x: Tensor, edges: Tensor) -> Any:
        return self.layers[0](self.last(self._drop(F.relu(self.first(self._drop(x))))), edges)

    def _mixhop(self, x: Tensor, edges: Tensor) -> Any:
        one, two = self.layers
        return self.last(two(self._drop(F.relu(one(x, edges))), edges))

    def _fagcn(self, x: Tensor, edges: Tensor) -> Any:
        z = first = self._drop(F.relu(self.first(self._drop(x))))
        for layer in self.layers:
            z = layer(z, first, edges)
        return self.last(z)


SETTINGS: dict[str, dict[str, Any]] = {
    "gcn": {},
    "gat": {"width": 8, "dropout": DROPOUT, "attention_dropout": DROPOUT},
    "gcnii": {"n_layers": 8, "feature_norm": "none"},
    "appnp": {},
    "mixhop": {"lasso_weight": 0.0},
    "fagcn": {"width": WIDTH, "feature_norm": "none"},
}


def main() -> None:
    """Print a Markdown table of milliseconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--models", nargs="*", default=list(SETTINGS))
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    # PyTorch warns on each construction of a CSR tensor that the layout is young.
    warnings.filterwarnings("ignore", message="Sparse")
    print(f"Milliseconds per epoch, ours / PyG (ratio), {args.threads} threads\n")
    print("| method | " + " | ".join(args.graphs) + " |")
    print("|---" * (1 + len(args.graphs)) + "|")
    graphs = {name: graph_named(name) for name in args.graphs}
    for model in args.models:
        cells = [compare(model, graph, args.epochs) for graph in graphs.values()]
        print(f"| {model} | " + " | ".join(cells) + " |", flush=True)


def compare(model: str, graph: Graph, count: int) -> str:
    """Ours and PyTorch Geometric's in turns."""
    torch.manual_seed(0)
    ours = epoch_of(build(model, graph, **SETTINGS[model]), graph)
    theirs = pyg_epoch(Stack(model, graph), graph)
    own, other = [], []
    for _ in range(count):
        own += times(ours, 1)
        other += times(theirs, 1)
    mine, pygs = milliseconds(own), milliseconds(other)
    return f"{mine:,.1f} / {pygs:,.1f} ({pygs / mine:.1f}×)"


def edges_for(model: str, graph: Graph) -> Tensor:
    """An edge index for learned weights, a sparse matrix for fixed filters."""
    pattern = graph.symmetric
    if model in {"gat", "fagcn"}:
        return torch.stack([pattern.rows.long(), pattern.indices.long()])
    parts = (pattern.indptr.long(), pattern.indices.long(), torch.ones(pattern.n_entries))
    return torch.sparse_csr_tensor(*parts, pattern.shape)


def pyg_epoch(network: Stack, graph: Graph) -> Callable[[], None]:
    """One epoch of a PyTorch Geometric network on the symmetrised graph."""
    data = graph.to_pyg()
    x = data.x.to_dense() if data.x.is_sparse else data.x
    edges = edges_for(network.model, graph)
    split = graph.split("0")
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


if __name__ == "__main__":
    main()
