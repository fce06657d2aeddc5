"""Problems of a dataset that affect the evaluation of any model (paper, Appendix F.1).

Earlier benchmarks contained duplicate nodes in training and test sets, classes with only a few nodes,
and splits of different proportions. `audit_graph` checks any graph for such problems.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from heterophily.core.graph import PARTS, Graph
from heterophily.core.sparse import Matrix, Pattern
from heterophily.core.types import IntArray, JsonObject

Hashes = NDArray[np.uint64]

HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # an odd number with irregular bits
TINY_CLASS = 20  # number of nodes below which a class has about four test nodes or fewer


@dataclass(frozen=True)
class Audit:
    """Result of `audit_graph`: counts of potential problems.

    Attributes
    ----------
    duplicate_nodes, duplicate_groups
        Number of nodes with the same features, label, and neighbors as another node, and number of
        groups that they form.
    leaking_nodes
        Number of validation and test nodes with a duplicate in the training set, by split.
    tiny_classes
        Number of labeled nodes of each class that has fewer than 20.
    classes_missing_in_training
        Classes without a training node, by split.
    unequal_splits
        Whether the splits have different sizes.
    isolated_nodes, unlabeled_nodes
        Number of nodes without neighbors and without a label.
    one_sided_edges, self_loops
        Number of stored edges without their reverse, and of edges from a node to itself.

    Examples
    --------
    >>> from heterophily import Graph, audit_graph
    >>> audit = audit_graph(Graph.from_edges([(0, 1), (1, 0), (1, 2)], labels=[0, 1, -1]))
    >>> audit.one_sided_edges, audit.unlabeled_nodes
    (1, 1)
    """

    duplicate_nodes: int
    duplicate_groups: int
    leaking_nodes: Mapping[str, int]
    tiny_classes: Mapping[str, int]
    classes_missing_in_training: Mapping[str, tuple[str, ...]]
    unequal_splits: bool
    isolated_nodes: int
    one_sided_edges: int
    self_loops: int
    unlabeled_nodes: int

    @property
    def findings(self) -> list[str]:
        """One phrase for each problem that should be fixed or reported."""
        leaks = max(self.leaking_nodes.values(), default=0)
        counted = {
            "node(s) with a duplicate: equal features, label, and neighbors": self.duplicate_nodes,
            "validation and test node(s) with a duplicate in the training set, in the worst split": leaks,
            "node(s) without neighbors": self.isolated_nodes,
            "stored edge(s) without their reverse": self.one_sided_edges,
            "self-loop(s) among the stored edges": self.self_loops,
            "node(s) without a label": self.unlabeled_nodes,
        }
        findings = [
            f"{count:,} {what.replace('(s)', '' if count == 1 else 's')}" for what, count in counted.items() if count
        ]
        if self.tiny_classes:
            tiny = ", ".join(f"{name} ({n})" for name, n in self.tiny_classes.items())
            findings.append(f"classes with fewer than {TINY_CLASS} labeled nodes: {tiny}")
        for name, classes in list(self.classes_missing_in_training.items())[:1]:
            findings.append(f"no training node of class {', '.join(classes)} in split {name}")
        if self.unequal_splits:
            findings.append("splits of different sizes")
        return findings

    def to_dict(self) -> JsonObject:
        """Return all counts and findings as plain data."""
        # The key stays "unlabelled_nodes" until the next version of the format.
        values = {key.replace("unlabeled", "unlabelled"): x for key, x in vars(self).items()}
        return {**values, "findings": self.findings}


def audit_graph(graph: Graph) -> Audit:
    """Check a graph for duplicates, leakage between splits, tiny classes, and unusual edges.

    Examples
    --------
    >>> from heterophily import audit_graph, load
    >>> audit_graph(load("digits")).findings
    ['1 node without neighbors']
    """
    groups = duplicate_groups(graph)
    sizes = torch.bincount(graph.labels[graph.labeled], minlength=graph.n_classes).tolist()
    self_loops = int((graph.adjacency.rows == graph.adjacency.indices).sum())
    split_sizes = {tuple(len(s.parts[part]) for part in PARTS) for s in graph.splits.values()}
    missing = {name: _missing_classes(graph, name) for name in graph.splits}
    return Audit(
        duplicate_nodes=int((groups >= 0).sum()),
        duplicate_groups=int(groups.max(initial=-1)) + 1,
        leaking_nodes={name: _leaks(graph, name, groups) for name in graph.splits},
        tiny_classes={_class(graph, k): n for k, n in enumerate(sizes) if n < TINY_CLASS},
        classes_missing_in_training={name: classes for name, classes in missing.items() if classes},
        unequal_splits=len(split_sizes) > 1,
        isolated_nodes=int((graph.degrees == 0).sum()),
        # m edges without loops, of which s are one-sided, have m + s entries when symmetrized.
        one_sided_edges=graph.symmetric.n_entries - (graph.n_edges - self_loops),
        self_loops=self_loops,
        unlabeled_nodes=int((~graph.labeled).sum()),
    )


def duplicate_groups(graph: Graph) -> IntArray:  # (N,)
    """Return a group number for each node that has a duplicate, and -1 for all others.

    Nodes are compared by 64-bit hashes of features, label, and neighbors. The probability that two
    different nodes among a million have the same hash is below 1e-7.
    """
    _, node, counts = np.unique(_node_hashes(graph), return_inverse=True, return_counts=True)
    groups = np.where(counts > 1, np.cumsum(counts > 1) - 1, -1)
    return groups[node]


def _node_hashes(graph: Graph) -> Hashes:
    rng = np.random.default_rng(0)
    longest = max(graph.n_nodes, graph.n_features, graph.n_classes)
    salt = rng.integers(2**63, size=(3, longest + 1), dtype=np.uint64)
    with np.errstate(over="ignore"):
        hashes = _row_sums(graph.symmetric, salt[0][graph.symmetric.indices.numpy()])
        hashes += salt[1][graph.labels.numpy()]
        return hashes * HASH_MULTIPLIER + _feature_hashes(graph, salt[2])


def _feature_hashes(graph: Graph, salt: Hashes) -> Hashes:
    if isinstance(graph.features, Matrix):
        pattern = graph.features.pattern
        bits = _mix_bits(graph.features.values.numpy())
        return _row_sums(pattern, bits * salt[pattern.indices.numpy()])
    hashes = np.zeros(graph.n_nodes, dtype=np.uint64)
    for column, x in enumerate(graph.features.numpy().T):
        hashes += _mix_bits(x) * salt[column]
    return hashes


def _mix_bits(x: NDArray[np.float32]) -> Hashes:
    # Adding 0 turns -0 into 0. The last bits of round numbers are all 0, and without mixing, so
    # would be the last bits of the hashes.
    bits = (x + 0).view(np.uint32) * HASH_MULTIPLIER
    return bits ^ (bits >> np.uint64(32))


def _row_sums(pattern: Pattern, values: Hashes) -> Hashes:
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.diff(sums[pattern.indptr.numpy()])


def _leaks(graph: Graph, name: str, groups: IntArray) -> int:
    split = graph.splits[name]
    trained = np.unique(groups[split.train.numpy()])
    held_out = groups[np.concatenate([split.val.numpy(), split.test.numpy()])]
    return int(np.isin(held_out[held_out >= 0], trained).sum())


def _missing_classes(graph: Graph, name: str) -> tuple[str, ...]:
    trained = set(graph.labels[graph.splits[name].train].tolist())
    present = set(graph.labels[graph.labeled].tolist())
    return tuple(_class(graph, k) for k in sorted(present - trained))


def _class(graph: Graph, k: int) -> str:
    return graph.class_names[k] if graph.class_names else str(k)
