"""The headline of the page of an explanation is its finding."""

from dataclasses import replace

import pytest

from heterophily import diagnose, load
from heterophily.training.explanation import Importance, ModelExplanation
from heterophily.views.page.explanation import explanation_page
from heterophily.views.page.graph_report import write_diagnosis

MODEL = ModelExplanation(
    graph="g",
    model="GCN",
    scoring="accuracy",
    score=0.9,
    nodes="test",
    n_nodes=10,
    edges=(Importance("removed", 0.2, None), Importance("rewired at random", 0.3, 0.01)),
    columns=(Importance("<age>", 0.1, 0.02),),
    gates=(),
    n_columns=1,
    n_repeats=5,
    n_evaluations=7,
    notes=(),
)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({}, "depends most on the edges: it decreases by 30.0 points if they are rewired at random"),
        ({"edges": ()}, "depends most on &lt;age&gt;: it decreases by 10.0 points if its values are shuffled"),
        ({"edges": (), "columns": ()}, "No column and no edge is important for the accuracy"),
    ],
)
def test_the_headline_names_what_the_model_depends_on_most(changes, finding):
    page = explanation_page(replace(MODEL, **changes), [], ["results"])
    assert f"{finding}</h1>" in page
    assert "Accuracy 90.0% on 10 test nodes." in page


def test_changes_are_omitted_without_features(tmp_path):
    graph = load("digits")
    plain = graph.replace(features=graph.features[:, :0])
    pages = [write_diagnosis(diagnose(g), tmp_path / "d.html", source="g").read_text() for g in (graph, plain)]
    assert ["95% interval</th>" in page for page in pages] == [True, False]
    assert all("with neighbors&#39; labels</th>" in page for page in pages)
