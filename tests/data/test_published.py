"""The paper's numbers in the package are those of its tables."""

import json
import os
from pathlib import Path

import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.data import published as paper
from heterophily.data.catalog import CATALOG
from heterophily.data.published import Published
from heterophily.data.store import VARIABLE
from heterophily.models import REGISTRY

MODELS, DATASETS = tuple(paper.methods()), tuple(paper.datasets())


@pytest.fixture
def tables():
    """The tables as parsed from the paper's source, where they lie beside the datasets."""
    path = Path(os.environ[VARIABLE]).resolve().parent / "paper_tables.json"
    if not path.exists():
        pytest.skip(f"no {path.name} beside the folder of {VARIABLE}")
    return json.loads(path.read_text())


def cell(facts):
    return Published(facts["mean"], facts["std"])


@pytest.mark.real
def test_accuracy_and_names_are_the_printed_ones(tables):
    assert list(paper.methods().items()) == list(tables["methods"].items())
    assert list(paper.datasets().items()) == list(tables["datasets"].items())
    rows = tables["main_accuracy"]["results"]
    found = {m: {d: paper.accuracy(m, d) for d in paper.datasets()} for m in paper.methods()}
    assert found == {m: {d: cell(c) for d, c in row.items()} for m, row in rows.items()}
    ranks = tables["main_accuracy"]["average_rank_printed"]
    assert {m: paper.average_rank(m) for m in paper.methods()} == ranks


@pytest.mark.real
def test_the_other_tables_are_the_printed_ones(tables):
    for variant, row in tables["ablation"]["results"].items():
        assert all(paper.ablation(variant, d) == cell(c) for d, c in row.items())
    for dataset, rows in tables["degree_accuracy"]["results"].items():
        for model, fifths in rows.items():
            assert paper.degree_accuracy(model, dataset) == tuple(fifths.values())
    for model, row in tables["run_time"]["results"].items():
        assert all(paper.run_time(model, d) == c["ms_per_epoch"] for d, c in row.items())


@pytest.mark.real
def test_the_synthetic_graphs_are_the_printed_ones(tables):
    synthetic = tables["synthetic_gcn"]
    for group, row in synthetic["results"].items():
        degree = synthetic["average_degree"][group]
        for name, facts in row.items():
            level, _, pattern = name.split("_")
            homophily = synthetic["homophily"][level]
            assert paper.synthetic_gcn(homophily, pattern, degree=degree) == cell(facts)
    assert paper.synthetic_mlp() == cell(synthetic["mlp_accuracy"])


def test_rows_and_columns_have_our_names():
    assert len(MODELS) == 14
    assert set(MODELS) <= set(REGISTRY)
    assert set(DATASETS) == {name for name, dataset in CATALOG.items() if dataset.in_paper}
    assert all(paper.accuracy(m, d) for m in MODELS for d in DATASETS)


def test_some_numbers_as_printed():
    assert paper.accuracy("cmgnn", "roman-empire") == Published(84.35, 1.27)
    assert paper.accuracy("gcn", "roman-empire") == Published(38.58, 2.35)
    assert paper.average_rank("cmgnn") == 2.1
    assert paper.synthetic_mlp() == Published(72.54, 2.18)


def test_out_of_memory_is_a_cell_without_numbers():
    empty = {(m, d) for m in MODELS for d in DATASETS if paper.accuracy(m, d).out_of_memory}
    slow = {"roman-empire", "amazon-ratings"}
    assert empty == {
        *((model, dataset) for model in ("ggcn", "hog-gcn") for dataset in slow),
        ("hog-gcn", "pubmed"),
        ("gbk-gnn", "flickr"),
        ("gbk-gnn", "blogcatalog"),
    }
    assert paper.run_time("hog-gcn", "pubmed") is None


def test_what_the_paper_does_not_have_is_none():
    assert paper.accuracy("linkx", "actor") is None
    assert paper.accuracy("gcn", "cora") is None
    assert paper.average_rank("linkx") is None
    assert paper.degree_accuracy("gcn", "actor") is None
    assert paper.run_time("gcn", "cora") is None


def test_misspelt_rows_are_named():
    with pytest.raises(HeterophilyError, match='did you mean "without_both"'):
        paper.ablation("without_bot", "actor")
    with pytest.raises(HeterophilyError, match='unknown dataset of the paper\'s ablation "cora"'):
        paper.ablation("full", "cora")
    with pytest.raises(HeterophilyError, match=r'graph of the paper "0\.3 easy 18"'):
        paper.synthetic_gcn(0.3, "easy", degree=18)


def test_callers_cannot_change_the_tables():
    paper.methods().clear()
    assert paper.methods()
