"""SIGN equals its equation, and its hops are those of PyTorch Geometric's transform."""

import warnings

import pytest
import torch

from heterophily.models.building import build

OPTIONS = {"width": 5, "dropout": 0.3, "input_dropout": 0.6}


def forward(network, graph, dense, *, self_loops=False, norm=False):
    f = dense.filters(graph)
    step, p, q = f.S1 if self_loops else f.S, 0.0, 0.0
    if network.training:
        p, q = 0.6, 0.3
    hops, x = [], f.X
    for block in network.stacks[0][0].transform.after:
        z = dense.drop(x, p) @ block.dense.weight + block.dense.bias
        hops.append(torch.relu(block.norm(z) if norm else z))
        x = step @ x
    return dense.drop(torch.cat(hops, dim=1), q) @ network.head.weight + network.head.bias


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        ({"n_hops": 1}, {}),
        ({"self_loops": True}, {"self_loops": True}),
        ({"hop_norm": "layer"}, {"norm": True}),
    ],
    ids=str,
)
def test_the_network_is_the_equation(graph, dense, agree, marked_dropout, settings, expected, training):
    network = build("sign", graph, **OPTIONS, **settings).train(training)
    agree(network, graph, lambda: forward(network, graph, dense, **expected))


def test_sparse_features_are_aggregated_like_dense_ones(small_graph, dense, agree):
    graph = small_graph(sparse=True)
    network = build("sign", graph, **OPTIONS).eval()
    agree(network, graph, lambda: forward(network, graph, dense))


def test_the_hops_are_those_of_pytorch_geometric(small_graph):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG uses what PyTorch deprecates
        data = pytest.importorskip("torch_geometric.data")
        transforms = pytest.importorskip("torch_geometric.transforms")
        graph = small_graph()
        edges = torch.stack([graph.symmetric.indices.long(), graph.symmetric.rows.long()])
        given = data.Data(x=graph.features, edge_index=edges, num_nodes=graph.n_nodes)
        expected = transforms.SIGN(3)(given)
    network = build("sign", graph).eval()
    network(graph)
    sums = network.stacks[0][0]._feature_sums(network.context)
    for k, hop in enumerate(sums):
        torch.testing.assert_close(hop, expected["x" if k == 0 else f"x{k}"].to(hop.dtype))


def test_the_hops_are_computed_once_per_graph(small_graph, monkeypatch):
    graph, calls = small_graph(), []
    network = build("sign", graph)
    monkeypatch.setattr(
        "heterophily.htmp.layer.apply_operators", lambda *given: calls.append(1) or [given[1][0]] * len(given[0])
    )
    for _ in range(3):
        network(graph)
    assert calls == [1]
