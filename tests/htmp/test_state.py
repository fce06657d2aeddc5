"""States: initialization, updates, other graphs, and the plain training loop of the README."""

import copy

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, Split, build, load
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.models import NETWORKS

N, F, K = 60, 8, 3
TRAIN = torch.arange(30)
STATEFUL = ("cmgnn", "hog-gcn")


def random_graph(*, n=N, seed=0, n_classes=K, labeled=True):
    rng = np.random.default_rng(seed)
    edges = rng.integers(n, size=(4 * n, 2))
    labels = rng.permutation(np.arange(n) % n_classes) if labeled else None
    return Graph.from_edges(edges, rng.random((n, F), dtype=np.float32), labels=labels)


def trained_network(graph, *, seed=0, **settings):
    torch.manual_seed(seed)
    network = build("cmgnn", graph, width=8, **settings)
    network.initialize_states(graph, TRAIN)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        network.loss(network.train()(graph), graph, TRAIN).backward()
        optimizer.step()
        network.update_states(graph, network.eval()(graph))
    return network


NOT_INITIALIZED = (
    r"has not been initialized; call network.initialize_states\(graph, split.train\) before the first "
    r"forward pass, and network.update_states\(graph, logits\) whenever validation improves"
)


@pytest.mark.parametrize("forward", [lambda network, graph: network(graph), evaluate])
def test_a_forward_pass_before_initialization_names_the_call(forward):
    graph = random_graph()
    with pytest.raises(HeterophilyError, match=f"cmgnn {NOT_INITIALIZED}"):
        forward(build("cmgnn", graph, width=8), graph)


def test_a_loss_before_initialization_names_the_call():
    graph = random_graph()
    network = build("hog-gcn", graph, width=8)
    logits = network(graph)  # the forward pass does not use propagated labels
    with pytest.raises(HeterophilyError, match=f"hog-gcn {NOT_INITIALIZED}"):
        network.loss(logits, graph, TRAIN)


@pytest.mark.parametrize("name", STATEFUL)
def test_a_loaded_network_is_initialized(name):
    graph = random_graph()
    network, other = build(name, graph, width=8), build(name, graph, width=8)
    network.initialize_states(graph, TRAIN)
    other.load_state_dict(network.state_dict())
    assert torch.equal(other.eval()(graph), network.eval()(graph))


def test_methods_without_a_state_need_no_initialization():
    graph = random_graph()
    assert build("gcn", graph)(graph).shape == (N, K)
    assert build("gcn", graph).state_summary() == {}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_loss_depends_on_its_logits(name):
    graph = random_graph()
    torch.manual_seed(0)
    network = build(name, graph, width=64)
    network.initialize_states(graph, TRAIN)
    logits = network.eval()(graph)
    losses = [network.loss(values, graph, TRAIN) for values in (logits, torch.zeros_like(logits))]
    assert not torch.isclose(*losses)


def test_logits_of_prototypes_come_from_the_forward_pass():
    graph = random_graph()
    network = trained_network(graph, discrimination_weight=0.0).eval()
    network(graph)
    labels = torch.cat([graph.labels[TRAIN], torch.arange(K)])
    rows = torch.cat([torch.zeros(len(TRAIN), K), network.context.logits[-K:]])
    expected = torch.nn.functional.cross_entropy(rows, labels)
    torch.testing.assert_close(network.loss(torch.zeros(N, K), graph, TRAIN), expected)


def run_readme_loop(name, graph, split, *, n_epochs, **settings):
    """Train as the README shows. Return the best validation accuracy."""
    torch.manual_seed(0)
    network, best = build(name, graph, **settings), 0.0
    known = graph.with_labels_only(torch.cat([split.train, split.val]))
    network.initialize_states(known, split.train)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-6)
    for _ in range(n_epochs):
        optimizer.zero_grad()
        network.loss(network.train()(known), known, split.train).backward()
        optimizer.step()
        with torch.no_grad():
            logits = network.eval()(known)
        accuracy = (logits.argmax(dim=1) == known.labels)[split.val].double().mean().item()
        if accuracy > best:
            best = accuracy
            network.update_states(known, logits)
    return best


def test_a_plain_loop_trains_cmgnn():
    graph = load("digits")
    assert run_readme_loop("cmgnn", graph, graph.split("0"), n_epochs=60) >= 0.95


@pytest.mark.parametrize("name", NETWORKS)
def test_the_plain_loop_runs_every_method(name):
    graph = random_graph()
    split = Split.from_nodes(np.arange(30), np.arange(30, 50), np.arange(50, N))
    assert 0 < run_readme_loop(name, graph, split, n_epochs=3, width=64) <= 1


@pytest.mark.parametrize(
    "options", [{"labeled": False}, {"n_classes": 2}, {"n": 64}, {"n": 59, "labeled": False}], ids=str
)
@pytest.mark.parametrize("forward", [lambda network, graph: network(graph), evaluate])
def test_other_graphs_can_be_predicted(options, forward):
    network = trained_network(random_graph()).eval()
    other = random_graph(seed=1, **options)
    with torch.no_grad():
        logits = forward(network, other)
    assert logits.shape == (other.n_nodes, K)
    assert logits.isfinite().all()


def test_a_different_graph_of_the_same_size_does_not_use_the_stored_soft_labels():
    graph = random_graph()
    network = trained_network(graph).eval()
    state, other = network.states[0], random_graph(seed=1)
    before = network(graph)
    logits = network(other)
    weights = network.context.carry["prototype_weights"]
    assert not torch.allclose(weights, state.prototype_weights())
    state.supplementary_labels.copy_(torch.rand(N, K).softmax(dim=1))
    assert torch.equal(network(other), logits)  # stored soft labels have no effect on it
    assert not torch.equal(network(graph), before)


def test_adaptation_is_two_passes_that_start_from_uniform_soft_labels():
    graph, other = random_graph(), random_graph(seed=1, n=50)
    network = trained_network(graph).eval()
    state = network.states[0]
    soft = torch.full((50, K), 1 / K)
    for _ in range(2):
        state._adapted = soft
        expected = network(other).detach()
        soft = expected.softmax(dim=1)
    state.end_adaptation()
    assert torch.equal(network(other), expected)


def test_the_training_graph_is_recognized_by_its_content():
    graph = random_graph()
    network = trained_network(graph).eval()
    same = graph.replace()
    hidden = graph.replace(labels=torch.full_like(graph.labels, -1))
    for copied in (same, hidden, graph.with_labels_only(TRAIN)):
        assert torch.equal(network(copied), network(graph))
    other = build("cmgnn", graph, width=8).eval()
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(same), network(graph))


def test_labels_of_other_nodes_do_not_matter():
    graph = random_graph()
    labels = graph.labels.clone()
    labels[30:] = (labels[30:] + 1) % K
    poisoned = graph.replace(labels=labels)
    logits = [trained_network(each.with_labels_only(TRAIN)).eval()(each) for each in (graph, poisoned)]
    assert torch.equal(*logits)


@pytest.mark.parametrize("name", STATEFUL)
def test_a_copied_network_has_its_own_state(name):
    graph = random_graph()
    network = build(name, graph, width=8)
    network.initialize_states(graph, TRAIN)
    network.eval()
    copied = copy.deepcopy(network)
    copied.load_state_dict(network.state_dict())
    assert torch.equal(copied(graph), network(graph))


def test_the_summary_has_the_compatibility_matrix():
    network = trained_network(random_graph())
    summary = network.state_summary()
    assert list(summary) == ["compatibility"]
    torch.testing.assert_close(summary["compatibility"].sum(dim=1), torch.ones(K))
