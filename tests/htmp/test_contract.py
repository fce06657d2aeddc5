"""What every method of the registry must satisfy; a new entry is tested without writing a test."""

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, Split, build
from heterophily.core.spaces import setting_infos
from heterophily.htmp.method import equation_of, reference_settings, search_space, summary_of
from heterophily.models import CLASSICS, NETWORKS, PUBLISHED
from heterophily.views.fidelity import page

N, F, K = 24, 150, 3
ENTRIES = tuple(NETWORKS.values())
PRESETS = ("published", "reference")
# Candidates of equal degree and neighbors of equal similarity are taken in the order of node numbers.
ORDER_MATTERS = {"wrgnn", "simp-gcn"}


def graph_of(edges, *, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    x = (rng.random((N, F)) < 0.4) * rng.random((N, F))
    labels = np.arange(N) % K
    split = Split.from_nodes(np.arange(0, 15), np.arange(15, 20), np.arange(20, N))
    features = torch.tensor(x, dtype=torch.float32)
    features = features.to_sparse() if sparse else features
    return Graph.from_edges(edges, features, labels=labels, splits={"0": split})


def random_edges(seed=0):
    """Random edges among all nodes but the last, which stays isolated."""
    return np.random.default_rng(seed).integers(N - 1, size=(60, 2))


GRAPHS = {"with an isolated node": random_edges(), "without edges": []}


def evaluated(method, graph, *, seed=0, **settings):
    torch.manual_seed(seed)
    network = build(method, graph, **settings).eval()
    network.initialize_states(graph, torch.arange(15))
    return network


@pytest.fixture(params=ENTRIES, ids=lambda method: method.name)
def method(request):
    return request.param


def test_the_table_has_twenty_methods_and_four_classics():
    assert len(PUBLISHED) == 20
    assert [method.name for method in CLASSICS] == ["gcn+", "sage+", "gat+", "linkx"]


def test_a_method_declares_its_facts(method):
    assert method.title
    assert summary_of(method).endswith(".")
    assert equation_of(method)
    assert method.paper[-4:].isdigit()
    assert search_space(method)
    assert set(reference_settings(method)) <= set(setting_infos(method))


def test_equal_settings_give_equal_architectures(method):
    assert method() == method()
    assert method().architecture() == method().architecture()
    assert hash(method()) == hash(method())


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
def test_logits_are_finite_and_every_weight_gets_a_gradient(method, edges, preset):
    graph = graph_of(edges)
    torch.manual_seed(0)
    network = build(method, graph, preset=preset)
    nodes = graph.split("0").train
    network.initialize_states(graph, nodes)
    network.zero_grad()
    logits = network(graph)
    assert logits.shape == (N, K)
    assert logits.isfinite().all()
    network.loss(logits, graph, nodes).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.fixture
def _float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("_float64")
@pytest.mark.parametrize("sparse", [False, True])
def test_the_default_dtype_applies_to_graphs_with_float32_features(method, sparse):
    graph, nodes = graph_of(random_edges(), sparse=sparse), torch.arange(15)
    for dtype in (torch.float32, torch.float64):  # the graph caches results of both
        torch.set_default_dtype(dtype)
        network = build(method, graph)
        network.initialize_states(graph, nodes)
        logits = network(graph)
        assert logits.dtype == dtype
        network.loss(logits, graph, nodes).backward()
        network.update_states(graph, logits)


def test_weights_move_the_logits(method):
    graph = graph_of(random_edges())
    network = evaluated(method, graph)
    (network(graph) * torch.randn(N, K)).sum().backward()
    heard = [p.grad is not None and bool(p.grad.any()) for p in network.parameters()]
    assert sum(heard) > 0.5 * len(heard)


def test_the_same_seed_gives_the_same_scores(method):
    graph = graph_of(random_edges())
    first, again = (evaluated(method, graph, seed=3)(graph) for _ in range(2))
    assert torch.equal(first, again)


def test_relabelling_nodes_relabels_scores(method):
    if method.name in ORDER_MATTERS:
        pytest.skip("ties are broken by node number, as the method says")
    edges = random_edges()
    graph = graph_of(edges)
    order = np.random.default_rng(1).permutation(N)
    place = np.argsort(order)
    moved = Graph.from_edges(place[edges], graph.features[order], labels=graph.labels[order])
    network, other = evaluated(method, graph), evaluated(method, moved)
    other.load_state_dict(permuted(network, order, moved) | training_graphs(other))
    torch.testing.assert_close(other(moved), network(graph)[order], rtol=1e-4, atol=1e-5)


def training_graphs(network):
    """The checksums of the training graph."""
    return {k: v for k, v in network.state_dict().items() if k.endswith("training_graph")}


def permuted(network, order, moved):
    """The weights, with rows that belong to nodes, or entries that belong to pairs, moved along."""
    state = network.state_dict()
    for name, value in state.items():
        if value.dim() and value.shape[0] == N and name != "head.weight":
            state[name] = value[torch.as_tensor(order)]
        if name.endswith(".mask"):
            fresh = build(network.method.name, moved).state_dict()
            state[name] = fresh[name]
    return state


def test_saving_and_loading_changes_nothing(method, tmp_path):
    graph = graph_of(random_edges())
    network, other = evaluated(method, graph, seed=0), evaluated(method, graph, seed=1)
    torch.save(network.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert torch.equal(network(graph), other(graph))


def test_sparse_features_give_the_same_scores_as_dense_ones(method):
    dense, sparse = graph_of(random_edges()), graph_of(random_edges(), sparse=True)
    assert sparse.is_sparse
    scores = [evaluated(method, graph)(graph) for graph in (dense, sparse)]
    torch.testing.assert_close(*scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_any_method_takes_a_norm_residual_connections_and_an_input_layer(method, norm):
    graph = graph_of(random_edges())
    network = build(method, graph, norm=norm, residual=True, input_layer=True)
    network.initialize_states(graph, torch.arange(15))
    assert network(graph).isfinite().all()
    assert any("residual" in name for name, _ in network.named_parameters())


def test_an_unknown_setting_is_refused_with_a_hint():
    with pytest.raises(HeterophilyError, match='unknown setting of gcn "widht"; did you mean'):
        build("gcn", graph_of([]), widht=3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"width": 0}, "width must be at least 1 and at most 1048576, got 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"norm": "group"}, "norm must be one of none, batch, layer"),
        ({"preset": "other"}, 'unknown preset "other"'),
    ],
)
def test_a_wrong_value_is_refused(settings, words):
    with pytest.raises(HeterophilyError, match=words):
        build("gcn", graph_of([]), **settings)


def test_the_fidelity_page_is_printed_from_the_methods(pytestconfig):
    assert (pytestconfig.rootpath / "docs/explanation/fidelity.md").read_text() == page()
