"""Recipes of one's own: registered, or found in a file."""

from dataclasses import replace

import pytest

from heterophily import HeterophilyError, build
from heterophily.models import REGISTRY, find_recipe, register

FILE = """
from heterophily import Recipe
from heterophily.htmp.guidance import RowMean
from heterophily.htmp.neighborhoods import Raw

MINE = Recipe(name="mine", paper="unpublished", channels=(Raw() * RowMean(),))
"""


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    monkeypatch.setattr("heterophily.models.REGISTRY", dict(REGISTRY))


def test_a_registered_recipe_is_found_by_name(graph):
    mine = register(replace(REGISTRY["gcn"], name="mine"))
    assert find_recipe("mine") is mine
    assert build("mine", graph)(graph).shape == (graph.n_nodes, graph.n_classes)


def test_registering_the_same_recipe_twice_is_fine_and_another_under_its_name_is_not():
    register(REGISTRY["gcn"])
    with pytest.raises(HeterophilyError, match='a model "gcn" exists already'):
        register(replace(REGISTRY["gcn"], paper="another"))


def test_a_recipe_is_found_in_a_file(tmp_path, graph):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    assert find_recipe(str(path)).name == "mine"
    assert find_recipe("mine").name == "mine"
    assert find_recipe(str(path)).name == "mine"
    assert build(str(path), graph)(graph).isfinite().all()


def test_a_file_without_a_recipe_is_refused(tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("x = 1")
    with pytest.raises(HeterophilyError, match="must define exactly one Recipe, has 0"):
        find_recipe(str(path))
    with pytest.raises(HeterophilyError, match="no file"):
        find_recipe(str(tmp_path / "absent.py"))


def test_a_misspelt_name_gets_a_hint():
    with pytest.raises(HeterophilyError, match='no model "h2gnc"; did you mean "h2gcn"'):
        find_recipe("h2gnc")


def test_a_graph_without_features_or_classes_is_refused(graph):
    with pytest.raises(HeterophilyError, match="needs node features"):
        build("gcn", graph.replace(features=graph.features[:, :0]))
    with pytest.raises(HeterophilyError, match="needs two classes"):
        build("gcn", graph.replace(labels=graph.labels * 0, n_classes=1, splits={}))
