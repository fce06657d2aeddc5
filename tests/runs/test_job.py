"""What is to be run, in which order, and under which key."""

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Annotated

import pytest

from heterophily import HeterophilyError, Split
from heterophily.benchmark.plan import DATASETS, MODELS, plan
from heterophily.commands.options import parse_names
from heterophily.core.spaces import Choice
from heterophily.data import published as paper
from heterophily.data.loading import load
from heterophily.htmp.architecture import Architecture, Dropout, Head, ParamGroup
from heterophily.htmp.combine import Add
from heterophily.htmp.encoder import Embed
from heterophily.htmp.fuse import LastLayer
from heterophily.htmp.guidance import Ones
from heterophily.htmp.identity import identity_of, user_code
from heterophily.htmp.method import CustomMethod, Deviation, define_method, make_method, settings_of
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.transform import SharedLinear
from heterophily.models import REGISTRY, find_method
from heterophily.models.gcn import GCN
from heterophily.models.settings import source_of, tuned
from heterophily.runs import job as module
from heterophily.runs.job import make_job, parse_splits


def refused(words):
    return pytest.raises(HeterophilyError, match=words)


def names(cells):
    return sorted((c.empty_record.model, c.empty_record.dataset, c.split) for c in cells)


def test_all_means_the_methods_and_datasets_of_the_paper():
    assert list(MODELS) == list(paper.methods())
    assert list(DATASETS) == list(paper.datasets())
    assert set(MODELS) <= set(REGISTRY)
    assert parse_names("all", MODELS) == list(MODELS)


def test_cells_are_models_times_datasets_times_splits(graph):
    other = graph.replace(name="other", features=graph.features * 2)
    cells = plan(["gcn", "mlp"], {"a": graph, "b": other}, splits="0,2")
    wanted = [(m, d, s) for m in ("gcn", "mlp") for d in ("other", "small") for s in "02"]
    assert names(cells) == sorted(wanted)
    assert len({cell.key for cell in cells}) == 8
    assert {(c.empty_record.dataset, c.source) for c in cells} == {("small", "a"), ("other", "b")}


def test_cells_are_ordered_by_cost(graph):
    big = load("digits")
    cells = plan(["gat", "cmgnn", "mlp"], {"digits": big, "small": graph})
    costs = [cell.cost for cell in cells]
    assert costs == sorted(costs)
    assert cells[0].empty_record.dataset == "small"
    assert cells[-1].empty_record.dataset == "digits"


def test_the_seed_of_a_split_is_counted_from_its_place(graph):
    cells = plan(["gcn"], {"small": graph}, splits="2,1", seed=40)
    assert {cell.split: cell.empty_record.seed for cell in cells} == {"1": 41, "2": 42}


@pytest.mark.parametrize(
    ("text", "wanted"), [("all", "0123456789"), ("0-9", "0123456789"), ("3", "3"), ("7, 0-2,1", "0127"), ("4-4", "4")]
)
def test_splits_are_chosen_by_name_and_range(text, wanted):
    assert parse_splits(load("digits"), text) == list(wanted)


@pytest.mark.parametrize("text", ["10", "8-11", "0-99999999999", "5-3", "first", "", "1,,2", "-1"])
def test_a_split_that_is_not_there_is_refused(text):
    piece = "" if text == "1,,2" else text
    with refused(f'unknown split of digits "{piece}"; available: 0, 1, .*, 9'):
        parse_splits(load("digits"), text)


def test_splits_have_any_name(graph):
    split = graph.split("0")
    named = graph.replace(splits={"a-b": split, "2024": split, "ü": split})
    assert parse_splits(named, "ü,a-b") == ["a-b", "ü"]


def test_a_graph_without_splits_is_refused(graph):
    with refused("small has no splits; save it with splits"):
        plan(["gcn"], {"small": graph.replace(splits={})})


@pytest.mark.parametrize(
    ("text", "wanted"), [("b,a", "ba"), (" a , b,", "ab"), ("a,a", "a"), ("c,all", "cxy"), ("x,all", "xy")]
)
def test_names_are_listed_once_in_the_order_given(text, wanted):
    assert parse_names(text, ["x", "y"]) == list(wanted)


def test_no_name_is_refused():
    with refused("expected a comma-separated list of names or 'all', got ','"):
        parse_names(",", ["x"])


def test_an_unknown_model_is_refused(graph):
    with refused('unknown model "gnc"; did you mean "gcn"?'):
        plan(["gnc"], {"small": graph})


def test_an_unknown_setting_is_refused(graph):
    with refused('unknown setting of gcn "widht"; did you mean "width"?'):
        plan(["gcn"], {"small": graph}, settings={"widht": 3})


def test_two_graphs_of_one_name_are_refused(graph):
    twin = graph.replace(features=graph.features * 2)
    with refused('two graphs have the name "small": a.npz and b.npz; rename one'):
        plan(["gcn"], {"a.npz": graph, "b.npz": twin})


def test_two_models_of_one_name_are_refused(graph, method_file, tmp_path):
    first = method_file("mine")
    (tmp_path / "again.py").write_text((tmp_path / "mine.py").read_text())
    with refused('two models have the name "mine"'):
        plan([first, str(tmp_path / "again.py")], {"small": graph})


def test_paths_are_made_absolute(graph, source, method_file, tmp_path, monkeypatch):
    method_file("mine")
    monkeypatch.chdir(tmp_path)
    (cell,) = plan(["mine.py"], {"small.safetensors": graph}, splits="0")
    assert (cell.model, cell.source) == (str(tmp_path / "mine.py"), source)
    assert (cell.empty_record.model, cell.empty_record.dataset) == ("mine", "small")
    for folder in ("gcn", "digits"):  # what is called like a name is not meant by it
        (tmp_path / folder).mkdir()
    (cell,) = plan(["gcn"], {"digits": load("digits")}, splits="0")
    assert (cell.model, cell.source) == ("gcn", "digits")


def test_a_setting_comes_from_method_then_table_then_command_line(graph):
    name = next(name for name in DATASETS if tuned("gcn", name))
    committed, like = tuned("gcn", name), {name: graph.replace(name=name)}
    (cell,) = plan(["gcn"], like, splits="0")
    assert cell.empty_record.settings == settings_of(make_method(GCN, committed))
    assert cell.empty_record.source == source_of("gcn", name) != "defaults"
    (cell,) = plan(["gcn"], like, splits="0", settings={"width": 3})
    assert cell.settings == {**committed, "width": 3}
    assert cell.empty_record.settings["width"] == 3
    assert cell.empty_record.source == "command line"
    (cell,) = plan(["gcn"], {"small": graph}, splits="0")
    assert (cell.empty_record.source, cell.settings) == ("defaults", {})


def test_the_preset_is_in_the_record(graph):
    (plain,) = plan(["cmgnn"], {"small": graph}, splits="0")
    (other,) = plan(["cmgnn"], {"small": graph}, splits="0", settings={"preset": "reference"})
    assert (plain.empty_record.preset, other.empty_record.preset) == ("published", "reference")
    assert plain.key != other.key


@pytest.fixture
def key(graph):
    """The key of a run with something changed."""

    def of(method=GCN, on=graph, split="0", seed=0, **settings):
        return make_job(method, on, split, seed=seed, settings=settings).key

    return of


CHANGED = {
    "dropout": 0.1, "activation": "elu", "norm": "layer", "residual": True, "input_layer": True,
    "feature_norm": "l1", "loss": "negative_probability", "direction": "in", "monitor": "loss",
}  # fmt: skip


@pytest.mark.parametrize("name", settings_of(GCN()))
def test_every_setting_is_in_the_key(key, name):
    default = settings_of(GCN())[name]
    value = CHANGED.get(name) or default * 2
    assert value != default
    assert key(**{name: value}) != key()
    assert key(**{name: default}) == key()


def test_every_part_of_an_architecture_is_in_the_key(key):
    gcn = CustomMethod("gcn", GCN().architecture())
    changes = [
        {"channels": (Ego() * Ones(),)}, {"combine": Add()}, {"encoder": Embed()}, {"head": Head()},
        {"transform": SharedLinear()}, {"activate_last": True}, {"separate_networks": True},
        {"param_groups": (ParamGroup("a", 0.0),)}, {"dropout": Dropout(edge=0.5)},
    ]  # fmt: skip
    changed = [replace(gcn, template=replace(gcn.template, **change)) for change in changes]
    keys = [key(method) for method in (*changed, replace(gcn, name="mine"))]
    assert len({key(), *keys}) == len(changes) + 2
    assert key(gcn) == key()


def test_words_are_not_in_the_key(key):
    @define_method
    class Other(GCN):
        """Other."""

        title, paper, deviations = "Other", "Other", (Deviation("Other.", {"dropout": 0.123}),)
        width: Annotated[int, Choice(1), "Other."] = 64

    assert key(Other) == key()
    assert key(Other, preset="reference") != key(preset="reference")


def test_the_content_of_the_graph_is_in_the_key(key, graph):
    labels = graph.labels.clone()
    labels[0] = (labels[0] + 1) % 3
    others = [graph.replace(features=graph.features * 2), graph.replace(labels=labels)]
    assert len({key(), *(key(on=other) for other in others)}) == 3
    assert key(on=graph.replace(name="renamed")) == key()


def test_split_seed_and_version_are_in_the_key(key, graph, monkeypatch):
    plain = key()
    assert key(seed=1) != plain
    assert key(split="1") != plain
    turned = Split.from_nodes(*reversed(graph.split("0").parts.values()))
    assert key(on=graph.replace(splits={"0": turned})) != plain
    assert key(on=graph.replace(splits={"x": graph.split("0")}), split="x") == plain
    monkeypatch.setattr(module, "RESULTS_VERSION", 99)
    assert key() != plain


def test_the_key_is_the_same_in_another_process(graph, source):
    code = (
        "import sys; from heterophily import Graph; from heterophily.benchmark.plan import plan, MODELS\n"
        "graph = Graph.load(sys.argv[1])\n"
        "print(*(cell.key for cell in plan(MODELS, {'g': graph}, splits='1', seed=3)))"
    )
    words = [sys.executable, "-c", code, source]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert out.split() == [c.key for c in plan(MODELS, {"g": graph}, splits="1", seed=3)]


PART = """
from dataclasses import dataclass
from heterophily import Architecture, CustomMethod
from heterophily.htmp.fuse import LastLayer
from heterophily.models.gcn import GCN

@dataclass(frozen=True)
class Mine(LastLayer):
    def __call__(self, states, w):
        return states[-1] * {factor}

MINE = CustomMethod("mine", Architecture(GCN().architecture().channels, fuse=Mine()), paper={words!r})
"""


def test_the_code_of_ones_own_part_is_in_the_key(key, tmp_path):
    def of(**fields):
        (tmp_path / "mine.py").write_text(PART.format(**fields))
        return key(find_method(str(tmp_path / "mine.py")))

    plain = of(factor=1, words="a")
    assert of(factor=2, words="a") != plain
    assert of(factor=1, words="a") == plain


KINDS = {
    "a method": "def __call__(self, states, w): return states[-1] * 1",
    "a wrapped method": "@torch.no_grad()\n    def __call__(self, states, w): return states[-1] * 1",
    "a property": "@property\n    def factor(self): return 1",
    "a class method": "@classmethod\n    def factor(cls): return 1",
    "a static method": "@staticmethod\n    def factor(): return 1",
    "a cached property": "@cached_property\n    def factor(self): return 1",
}


@pytest.mark.parametrize("body", KINDS.values(), ids=KINDS)
def test_own_code_is_that_of_the_users_files_only(body, tmp_path):
    head = "import torch\nfrom functools import cached_property\n"
    text = head + PART.format(factor=1, words="").replace(
        "def __call__(self, states, w):\n        return states[-1] * 1", body
    )
    (tmp_path / "mine.py").write_text(text)
    assert body in text
    assert user_code(find_method(str(tmp_path / "mine.py"))) == [text]


def test_the_code_of_a_base_in_another_file_is_ones_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    base = "from heterophily.htmp.fuse import LastLayer\n\nclass Base(LastLayer):\n"
    base += "    def f(self): return 1\n"
    (tmp_path / "a_base_of_mine.py").write_text(base)
    text = "from a_base_of_mine import Base\n" + PART.format(factor=1, words="")
    text = text.replace("Mine(LastLayer)", "Mine(Base)")
    (tmp_path / "mine.py").write_text(text)
    assert user_code(find_method(str(tmp_path / "mine.py"))) == sorted([text, base])


def test_a_method_in_a_file_without_own_parts_is_its_architecture(key, tmp_path):
    text = (
        "from heterophily import CustomMethod\n"
        "from heterophily.models.gcn import GCN\n"
        "A = CustomMethod('a', GCN().architecture())"
    )
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text(f"{text}  # a word")
    assert key(find_method(str(tmp_path / "a.py"))) == key(find_method(str(tmp_path / "b.py")))


def test_a_part_that_does_not_print_itself_is_refused():
    @dataclass(frozen=True)
    class Strange(LastLayer):
        part: object = None

    channels = GCN().architecture().channels
    strange = CustomMethod("odd", Architecture(channels, fuse=Strange(object())))
    with refused("odd has a part that cannot be identified.* make it a frozen dataclass"):
        identity_of(strange)


@pytest.mark.parametrize("part", ["val", "test"])
def test_a_split_without_labels_to_choose_or_compare_by_is_refused(graph, part):
    parts = {**graph.split("0").parts, part: []}
    bare = graph.replace(splits={"0": Split.from_nodes(**parts)})
    with pytest.raises(HeterophilyError, match=f"has no labeled {part} nodes"):
        plan(["mlp"], {"own": bare}, splits="0")
