import json

import numpy as np
import pytest
import scipy.sparse as sp

from heterophily.analysis.audit import TINY_CLASS, _feature_hashes, audit_graph, duplicate_groups
from heterophily.core.graph import Graph, Split

N = 60
RING = np.arange(N)


def ring(features=None, **changes):
    """Two classes in turn on a ring, one edge in both directions, all nodes different."""
    edges = np.stack([RING, (RING + 1) % N], axis=1)
    fields = {"edges": np.concatenate([edges, edges[:, ::-1]]), "labels": RING % 2, **changes}
    random = np.random.default_rng(0).random((N, 5))
    return Graph.from_edges(fields.pop("edges"), random if features is None else features, **fields)


def split(**moved):
    """Every third node in each part, but some nodes moved."""
    parts = {"train": RING[::3], "val": RING[1::3], "test": RING[2::3]}
    return Split.from_nodes(*{**parts, **moved}.values())


def with_duplicates(kind):
    """Leaves on the same node, two alike (60, 61), two alike (62, 63), one alone (64)."""
    features = np.eye(N + 5, 70)
    features[N:] = 0
    features[N:, 3] = [1, 1, 2, 2, 3]
    leaves = [(N + i, 7) for i in range(5)]
    edges = np.concatenate([np.stack([RING, (RING + 1) % N], axis=1), leaves])
    return Graph.from_edges(
        np.concatenate([edges, edges[:, ::-1]]), kind(features), labels=[*(RING % 2), 0, 0, 0, 0, 0]
    )


def test_a_clean_graph_has_no_findings():
    audit = audit_graph(ring(splits={"0": split(), "1": split()}))
    assert audit.findings == []
    assert (audit.duplicate_nodes, audit.duplicate_groups) == (0, 0)
    assert audit.leaking_nodes == {"0": 0, "1": 0}


both = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


@both
def test_planted_duplicates_are_found(kind):
    graph = with_duplicates(kind)
    groups = duplicate_groups(graph)
    assert (groups[:N] == -1).all()
    assert groups[N] == groups[N + 1] != groups[N + 2] == groups[N + 3]
    assert groups[N + 4] == -1
    audit = audit_graph(graph)
    assert (audit.duplicate_nodes, audit.duplicate_groups) == (4, 2)
    assert "4 nodes with a duplicate: equal features, label, and neighbors" in audit.findings


@both
@pytest.mark.parametrize("differ", ["features", "labels", "neighbors"])
def test_nodes_that_differ_in_one_respect_are_no_duplicates(kind, differ):
    features = np.ones((4, 3))
    features[1, 2] = 2 if differ == "features" else 1
    labels = [0, 1 if differ == "labels" else 0, 1, 1]
    edges = [(0, 2), (1, 3 if differ == "neighbors" else 2)]
    graph = Graph.from_edges(edges, kind(features), labels=labels)
    assert duplicate_groups(graph)[0] == -1
    duplicates = Graph.from_edges([(0, 2), (1, 2)], kind(np.ones((4, 3))), labels=[0, 0, 1, 1])
    assert duplicate_groups(duplicates).tolist() == [0, 0, -1, -1]


def test_zero_and_minus_zero_are_the_same_feature():
    graph = Graph.from_edges([(0, 2), (1, 2)], [[0.0], [-0.0], [0.0]], labels=[0, 0, 1])
    assert duplicate_groups(graph).tolist() == [0, 0, -1]


@both
def test_all_bits_of_a_hash_vary_with_binary_features(kind):
    features = np.random.default_rng(0).random((500, 40)) < 0.5
    graph = Graph.from_edges([], kind(features.astype(float)))
    salt = np.random.default_rng(1).integers(2**63, size=41, dtype=np.uint64)
    prints = _feature_hashes(graph, salt)
    share = [(prints >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)]
    assert 0.3 < min(share) <= max(share) < 0.7


@both
def test_duplicates_across_a_split_leak(kind):
    graph = with_duplicates(kind)
    # 60 and 61 are duplicates, and so are 62 and 63.
    splits = {
        "both in training": split(train=[0, 60, 61, 62, 63]),
        "in test": split(train=[0, 60, 62], test=[61, 64]),
        "in val and test": split(train=[0, 60, 62], val=[61], test=[63]),
        "none in training": split(train=[0, 64], val=[60], test=[61]),
    }
    audit = audit_graph(graph.replace(splits=splits))
    assert list(audit.leaking_nodes.values()) == [0, 1, 2, 0]
    assert any(sentence.startswith("2 validation and test nodes") for sentence in audit.findings)


def test_tiny_classes_are_named_with_their_size():
    labels = np.where(RING < TINY_CLASS - 1, 1, np.where(RING < 2 * TINY_CLASS - 1, 2, 0))
    labels[-1] = 3
    graph = ring(labels=labels, n_classes=5, class_names=list("abcde"))
    assert audit_graph(graph).tiny_classes == {"b": 19, "d": 1, "e": 0}
    assert "classes with fewer than 20 labeled nodes: b (19), d (1), e (0)" in audit_graph(graph).findings


def test_a_class_number_above_the_number_of_nodes_is_no_obstacle():
    assert len(audit_graph(Graph.from_edges([(0, 1)], labels=[0, 90])).tiny_classes) == 91


def test_a_class_without_training_node_is_named():
    odd, even = RING[1::2], RING[::2]
    splits = {"a": split(), "b": split(train=even, val=odd[:9], test=odd[9:])}
    audit = audit_graph(ring(splits=splits, class_names=["even", "odd"]))
    assert audit.classes_missing_in_training == {"b": ("odd",)}
    assert "no training node of class odd in split b" in audit.findings


def test_splits_of_different_sizes_are_noticed():
    audit = audit_graph(ring(splits={"0": split(), "1": split(test=RING[2:50:3])}))
    assert audit.unequal_splits
    assert audit.findings == ["splits of different sizes"]


def test_odd_edges_and_nodes_are_counted():
    edges = [(0, 1), (1, 0), (1, 2), (3, 2), (2, 2), (4, 4)]
    graph = ring(edges=edges, labels=np.where(RING < 50, RING % 2, -1))
    audit = audit_graph(graph)
    assert audit.isolated_nodes == N - 4  # node 4 has only itself
    assert audit.one_sided_edges == 2
    assert audit.self_loops == 2
    assert audit.unlabeled_nodes == 10
    assert audit.findings == [
        "56 nodes without neighbors",
        "2 stored edges without their reverse",
        "2 self-loops among the stored edges",
        "10 nodes without a label",
    ]


def test_an_audit_is_plain_data():
    audit = audit_graph(ring(splits={"0": split()}))
    content = json.loads(json.dumps(audit.to_dict()))
    assert content["leaking_nodes"] == {"0": 0}
    assert content["findings"] == []
