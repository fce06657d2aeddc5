"""`heterophily explain`: a node and a model as text, JSON, picture, and report, from the folder of `fit`."""

import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from heterophily.commands.main import main
from heterophily.core.errors import HeterophilyWarning

KINDS = ("red", "green", "blue")
N = 60


def run(words):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["heterophily", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
    return stop.value.code or 0


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """Tables with a number, a category with missing values, a date, and a text label."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("market")
    kinds = np.arange(N) % 3
    pairs = [(i, j) for i in range(N) for j in rng.choice(N, 6) if (kinds[i] + 1) % 3 == kinds[j]]
    (folder / "edges.csv").write_text("\n".join(["payer,payee", *(f"n{i},n{j}" for i, j in pairs)]))
    rows = ["shop,kind,size,country,opened"]
    for i, kind in enumerate(kinds):
        country = "" if i == 5 else ("de", "us", "fr")[kind]
        rows.append(f"n{i},{KINDS[kind]},{rng.normal():.2f},{country},2021-0{1 + i % 9}-01")
    (folder / "nodes.csv").write_text("\n".join(rows))
    return folder


ROLES = ("--source", "payer", "--target", "payee", "--id", "shop", "--label", "kind")


@pytest.fixture(scope="module")
def results(market, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    words = ("fit", market, *ROLES, "--model", "acm-gcn", "--set", "max_epochs=150", "--set", "feature_norm=none")
    assert run([*words, "--out", folder]) == 0
    return folder


def test_a_node_is_explained_with_the_values_of_the_table(results, capsys, tmp_path):
    picture = tmp_path / "why.png"
    assert run(["explain", results, "n5", "--plot", picture]) == 0
    out, err = capsys.readouterr()
    assert err == f"wrote {picture}\n"
    for text in ("node n5", "ACM-GCN", "own columns", "edges to neighbors", "ego ", "country", "missing", "2021-06-01"):
        assert text in out, text
    image = imread(picture)
    assert min(image.shape[:2]) > 900
    assert len(np.unique(image.reshape(-1, image.shape[2]), axis=0)) > 10


def test_the_json_contains_all_effects(results, market, capsys):
    assert run(["explain", results, "n5", "--json", "--class", "red"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "red"
    assert found["probability"] == found["probabilities"]["red"]
    assert found["n_neighbors"] == len(found["neighbors"]) == sum(c["n_neighbors"] for c in found["neighbor_classes"])
    assert {c["name"]: c["value"] for c in found["columns"]}["country"] == "missing"
    assert sum(g["share"] for g in found["gates"]) == pytest.approx(1)
    edges = [line.split(",") for line in (market / "edges.csv").read_text().splitlines()[1:]]
    near = {b if a == "n5" else a for a, b in edges if "n5" in (a, b)} - {"n5"}
    assert {each["id"] for each in found["neighbors"]} == near


def test_the_model_is_explained(results, capsys, tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "model.svg"
    words = ["explain", results, "--repeats", 2, "--plot", picture, "--report", page]
    assert run(words) == 0
    out, err = capsys.readouterr()
    assert "edges rewired at random" in out
    assert "country" in out
    assert err.count("wrote") == 2
    assert "edges removed" in picture.read_text()
    html = page.read_text()
    assert "heterophily explain" in html
    assert "Importance of edges and columns" in html
    assert run(["explain", results, "--repeats", 2, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"][0]["name"] == "country"
    assert (found["nodes"], found["n_columns"]) == ("validation", 3)


def test_a_report_of_a_node_contains_its_neighborhood(results, capsys, tmp_path):
    assert run(["explain", results, "n7", "--report", tmp_path / "n7.html"]) == 0
    html = (tmp_path / "n7.html").read_text()
    for text in ("Node n7 of", "in the center", "speaks for", "Neighbors by class", "Weights of messages"):
        assert text in html, text


def test_the_report_of_a_fit_contains_importances(market, tmp_path, capsys):
    words = ("fit", market, *ROLES, "--model", "gcn", "--set", "max_epochs=3", "--out", tmp_path / "out")
    assert run([*words, "--report", tmp_path / "fit.html"]) == 0
    assert "What the predictions depend on" in (tmp_path / "fit.html").read_text()
    capsys.readouterr()


def test_another_graph_can_be_passed(results, market, tmp_path, capsys):
    moved = tmp_path / "moved"
    shutil.copytree(market, moved)
    assert run(["explain", results, "n5", "--graph", moved, "--json"]) == 0
    same = json.loads(capsys.readouterr().out)
    assert run(["explain", results, "n5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["neighbors"] == same["neighbors"]
    lines = (moved / "edges.csv").read_text().splitlines()
    (moved / "edges.csv").write_text("\n".join(lines[:-20]))
    assert run(["explain", results, "--graph", moved, "--repeats", 2, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == "labeled"


def test_a_changed_graph_is_reported(results, market, tmp_path, capsys):
    changed, copy = tmp_path / "changed", tmp_path / "results"
    shutil.copytree(market, changed)
    shutil.copytree(results, copy)
    content = json.loads((copy / "source.json").read_text()) | {"source": str(changed)}
    (copy / "source.json").write_text(json.dumps(content))
    lines = (changed / "edges.csv").read_text().splitlines()
    (changed / "edges.csv").write_text("\n".join(lines[:-20]))
    with warnings.catch_warnings():
        warnings.simplefilter("always", HeterophilyWarning)
        assert run(["explain", copy, "n5", "--json"]) == 0
    assert "has changed since the model was fitted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("n99",), "unknown node of"),
        (("n5", "--class", "pink"), 'unknown class "pink"'),
        (("--class", "red"), "--class requires a node"),
        (("n5", "--plot", "why.txt"), "expected a figure file"),
        (("n5", "--graph", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(results, capsys, words, message):
    assert run(["explain", results, *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_results_without_a_source_need_a_graph(results, market, tmp_path, capsys):
    shutil.copytree(results, tmp_path / "old")
    Path(tmp_path, "old", "source.json").unlink()
    assert run(["explain", tmp_path / "old", "n5"]) == 2
    assert "pass it with --graph" in capsys.readouterr().err
    assert run(["explain", tmp_path / "old", "n5", "--graph", market]) == 0
    capsys.readouterr()
