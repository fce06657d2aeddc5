"""Networks are called with a graph, with tensors, and with the data of PyTorch Geometric."""

import copy
import warnings

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, build
from heterophily.core.errors import HeterophilyWarning
from heterophily.models import NETWORKS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG uses what PyTorch deprecates
    pyg = pytest.importorskip("torch_geometric")
    from torch_geometric.data import Batch, Data, HeteroData, TemporalData

N, F, K = 30, 12, 3
TRAIN = torch.arange(15)


@pytest.fixture
def x():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(N, F, generator=generator) * (torch.rand(N, F, generator=generator) < 0.6)


@pytest.fixture
def edge_index():
    """Random edges with duplicates and self-loops; the last node is isolated."""
    return torch.tensor(np.random.default_rng(0).integers(N - 1, size=(2, 70)))


@pytest.fixture
def labels():
    return torch.arange(N) % K


@pytest.fixture
def graph(x, edge_index, labels):
    return Graph.from_edges(edge_index.T, x, labels=labels)


@pytest.fixture(params=NETWORKS)
def network(request, graph):
    torch.manual_seed(0)
    network = build(request.param, graph).eval()
    network.initialize_states(graph, TRAIN)
    return network


def test_tensors_and_data_are_the_graph(network, graph, x, edge_index, labels):
    expected = network(graph)
    loss = network.loss(expected, graph, TRAIN)
    data = Data(x=x, edge_index=edge_index, y=labels)
    for arguments in ((x, edge_index), (data,)):
        logits = network(*arguments)
        assert torch.equal(logits, expected)
        assert torch.equal(network.loss(logits, graph, TRAIN), loss)
    assert torch.equal(network.loss(network(data), data, TRAIN), loss)


def test_changes_in_place_change_the_logits(network, x, edge_index, labels):
    network(x, edge_index)
    x.mul_(torch.linspace(0.2, 1, F))
    changed = Graph.from_edges(edge_index.T, x, labels=labels)
    torch.testing.assert_close(network(x, edge_index), copy.deepcopy(network)(changed))
    edge_index[1] = edge_index[1].roll(1)
    changed = Graph.from_edges(edge_index.T, x, labels=labels)
    if network.method.name == "hog-gcn":
        with pytest.raises(HeterophilyError, match="was built for other edges than those of graph 'the input'"):
            network(x, edge_index)
        return
    torch.testing.assert_close(network(x, edge_index), copy.deepcopy(network)(changed))


def test_gradients_reach_x_in_every_pass(network, x, edge_index):
    direction = torch.randn(N, K)
    x.requires_grad_()
    found = []
    for _ in range(2):
        x.grad = None
        (network(x, edge_index) * direction).sum().backward()
        found.append(x.grad.clone())
    assert found[0].isfinite().all()
    assert found[0].any()
    assert torch.equal(*found)


def test_autocast_changes_nothing(network, x, edge_index, graph):
    results = []
    for enabled in (False, True):
        x.grad, x.requires_grad = None, True
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            logits = network(x, edge_index)
            loss = network.loss(logits, graph, TRAIN)
        loss.backward()
        results.append((logits, loss, x.grad))
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


def test_gradients_of_x_are_those_of_finite_differences(x, edge_index):
    graph = Graph.from_edges(edge_index.T, x, n_classes=K)
    network = build("gcn", graph).double().eval()
    point = x.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: network(z, edge_index).sum(dim=0), point, fast_mode=True)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")  # which PyTorch reports once per process
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_sparse_features_stay_sparse(network, graph, x, edge_index, layout):
    sparse = x.to_sparse() if layout == "coo" else x.to_sparse_csr()
    opened = network.as_graph(sparse, edge_index)
    assert opened.is_sparse
    if not network.states:  # sparse features make another graph than the dense ones of the training graph
        torch.testing.assert_close(network(sparse, edge_index), network(graph), rtol=1e-4, atol=1e-5)
    with pytest.raises(HeterophilyError, match="no gradient reaches a sparse x"):
        network(sparse.requires_grad_(), edge_index)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((torch.rand(3, F),), "got x without edge_index"),
        ((torch.ones(3, F, dtype=torch.long), torch.ones(2, 1)), "x must be a floating-point tensor"),
        ((torch.rand(3, F), torch.zeros(1, 2, dtype=torch.long)), r"edge_index must be an integer tensor \(2, E\)"),
        ((torch.rand(3, F), torch.tensor([[0], [7]])), "edge 0 has node 7"),
        ((torch.rand(3, F), torch.tensor([[0.5], [1]])), "edges must be integer"),
        ((torch.rand(3, 2), torch.tensor([[0], [1]])), "was built for 12 features"),
        ((torch.rand(3, F), torch.tensor([[0], [1]]), torch.ones(2)), r"edge_weight must be .* \(1,\)"),
        ((torch.rand(3, F), torch.tensor([[0], [1]]), -torch.ones(1)), "weights must be positive"),
        ((HeteroData(a={"x": torch.rand(2, F)}),), "got a HeteroData; convert it with data.to_homogeneous"),
        ((TemporalData(src=torch.arange(2), dst=torch.arange(2), t=torch.arange(2)),), "got a TemporalData"),
        ((Data(x=torch.rand(3, F)),), "got a Data without the tensor edge_index"),
        (("graph",), "got a str without the tensor x"),
        ((torch.rand(3, F), torch.tensor([[0, 0], [1, 1]]), torch.tensor([3.0, -1])), "weights must be positive"),
        ((Data(x=torch.rand(3, F)), torch.tensor([[0], [1]])), "a Data contains its edges and weights; omit"),
    ],
)
def test_other_inputs_raise_one_sentence(graph, arguments, sentence):
    with pytest.raises(HeterophilyError, match=sentence):
        build("gcn", graph)(*arguments)


def test_a_batch_of_several_graphs_is_rejected(graph, x, edge_index):
    network, data = build("gcn", graph).eval(), Data(x=x, edge_index=edge_index)
    assert torch.equal(network(Batch.from_data_list([data])), network(graph))
    batch = Batch.from_data_list([data] * 2)
    for function in (network, Graph.from_pyg):
        with pytest.raises(HeterophilyError, match="got a batch of several graphs; pass one graph at a time"):
            function(batch)


def test_one_column_of_edge_attributes_is_the_weight(graph, x, edge_index):
    network, weights = build("gcn", graph).eval(), torch.linspace(0.2, 2, edge_index.shape[1]).requires_grad_()
    with pytest.warns(HeterophilyWarning, match="edge_attr of the PyG Data will be used as edge weights"):
        logits = network(Data(x=x, edge_index=edge_index, edge_attr=weights[:, None]))
    assert torch.equal(logits, network(x, edge_index, weights))
    logits.sum().backward()
    assert weights.grad.any()


def test_the_loss_of_data_needs_labels(graph, x, edge_index):
    network, data = build("gcn", graph), Data(x=x, edge_index=edge_index)
    with pytest.raises(HeterophilyError, match=r"an integer tensor data\.y with one class number per node"):
        network.loss(network(data), data, TRAIN)
