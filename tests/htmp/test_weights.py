"""Neighborhoods and guidance with edge weights equal their dense definitions; without weights, nothing changes."""

import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from heterophily import Graph, build
from heterophily.core.errors import HeterophilyWarning
from heterophily.core.sparse import Pattern
from heterophily.htmp.channel import Channel
from heterophily.htmp.checks import weight_use
from heterophily.htmp.direction import Both, DirectedMean, In, Out, directed_neighborhoods
from heterophily.htmp.execution.sampling import Sampler
from heterophily.htmp.guidance import (
    Attention,
    ChannelInput,
    Complement,
    FixedGuidance,
    Guidance,
    Ones,
    RowMean,
    SequentialHeads,
    SymmetricMean,
)
from heterophily.htmp.neighborhoods import (
    Ego,
    FeatureNeighbors,
    Hop,
    Neighborhood,
    Power,
    Raw,
    WithSelf,
    WithSelfTwice,
    adjacency_of,
)
from heterophily.htmp.parts import Sizes
from heterophily.models import NETWORKS, REGISTRY
from heterophily.models.boosting import Boosting
from heterophily.models.building import build_predictor
from heterophily.models.fagcn import SignedAttention
from heterophily.models.gbk_gnn import Gate

N = 12


@pytest.fixture(autouse=True)
def _float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(params=["weighted", "unweighted", "undirected"])
def example(request):
    """A graph with an isolated node and a self-loop, and its dense matrices."""
    rng = np.random.default_rng(0)
    matrix = (rng.random((N, N)) < 0.25) * (1.0 if request.param == "unweighted" else rng.random((N, N)) + 0.1)
    matrix[4] = matrix[:, 4] = 0
    if request.param == "undirected":
        matrix = np.maximum(matrix, matrix.T)
    matrix[3, 3] = 1.0
    matrix = matrix.astype(np.float32)
    graph = Graph.from_scipy(sp.csr_array(matrix), rng.random((N, 5)), labels=np.arange(N) % 3)
    stored = torch.tensor(matrix, dtype=torch.float64).fill_diagonal_(0)
    count = (stored > 0).double() + (stored.T > 0).double()
    symmetric = (stored + stored.T) / count.clamp_min(1)
    identity = torch.eye(N)
    return SimpleNamespace(
        graph=graph,
        dense={
            Ego(): identity,
            Raw(): symmetric,
            In(): stored.T,
            Out(): stored,
            WithSelf(): symmetric + identity,
            WithSelf(In()): stored.T + identity,
            WithSelf(Out()): stored + identity,
            WithSelfTwice(): symmetric + 2 * identity,
            Hop(1): symmetric,
            Power(2): symmetric + identity,
        },
    )


HOODS = (Ego(), Raw(), In(), Out(), WithSelf(), WithSelf(In()), WithSelf(Out()), WithSelfTwice(), Hop(1), Power(2))
SYMMETRIC = [hood for hood in HOODS if not hood.is_directed]
DIRECTED = [hood for hood in HOODS if hood.is_directed]


def to_dense(adjacency):
    return (adjacency * torch.ones(adjacency.n_entries) if isinstance(adjacency, Pattern) else adjacency).to_dense()


def safe(values, power):
    return torch.where(values > 0, values.clamp_min(1e-300) ** power, 0.0)


@pytest.mark.parametrize("hood", HOODS, ids=str)
def test_a_neighborhood_has_the_weights_of_the_graph(example, hood):
    torch.testing.assert_close(to_dense(adjacency_of(hood, example.graph)), example.dense[hood])


@pytest.mark.parametrize("hood", HOODS, ids=str)
def test_row_means_divide_by_the_sum_of_weights(example, hood):
    a = example.dense[hood]
    expected = a * safe(a.sum(dim=1), -1.0)[:, None]
    torch.testing.assert_close(RowMean().matrix(adjacency_of(hood, example.graph)).to_dense(), expected)


@pytest.mark.parametrize("hood", SYMMETRIC, ids=str)
def test_symmetric_means_divide_by_the_roots_of_the_sums_of_weights(example, hood):
    a = example.dense[hood]
    roots = safe(a.sum(dim=1), -0.5)
    expected = roots[:, None] * a * roots
    torch.testing.assert_close(SymmetricMean().matrix(adjacency_of(hood, example.graph)).to_dense(), expected)


@pytest.mark.parametrize("hood", DIRECTED, ids=str)
def test_directed_means_divide_by_the_roots_of_row_and_column_sums(example, hood):
    a = example.dense[hood]
    expected = safe(a.sum(dim=1), -0.5)[:, None] * a * safe(a.sum(dim=0), -0.5)
    torch.testing.assert_close(DirectedMean().matrix(adjacency_of(hood, example.graph)).to_dense(), expected)


def seen(graph, hood, guidance, messages):
    context = SimpleNamespace(graph=graph)
    return ChannelInput(Channel(hood, guidance), adjacency_of(hood, graph), messages, messages, context)


@pytest.mark.parametrize("hood", [Raw(), In(), WithSelf(), WithSelf(Out()), WithSelfTwice()], ids=str)
def test_attention_is_proportional_to_the_weight(example, hood):
    messages, a = torch.randn(N, 4), example.dense[hood]
    w = Attention().weights(Sizes(N, 5, 3, 5, 4))
    scores = torch.nn.functional.leaky_relu((messages @ w["r"][0])[:, None] + messages @ w["s"][0], 0.2)
    raised = a * scores.exp()
    expected = raised * safe(raised.sum(dim=1), -1.0)[:, None]
    operator = Attention().operator(seen(example.graph, hood, Attention(), messages), w)
    torch.testing.assert_close(operator.to_dense(), expected)
    one_head = operator @ messages
    sequential = SequentialHeads(Attention(), seen(example.graph, hood, Attention(), messages), w) @ messages
    torch.testing.assert_close(sequential, one_head)


def test_ones_are_the_weighted_sum_and_a_complement_subtracts_the_weighted_mean(example):
    z, a = torch.randn(N, 4), example.dense[Raw()]
    torch.testing.assert_close(Ones().operator(seen(example.graph, Raw(), Ones(), z), None) @ z, a @ z)
    mean = a * safe(a.sum(dim=1), -1.0)[:, None]
    of = seen(example.graph, Raw(), Complement(), z)
    torch.testing.assert_close(Complement().operator(of, None) @ z, z - mean @ z)


@pytest.mark.parametrize(("guidance", "average"), [(SignedAttention(), SymmetricMean()), (Gate(), RowMean())], ids=str)
def test_a_learned_factor_multiplies_the_weighted_average(example, guidance, average):
    messages, w = torch.randn(N, 4), guidance.weights(Sizes(N, 5, 3, 4, 4))
    factors = []
    for graph in (example.graph, example.graph.replace(weights=None)):
        given = seen(graph, Raw(), guidance, messages)
        given.context.__dict__.update(carry={}, layer=1, add_aux_output=lambda *_: None)
        factors.append(guidance.values(given, w) / average.matrix(adjacency_of(Raw(), graph)).values)
    torch.testing.assert_close(*factors)


def test_the_page_states_what_weights_mean_for_every_part():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "direction.md").read_text(encoding="utf-8")
    rows = page.partition("## What weights mean")[2]
    parts = [each for kind in (Neighborhood, Guidance) for each in subclasses(kind) if each is not FixedGuidance]
    ours = {each.__name__ for each in parts if each.__module__.startswith("heterophily.")}
    assert sorted(name for name in ours if not re.search(rf"`{name}[`(]", rows)) == []


def subclasses(kind):
    return [each for child in kind.__subclasses__() for each in (child, *subclasses(child))]


@pytest.mark.parametrize("hood", [Hop(2), Hop(3), FeatureNeighbors(2)], ids=str)
def test_other_neighborhoods_ignore_the_weights(example, hood):
    bare = example.graph.replace(weights=None)
    assert not hood.uses_weights
    assert torch.equal(to_dense(adjacency_of(hood, example.graph)), to_dense(adjacency_of(hood, bare)))


def test_both_is_a_channel_for_each_direction():
    assert Both() * RowMean() == (In() * RowMean(), Out() * RowMean())
    assert Both(with_self=True) * RowMean() == (WithSelf(In()) * RowMean(), WithSelf(Out()) * RowMean())
    assert directed_neighborhoods("symmetric") == (Raw(),)
    assert directed_neighborhoods("both") == (In(), Out())


def test_incoming_and_outgoing_edges_of_an_undirected_graph_are_the_same_object():
    graph = Graph.from_edges([(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)], weights=[1, 1, 2, 2, 3])
    assert adjacency_of(In(), graph) is adjacency_of(Out(), graph) is adjacency_of(Raw(), graph)


def test_a_guidance_with_the_wrong_symmetry_is_rejected():
    assert "use DirectedMean()" in SymmetricMean().check_neighborhood(WithSelf(In()))
    assert "use SymmetricMean()" in DirectedMean().check_neighborhood(Raw())


@pytest.mark.parametrize(
    ("hood", "guidance"), [(Raw(), SymmetricMean()), *((hood, DirectedMean()) for hood in DIRECTED)]
)
def test_sampled_rows_have_the_degrees_of_the_full_graph(example, hood, guidance):
    sampler = Sampler(example.graph, [hood * guidance])
    batch = sampler.draw(torch.tensor([2, 7]), [None, None])
    full = guidance.matrix(adjacency_of(hood, example.graph)).to_dense()
    found = guidance.matrix(adjacency_of(hood, batch)).to_dense()
    torch.testing.assert_close(found[:2], full[batch.nodes[:2]][:, batch.nodes])


@pytest.mark.parametrize("hood", [Raw(), In()], ids=str)
def test_sampling_is_unbiased_with_weights(example, hood):
    generator, sampler = torch.Generator().manual_seed(0), Sampler(example.graph, [hood * Ones()])
    total, full = torch.zeros(N), to_dense(adjacency_of(hood, example.graph))
    node = int((full > 0).sum(dim=1).argmax())
    for _ in range(4000):
        batch = sampler.draw(torch.tensor([node]), [2], generator)
        total[batch.nodes] += adjacency_of(hood, batch).to_dense()[0]
    torch.testing.assert_close(total / 4000, full[node], rtol=0.1, atol=0.08)


USE = {"h2gcn": "some", "ugcn": "some", "wrgnn": "some", "geom-gcn": "none", "hog-gcn": "none"}


@pytest.mark.parametrize("name", NETWORKS)
def test_methods_use_weights_as_documented(name):
    assert weight_use(REGISTRY[name]().architecture()) == USE.get(name, "all")


@pytest.mark.parametrize("name", ["gcn", "geom-gcn", "hog-gcn", "mlp"])
def test_a_method_that_cannot_use_weights_says_so_once(example, name):
    graph = example.graph.replace(name="other")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build(name, graph)
        build(name, graph)
    messages = [str(each.message) for each in caught if each.category is HeterophilyWarning]
    is_reported = graph.weights is not None and USE.get(name) == "none"
    assert [f"{name} does not use edge weights" in message for message in messages] == [True] * is_reported


def test_trees_say_that_they_cannot_use_weights():
    graph = Graph.from_edges([(0, 1), (1, 2)], [[1.0], [2.0], [3.0]], weights=[1, 2], labels=[0, 1, 0])
    with pytest.warns(HeterophilyWarning, match="boosting does not use edge weights"):
        build_predictor(Boosting(), graph)


@pytest.mark.parametrize("name", sorted(set(NETWORKS) - {"mlp"}))
def test_weights_change_the_logits_exactly_where_a_method_uses_them(name):
    rng = np.random.default_rng(0)
    plain = Graph.from_edges(rng.integers(30, size=(60, 2)), rng.random((30, 6)), labels=np.arange(30) % 3)
    graph = plain.replace(weights=torch.tensor(rng.random(plain.n_edges) + 0.1, dtype=torch.float32))
    logits = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* does not use edge weights", category=HeterophilyWarning)
        for each in (plain, graph, plain.replace(weights=torch.ones(plain.n_edges))):
            torch.manual_seed(0)
            network = build(name, each, width=64).eval()
            network.initialize_states(each, torch.arange(15))
            logits.append(network(each).detach())
    assert torch.allclose(logits[0], logits[1]) == (USE.get(name) == "none")
    torch.testing.assert_close(logits[0], logits[2])


def test_gcn_with_weights_is_the_layer_of_pytorch_geometric(example):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG uses deprecated functions of PyTorch
        pyg = pytest.importorskip("torch_geometric.nn")
    graph = example.graph
    network = build("gcn", graph, n_layers=1).eval()
    w, conv = network.stacks[0][0].transform, pyg.GCNConv(5, 3)
    with torch.no_grad():
        conv.lin.weight.copy_(w.W0.T)
        conv.bias.copy_(w.b0)
    pattern = graph.symmetric
    weights = None if graph.weights is None else graph.symmetric_weights.double()
    edges = torch.stack([pattern.indices.long(), pattern.rows.long()])
    torch.testing.assert_close(network(graph), conv(graph.features.double(), edges, weights))
