"""Custom methods: registered, or defined in a file."""

from pathlib import Path

import pytest

from heterophily import Architecture, CustomMethod, HeterophilyError, Method, build, define_method
from heterophily.htmp.guidance import RowMean
from heterophily.htmp.method import make_method
from heterophily.htmp.neighborhoods import Raw
from heterophily.models import REGISTRY, find_method, register

FILE = """
from heterophily import Architecture, CustomMethod
from heterophily.htmp.guidance import RowMean
from heterophily.htmp.neighborhoods import Raw

MINE = CustomMethod("mine", Architecture(channels=(Raw() * RowMean(),)))
"""
CLASS = """
from typing import Annotated
from heterophily import Architecture, Method, define_method
from heterophily.core.spaces import Choice
from heterophily.htmp.guidance import RowMean
from heterophily.htmp.neighborhoods import Hop
from heterophily.models.gcn import GCN

@define_method
class Mine(Method):
    name, title, paper = "mine", "Mine", "unpublished"
    k: Annotated[int, Choice(1, 2)] = 1
    def architecture(self):
        return Architecture(channels=(Hop(self.k) * RowMean(),))
"""
MEAN = Architecture(channels=(Raw() * RowMean(),))


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    monkeypatch.setattr("heterophily.models.REGISTRY", dict(REGISTRY))


def test_a_registered_method_is_found_by_name(graph):
    mine = register(CustomMethod("mine", MEAN))
    assert find_method("mine") is mine
    assert build("mine", graph)(graph).shape == (graph.n_nodes, graph.n_classes)


def test_a_registered_class_is_found_by_name(graph):
    @register
    @define_method
    class Mine(Method):
        name, title, paper = "mine", "Mine", "unpublished"

        def architecture(self):
            return MEAN

    assert find_method("mine") is Mine
    assert build("mine", graph, width=3).method == Mine(width=3)


def test_registering_the_same_method_twice_is_fine_and_another_under_its_name_is_not():
    register(REGISTRY["gcn"])
    with pytest.raises(HeterophilyError, match='a model "gcn" already exists'):
        register(CustomMethod("gcn", MEAN))


@pytest.mark.parametrize("text", [FILE, CLASS])
def test_a_method_is_found_in_a_file(tmp_path, graph, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert find_method(str(path)).name == "mine"
    assert find_method("mine").name == "mine"
    assert find_method(Path(path)).name == "mine"
    assert build(str(path), graph)(graph).isfinite().all()


def test_a_file_without_a_method_is_refused(tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("from heterophily.models.gcn import GCN\nx = 1")
    with pytest.raises(HeterophilyError, match="must define exactly one method, but defines 0"):
        find_method(str(path))
    with pytest.raises(HeterophilyError, match="no file"):
        find_method(str(tmp_path / "absent.py"))
    path.write_text(FILE.replace("mine", "gcn"))
    with pytest.raises(HeterophilyError, match='a model "gcn" already exists; choose a new name'):
        find_method(str(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\ny = 1 / 0", "ZeroDivisionError on line 2: division by zero; the file must define"),
        ("x = 1\n\ny = (", "SyntaxError on line 3: "),
        ("import no_such_module", "ModuleNotFoundError on line 1: No module named"),
        ("from heterophily.models import find_method\nfind_method('x')", "on line 2: .*unknown model"),
    ],
)
def test_a_file_that_raises_is_reported_with_its_line(tmp_path, text, words):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(HeterophilyError, match=f"cannot load .*mine.py: .*{words}"):
        find_method(str(tmp_path / "mine.py"))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("width", "abc", "width must be an integer, got 'abc'"),
        ("width", 1.5, "width must be an integer, got 1.5"),
        ("width", True, "width must be an integer, got True"),
        ("max_epochs", "", "max_epochs must be an integer, got ''"),
        ("learning_rate", "fast", "learning_rate must be a number, got 'fast'"),
        ("learning_rate", float("nan"), "learning_rate must be a number, got nan"),
        ("residual", 1, "residual must be true or false, got 1"),
        ("norm", 3, "norm must be one of none, batch, layer, got 3"),
        ("weight_decay", None, "weight_decay must be a number, got None"),
        ("gamma_init", [0.5, "x"], r"gamma_init must be one of ppr, .* or a list of numbers, got"),
    ],
)
def test_a_setting_of_another_type_is_refused(name, value, words):
    with pytest.raises(HeterophilyError, match=words):
        make_method(find_method("gpr-gnn"), {"width": 64, name: value})


def test_an_integer_is_a_number_and_a_list_is_a_tuple():
    method = make_method(find_method("gpr-gnn"), {"dropout": 0, "gamma_init": [1, 2.0]})
    assert type(method.dropout) is float
    assert method.gamma_init == (1, 2.0)


def test_a_misspelled_name_gets_a_hint():
    with pytest.raises(HeterophilyError, match='unknown model "h2gnc"; did you mean "h2gcn"'):
        find_method("h2gnc")


def test_a_graph_without_features_or_classes_is_refused(graph):
    with pytest.raises(HeterophilyError, match="needs node features"):
        build("gcn", graph.replace(features=graph.features[:, :0]))
    with pytest.raises(HeterophilyError, match="needs at least two classes"):
        build("gcn", graph.replace(labels=graph.labels * 0, n_classes=1, splits={}))
