"""Occlusion: how a prediction changes without some edges of its node, or with other values in its columns.

Predictions depend on the neighborhood of a node, and often only on a small part of the graph. If the node's logits
are the same on this part, changed copies of it are predicted together, as one graph. Otherwise, every changed copy is
a full graph.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heterophily.core.edits import disjoint_union, nodes_within, remove_edges, replace_features, subgraph
from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix
from heterophily.core.types import FloatArray, IntArray

Predict = Callable[[Graph], Tensor]  # logits (N, K) of a graph

MAX_HOPS = 6
MAX_SHARE = 0.5  # of the entries of the graph, above which copies of a part of it save no time
MAX_ENTRIES = 2**20  # of the copies that are predicted together: nodes, edges, and features
TOLERANCE = 1e-4  # of the logits
SMALLEST = 1e-9  # probability, which bounds the log-odds


@dataclass(frozen=True)
class Occlusion:
    """What is hidden from the model: edges of the node, and values of its features."""

    neighbors: tuple[int, ...] = ()
    features: tuple[int, ...] = ()
    values: tuple[float, ...] = ()  # that replace those of the features; all zero if empty


class Occluder:
    """Predictions of one node on changed copies of a graph.

    Parameters
    ----------
    predict
        Function of a graph that returns logits, (N, K).
    graph, node
        Graph, and the number of a node.
    """

    def __init__(self, predict: Predict, graph: Graph, node: int) -> None:
        self._predict, self.graph, self.node = predict, graph, node
        self.logits = predict(graph)[node].cpu()  # (K,)
        self.n_evaluations = 0
        self.n_hops: int | None = None  # of the part of the graph that is used; None for the full graph
        self._part, self._nodes = graph, torch.arange(graph.n_nodes)
        self._find_part()

    @property
    def part(self) -> tuple[Graph, int]:
        """The part of the graph that determines the prediction, and the number of the node in it."""
        return self._part, self._local(self.node)

    def _find_part(self) -> None:
        """Use the smallest neighborhood on which the logits are the same."""
        full = self.graph.symmetric.n_entries + self.graph.n_nodes
        for n_hops in range(2, MAX_HOPS + 1):
            nodes = nodes_within(self.graph.symmetric, self.node, n_hops)
            if len(nodes) > MAX_SHARE * self.graph.n_nodes:
                return
            part = subgraph(self.graph, nodes)
            if part.symmetric.n_entries + part.n_nodes > MAX_SHARE * full:
                return
            center = int(torch.searchsorted(nodes, self.node))
            try:
                logits = self._predict(disjoint_union([part, part])).cpu()[[center, center + len(nodes)]]
            except (ValueError, RuntimeError, IndexError):  # the model requires all nodes
                return
            if torch.allclose(logits, self.logits.expand(2, -1), rtol=TOLERANCE, atol=TOLERANCE):
                self._part, self._nodes, self.n_hops = part, nodes, n_hops
                return

    def __call__(self, occlusions: Sequence[Occlusion]) -> Tensor:
        """Return the logits of the node for each occlusion, (n, K)."""
        self.n_evaluations += len(occlusions)
        center, n_nodes = self._local(self.node), self._part.n_nodes
        rows = []
        for start in range(0, len(occlusions), self._n_copies):
            copies = [self._occlude(each) for each in occlusions[start : start + self._n_copies]]
            logits = self._predict(disjoint_union(copies) if len(copies) > 1 else copies[0]).cpu()
            rows.append(logits[center + n_nodes * torch.arange(len(copies))])
        return torch.cat(rows) if rows else torch.empty(0, len(self.logits))

    @property
    def _n_copies(self) -> int:
        part = self._part
        n_values = part.features.pattern.n_entries if isinstance(part.features, Matrix) else part.features.numel()
        size = part.n_nodes + part.symmetric.n_entries + n_values
        return 1 if self.n_hops is None else max(1, MAX_ENTRIES // size)

    def _local(self, node: int) -> int:
        return int(torch.searchsorted(self._nodes, node))

    def _occlude(self, occlusion: Occlusion) -> Graph:
        graph, node = self._part, self._local(self.node)
        if occlusion.neighbors:
            numbers = torch.searchsorted(self._nodes, torch.tensor(occlusion.neighbors))
            graph = remove_edges(graph, node, numbers)
        if occlusion.features:
            values = np.array(occlusion.values or [0.0] * len(occlusion.features), dtype=np.float32)
            features = change_row(graph.features, node, np.array(occlusion.features), values)
            graph = replace_features(graph, features)
        return graph


def change_row(x: Features, row: int, columns: IntArray, values: FloatArray) -> Features:
    """Return X with other values in some columns of one row. Sparse features can only become zero."""
    if not isinstance(x, Matrix):
        changed = x.clone()
        changed[row, torch.from_numpy(columns)] = torch.from_numpy(values).to(x)
        return changed
    hidden = torch.zeros(x.shape[1], dtype=torch.bool)
    hidden[torch.from_numpy(columns)] = True
    start, end = (int(each) for each in x.pattern.indptr[row : row + 2])
    stored = x.values.clone()
    stored[start:end] = torch.where(hidden[x.pattern.indices[start:end].long()], 0.0, stored[start:end])
    return Matrix(x.pattern, stored)


def log_odds(logits: Tensor, target: int) -> FloatArray:
    """Return log(p / (1 - p)) of one class, (n,). Probabilities below 1e-9 count as 1e-9.

    >>> log_odds(torch.tensor([[0.0, 0.0], [2.0, 0.0]]), 0).tolist()
    [0.0, 2.0]
    """
    others = torch.arange(logits.shape[1]) != target
    log_p = logits.double().log_softmax(dim=1).clamp_min(float(np.log(SMALLEST)))
    odds: FloatArray = (log_p[:, target] - log_p[:, others].logsumexp(dim=1)).numpy()
    return odds


def rank_items(n_items: int, measure: Callable[[Sequence[IntArray]], FloatArray], max_groups: int) -> dict[int, float]:
    """Return the effects of the items that matter most, measured one by one, in descending order of size.

    If there are too many items, groups of them are measured, and those with the largest effect are divided.

    Parameters
    ----------
    n_items
        Number of items.
    measure
        Function that returns the effect of hiding each group of items.
    max_groups
        Number of groups that may be measured.
    """
    singles = [np.array([i]) for i in range(n_items)]
    groups = singles if n_items <= max_groups else np.array_split(np.arange(n_items), 8)
    found: list[tuple[float, IntArray]] = []
    while groups:
        found += zip(measure(groups).tolist(), groups, strict=True)
        max_groups -= len(groups)
        large = sorted((each for each in found if len(each[1]) > 1), key=lambda each: -abs(each[0]))
        divided = large[: _n_divided(found, max_groups)]
        kept = {id(group) for _, group in divided}
        found = [each for each in found if id(each[1]) not in kept]
        groups = [half for _, group in divided for half in np.array_split(group, 2)]
    ranked = sorted((each for each in found if len(each[1]) == 1), key=lambda each: -abs(each[0]))
    return {int(group[0]): effect for effect, group in ranked}


def _n_divided(found: Sequence[tuple[float, IntArray]], n_left: int) -> int:
    """Return how many groups to divide, so that single items are reached. At least one item is."""
    sizes = [len(group) for _, group in found]
    n_steps = int(np.ceil(np.log2(max(sizes))))
    if n_left < 2:
        return int(1 not in sizes)
    return min(4, max(1, n_left // (2 * max(n_steps, 1))))
