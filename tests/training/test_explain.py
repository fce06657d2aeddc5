"""Explanations: effects equal those of graphs that are built without an edge or a value, and find planted causes."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily import Graph, HeterophilyError, NodeClassifier, Split
from heterophily.core.sparse import Matrix
from heterophily.models import REGISTRY
from heterophily.training.occlusion import Occluder, Occlusion, change_row, log_odds, rank_items

LOCAL = ("gcn", "gat", "acm-gcn", "mlp")


def ring(n=120, seed=0):
    """A ring with chords, on which every node has few neighbors."""
    rng = np.random.default_rng(seed)
    nodes = np.arange(n)
    edges = np.concatenate([np.stack([nodes, (nodes + 1) % n], 1), np.stack([nodes[::7], (nodes[::7] + 30) % n], 1)])
    labels = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 5)) + 2 * np.eye(3, 5)[labels]
    split = Split.from_nodes(nodes[::2], nodes[1::4], nodes[3::4])
    return Graph.from_edges(edges, x, labels=labels, splits={"0": split})


def without_edges(graph, node, neighbors):
    pairs = torch.stack([graph.adjacency.rows, graph.adjacency.indices], dim=1).tolist()
    kept = [(a, b) for a, b in pairs if not ((a == node and b in neighbors) or (b == node and a in neighbors))]
    return Graph.from_edges(kept, graph.features, labels=graph.labels, n_classes=graph.n_classes)


@pytest.mark.parametrize("name", LOCAL)
def test_a_part_of_the_graph_yields_the_same_effects_as_the_full_graph(name):
    graph = ring()
    model = NodeClassifier(name, max_epochs=5, width=8).fit(graph, split="0")
    found = model.explain(14)
    assert found.n_hops is not None
    logits = model._logits(graph)
    target = model.class_names_.index(found.target)
    neighbors = graph.symmetric.indices[graph.symmetric.rows == 14].tolist()
    assert sorted(each.node for each in found.neighbors) == neighbors
    for each in found.neighbors:
        changed = model._logits(without_edges(graph, 14, [each.node]))
        expected = log_odds(logits[[14]], target) - log_odds(changed[[14]], target)
        assert each.effect == pytest.approx(float(expected[0]), abs=1e-3)
        assert each.probability == pytest.approx(float(changed[14].softmax(0)[target]), abs=1e-4)
    effects = [abs(each.effect) for each in found.neighbors]
    assert effects == sorted(effects, reverse=True)


def test_the_occluder_uses_the_full_graph_if_the_model_requires_it():
    graph = ring()
    predict = lambda g: g.features[:, :3] + g.features[:, :3].mean()  # noqa: E731
    occluder = Occluder(predict, graph, 5)
    assert occluder.n_hops is None
    changed = graph.features.clone()
    changed[5, [1, 4]] = torch.tensor([7.0, 8.0])
    found = occluder([Occlusion(features=(1, 4), values=(7.0, 8.0)), Occlusion(neighbors=(4, 6))])
    expected = torch.stack([predict(graph.replace(features=changed))[5], predict(graph)[5]])
    torch.testing.assert_close(found, expected)
    assert occluder.n_evaluations == 2


def test_many_occlusions_on_a_part_equal_single_ones(monkeypatch):
    graph = ring()
    model = NodeClassifier("gcn", max_epochs=5, width=8).fit(graph, split="0")
    occluder = Occluder(model._logits, graph, 9)
    occlusions = [Occlusion(features=(i,)) for i in range(5)]
    together = occluder(occlusions)
    monkeypatch.setattr("heterophily.training.occlusion.MAX_ENTRIES", 0)
    torch.testing.assert_close(occluder(occlusions), together)
    assert occluder([]).shape == (0, 3)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_method_is_explained(graph, split, name):
    graph = graph.replace(features=graph.features[:, :4])
    settings = {} if name == "boosting" else {"width": 64 if name == "ordered-gnn" else 8}
    model = NodeClassifier(name, max_epochs=2, **settings).fit(graph, split=split)
    node, before = int(graph.degrees.argmax()), model.predict_proba()
    found = model.explain(node, max_items=20)
    assert found.probability == pytest.approx(float(before[node].max()), abs=1e-6)
    assert len(found.columns) == found.n_columns == graph.n_features
    assert all(np.isfinite(each.effect) for each in (*found.neighbors, *found.columns, *found.parts))
    whole = model.explain_model(n_repeats=2)
    assert len(whole.columns) == graph.n_features
    np.testing.assert_array_equal(model.predict_proba(), before)  # explanations change nothing
    assert found.n_neighbors == int(graph.degrees[node])
    if name == "hog-gcn":
        assert not found.neighbors
        assert not whole.edges
        assert "one weight per pair of nodes" in found.notes[0]
        return
    assert len(found.neighbors) == found.n_neighbors
    assert [each.part for each in found.parts][:2] == ["ego", "neighbors"]
    assert [each.name for each in whole.edges] == ["removed", "rewired at random"]


def test_gates_are_the_weights_of_the_messages(graph, split):
    model = NodeClassifier("cmgnn", max_epochs=3, width=8).fit(graph, split=split)
    found = model.explain(20)
    model.predict_proba()
    alpha = torch.stack([each[20] for each in model.predictor_.context.aux_outputs["alpha"]]).mean(dim=0)
    assert [each.part for each in found.gates] == ["ego", "neighbors", "supplementary"]
    assert [each.share for each in found.gates] == pytest.approx(alpha.tolist(), abs=1e-6)
    assert sum(each.share for each in found.gates) == pytest.approx(1)
    assert [each.part for each in found.parts] == ["ego", "neighbors", "supplementary"]
    assert NodeClassifier("gcn", max_epochs=1).fit(graph, split=split).explain(20).gates == ()


def test_occlusion_keeps_what_the_model_stores_about_the_nodes(graph, split):
    """An unchanged copy has the same logits; without this, soft labels would be computed again."""
    model = NodeClassifier("cmgnn", max_epochs=20, width=8).fit(graph, split=split)
    state = model.predictor_.states[0]
    stored = state.supplementary_labels.clone()
    found = model.explain(0)  # without edges
    assert found.n_neighbors == 0
    assert found.probability == pytest.approx(float(model.predict_proba()[0].max()))
    assert state.recognition == "checksum"
    assert torch.equal(state.supplementary_labels, stored)
    with state.forget(torch.tensor([3])):
        assert state.supplementary_labels[3].tolist() == pytest.approx([1 / 3] * 3)
        assert torch.equal(state.supplementary_labels[4:], stored[4:])


def test_boosting_uses_labels_of_training_nodes_without_an_edge():
    """Labels are those of neighbors, so hiding the edges to labeled neighbors hides the cause."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 150)
    pairs = [(i, j) for i in range(300) for j in rng.choice(300, 4) if labels[i] == labels[j] != i]
    nodes = rng.permutation(300)
    split = Split.from_nodes(nodes[:180], nodes[180:240], nodes[240:])
    graph = Graph.from_edges(pairs, rng.normal(size=(300, 3)), labels=labels, n_nodes=300, splits={"0": split})
    model = NodeClassifier("boosting", max_epochs=40, n_positions=0).fit(graph, split="0")
    assert model.score() > 0.9
    # A node without neighbors falls into the same leaf in both classes, so hiding all edges changes one of the two.
    test = split.test[graph.degrees[split.test].argsort(descending=True)].tolist()
    each_class = [next(i for i in test if labels[i] == k) for k in (0, 1)]
    found = [model.explain(node) for node in each_class]
    effects = [{part.part: part.effect for part in each.parts} for each in found]
    assert max(each["neighbors"] for each in effects) > 2
    assert max(abs(each["ego"]) for each in effects) < 1
    assert [each.n_hops for each in found] == [None, None]
    assert model.explain_model(n_repeats=2).edges[1].importance > 0.3
    with_positions = NodeClassifier("boosting", max_epochs=20, n_positions=4).fit(graph, split="0")
    assert "positions" in with_positions.explain(each_class[0]).notes[0]


def planted(cause, n=800, seed=1):
    """Labels from column 2 of each node, which has random neighbors, or from that of its only neighbor."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    partner = np.arange(n) ^ 1
    edges = rng.integers(n, size=(2 * n, 2)) if cause == "column" else np.stack([np.arange(n), partner], axis=1)
    source = x if cause == "column" else x[partner]
    nodes = rng.permutation(n)
    split = Split.from_nodes(nodes[: n // 2], nodes[n // 2 : 3 * n // 4], nodes[3 * n // 4 :])
    return Graph.from_edges(edges, x, labels=(source[:, 2] > 0).astype(int), splits={"0": split})


@pytest.mark.parametrize("cause", ["column", "neighbor"])
def test_a_planted_cause_is_found(cause):
    graph = planted(cause)
    model = NodeClassifier("h2gcn", max_epochs=150, width=16, dropout=0.0).fit(graph, split="0")
    assert model.score() > 0.9
    source = graph.features[:, 2] if cause == "column" else graph.features[torch.arange(graph.n_nodes) ^ 1, 2]
    right = max(model.split_.test.tolist(), key=lambda i: abs(float(source[i])))
    assert model.predict()[right] == graph.labels[right]
    found, whole = model.explain(right), model.explain_model(n_repeats=4)
    effect = {each.part: each.effect for each in found.parts}
    importance = {each.name: each.importance for each in whole.edges}
    if cause == "column":
        assert found.columns[0].name == "feature 2"
        assert found.columns[0].effect > 0
        assert effect["ego"] > 2 * abs(effect["neighbors"])
        assert whole.columns[0].importance > 0.3 > importance["rewired at random"]
    else:
        assert effect["neighbors"] > 2 * abs(effect["ego"])
        assert found.neighbors[0].node == right ^ 1
        assert min(importance.values()) > 0.3
    assert whole.columns[0].name == "feature 2"
    assert max(each.importance for each in whole.columns[1:]) < 0.1


def test_sparse_columns_are_set_to_zero_and_only_those_of_the_node_count(graph, split):
    x = (graph.features.numpy() > 1.5).astype(np.float32)
    sparse = graph.replace(features=Matrix.from_scipy(sp.csr_array(x)))
    model = NodeClassifier("gcn", max_epochs=5, width=8).fit(sparse, split=split)
    node = int(x.sum(axis=1).argmax())
    found = model.explain(node)
    assert sorted(each.name for each in found.columns) == sorted(f"feature {i}" for i in x[node].nonzero()[0])
    first = found.columns[0]
    changed = x.copy()
    changed[node, int(first.name.split()[1])] = 0
    after = model.predict_proba(graph.replace(features=Matrix.from_scipy(sp.csr_array(changed))))[node]
    assert first.probability == pytest.approx(after[model.class_names_.index(found.target)], abs=1e-6)
    assert first.standard_error is None
    assert len(model.explain_model(n_repeats=2).columns) == graph.n_features


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_row_of_features_is_changed_without_changing_others(kind):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    features = x if kind == "dense" else Matrix.from_scipy(sp.csr_array(x.numpy()))
    changed = change_row(features, 1, np.array([0]), np.array([0.0]))
    changed, before = (each if kind == "dense" else each.to_dense() for each in (changed, features))
    assert changed.tolist() == [[1, 2], [0, 4]]
    assert before.tolist() == x.tolist()


def test_the_largest_of_many_effects_are_found_in_groups():
    rng = np.random.default_rng(0)
    effects = rng.normal(scale=0.01, size=1000)
    effects[[17, 400, 999]] = 5, -3, 2
    sizes = []

    def measure(groups):
        sizes.append(len(groups))
        return np.array([effects[group].sum() for group in groups])

    found = rank_items(1000, measure, 100)
    assert list(found)[:3] == [17, 400, 999]
    assert sum(sizes) <= 100
    assert rank_items(5, measure, 100).keys() == set(range(5))
    assert next(iter(rank_items(1000, measure, 20))) == 17
    assert next(iter(rank_items(64, measure, 20))) == 17


def test_log_odds_are_bounded():
    logits = torch.tensor([[200.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert log_odds(logits, 0) == pytest.approx([np.log(1 / 2e-9), np.log(1 / 2)])
    assert np.isfinite(log_odds(logits, 1)).all()


def test_nodes_and_classes_have_names(graph, split):
    named = graph.replace(node_ids=tuple(f"n{i}" for i in range(60)), class_names=("red", "green", "blue"))
    model = NodeClassifier("gcn", max_epochs=5).fit(named, split=split)
    found = model.explain("n20", target="blue")
    assert (found.id, found.node, found.target) == ("n20", 20, "blue")
    assert found.probability == pytest.approx(model.predict_proba()[20, 2], abs=1e-6)
    assert found.label == named.class_names[int(graph.labels[20])]
    assert sum(each.n_neighbors for each in found.neighbor_classes) == found.n_neighbors
    with pytest.raises(HeterophilyError, match='unknown node of graph "n99"; did you mean'):
        model.explain("n99")
    with pytest.raises(HeterophilyError, match='unknown class "pink"'):
        model.explain("n20", target="pink")
    with pytest.raises(HeterophilyError, match="max_items must be at least 20"):
        model.explain("n20", max_items=3)
    numbered = NodeClassifier("mlp", max_epochs=1).fit(graph, split=split)
    assert numbered.explain("20").node == numbered.explain(20).node == 20
    for wrong in (60, -1, "n20"):
        with pytest.raises(HeterophilyError, match="node must be a number from 0 to 59"):
            numbered.explain(wrong)


def test_a_loaded_model_is_explained_as_before(graph, split, tmp_path):
    model = NodeClassifier("cmgnn", max_epochs=5, width=8).fit(graph, split=split)
    model.save(tmp_path)
    loaded = NodeClassifier.load(tmp_path, graph=graph)
    assert loaded.explain(20, max_items=20) == model.explain(20, max_items=20)
    assert loaded.explain_model(n_repeats=2) == model.explain_model(n_repeats=2)
    other = NodeClassifier.load(tmp_path).explain_model(graph, n_repeats=2)
    assert (other.nodes, other.n_nodes) == ("labeled", 60)
    with pytest.raises(HeterophilyError, match="has no labels"):
        loaded.explain_model(graph.with_labels_only(torch.tensor([], dtype=torch.long)))


def test_importance_is_the_decrease_of_the_score(graph, split):
    model = NodeClassifier("gcn", max_epochs=20, scoring="f1_macro").fit(graph, split=split)
    found = model.explain_model(n_repeats=2)
    assert (found.scoring, found.nodes, found.n_nodes) == ("f1_macro", "test", 12)
    assert found.score == pytest.approx(model.score())
    empty = Graph.from_edges([], graph.features, labels=graph.labels, n_classes=3)
    assert found.edges[0].importance == pytest.approx(model.score() - model.score(empty, nodes=split.test))
    assert found.edges[0].standard_error is None
    assert found.edges[1].standard_error >= 0
    values = [each.importance for each in found.columns]
    assert values == sorted(values, reverse=True)
    assert found.to_dict()["columns"][0].keys() == {"name", "importance", "standard_error"}
