"""Dense layers with a norm and an activation: before the layers, per channel, and after COMBINE."""

import pytest
import torch

from heterophily import Architecture, CustomMethod, Graph, HeterophilyError, build
from heterophily.htmp.architecture import Dropout, Head
from heterophily.htmp.channel import IdentityOperator, PowerOperator
from heterophily.htmp.combine import ConcatDense
from heterophily.htmp.encoder import EmbedBlock
from heterophily.htmp.execution.bind import apply_operators
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.method import full_graph_reason
from heterophily.htmp.neighborhoods import Ego, Power, Raw
from heterophily.htmp.parts import DenseBlock
from heterophily.htmp.transform import DensePerChannel
from heterophily.training.trainer import train

N, F, K = 20, 6, 3


@pytest.fixture
def graph():
    rng = torch.Generator().manual_seed(0)
    edges = torch.randint(N - 1, (50, 2), generator=rng)
    return Graph.from_edges(edges, torch.rand(N, F, generator=rng), labels=torch.arange(N) % K)


def method(norm="none", **options):
    """A method with a dense block at each of the three places."""
    architecture = Architecture(
        encoder=EmbedBlock(norm, "tanh"),
        channels=(Ego() * Ones(), Raw() * RowMean()),
        transform=DensePerChannel(norm=norm, **options),
        combine=ConcatDense(norm=norm),
        head=Head(),
        dropout=Dropout(),
        activation="none",
    )
    return CustomMethod("blocks", architecture, width=4)


@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
def test_a_block_normalizes_before_the_activation(norm):
    block, x = DenseBlock(F, 4, norm=norm), torch.randn(N, F)
    z = x @ block.dense.weight + block.dense.bias
    if norm != "none":
        dim = 1 if norm == "layer" else 0
        z = (z - z.mean(dim, keepdim=True)) / (z.var(dim, correction=0, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(block(x), z.relu())


def test_blocks_stand_before_the_layers_per_channel_and_after_combine(graph):
    network = build(method("layer"), graph).eval()
    a = torch.zeros(N, N)
    a[graph.symmetric.rows.long(), graph.symmetric.indices.long()] = 1
    mean = a / a.sum(dim=1, keepdim=True).clamp_min(1)
    z = network.encoder(graph.features)
    for layer in network.stacks[0]:
        ego, near = layer.transform.after
        z = layer.combine(torch.cat([ego(z), near(mean @ z)], dim=1))
    torch.testing.assert_close(network(graph), network.head(z))


def test_evaluation_in_blocks_computes_the_same(graph):
    for each in (method("layer"), method(embed=True)):
        network = build(each, graph).eval()
        torch.testing.assert_close(evaluate(network, graph, block=5), network(graph))


def test_a_batch_norm_needs_the_full_graph(graph):
    assert full_graph_reason(method("layer")) == ""
    assert "batch norm averages over all nodes" in full_graph_reason(method("batch"))
    split = {"train": range(12), "val": range(12, 16), "test": range(16, N)}
    with pytest.raises(HeterophilyError, match="blocks cannot be trained in batches"):
        train(method("batch"), graph, split=split, batch_size=4)


def test_powers_of_one_matrix_share_their_products(graph, monkeypatch):
    matrix, x = RowMean().matrix(graph.symmetric), torch.rand(N, 2)
    operators = [PowerOperator(matrix, 3), IdentityOperator(), matrix, PowerOperator(matrix, 2)]
    products, count = type(matrix).__matmul__, []
    monkeypatch.setattr(type(matrix), "__matmul__", lambda *given: count.append(1) or products(*given))
    found = apply_operators(operators, [x] * 4)
    assert len(count) == 3
    dense = matrix.to_dense()
    for sums, expected in zip(found, [dense @ dense @ dense @ x, x, dense @ x, dense @ dense @ x], strict=True):
        torch.testing.assert_close(sums, expected)


def test_sums_of_features_are_not_reused_after_dropout(graph):
    hops = tuple(Power(k, Raw()) * RowMean() for k in range(3))
    architecture = Architecture(hops, ConcatDense(), transform=DensePerChannel(), head=Head(), dropout=Dropout(0.5))
    network = build(CustomMethod("hops", architecture, n_layers=1), graph)
    assert not torch.equal(network(graph), network(graph))
    network.eval()
    torch.testing.assert_close(network(graph), network(graph), rtol=0, atol=0)
