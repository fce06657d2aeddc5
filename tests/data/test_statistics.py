"""The table of datasets is that of the paper, declared and, on the real files, measured."""

import pytest

from heterophily.data.catalog import CATALOG, lookup
from heterophily.data.loading import measure_statistics

# Nodes, edges, features, classes, average degree, undirected, edge homophily.
TABLE = {
    "roman-empire": (22_662, 65_854, 300, 18, 2.9, True, 0.05),
    "amazon-ratings": (24_492, 186_100, 300, 5, 7.6, True, 0.38),
    "chameleon-f": (890, 13_584, 2_325, 5, 15.3, False, 0.25),
    "squirrel-f": (2_223, 65_718, 2_089, 5, 29.6, False, 0.22),
    "actor": (7_600, 30_019, 932, 5, 3.9, False, 0.22),
    "flickr": (7_575, 479_476, 12_047, 9, 63.3, True, 0.24),
    "blogcatalog": (5_196, 343_486, 8_189, 6, 66.1, True, 0.40),
    "wikics": (11_701, 431_206, 300, 10, 36.9, True, 0.65),
    "pubmed": (19_717, 88_651, 500, 3, 4.5, True, 0.80),
    "photo": (7_650, 238_162, 745, 8, 31.1, True, 0.83),
    # Not in the paper: symmetrized counts of the raw files.
    "cora": (2_708, 2 * 5_278, 1_433, 7, 3.9, True, 0.81),
    "citeseer": (3_327, 2 * 4_552, 3_703, 6, 2.7, True, 0.74),
    "tolokers": (11_758, 2 * 519_000, 10, 2, 88.3, True, 0.59),
    "chameleon": (2_277, 2 * 31_371, 2_325, 5, 27.6, False, 0.23),
    "wisconsin": (251, 2 * 450, 1_703, 5, 3.6, True, 0.18),
    "computers": (13_752, 2 * 245_861, 767, 10, 35.8, True, 0.78),
    "cora-ml": (2_995, 2 * 8_158, 2_879, 7, 5.4, True, 0.79),
}
datasets = pytest.mark.parametrize("name", TABLE)


def printed(row):
    sizes = (row.n_nodes, row.n_edges, row.n_features, row.n_classes)
    return (*sizes, round(row.average_degree, 1), row.undirected, round(row.edge_homophily, 2))


def test_the_table_has_every_dataset():
    assert list(TABLE) == list(CATALOG)


@datasets
def test_an_absent_dataset_is_declared_with_the_papers_numbers(name):
    row = measure_statistics(lookup(name))
    assert not row.present
    assert printed(row) == TABLE[name]
    assert (row.train_val_test, row.splits) == (None, None)


@pytest.mark.real
@datasets
def test_the_real_files_have_the_papers_numbers(name, real_graph):
    graph = real_graph(name)
    row = measure_statistics(lookup(name))
    assert row.present
    assert printed(row) == TABLE[name]
    official = lookup(name).in_paper or lookup(name).format == "heterophilous_npz"
    assert {split.origin for split in graph.splits.values()} == (
        {"official"} if official else {f"random, seed {i}" for i in range(10)}
    )


@pytest.mark.real
def test_fifteen_nodes_of_citeseer_have_no_label(real_graph):
    graph = real_graph("citeseer")
    unknown = ~graph.labeled
    assert int(unknown.sum()) == 15
    assert not graph.features.to_scipy()[unknown.numpy()].nnz


def test_a_present_dataset_is_measured(tiny):
    row = measure_statistics(tiny)
    assert row.present
    assert printed(row) == (40, 80, 8, 4, 2.0, True, 0.0)
    assert row.train_val_test == (19, 12, 9)
    assert row.splits == "random, seed 0"
    assert row.to_dict()["citation"] == "nobody"
