"""Boosted trees: equal to scikit-learn, and their columns never contain a node's own label."""

import copy

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.graph import Graph, Split
from heterophily.htmp.execution.fixed import FixedGraph
from heterophily.htmp.identity import identity_of
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.models.boosting import BoostedTrees, Boosting
from heterophily.models.boosting_columns import label_columns
from heterophily.models.boosting_trees import Forest
from heterophily.models.building import build, build_predictor
from heterophily.training.trainer import train

N, K = 60, 3


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, N - 2, (150, 2))  # the last two nodes have no neighbors
    return Graph.from_edges(edges, rng.normal(size=(N, 4)), labels=rng.integers(0, K, N), n_nodes=N)


def fitted_forest(x, y, n_classes, *, chunks=(7, 20)):
    classifier = HistGradientBoostingClassifier(warm_start=True, random_state=0, min_samples_leaf=5)
    forest = Forest(n_classes)
    forest.set_classes(y)
    for n in chunks:
        forest.append(classifier.set_params(max_iter=n).fit(x, y))
    return forest, classifier


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_forest_predicts_like_scikit_learn(n_classes):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    y = (np.nan_to_num(x[:, 0]) * 2 + rng.normal(size=300)).round().astype(int) % n_classes
    forest, classifier = fitted_forest(x, y, n_classes)
    new = rng.normal(size=(100, 6)).astype(np.float32)
    new[rng.random(new.shape) < 0.2] = np.nan
    probabilities = forest(torch.from_numpy(new)).softmax(dim=1).numpy()
    np.testing.assert_allclose(probabilities, classifier.predict_proba(new), atol=1e-6)
    forest.truncate(7)
    staged = list(classifier.staged_predict_proba(new))
    np.testing.assert_allclose(forest(torch.from_numpy(new)).exp().numpy(), staged[6], atol=1e-6)
    assert forest.n_iterations == 7


def test_a_forest_loads_the_state_of_a_forest_of_another_size():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 3)).astype(np.float32), np.arange(50) % 3
    forest, _ = fitted_forest(x, y, 3)
    other = Forest(3)
    other.load_state_dict(forest.state_dict())
    assert torch.equal(other(torch.from_numpy(x)), forest(torch.from_numpy(x)))


def test_a_class_without_training_nodes_is_unlikely_but_possible():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 3)).astype(np.float32), np.arange(50) % 2
    forest, classifier = fitted_forest(x, y + 1, 4)
    probabilities = forest(torch.from_numpy(x)).softmax(dim=1).numpy()
    assert ((probabilities[:, [0, 3]] > 0) & (probabilities[:, [0, 3]] <= 0.01)).all()
    np.testing.assert_array_equal(probabilities[:, 1:3].argmax(axis=1), classifier.predict(x) - 1)


def test_label_columns_do_not_depend_on_the_own_label(graph):
    labels = np.where(np.arange(N) % 3 > 0, graph.labels.numpy(), -1)
    table = label_columns(graph.symmetric, labels, K, seed=0)
    for node in np.flatnonzero(labels >= 0)[:15]:
        for other in range(K):
            changed = labels.copy()
            changed[node] = other
            if sorted(np.bincount(changed[changed >= 0])) == sorted(np.bincount(labels[labels >= 0])):
                np.testing.assert_array_equal(label_columns(graph.symmetric, changed, K, seed=0)[node], table[node])


def test_labels_are_drawn_into_columns_only_through_edges(graph):
    """Labels that depend on nothing cannot be predicted from the columns of their own node."""
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 2000, (8000, 2))
    labels = rng.integers(0, 2, 2000)
    noise = Graph.from_edges(edges, torch.ones(2000, 1), labels=labels, n_nodes=2000)
    table = label_columns(noise.symmetric, labels, 2, seed=0)
    half = np.arange(2000) < 1000
    classifier = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(table[half], labels[half])
    assert classifier.score(table[~half], labels[~half]) < 0.54


def test_columns_use_no_labels_but_those_of_training_nodes(graph):
    trees = BoostedTrees(Boosting(), graph)
    trees.initialize(graph, torch.arange(20), seed=0)
    labels = torch.cat([graph.labels[:20], (graph.labels[20:] + 1) % K])
    other = BoostedTrees(Boosting(), graph)
    other.initialize(graph.replace(labels=labels), torch.arange(20), seed=0)
    np.testing.assert_array_equal(trees.table(graph), other.table(graph.replace(labels=labels)))


def test_the_training_graph_is_recognized_whatever_its_labels(graph):
    trees = BoostedTrees(Boosting(), graph)
    trees.initialize(graph, torch.arange(20), seed=0)
    assert trees.is_training_graph(graph.with_labels_only(torch.arange(5)))
    assert trees.is_training_graph(graph.replace(labels=graph.labels.flip(0)))
    changed = graph.replace(features=graph.features + 1)
    assert not trees.is_training_graph(changed)
    trees.recognize(changed)
    assert trees.is_training_graph(changed)


def test_wide_features_are_projected_and_only_their_means_are_columns(graph):
    wide = graph.replace(features=torch.randn(N, 50))
    trees = BoostedTrees(Boosting(n_columns=8), wide)
    trees.initialize(wide, torch.arange(20), seed=0)
    assert trees.projection.shape == (50, 8)
    assert trees.inductive_table(wide).shape == (N, 3 * 8 + 5)
    trees = BoostedTrees(Boosting(n_columns=50), wide)
    assert trees.inductive_table(wide).shape == (N, 3 * 50 + 5)
    trees = BoostedTrees(Boosting(n_columns=50, statistics="all"), wide)
    assert trees.inductive_table(wide).shape == (N, 9 * 50 + 5)


def test_trees_have_the_abilities_of_predictors_or_say_why_not(graph):
    nodes = np.arange(N)
    split = Split.from_nodes(nodes[:40], val=nodes[40:], test=[])
    trees, _ = train(Boosting(max_epochs=3, n_columns=2), graph, split=split)
    expected, data = trees(graph), graph.to_pyg()
    assert torch.equal(copy.deepcopy(trees)(graph), expected)
    for dtype in (torch.double, torch.bfloat16):
        assert torch.equal(copy.deepcopy(trees).to(dtype)(graph), expected)
    for same in (data, graph.replace(labels=torch.arange(N) % 2, n_classes=2), graph.with_labels_only(torch.arange(3))):
        assert torch.equal(trees(same), expected)
    weighted = graph.replace(weights=torch.rand(graph.n_edges) + 1)
    with pytest.warns(HeterophilyWarning, match="does not use edge weights"):
        build_predictor(trees.method, weighted)
    assert torch.equal(trees(weighted), expected)
    with pytest.raises(HeterophilyError, match="not with tensors"):
        trees(data.x, data.edge_index)
    with pytest.raises(HeterophilyError, match="cannot be exported, because it is not a single network"):
        FixedGraph(trees, graph)


def test_boosting_is_not_a_network(graph):
    with pytest.raises(HeterophilyError, match="boosting is not a network"):
        build("boosting", graph)
    with pytest.raises(HeterophilyError, match='unknown setting of boosting "width"'):
        make_method(find_method("boosting"), {"width": 32})
    assert isinstance(build_predictor(Boosting(), graph), BoostedTrees)
    assert (
        identity_of(Boosting()) == identity_of(Boosting(max_leaf_nodes=15)) != identity_of(Boosting(max_leaf_nodes=7))
    )


@pytest.mark.parametrize("name", ["left", "roots", "value"])
def test_damaged_trees_are_rejected(name):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 3)).astype(np.float32), np.arange(50) % 3
    state = fitted_forest(x, y, 3)[0].state_dict()
    state[name] = {"left": state["left"] * 0, "roots": state["roots"] + 10**6, "value": state["value"][:-1]}[name]
    with pytest.raises(RuntimeError, match="trees are damaged"):
        Forest(3).load_state_dict(state)
