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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\ny = 1 / 0", "line 2: ZeroDivisionError: division by zero; mend the file"),
        ("x = 1\n\ny = (", "line 3: SyntaxError: "),
        ("import no_such_module", "line 1: ModuleNotFoundError: No module named"),
        ("from heterophily.models import find_recipe\nfind_recipe('x')", "line 2: .*unknown model"),
    ],
)
def test_a_file_that_raises_is_told_with_its_line(tmp_path, text, words):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(HeterophilyError, match=f"mine.py, {words}"):
        find_recipe(str(tmp_path / "mine.py"))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("width", "abc", "width must be a whole number, like 64, got 'abc'"),
        ("width", 1.5, "width must be a whole number, like 64, got 1.5"),
        ("width", True, "width must be a whole number, like 64, got True"),
        ("max_epochs", "", "max_epochs must be a whole number, like 2000, got ''"),
        ("learning_rate", "fast", "learning_rate must be a number, like .*, got 'fast'"),
        ("residual", 1, "residual must be true or false, like False, got 1"),
        ("norm", 3, "norm must be a word, like none, got 3"),
        ("weight_decay", None, "weight_decay must be a number"),
    ],
)
def test_a_setting_of_another_kind_is_refused(name, value, words):
    with pytest.raises(HeterophilyError, match=words):
        find_recipe("gpr-gnn").with_settings(**{"width": 64, name: value})


def test_a_whole_number_is_a_number():
    assert find_recipe("gcn").with_settings(dropout=0).settings["dropout"] == 0


def test_a_misspelt_name_gets_a_hint():
    with pytest.raises(HeterophilyError, match='unknown model "h2gnc"; did you mean "h2gcn"'):
        find_recipe("h2gnc")


def test_a_graph_without_features_or_classes_is_refused(graph):
    with pytest.raises(HeterophilyError, match="needs node features"):
        build("gcn", graph.replace(features=graph.features[:, :0]))
    with pytest.raises(HeterophilyError, match="needs two classes"):
        build("gcn", graph.replace(labels=graph.labels * 0, n_classes=1, splits={}))
