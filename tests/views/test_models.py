"""The table of methods and one row in full, as people and programs read them."""

import pytest
from rich.console import Console

from heterophily.htmp.method import make_method, settings_of
from heterophily.models import REGISTRY
from heterophily.views.console import model_facts, model_table, model_view, row_of


def printed(view):
    console = Console(width=160)
    with console.capture() as capture:
        console.print(view)
    return capture.get()


def test_rows_are_those_of_the_paper():
    rows = {name: row_of(method) for name, method in REGISTRY.items()}
    assert rows["gcn"]["neighborhoods"] == ["Ã"]
    assert rows["gcn"]["guidance"] == ["B̃^d"]
    assert rows["h2gcn"]["neighborhoods"] == ["A", "A_h2"]
    assert rows["h2gcn"]["guidance"] == ["B^d", "B^d_h2"]
    assert rows["fagcn"]["guidance"] == ["I", "B^naw"]
    assert rows["gbk-gnn"]["guidance"] == ["I", "B^aw", "1-B^aw"]
    assert rows["glognn"]["neighborhoods"] == ["I", "1"]
    assert rows["ggcn"]["neighborhoods"] == ["I", "A_p", "A_n"]
    assert len(rows["geom-gcn"]["neighborhoods"]) == 9
    ways = {name: (row["combine"], row["fuse"]) for name, row in rows.items()}
    assert ways["gcn"] == ("/", "Z^L")
    assert ways["gpr-gnn"] == ("/", "AdaAdd")
    assert ways["h2gcn"] == ("Cat", "Cat")
    assert ways["ordered-gnn"] == ("AdaCat", "Z^L")
    assert ways["appnp"] == ways["gcnii"] == ways["glognn"] == ("WeightedAdd", "Z^L")
    assert ways["cmgnn"] == ("AdaAdd", "Cat")


def test_the_table_names_every_method():
    text = printed(model_table(list(REGISTRY.values())))
    for name in REGISTRY:
        assert f" {name} " in text
    assert "[I, Ã, A_f]" in text


def test_a_row_in_full_tells_equation_paper_settings_and_deviations():
    text = printed(model_view(REGISTRY["h2gcn"]))
    for words in ("S(A_h2)", "Zhu et al.", "second_hop", "thresholded", "Deviations", "0.0, 0.5"):
        assert words in text


@pytest.mark.parametrize("name", REGISTRY)
def test_every_method_can_be_shown(name):
    settings = settings_of(make_method(REGISTRY[name]))
    text = printed(model_view(REGISTRY[name]))
    assert all(setting in text for setting in settings)
    assert model_facts(REGISTRY[name])["settings"].keys() == settings.keys()


def test_the_same_as_data():
    facts = model_facts(REGISTRY["gat"])
    assert facts["settings"]["n_heads"] == 8
    assert facts["reference"]["head_merge"] == "mean"
    assert facts["space"]["n_layers"] == "1, 2, 3"
    assert facts["deviations"]
