"""Shared by the benchmarks: graphs of a given size, and one epoch of training."""

import time
from collections.abc import Callable
from itertools import count
from statistics import median

import numpy as np
import torch
from torch import Tensor

from heterophily import Graph, load, random_splits
from heterophily.core.machine import retain_freed_memory
from heterophily.data.synthetic import draw_edges, preference_pattern, target_matrix
from heterophily.htmp.network import Network
from heterophily.training.trainer import Trainer

SIZES = {  # nodes, entries, features, and classes of datasets that are not available offline
    "size of roman-empire": (22_662, 65_854, 300, 18),
    "size of amazon-ratings": (24_492, 186_100, 300, 5),
}


def graph_named(name: str) -> Graph:
    """Return a dataset, or a random graph of the same size."""
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
    """Return a function that runs one epoch of the trainer with its evaluation."""
    cpu = torch.device("cpu")
    trainer = Trainer(network, graph, split=graph.split("0"), seed=0, device=cpu)
    retain_freed_memory()
    trainer.step.initialize()
    numbers = count()
    return lambda: trainer._epoch(next(numbers))


def accuracy(logits: Tensor, graph: Graph, nodes: Tensor) -> float:
    """Return the fraction of nodes that are classified correctly."""
    return float((logits[nodes].argmax(dim=1) == graph.labels[nodes]).float().mean())


def times(epoch: Callable[[], None], n: int) -> list[float]:
    """Return the seconds of `n` epochs."""
    seconds = []
    for _ in range(n):
        start = time.perf_counter()
        epoch()
        seconds.append(time.perf_counter() - start)
    return seconds


def milliseconds(seconds: list[float]) -> float:
    """Return the median in milliseconds, excluding two warm-up epochs."""
    return 1e3 * median(seconds[2:])
