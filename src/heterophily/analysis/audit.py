"""What is wrong with a dataset before any model sees it (paper, Appendix F.1).

Earlier benchmarks had nodes twice, in the training and in the test set, classes of a handful of
nodes, and splits of different proportions. Anyone can look for the same in her own graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from heterophily.core.graph import PARTS, Graph
from heterophily.core.sparse import Matrix, Pattern

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # an odd number with irregular bits
TINY_CLASS = 20  # fewer nodes leave about four for testing


@dataclass(frozen=True)
class Audit:
    """Counts of suspicious nodes, classes, edges and splits, and a sentence for each finding."""

    duplicate_nodes: int  # nodes with a twin: same features, label and neighbors
    duplicate_groups: int
    leaking_nodes: Mapping[str, int]  # split: validation and test nodes with a twin in training
    tiny_classes: Mapping[str, int]  # class: number of labelled nodes, if below TINY_CLASS
    classes_missing_in_training: Mapping[str, tuple[str, ...]]  # split: classes
    unequal_splits: bool  # whether the splits of one graph have different sizes
    isolated_nodes: int
    one_sided_edges: int  # stored edges without their reverse
    self_loops: int
    unlabelled_nodes: int

    @property
    def findings(self) -> list[str]:
        """One sentence for each thing that a careful person would mend or mention."""
        return _sentences(self)

    def to_dict(self) -> dict[str, Any]:
        """All counts and findings as plain data."""
        fields = {
            key: dict(value) if isinstance(value, Mapping) else value
            for key, value in vars(self).items()
        }
        return {**fields, "findings": self.findings}


def audit_graph(graph: Graph) -> Audit:
    """Look for duplicates and leakage, tiny classes, uneven splits and odd edges."""
    twins = duplicate_groups(graph)
    sizes = torch.bincount(graph.labels[graph.labeled], minlength=graph.n_classes).tolist()
    self_loops = int((graph.adjacency.rows == graph.adjacency.indices).sum())
    split_sizes = {tuple(len(s.parts[part]) for part in PARTS) for s in graph.splits.values()}
    missing = {name: _missing_classes(graph, name) for name in graph.splits}
    return Audit(
        duplicate_nodes=int((twins >= 0).sum()),
        duplicate_groups=int(twins.max(initial=-1)) + 1,
        leaking_nodes={name: _leaks(graph, name, twins) for name in graph.splits},
        tiny_classes={_class(graph, k): n for k, n in enumerate(sizes) if n < TINY_CLASS},
        classes_missing_in_training={name: gone for name, gone in missing.items() if gone},
        unequal_splits=len(split_sizes) > 1,
        isolated_nodes=int((graph.degrees == 0).sum()),
        # m edges without loops, of which s are one-sided, have m + s entries when symmetrised.
        one_sided_edges=graph.symmetric.n_entries - (graph.n_edges - self_loops),
        self_loops=self_loops,
        unlabelled_nodes=int((~graph.labeled).sum()),
    )


def duplicate_groups(graph: Graph) -> Any:
    """Group number of each node that has a twin, -1 for all others, (N,).

    Nodes are compared by 64-bit fingerprints of features, label and neighbors; that two different
    nodes among a million share one by chance has a probability below 1e-7.
    """
    prints = _fingerprints(graph)
    order = np.argsort(prints, kind="stable")
    same = prints[order][1:] == prints[order][:-1]
    first = np.concatenate([[True], ~same])
    shared = np.concatenate([[False], same]) | np.concatenate([same, [False]])
    group = np.cumsum(first & shared) - 1
    groups = np.full(graph.n_nodes, -1)
    groups[order[shared]] = group[shared]
    return groups


def _fingerprints(graph: Graph) -> Any:
    rng = np.random.default_rng(0)
    longest = max(graph.n_nodes, graph.n_features, graph.n_classes)
    salt = rng.integers(2**63, size=(3, longest + 1), dtype=np.uint64)
    with np.errstate(over="ignore"):
        prints = _row_sums(graph.symmetric, salt[0][graph.symmetric.indices.numpy()])
        prints += salt[1][graph.labels.numpy()]
        return prints * GOLDEN + _feature_prints(graph, salt[2])


def _feature_prints(graph: Graph, salt: Any) -> Any:
    if isinstance(graph.features, Matrix):
        pattern = graph.features.pattern
        return _row_sums(
            pattern, _mixed(graph.features.values.numpy()) * salt[pattern.indices.numpy()]
        )
    prints = np.zeros(graph.n_nodes, dtype=np.uint64)
    for column, x in enumerate(graph.features.numpy().T):
        prints += _mixed(x) * salt[column]
    return prints


def _mixed(x: Any) -> Any:
    # Adding 0 turns -0 into 0, which is the same number with other bits. The last bits of round
    # numbers are all 0; unmixed, so would be those of the fingerprints.
    bits = (x + 0).view(np.uint32) * GOLDEN
    return bits ^ (bits >> np.uint64(32))


def _row_sums(pattern: Pattern, values: Any) -> Any:
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.diff(sums[pattern.indptr.numpy()])


def _leaks(graph: Graph, name: str, twins: Any) -> int:
    split = graph.splits[name]
    seen = np.unique(twins[split.train.numpy()])
    held_out = twins[np.concatenate([split.val.numpy(), split.test.numpy()])]
    return int(np.isin(held_out[held_out >= 0], seen).sum())


def _missing_classes(graph: Graph, name: str) -> tuple[str, ...]:
    trained = set(graph.labels[graph.splits[name].train].tolist())
    present = set(graph.labels[graph.labeled].tolist())
    return tuple(_class(graph, k) for k in sorted(present - trained))


def _class(graph: Graph, k: int) -> str:
    return graph.class_names[k] if graph.class_names else str(k)


def _sentences(audit: Audit) -> list[str]:
    leaks = max(audit.leaking_nodes.values(), default=0)
    tiny = ", ".join(f"{name} ({n})" for name, n in audit.tiny_classes.items())
    untrained = next(iter(audit.classes_missing_in_training.items()), None)
    counted = (
        (audit.duplicate_nodes, "node(s) with a twin: equal features, label and neighbors"),
        (leaks, "validation and test node(s) with a twin in the training set, in the worst split"),
        (audit.isolated_nodes, "node(s) without a neighbor"),
        (audit.one_sided_edges, "stored edge(s) without their reverse"),
        (audit.self_loops, "self-loop(s) among the stored edges"),
        (audit.unlabelled_nodes, "node(s) without a label"),
    )
    sentences = [f"{count:,} {_number(what, count)}" for count, what in counted if count]
    if tiny:
        sentences.append(f"classes with fewer than {TINY_CLASS} labelled nodes: {tiny}")
    if untrained:
        name, classes = untrained
        sentences.append(f"no training node of class {', '.join(classes)} in split {name}")
    if audit.unequal_splits:
        sentences.append("splits of different sizes")
    return sentences


def _number(what: str, count: int) -> str:
    return what.replace("(s)", "" if count == 1 else "s")
