import re

import numpy as np
import pytest
import torch

from heterophily import build
from heterophily.core.compatibility import discriminability
from heterophily.core.errors import HeterophilyError
from heterophily.htmp.method import make_method
from heterophily.models import NETWORKS
from heterophily.studies import desired
from heterophily.studies.compatibility import matrix_of
from heterophily.studies.desired import aggregation_kind, desired_compatibility, mixing_weights
from heterophily.studies.tidy import StudyData, filter_rows
from heterophily.views.matplotlib import save_figures

WAYS = {
    "propagation": ["appnp", "gpr-gnn"],
    "mixing": ["mlp", "gcn", "gcnii", "acm-gcn", "cmgnn", "gcn+", "sage+", "linkx"],
}


def dense(graph):
    """A and C as dense arrays, from the stored edges."""
    a = np.zeros((graph.n_nodes, graph.n_nodes))
    rows, columns = graph.adjacency.rows.long(), graph.adjacency.indices.long()
    a[rows, columns] = a[columns, rows] = 1
    np.fill_diagonal(a, 0)
    c = np.eye(graph.n_classes)[graph.labels.clamp_min(0)]
    c[graph.labels.numpy() < 0] = 0
    return a, c


def normed(sums):
    return sums / np.abs(sums).sum(axis=1, keepdims=True).clip(1e-12)


def trained(model, graph, **settings):
    torch.manual_seed(0)
    network = build(model, graph, width=8, **settings)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return network


def test_gpr_gnn_against_the_dense_formula(graph):
    network = trained("gpr-gnn", graph, n_layers=3)
    a, c = dense(graph)
    loops = a + np.eye(len(a))
    root = np.diag(loops.sum(axis=1) ** -0.5)
    s = root @ loops @ root
    gamma = network.fuse.gamma.detach().numpy()
    t = sum(g * np.linalg.matrix_power(s, k) for k, g in enumerate(gamma))
    found = desired_compatibility(network, graph).numpy()
    np.testing.assert_allclose(found, normed(c.T @ t @ c), rtol=1e-4, atol=1e-6)


def test_appnp_against_the_dense_formula(graph):
    network = trained("appnp", graph, n_layers=2, teleport=0.3)
    a, c = dense(graph)
    loops = a + np.eye(len(a))
    root = np.diag(loops.sum(axis=1) ** -0.5)
    s = root @ loops @ root
    t = 0.7 * s @ (0.7 * s + 0.3 * np.eye(len(a))) + 0.3 * np.eye(len(a))
    found = desired_compatibility(network, graph).numpy()
    np.testing.assert_allclose(found, normed(c.T @ t @ c), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("structure", [False, True])
@pytest.mark.parametrize("ego", [False, True])
def test_acm_gcn_against_the_dense_formula(graph, ego, structure):
    network = trained("acm-gcn", graph, structure_channel=structure)
    found = desired_compatibility(network, graph, ego=ego).numpy()
    a, c = dense(graph)
    loops = a + np.eye(len(a))
    p = loops / loops.sum(axis=1, keepdims=True)
    alpha = network.context.aux_outputs["alpha"][-1].detach().numpy()
    assert len(network.context.aux_outputs["alpha"]) == 2
    t = np.diag(alpha[:, 1]) @ p + np.diag(alpha[:, 2]) @ (np.eye(len(a)) - p)
    t = t + np.diag(alpha[:, 0]) if ego else t
    np.testing.assert_allclose(found, normed(c.T @ t @ c), rtol=1e-4, atol=1e-6)
    first = network.context.aux_outputs["alpha"][0].detach().numpy()
    assert not np.allclose(first, alpha, atol=1e-3)


def test_cmgnn_adds_what_its_supplement_brings(graph):
    network = trained("cmgnn", graph)
    network.initialize_states(graph, graph.split("0").train)
    found = desired_compatibility(network, graph).numpy()
    a, c = dense(graph)
    r = a / a.sum(axis=1, keepdims=True).clip(1)
    alpha = network.context.aux_outputs["alpha"][-1].detach().numpy()[: graph.n_nodes]
    supplement = network.context.carry["prototype_weights"].numpy()[: graph.n_nodes]
    spread = alpha[:, 1:2] * (r @ c) + alpha[:, 2:3] * supplement
    np.testing.assert_allclose(found, normed(c.T @ spread), rtol=1e-4, atol=1e-6)


def test_unknown_labels_count_nowhere(graph):
    labels = graph.labels.clone()
    labels[::3] = -1
    partly = graph.replace(labels=labels, splits={})
    network = trained("gpr-gnn", graph, n_layers=2)
    a, c = dense(partly)
    loops = a + np.eye(len(a))
    root = np.diag(loops.sum(axis=1) ** -0.5)
    s = root @ loops @ root
    t = sum(g * np.linalg.matrix_power(s, k) for k, g in enumerate(network.fuse.gamma.tolist()))
    np.testing.assert_allclose(desired_compatibility(network, partly), normed(c.T @ t @ c), rtol=1e-4, atol=1e-6)


def test_a_plain_filter_desires_what_it_averages(graph):
    a, c = dense(graph)
    loops = a + np.eye(len(a))
    root = np.diag(loops.sum(axis=1) ** -0.5)
    found = desired_compatibility(trained("gcn", graph), graph).numpy()
    np.testing.assert_allclose(found, normed(c.T @ root @ loops @ root @ c), rtol=1e-4)
    np.testing.assert_allclose(desired_compatibility(trained("mlp", graph), graph), np.eye(3))


def test_weights_of_a_weighted_add(graph):
    network = trained("gcnii", graph, initial_residual=0.2, n_layers=2)
    assert mixing_weights(network) == [0.2, 0.8]


@pytest.mark.parametrize("model", NETWORKS)
def test_a_method_has_a_known_way_or_says_that_it_has_none(model):
    method = make_method(NETWORKS[model])
    ways = [way for way, models in WAYS.items() if model in models]
    if ways:
        assert aggregation_kind(method) == ways[0]
    else:
        with pytest.raises(HeterophilyError, match=f"{re.escape(model)} does not mix fixed filters"):
            aggregation_kind(method)


def test_a_method_without_a_way_is_refused_before_training(graph, no_training, run):
    no_training()
    with pytest.raises(HeterophilyError, match="gat does not mix fixed filters"):
        run(desired.STUDY, graph, models=("acm-gcn", "gat"))


def test_rows_and_figures(graph, short, tmp_path):
    study = short(desired.STUDY, graph, out=tmp_path)
    assert len(study.rows) == 2 * 2
    for model in ("acm-gcn", "gpr-gnn"):
        table = filter_rows(study.tables["matrices"], model=model)
        assert {row["split"] for row in table} == {"0"}
        (row,) = filter_rows(study.rows, model=model, split="0")
        for kind in ("observed", "desired"):
            matrix, _ = matrix_of(filter_rows(table, kind=kind))
            told = discriminability(torch.from_numpy(matrix))
            assert row[f"discriminability_{kind}"] == pytest.approx(told, abs=1e-4)
    (path,) = save_figures(desired.charts(StudyData.opened("desired", tmp_path).by_file), tmp_path)
    assert path.name == "desired-zoo.png"
    assert path.stat().st_size > 5_000
