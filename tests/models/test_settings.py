"""Committed settings fit the methods and the catalog."""

import tomllib
from importlib.resources import files

import pytest

from heterophily.data.catalog import CATALOG
from heterophily.htmp.method import make_method
from heterophily.models import REGISTRY
from heterophily.models.settings import source_of, tuned

TABLES = {
    path.name.removesuffix(".toml"): tomllib.loads(path.read_text())
    for path in files("heterophily.models.settings").iterdir()
    if path.name.endswith(".toml")
}
CELLS = [(model, dataset) for model, tables in TABLES.items() for dataset in tables]


@pytest.mark.parametrize(("model", "dataset"), CELLS)
def test_every_table_is_of_a_known_dataset_and_has_known_settings(model, dataset):
    assert dataset in CATALOG
    settings = tuned(model, dataset)
    decided = make_method(REGISTRY[model], settings)
    for name, value in settings.items():
        assert name == "preset" or getattr(decided, name) == value
    assert source_of(model, dataset) in {"reference", "search"}


def test_a_cell_without_a_table_takes_the_defaults():
    assert tuned("gcn", "cora") == {}
    assert tuned("no such model", "cora") == {}
    assert source_of("gcn", "cora") == "defaults"


def test_the_methods_of_the_table_have_settings_for_the_ten_datasets():
    paper = {name for name, dataset in CATALOG.items() if dataset.in_paper}
    assert {name for name, tables in TABLES.items() if not paper <= set(tables)} == {"trio"}
    assert len(TABLES) >= 14


def test_a_table_of_ones_own_stands_in_place_of_the_committed_one():
    own = {"pubmed": {"width": 3}, "actor": {"source": "search", "width": 5}}
    assert tuned("gcn", "pubmed", own) == {"width": 3}
    assert source_of("gcn", "pubmed", own) == "file"
    assert tuned("gcn", "actor", own) == {"width": 5}
    assert source_of("gcn", "actor", own) == "search"
    assert tuned("gcn", "photo", own) == tuned("gcn", "photo")
    assert source_of("gcn", "photo", own) == "reference"
