"""What every method can do in PyTorch, and the table of docs/how-to/pytorch.md, which this file prints.

Run `python tests/htmp/test_abilities.py` to print the table.
"""

import copy
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import torch._dynamo.testing

from heterophily import Graph, HeterophilyError, HTMPConv, build
from heterophily.htmp.execution.fixed import FixedGraph
from heterophily.models import NETWORKS

N, F, K = 30, 12, 3
TRAIN = torch.arange(15)
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "pytorch.md"
ABILITIES = (
    "gradient to x",
    "gradient to weights",
    "double",
    "bfloat16",
    "copy",
    "subgraph",
    "no graph",
    "direction",
    "unlabeled",
    "fewer classes",
    "compile",
    "export",
)
DIRECTED = {  # settings with which a method distinguishes both ends of an edge
    **{key: {"direction": "both"} for key in ("gcn", "gat", "gcn+", "sage+", "gat+", "cmgnn")},
    **{key: {"alpha": 0.3} for key in ("dir-gcn", "dir-sage", "dir-gat")},
    "trio": {"directed": True},
}
SYMMETRIC = tuple(name for name in NETWORKS if name not in DIRECTED)
REASONS = {  # why a method does not have an ability
    ("mlp", "gradient to weights"): "does not use the weights",
    ("geom-gcn", "gradient to weights"): "does not use the weights",
    ("hog-gcn", "gradient to weights"): "does not use the weights",
    ("cmgnn", "export"): "its states belong to a training graph",
    ("cpgnn", "export"): "its states belong to a training graph",
    ("clp", "export"): "its states belong to a training graph",
    ("hog-gcn", "export"): "its states belong to a training graph",
    ("trio", "no graph"): "computes initial weights from the edges of a graph",
    ("hog-gcn", "no graph"): "has one weight per pair of nodes",
    **{(name, "direction"): 'unknown setting of .* "direction"' for name in SYMMETRIC},
    ("glognn", "subgraph"): "accepts no subgraphs of loaders",
    ("hog-gcn", "subgraph"): "accepts no subgraphs of loaders",
    ("linkx", "subgraph"): "accepts no subgraphs of loaders",
}


class Subgraph(dict):
    """What a network reads of the Data of a loader."""

    __getattr__ = dict.get


def tensors():
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.random((N, F)) * (rng.random((N, F)) < 0.6), dtype=torch.float32)
    return x, torch.tensor(rng.integers(N - 1, size=(2, 70)))


def make(name, **settings):
    """Return an initialized network in evaluation mode, and its graph."""
    x, edge_index = tensors()
    graph = Graph.from_edges(edge_index.T, x, labels=np.arange(N) % K)
    torch.manual_seed(0)
    network = build(name, graph, **settings).eval()
    network.initialize_states(graph, TRAIN)
    return network, graph


def check(ability, name):
    """Raise an error if a method does not have an ability, or computes a wrong number."""
    network, graph = make(name)
    x, edge_index = tensors()
    expected = network(graph).detach()
    if ability == "gradient to x":
        x = (x / 2).requires_grad_()  # not the features of the training graph
        (network(x, edge_index) * torch.randn(N, K)).sum().backward()
        assert x.grad.isfinite().all()
        assert x.grad.any()
    elif ability == "gradient to weights":
        check_weights(network, x, edge_index)
    elif ability in ("double", "bfloat16"):
        dtype = getattr(torch, ability.replace("double", "float64"))
        if not network.states:  # rounded features make another graph than the training graph
            expected = network(x.to(dtype).float(), edge_index).detach()
        elif (name, ability) == ("clp", "bfloat16"):  # and another graph has no known labels
            with network.states[0].forget(TRAIN):
                expected = network(graph).detach()
        converted = network.to(dtype)
        logits = converted(x.to(dtype), edge_index)
        assert logits.dtype == dtype
        converted.loss(logits, graph, TRAIN).backward()
        tolerance = 1e-5 if ability == "double" else 0.05 * float(expected.abs().max())
        torch.testing.assert_close(logits.detach().float(), expected, rtol=1e-4, atol=tolerance)
        assert torch.get_default_dtype() == torch.float32
    elif ability == "copy":
        copied = copy.deepcopy(network)
        assert torch.equal(copied(graph), expected)
        other = make(name)[0]
        other.load_state_dict(network.state_dict())
        assert torch.equal(other(graph), expected)
    elif ability == "subgraph":
        check_subgraph(network, x, edge_index, expected)
    elif ability == "no graph":
        n_nodes = N if network.transductive_reason else None
        torch.manual_seed(0)
        other = build(name, in_features=F, n_classes=K, n_nodes=n_nodes).eval()
        other.initialize_states(graph, TRAIN)
        assert torch.equal(other(graph), expected)
    elif ability == "unlabeled":
        unlabeled = graph.replace(labels=torch.full((N,), -1), n_classes=1)
        assert torch.equal(network(unlabeled), expected)
    elif ability == "fewer classes":
        fewer = graph.replace(labels=torch.arange(N) % (K - 1), n_classes=K - 1)
        assert torch.equal(network(fewer), expected)
    elif ability == "direction":
        check_direction(name, x, edge_index, expected)
    elif ability == "compile":
        check_compiled(network, x, edge_index)
    elif ability == "export":
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            exported = torch.export.export(FixedGraph(network, graph), (x,), strict=False).module()
            torch.testing.assert_close(exported(x), expected, rtol=1e-4, atol=1e-5)


def check_weights(network, x, edge_index):
    """Weights of tensors are those of a graph, weights of 1 change nothing, and gradients reach them."""
    weights = torch.linspace(0.2, 2, edge_index.shape[1]).requires_grad_()
    weighted = Graph.from_edges(edge_index.T, x, weights=weights.detach(), labels=np.arange(N) % K)
    torch.testing.assert_close(network(x, edge_index, weights), network(weighted))
    for _ in range(2):
        weights.grad = None
        (network(x, edge_index, weights) * torch.randn(N, K)).sum().backward()
        if weights.grad is None:
            raise HeterophilyError(f"{network.method.name} does not use the weights")
        assert weights.grad.isfinite().all()
        assert weights.grad.any()


def check_direction(name, x, edge_index, expected):
    """Reversed edges change the logits of a directed method, and those of no other method."""
    settings = DIRECTED.get(name, {})
    network, graph = make(name, **settings)
    torch.testing.assert_close(network(x, edge_index), network(graph))
    x = x / 2  # so that neither of the two graphs is the training graph, whose labels clp knows
    logits, opposite = network(x, edge_index), network(x, edge_index.flip(0))
    assert torch.allclose(logits, opposite, atol=1e-5) == (not settings)
    if not settings:
        assert torch.equal(network(graph), expected)
        make(name, direction="both")


def check_compiled(network, x, edge_index):
    """A compiled network has the logits and the gradients of the network."""
    torch._dynamo.reset()
    results = []
    for function in (network, torch.compile(network, backend="eager")):
        network.zero_grad()
        logits = function(x, edge_index)
        logits.logsumexp(dim=1).sum().backward()
        results.append([logits, *(p.grad for p in network.parameters() if p.grad is not None)])
    assert len(results[0]) > 1
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


def check_subgraph(network, x, edge_index, expected):
    """A subgraph of all nodes in another order has the same logits; classes of a state follow `n_id`."""
    order = torch.randperm(N, generator=torch.Generator().manual_seed(0))
    place = order.argsort()
    data = Subgraph(x=x[order], edge_index=place[edge_index], n_id=order, batch_size=5)
    if network.method.name in ("wrgnn", "simp-gcn"):
        assert network(data).isfinite().all()  # the order of nodes decides between equal candidates
        return
    torch.testing.assert_close(network(data), expected[order], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ability", ABILITIES)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_method_has_an_ability_or_says_why_not(name, ability):
    reason = REASONS.get((name, ability))
    if reason is None:
        check(ability, name)
        return
    with pytest.raises(Exception, match=reason) as caught:
        check(ability, name)
    assert isinstance(caught.value, HeterophilyError | NotImplementedError | TypeError | RuntimeError)


@pytest.mark.parametrize("name", ["gcn", "cmgnn"])
def test_a_loader_of_pytorch_geometric_trains_a_network(name):
    loader = pytest.importorskip("torch_geometric.loader")
    network, graph = make(name)
    data = graph.to_pyg()
    data.n_id = torch.arange(N)  # the loader selects the entries of the nodes in a batch
    losses = []
    for batch in loader.RandomNodeLoader(data, num_parts=3):
        nodes = (batch.n_id < len(TRAIN)).nonzero().flatten()
        losses.append(network.loss(network(batch), batch, nodes))
    sum(losses).backward()
    assert len(losses) == 3
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


@pytest.mark.parametrize("name", ["gcn", "cmgnn", "h2gcn"])
def test_batches_of_a_node_loader_have_the_logits_of_the_graph(name):
    """The loader adds `n_id` and `batch_size`, as `NeighborLoader` does, whose sampler needs pyg-lib."""
    loader = pytest.importorskip("torch_geometric.loader")
    sampler = pytest.importorskip("torch_geometric.sampler")
    network, graph = make(name)
    data = graph.to_pyg()

    class AllNeighbors(sampler.BaseSampler):
        edge_permutation = sample_from_edges = None

        def sample_from_nodes(self, index, **_):
            nodes = torch.cat([index.node, torch.tensor([n for n in range(N) if n not in set(index.node.tolist())])])
            row, col = nodes.argsort()[data.edge_index]
            return sampler.SamplerOutput(nodes, row, col, torch.arange(data.num_edges), metadata=(index.input_id, None))

    batches = loader.NodeLoader(data, AllNeighbors(), input_nodes=TRAIN, batch_size=5, shuffle=True)
    expected = network(graph)
    for batch in batches:
        assert not torch.equal(batch.n_id, torch.arange(N))
        seeds = batch.n_id[: batch.batch_size]
        torch.testing.assert_close(network(batch)[: batch.batch_size], expected[seeds], rtol=1e-4, atol=1e-5)
        network.loss(network(batch), batch, torch.arange(batch.batch_size)).backward()
    assert len(batches) == 3


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of the tensors between compiled parts, by the compiler
def test_a_module_with_one_of_our_layers_is_compiled_around_it():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(F, 8), HTMPConv(8, K)

        def forward(self, x, edge_index):
            return self.second(self.first(x).relu(), edge_index)

    torch._dynamo.reset()
    x, edge_index = tensors()
    net = Net()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(net, backend=counter)
    torch.testing.assert_close(compiled(x, edge_index), net(x, edge_index))
    assert counter.frame_count == 1
    with pytest.raises(Exception, match=r"torch\.compiler\.disable"):
        torch.compile(net, backend="eager", fullgraph=True)(x, edge_index)


def table():
    lines = ["| method | " + " | ".join(ABILITIES) + " |", "|---|" + ":---:|" * len(ABILITIES)]
    for name in NETWORKS:
        cells = ("–" if (name, ability) in REASONS else "yes" for ability in ABILITIES)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_page_has_the_table():
    assert table() in PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    print(table())
