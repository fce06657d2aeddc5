"""Samples: drawn rows without bias, whole rows where all are kept, and every method on them."""

from functools import cache

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, build
from heterophily.htmp.execution.batch import Batch, SampledMatrix, concatenated_ranges, rows_of, without_replacement
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.execution.sampling import Sampler, compiled_sampler, fanouts_per_hop
from heterophily.htmp.guidance import Attention, ChannelInput, Ones, RowMean, SymmetricMean
from heterophily.htmp.method import full_graph_reason, make_method
from heterophily.htmp.neighborhoods import Ego, Raw, WithSelf, WithSelfTwice
from heterophily.htmp.parts import Context, GraphLike
from heterophily.models import NETWORKS, REGISTRY
from heterophily.models.ggcn import Signed

N, F, K = 90, 100, 3
TRAIN = torch.arange(3, 40, 6)
ENTRIES = [(r, p) for r in NETWORKS.values() for p in ("published", "reference")]
DIVIDED = [(r, p) for r, p in ENTRIES if not full_graph_reason(make_method(r, preset=p))]
IDS = [f"{r.name}-{p}" for r, p in DIVIDED]


@pytest.fixture(autouse=True, scope="module")
def _double():
    torch.set_default_dtype(torch.double)
    yield
    torch.set_default_dtype(torch.float32)


@cache
def ring(*, sparse=False, n=N):
    """A long ring with a hub and an isolated node, so that two hops are far from all nodes."""
    edges = [(i, (i + 1) % (n - 1)) for i in range(n - 1)] + [(0, i) for i in range(2, n - 1, 12)]
    rng = np.random.default_rng(0)
    x = torch.tensor((rng.random((n, F)) < 0.3) * rng.random((n, F)))
    features = x.float().to_sparse() if sparse else x.float()
    graph = Graph.from_edges(edges, features, labels=np.arange(n) % K)
    exact = rows_of(graph.features, torch.arange(n))
    exact = exact.pattern * exact.values.double() if sparse else exact.double()
    return graph.replace(features=exact)


def begun(method, graph, preset="published", **settings):
    torch.manual_seed(0)
    network = build(method, graph, preset=preset, **settings)
    network.initialize_states(graph, TRAIN)
    return network.eval()


def sampler_of(network, graph):
    return Sampler(graph, network.architecture.channels, network.encoder_part.structure)


def gradients(network, graph, nodes, **options):
    network.zero_grad()
    network.loss(network(graph), graph, nodes, **options).backward()
    return {n: None if p.grad is None else p.grad.clone() for n, p in network.named_parameters()}


@pytest.mark.parametrize(("method", "preset"), DIVIDED, ids=IDS)
def test_one_batch_of_all_training_nodes_has_the_gradients_of_the_whole_graph(method, preset):
    graph = ring()
    network = begun(method, graph, preset)
    sampler = sampler_of(network, graph)
    hops = network.n_layers * sampler.power
    sample = sampler.draw(TRAIN, fanouts_per_hop("all", hops))
    assert sample.n_nodes < N or method.name == "wrgnn"  # whose relations reach all nodes here
    whole = gradients(network, graph, TRAIN)
    batch = gradients(network, sample, torch.arange(len(TRAIN)), n_represented=float(len(TRAIN)))
    torch.testing.assert_close(batch, whole)
    torch.testing.assert_close(network(sample)[: len(TRAIN)], network(graph)[TRAIN])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("method", "preset"), DIVIDED, ids=IDS)
def test_evaluation_in_blocks_is_exact(method, preset, sparse):
    graph = ring(sparse=sparse)
    network = begun(method, graph, preset)
    torch.testing.assert_close(evaluate(network, graph, block=50), network(graph).detach())
    z = evaluate(network, graph, block=50, head=False)
    torch.testing.assert_close(z, network.embed(graph).detach())


@pytest.mark.parametrize("settings", [{"structure": True}, {"residual": True}, {"norm": "layer"}])
def test_blocks_and_batches_know_the_settings_of_cmgnn(settings):
    graph = ring()
    network = begun("cmgnn", graph, **settings)
    torch.testing.assert_close(evaluate(network, graph, block=50), network(graph).detach())
    sample = sampler_of(network, graph).draw(TRAIN, [None, None])
    whole = gradients(network, graph, TRAIN)
    batch = gradients(network, sample, torch.arange(len(TRAIN)), n_represented=float(len(TRAIN)))
    torch.testing.assert_close(batch, whole)


def test_structure_channels_hear_whole_rows():
    graph = ring()
    network = begun("acm-gcn", graph, structure_channel=True)
    sample = sampler_of(network, graph).draw(TRAIN, [2, 2], torch.Generator())
    layer = network.stacks[0][0]

    def message(part):
        inputs, context = [part.features] * 3 + [None], network.open(part)
        return layer.aggregate(inputs, layer.transform_inputs(inputs, context), context)[-1]

    torch.testing.assert_close(message(sample), message(graph)[sample.nodes])


def test_predictions_of_unseen_nodes_are_those_of_the_whole_graph():
    network, other = begun("cmgnn", ring()), ring(n=70)
    torch.testing.assert_close(evaluate(network, other, block=40), network(other).detach())


@pytest.mark.parametrize("name", ["hog-gcn", "glognn", "simp-gcn"])
def test_what_needs_all_nodes_at_once_says_why(name):
    assert len(full_graph_reason(REGISTRY[name]()).split()) > 4


def test_settings_decide_what_can_be_divided():
    cmgnn = REGISTRY["cmgnn"]
    assert not full_graph_reason(cmgnn())
    assert "pseudo_labels" in full_graph_reason(make_method(cmgnn, preset="reference"))
    evaluation = {"preset": "reference", "pseudo_labels": "evaluation"}
    assert not full_graph_reason(make_method(cmgnn, evaluation))
    assert "norm = layer" in full_graph_reason(REGISTRY["gcn+"](norm="batch"))


def channel_matrix(guidance, hood, seeds, fanout, generator, graph):
    """A' ⊙ B' of drawn rows with the numbers of the whole graph, (N, N)."""
    sample = Sampler(graph, [hood * guidance]).draw(seeds, [fanout], generator)
    context = Context(sample, None, False, None)
    seen = ChannelInput(hood * guidance, sample.sampled[hood], None, torch.zeros(sample.n_nodes, 2), context)
    dense = torch.zeros(N, N)
    operator = guidance.operator(seen, None).to_dense()
    dense[sample.nodes.unsqueeze(1), sample.nodes] = operator
    return dense


@pytest.mark.parametrize("hood", [Raw(), WithSelf(), WithSelfTwice()], ids=repr)
@pytest.mark.parametrize("guidance", [RowMean(), SymmetricMean(), Ones()], ids=repr)
def test_drawn_rows_estimate_the_whole_ones_without_bias(guidance, hood):
    graph, seeds = ring(), torch.tensor([0, 5, 14, N - 1])
    whole = guidance.matrix(hood.adjacency(graph)) if guidance != Ones() else hood.adjacency(graph)
    whole = (whole if hasattr(whole, "to_dense") else whole * torch.ones(whole.n_entries)).to_dense()
    generator = torch.Generator().manual_seed(0)
    draws = [channel_matrix(guidance, hood, seeds, 1, generator, graph) for _ in range(400)]
    mean, spread = torch.stack(draws).mean(0)[seeds], torch.stack(draws).std(0)[seeds]
    assert ((mean - whole[seeds]).abs() <= 5 * spread / 20 + 1e-12).all()
    assert (spread.sum(1) > 0).tolist() == [True, True, True, False]
    torch.testing.assert_close(mean.diagonal(), whole[seeds].diagonal())
    single = draws[0][seeds].fill_diagonal_(0) if hood == Raw() else draws[0][seeds]
    assert single.count_nonzero(1).max() <= 1 + (hood != Raw())


def test_attention_counts_a_drawn_neighbor_for_those_it_stands_for():
    graph = ring()
    hood, seeds = WithSelf(), torch.tensor([0])
    degree = int(graph.degrees[0])
    sample = Sampler(graph, [hood * Attention()]).draw(seeds, [2], torch.Generator())
    seen = ChannelInput(hood * Attention(), sample.sampled[hood], None, None, Context(sample, None, False, None))
    zero = torch.zeros(sample.n_nodes)
    share = Attention().softmax_scores(seen, zero, zero)
    own = (sample.sampled[hood].pattern.indices == 0).nonzero().item()
    expected = torch.full((3,), degree / 2 / (degree + 1)).index_fill_(0, torch.tensor(own), 1 / (degree + 1))
    torch.testing.assert_close(share, expected)


def test_numbers_are_drawn_without_replacement_and_alike():
    generator = torch.Generator().manual_seed(0)
    drawn = without_replacement(torch.full((3000,), 5), 3, generator)
    assert (drawn.sort(dim=1).values.diff(dim=1) > 0).all()
    counts = torch.bincount(drawn.flatten(), minlength=5)
    assert len(counts) == 5
    assert (counts - 1800).abs().max() < 150
    sets, times = drawn.sort(dim=1).values.unique(dim=0, return_counts=True)
    assert len(sets) == 10
    assert times.min() > 220


def test_a_sample_holds_seeds_first_and_each_node_once():
    graph = ring()
    sampler = Sampler(graph, [Raw() * RowMean(), Ego() * Ones()])
    seeds = torch.tensor([7, 3, 60])
    sample = sampler.draw(seeds, [2, 1], torch.Generator().manual_seed(1))
    assert torch.equal(sample.nodes[:3], seeds)
    assert len(sample.nodes.unique()) == sample.n_nodes
    assert torch.equal(sample.labels, graph.labels[sample.nodes])
    assert torch.equal(sample.features, graph.features[sample.nodes])
    assert torch.equal(sample.degrees, graph.degrees[sample.nodes])
    rows = sample.sampled[Raw()].pattern
    adjacent = graph.symmetric * torch.ones(graph.symmetric.n_entries)
    pairs = sample.nodes[rows.rows.long()], sample.nodes[rows.indices.long()]
    assert (adjacent.to_dense()[pairs] == 1).all()
    assert set(sampler._place.tolist()) == {-1}
    again = sampler.draw(seeds, [2, 1], torch.Generator().manual_seed(1))
    assert torch.equal(again.nodes, sample.nodes)


def test_parts_that_share_entries_share_the_draw():
    graph = ring()
    sample = Sampler(graph, [Signed(1) * Ones(), Signed(-1) * Ones()]).draw(torch.tensor([0]), [2], torch.Generator())
    assert sample.sampled[Signed(1)] is sample.sampled[Signed(-1)]


def test_a_part_that_takes_a_sample_for_the_graph_is_stopped():
    sample = Batch(ring(), torch.arange(4), {})
    with pytest.raises(HeterophilyError, match="adjacency_of"):
        Raw().adjacency(sample)


def test_a_batch_has_what_parts_may_use_of_a_graph():
    graph, nodes = ring(), torch.tensor([5, 0, 3])
    sample = Batch(graph, nodes, {})
    assert not isinstance(sample, Graph)
    members = {name for name in vars(GraphLike) if not name.startswith("_")}
    assert all(hasattr(sample, name) for name in members)
    assert all(hasattr(graph, name) for name in members)
    assert (sample.n_nodes, sample.n_features, sample.n_classes) == (3, graph.n_features, graph.n_classes)
    for name in ("features", "labels", "degrees"):
        assert torch.equal(getattr(sample, name), getattr(graph, name)[nodes]), name


def test_padding_adds_rows_and_only_to_squares_columns():
    graph = ring()
    network = begun("cmgnn", graph, structure=True)
    sample = sampler_of(network, graph).draw(torch.arange(N), [None])
    square, wide = (rows.with_empty_rows(K) for rows in sample.sampled.values())
    assert (square.shape, wide.shape) == ((N + K, N + K), (N + K, N))
    assert isinstance(square, SampledMatrix)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_features(sparse):
    graph, nodes = ring(sparse=sparse), torch.tensor([5, 0, 5])
    rows = rows_of(graph.features, nodes)
    dense = ring().features
    assert torch.equal(rows.to_dense() if sparse else rows, dense[nodes])


def test_ranges():
    assert concatenated_ranges(torch.tensor([4, 9, 0]), torch.tensor([2, 0, 3])).tolist() == [4, 5, 0, 1, 2]


@pytest.mark.parametrize(
    ("neighbors", "hops", "fanouts"),
    [((10, 5), 3, [10, 5, 5]), ("all", 2, [None, None]), ((4, 3, 2), 2, [4, 3]), ((1,), 0, [])],
)
def test_fans(neighbors, hops, fanouts):
    assert fanouts_per_hop(neighbors, hops) == fanouts


@pytest.mark.parametrize("neighbors", [(), (3, 0), "many"])
def test_fans_must_be_positive(neighbors):
    with pytest.raises(HeterophilyError, match="neighbors must be positive"):
        fanouts_per_hop(neighbors, 2)


def test_the_compiled_sampler_draws_entries_of_the_rows():
    graph = ring()
    choose = compiled_sampler(graph.symmetric)
    if choose is None:
        pytest.skip("neither pyg-lib nor torch-sparse is installed")
    entries = choose(torch.tensor([0, 2]), 2)
    assert torch.equal(graph.symmetric.rows[entries], torch.tensor([[0, 0], [2, 2]]))
    assert (entries[:, 0] != entries[:, 1]).all()
