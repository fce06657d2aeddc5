"""What the benchmarks share: graphs of a wanted size, and one epoch of training."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from torch import Tensor

from heterophily import Graph, load, random_splits
from heterophily.data.synthetic import draw_edges, preference_pattern, target_matrix
from heterophily.htmp.network import Network
from heterophily.training.optimizers import make_optimizers

SIZES = {  # nodes, entries, features, classes of datasets whose files are not at hand
    "size of roman-empire": (22_662, 65_854, 300, 18),
    "size of amazon-ratings": (24_492, 186_100, 300, 5),
}


def graph_named(name: str) -> Graph:
    """A dataset, or a random graph of the size of one."""
    if name not in SIZES:
        return load(name)
    n, entries, features, classes = SIZES[name]
    rng = np.random.default_rng(0)
    labels = rng.integers(classes, size=n)
    sizes = np.bincount(labels, minlength=classes)
    matrix = target_matrix(sizes, 0.2, pattern=preference_pattern("hard", classes))
    edges = draw_edges(labels, matrix, degree=entries / n)
    x = rng.standard_normal((n, features)).astype(np.float32)
    graph = Graph.from_edges(np.concatenate([edges, edges[:, ::-1]]), x, labels=labels, name=name)
    return graph.replace(splits=random_splits(graph, count=1))


def epoch_of(network: Network, graph: Graph) -> Callable[[], None]:
    """One epoch as the protocol has it: forward, backward, step, evaluation."""
    split = graph.split("0")
    network.begin(graph, split.train)
    optimizers = make_optimizers(network)

    def epoch() -> None:
        network.train()
        for optimizer in optimizers:
            optimizer.zero_grad()
        network.loss(network(graph), graph, split.train).backward()
        for optimizer in optimizers:
            optimizer.step()
        network.eval()
        with torch.no_grad():
            accuracy(network(graph), graph, split.val)

    return epoch


def accuracy(logits: Tensor, graph: Graph, nodes: Tensor) -> float:
    """Share of nodes that are classified rightly."""
    return float((logits[nodes].argmax(dim=1) == graph.labels[nodes]).float().mean())


def times(epoch: Callable[[], None], count: int) -> list[float]:
    """Seconds of `count` epochs."""
    found = []
    for _ in range(count):
        start = time.perf_counter()
        epoch()
        found.append(time.perf_counter() - start)
    return found


def milliseconds(seconds: list[float]) -> float:
    """The median in milliseconds, after two epochs of warming up."""
    return 1e3 * median(seconds[2:])
