"""Commands on the pages: given again, they run the same runs."""

import shlex
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from heterophily import Graph, NodeClassifier, diagnose, load
from heterophily.benchmark.plan import plan
from heterophily.commands.options import parse_settings
from heterophily.data.splits import random_splits
from heterophily.models.settings import tuned
from heterophily.training.selection import fit_model
from heterophily.views.page import graph_report
from heterophily.views.page.commands import bench_note, custom_note, full_command, shared_settings


@pytest.fixture(scope="module")
def digits():
    return load("digits")


@pytest.fixture(scope="module")
def actor():
    """A small graph with the name of one that has committed settings."""
    labels = np.arange(60) % 3
    x = np.random.default_rng(0).random((60, 4), dtype=np.float32)
    edges = [(i, (i + 1) % 60) for i in range(60)]
    graph = Graph.from_edges(edges, x, labels=labels, name="actor")
    return graph.replace(splits=random_splits(graph, count=1))


def options_of(command):
    """The words after each option of a command."""
    words = shlex.split(command)
    found = {}
    for name, value in pairwise(words):
        if name.startswith("--"):
            found.setdefault(name, []).append(value)
    return found


def fitted_again(command, graph, split):
    """Fit what a command of `fit` says."""
    said = options_of(command)
    settings = parse_settings(said.get("--set", ()))
    seed = int(said["--seed"][0])
    return fit_model(graph, said["--model"][0], split=split, random_state=seed, device="cpu", **settings)


def told(fitted, **more):
    words = {"source": "g.csv", "model": fitted.method.name, "split": "0", "folder": "out"}
    return graph_report.fit_command(fitted, **{**words, **more})


@pytest.mark.parametrize("preset", ["published", "reference"])
def test_the_command_of_a_fit_says_the_preset_where_another_would_be_taken(actor, preset):
    assert tuned("gcn", "actor")["preset"] == "reference"
    for graph, usual in ((actor, "reference"), (actor.replace(name="own"), "published")):
        options = {"preset": preset, "max_epochs": 2, "random_state": 3, "device": "cpu"}
        fitted = fit_model(graph, "gcn", split="0", **options)
        command = told(fitted)
        assert (f"--set preset={preset}" in command) == (preset != usual)
        assert "--set max_epochs=2" in command
        again = fitted_again(command, graph, "0")
        assert again.preset == preset
        assert again.predictor_.method == fitted.predictor_.method
        np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())


def test_the_command_of_a_fit_without_committed_settings_says_all_that_they_would_change(actor):
    fitted = NodeClassifier("gcn", max_epochs=2, device="cpu").fit(actor, split="0")
    again = fitted_again(told(fitted), actor, "0")
    assert again.predictor_.method == fitted.predictor_.method


def test_the_table_of_nodes_stands_in_the_commands(digits, actor, tmp_path):
    fitted = NodeClassifier("mlp", max_epochs=1, width=4, device="cpu").fit(actor, split="0")
    assert "heterophily fit g.csv --nodes 'my nodes.csv' --model mlp" in told(fitted, nodes="my nodes.csv")
    assert "--nodes" not in told(fitted)
    for nodes in (None, "nodes.csv"):
        path = graph_report.write_diagnosis(diagnose(digits), tmp_path / "d.html", source="g.csv", nodes=nodes)
        text = path.read_text(encoding="utf-8")
        assert ("heterophily diagnose g.csv --nodes nodes.csv --report" in text) == bool(nodes)


def test_a_graph_of_ones_own_is_said_to_need_its_file(digits):
    mine = digits.replace(name="mine")
    (cell,) = plan(["gcn"], {"mine": mine}, splits="0")
    assert bench_note(cell.empty_record) == ("mine is a custom graph: pass the path of its file to --datasets.")
    changed = bench_note(replace(cell.empty_record, settings={**cell.empty_record.settings, "gone": 1}))
    assert changed.startswith("mine is a custom graph")
    assert "changed since this run" in changed
    (cell,) = plan(["gcn"], {"digits": digits}, splits="0")
    assert bench_note(cell.empty_record) == ""
    assert custom_note(["gcn", "x"], ["cora", "digits", "y"]) == (
        "x is a custom method: pass the path of its file to --models. "
        "y is a custom graph: pass the path of its file to --datasets."
    )


def test_the_command_of_everything_runs_the_same_cells(digits):
    graphs = {"digits": digits}
    cells = plan(["gcn", "mlp"], graphs, splits="1-2", seed=5, settings={"max_epochs": 9})
    command = full_command([cell.empty_record for cell in cells], ["gcn", "mlp"], ["digits"])
    assert command == (
        "heterophily bench --models gcn,mlp --datasets digits --splits 1-2 --seed 5 --set max_epochs=9 --out results"
    )
    settings = parse_settings(options_of(command)["--set"])
    again = plan(["gcn", "mlp"], graphs, splits="1-2", seed=5, settings=settings)
    assert {cell.key for cell in again} == {cell.key for cell in cells}


def test_settings_of_single_cells_are_not_those_of_all(digits, made, wild):
    def records(model, **settings):
        return [c.empty_record for c in plan([model], {"digits": digits}, splits="0", settings=settings)]

    gcn, mlp = (records("gcn", width=8, dropout=0.1), records("mlp", width=8, dropout=0.2, preset="reference"))
    assert shared_settings(gcn + mlp) == {"width": 8}
    assert shared_settings(gcn + records("mlp")) == {}
    both = records("gcn", preset="reference") + records("mlp", preset="reference")
    assert shared_settings(both) == {"preset": "reference"}
    own = made(wild, "chameleon-f", 0, settings={**gcn[0].settings, "dropout": 0.9})
    assert shared_settings([*gcn, own]) == {"width": 8}


def test_the_page_says_which_names_are_files(report_file):
    text = report_file.read_text(encoding="utf-8")
    end = text[text.index('id="reproduce"') :]
    assert "pass the path of its file to --datasets" in end
    assert "pass the path of its file to --models" in end
