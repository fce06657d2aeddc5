"""The layers of PyTorch Geometric, given the same weights, compute the same."""

import warnings

import pytest
import torch

from heterophily.models.building import build

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG uses what PyTorch deprecates
    pyg = pytest.importorskip("torch_geometric.nn")


@pytest.fixture
def graph(small_graph):
    return small_graph(n_nodes=40)


@pytest.fixture
def edges(graph):
    """The symmetrised edges as PyG wants them, (2, E) from sender to receiver."""
    return torch.stack([graph.symmetric.indices.long(), graph.symmetric.rows.long()])


def fill(**pairs):
    """Copy our weights into theirs; a matrix of theirs is stored transposed."""
    with torch.no_grad():
        for theirs, ours in pairs.values():
            theirs.copy_(ours)


def same(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_gcn_is_gcnconv(graph, edges):
    network = build("gcn", graph, width=6).eval()
    z = graph.features
    for layer in network.stacks[0]:
        w = layer.transform
        conv = pyg.GCNConv(*w.W0.shape)
        fill(weight=(conv.lin.weight, w.W0.T), bias=(conv.bias, torch.randn_like(w.b0)))
        fill(ours=(w.b0, conv.bias))
        z = conv(z if layer is network.stacks[0][0] else z.relu(), edges)
    same(network(graph), z)


@pytest.mark.parametrize("merge", ["concat", "mean"])
def test_gat_is_gatconv(graph, edges, merge):
    network = build("gat", graph, width=5, n_heads=3, head_merge=merge).eval()
    z = graph.features
    for number, layer in enumerate(network.stacks[0]):
        w, guidance = layer.transform, layer.guidance[0]
        d_out = layer.size.d_out
        conv = pyg.GATConv(len(w.W0), d_out, heads=3, concat=merge == "concat" and number == 0)
        fill(weight=(conv.lin.weight, w.W0.T), receiver=(conv.att_dst, guidance.r), sender=(conv.att_src, guidance.s))
        z = conv(z if number == 0 else torch.nn.functional.elu(z), edges)
    same(network(graph), z)


def test_appnp_is_appnp(graph, edges):
    network = build("appnp", graph, n_layers=5, teleport=0.2).eval()
    inner, outer = network.encoder.inner.weight, network.encoder.outer.weight
    first = torch.relu(graph.features @ inner) @ outer
    same(network(graph), pyg.APPNP(5, 0.2)(first, edges))


@pytest.mark.parametrize("star", [False, True])
def test_gcnii_is_gcn2conv(graph, edges, star):
    width, alpha, decay = 6, 0.3, 0.7
    network = build(
        "gcnii", graph, width=width, n_layers=3, initial_residual=alpha, identity_decay=decay,
        star=star,
    ).eval()  # fmt: skip
    z = first = torch.relu(network.encoder.dense[0](network.input(graph)))
    for number, layer in enumerate(network.stacks[0], start=1):
        w = layer.transform.W
        conv = pyg.GCN2Conv(width, alpha, decay, number, shared_weights=not star)
        if star:  # theirs weighs the two states before their weights, ours does not
            fill(message=(conv.weight1, w[:width] / (1 - alpha)))
            fill(first=(conv.weight2, w[width:] / alpha))
        else:
            fill(both=(conv.weight1, w))
        z = torch.relu(conv(z, first, edges))
    same(network(graph), network.head(z))


def test_fagcn_is_faconv(graph, edges):
    width, epsilon = 6, 0.4
    network = build("fagcn", graph, width=width, ego_weight=epsilon).eval()
    z = first = torch.relu(network.encoder.dense[0](network.input(graph)))
    for layer in network.stacks[0]:
        w = layer.guidance[1]
        with torch.no_grad():
            w.c.zero_()  # theirs has none
        conv = pyg.FAConv(width, epsilon, add_self_loops=False).eval()
        fill(receiver=(conv.att_r.weight[0], w.w[0]), sender=(conv.att_l.weight[0], w.w[1]))
        z = conv(z, first, edges)
    same(network(graph), network.head(z))


def test_mixhop_has_the_powers_of_mixhopconv(graph, edges):
    network = build("mixhop", graph, n_layers=1).eval()
    layer = network.stacks[0][0]
    matrices = [getattr(layer.transform, f"W{j}") for j in range(3)]
    conv = pyg.MixHopConv(graph.n_features, matrices[0].shape[1], powers=[0, 1, 2], bias=False)
    for lin, w in zip(conv.lins, matrices, strict=True):
        fill(weight=(lin.weight, w.T))
    x = network.input(graph)
    network(graph)
    with torch.no_grad():
        for name, parameter in layer.transform.named_parameters():
            if name.startswith("b"):
                parameter.zero_()
    messages = layer.transform_inputs([x, x, x], network.context)
    messages = layer.aggregate([x, x, x], messages, network.context)
    same(torch.cat(messages, dim=1), conv(x, edges))


def test_sage_is_sageconv(graph, edges):
    network = build("sage+", graph, width=6, n_layers=1, norm="none", residual=False).eval()
    w = network.stacks[0][0].transform
    conv = pyg.SAGEConv(6, 6)
    fill(root=(conv.lin_r.weight, w.W0.T), neighbors=(conv.lin_l.weight, w.W1.T), bias=(conv.lin_l.bias, w.b1))
    first = torch.relu(network.encoder.dense[0](graph.features))
    same(network(graph), network.head(torch.relu(conv(first, edges))))


def test_linkx_is_linkx(graph, edges):
    width = 6
    network = build("linkx", graph, width=width).eval()
    w, last = network.encoder, network.stacks[0][0].transform
    theirs = pyg.LINKX(graph.n_nodes, graph.n_features, width, graph.n_classes, num_layers=1).eval()
    fill(
        structure=(theirs.edge_lin.weight, w.structure.weight),
        structure_bias=(theirs.edge_lin.bias, w.structure.bias),
        features=(theirs.node_mlp.lins[0].weight, w.features.weight.T),
        features_bias=(theirs.node_mlp.lins[0].bias, w.features.bias),
        left=(theirs.cat_lin1.weight, w.both.weight[:width].T),
        left_bias=(theirs.cat_lin1.bias, w.both.bias),
        right=(theirs.cat_lin2.weight, w.both.weight[width:].T),
        right_bias=(theirs.cat_lin2.bias, torch.zeros(width)),
        head=(theirs.final_mlp.lins[0].weight, last.W0.T),
        head_bias=(theirs.final_mlp.lins[0].bias, last.b0),
    )
    same(network(graph), theirs(graph.features, edges))
