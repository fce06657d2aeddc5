"""Dir-GNN equals its equations, and PyTorch Geometric's `DirGNNConv` given the same weights."""

import warnings

import pytest
import torch
from torch.nn import functional as F

from heterophily.models.building import build

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG uses what PyTorch deprecates
    pyg = pytest.importorskip("torch_geometric.nn")

P = 0.3


@pytest.fixture(params=["plain", "weighted"])
def graph(request, small_graph):
    graph = small_graph()
    weights = torch.rand(graph.n_edges, generator=torch.Generator().manual_seed(0)) + 0.1
    return graph if request.param == "plain" else graph.replace(weights=weights)


def directed(graph):
    """A with A_ij the weight of i → j, without self-loops."""
    return torch.tensor(graph.to_scipy().toarray(), dtype=torch.float64).fill_diagonal_(0)


def normalized(a):
    """D_r^(-1/2) A D_s^(-1/2)."""
    rows, columns = (torch.where(d > 0, d.clamp_min(1e-300) ** -0.5, 0.0) for d in (a.sum(dim=1), a.sum(dim=0)))
    return rows[:, None] * a * columns


def attention(a, u, guidance):
    """Softmax of the scores of all neighbors and the node itself, proportional to the weights."""
    scores = F.leaky_relu((u @ guidance.r[0])[:, None] + u @ guidance.s[0], 0.2)
    raised = (a + torch.eye(len(a))) * scores.exp()
    return raised / raised.sum(dim=1, keepdim=True)


def layer_sum(network, layer, z, a, dense):
    w, alpha = layer.transform, network.method.alpha
    if network.method.name == "dir-sage":
        into, out = dense.row(a.T) @ z @ w.W1 + w.b1, dense.row(a) @ z @ w.W2 + w.b2
        return z @ w.W0 + w.b0 + alpha * out + (1 - alpha) * into
    if network.method.name == "dir-gcn":
        into, out = normalized(a.T) @ z @ w.W0 + w.b0, normalized(a) @ z @ w.W1 + w.b1
    else:
        guided = ((a.T, w.W0, layer.guidance[0]), (a, w.W1, layer.guidance[1]))
        into, out = (attention(m, z @ matrix, guidance) @ z @ matrix for m, matrix, guidance in guided)
        into, out = into + w.b0, out + w.b1
    return alpha * out + (1 - alpha) * into


def transcribe(network, graph, dense, p=0.0):
    method, a, z = network.method, directed(graph), graph.features
    outputs = []
    for number, layer in enumerate(network.stacks[0], start=1):
        z = layer_sum(network, layer, z, a, dense)
        if number < method.n_layers or method.jumping_knowledge != "none":
            z = dense.drop(z.relu(), p)
            z = F.normalize(z, dim=1) if method.normalize else z
        outputs.append(z)
    if method.jumping_knowledge == "none":
        return z
    joined = torch.cat(outputs, dim=1) if method.jumping_knowledge == "concat" else torch.stack(outputs).amax(dim=0)
    return joined @ network.head.weight + network.head.bias


NAMES = ("dir-gcn", "dir-sage", "dir-gat")
JUMPS = ("max", "concat", "none")


@pytest.mark.parametrize("jumping_knowledge", JUMPS)
@pytest.mark.parametrize("name", NAMES)
def test_dir_gnn_equals_its_equation(name, jumping_knowledge, graph, dense, agree):
    network = build(name, graph, width=5, alpha=0.3, jumping_knowledge=jumping_knowledge).eval()
    agree(network, graph, lambda: transcribe(network, graph, dense))


@pytest.mark.parametrize("name", NAMES)
def test_dropout_follows_the_relu_and_precedes_the_division_by_the_norm(name, graph, dense, agree, marked_dropout):
    network = build(name, graph, width=5, normalize=True, dropout=P)
    agree(network, graph, lambda: transcribe(network, graph, dense, P))
    assert set(marked_dropout) == {P}


@pytest.mark.parametrize("name", NAMES)
def test_reversed_edges_exchange_the_weights_of_both_directions(name, small_graph):
    graph = small_graph()
    networks = [build(name, graph, width=5, alpha=alpha).eval() for alpha in (0.2, 0.8)]
    first, second = ("1", "2") if name == "dir-sage" else ("0", "1")
    exchanged = str.maketrans(first + second, second + first)
    state = {}
    for key, value in networks[0].state_dict().items():
        *path, last = key.split(".")
        if "transform" in path:
            last = last.translate(exchanged)
        elif "guidance" in path:
            path[-1] = path[-1].translate(exchanged)
        state[".".join([*path, last])] = value
    networks[1].load_state_dict(state)
    torch.testing.assert_close(networks[0](graph), networks[1](graph.replace(adjacency=graph.adjacency.T)))


def edges_of(graph):
    """The edges without self-loops as PyG expects them, (2, E) from source to target."""
    pattern = graph.adjacency.without_diagonal()
    return torch.stack([pattern.rows.long(), pattern.indices.long()])


def first_layer(name, graph, alpha):
    """Return the first layer of a network and its output."""
    network = build(name, graph, width=5, alpha=alpha, jumping_knowledge="none", n_layers=2)
    return network.stacks[0][0], network.propagate(network.encode(graph), 1).outputs[0][1]


def fill(theirs, ours):
    with torch.no_grad():
        theirs.copy_(ours)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_dir_sage_is_dir_gnn_conv_of_sage_conv(alpha, small_graph):
    graph = small_graph()
    layer, z = first_layer("dir-sage", graph, alpha)
    w, conv = layer.transform, pyg.DirGNNConv(pyg.SAGEConv(7, 5, root_weight=True), alpha=alpha)
    for theirs, matrix, bias in (
        (conv.lin, w.W0, w.b0),
        (conv.conv_in.lin_l, w.W1, w.b1),
        (conv.conv_out.lin_l, w.W2, w.b2),
    ):
        fill(theirs.weight, matrix.T)
        fill(theirs.bias, bias)
    torch.testing.assert_close(z, conv(graph.features, edges_of(graph)).relu())


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_dir_gat_is_dir_gnn_conv_of_gat_conv_with_self_loops(alpha, small_graph):
    graph = small_graph()
    layer, z = first_layer("dir-gat", graph, alpha)
    w, conv = layer.transform, pyg.DirGNNConv(pyg.GATConv(7, 5), alpha=alpha, root_weight=False)
    for theirs, matrix, bias, guidance in (
        (conv.conv_in, w.W0, w.b0, layer.guidance[0]),
        (conv.conv_out, w.W1, w.b1, layer.guidance[1]),
    ):
        fill(theirs.lin.weight, matrix.T)
        fill(theirs.att_dst, guidance.r[None])
        fill(theirs.att_src, guidance.s[None])
        fill(theirs.bias, bias)
    loops = torch.arange(graph.n_nodes).expand(2, -1)
    torch.testing.assert_close(z, conv(graph.features, torch.cat([edges_of(graph), loops], dim=1)).relu())


class DirectedGCNConv(pyg.MessagePassing):
    """A GCN layer that divides by the roots of the degrees of both ends, in the direction of the edges."""

    def __init__(self):
        super().__init__()
        self.in_channels, self.out_channels = 7, 5
        self.lin = torch.nn.Linear(7, 5)

    def reset_parameters(self):
        self.lin.reset_parameters()

    def forward(self, x, edge_index):
        source, target = (torch.bincount(ends, minlength=len(x)).double() for ends in edge_index)
        scale = (source[edge_index[0]] * target[edge_index[1]]) ** -0.5
        return self.lin(self.propagate(edge_index, x=x, scale=scale))

    def message(self, x_j, scale):
        return scale[:, None] * x_j


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_dir_gcn_is_dir_gnn_conv_of_a_directed_gcn_layer(alpha, small_graph):
    graph = small_graph()
    layer, z = first_layer("dir-gcn", graph, alpha)
    w, conv = layer.transform, pyg.DirGNNConv(DirectedGCNConv(), alpha=alpha, root_weight=False)
    for theirs, matrix, bias in ((conv.conv_in.lin, w.W0, w.b0), (conv.conv_out.lin, w.W1, w.b1)):
        fill(theirs.weight, matrix.T)
        fill(theirs.bias, bias)
    torch.testing.assert_close(z, conv(graph.features, edges_of(graph)).relu())
