"""The page of the studies, from made data and from none."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from heterophily.core.chart import number_text
from heterophily.studies import STUDIES
from heterophily.studies.degrees import group_names
from heterophily.studies.tidy import StudyData, published_comparison
from heterophily.views.studies import page

RUN = {"split": "0", "seed": 0, "run": "r"}


@pytest.fixture
def folder(tmp_path):
    """Data of every study, and one figure."""

    def put(name, *rows, table=""):
        study = StudyData.opened(name, tmp_path)
        study.replace_rows(table, [{**RUN, **row} for row in rows], same=())
        study.write()

    cell = {"dataset": "actor", "model": "cmgnn"}
    put(
        "ablation",
        {**cell, "variant": "full", "test_accuracy": 37.0, "paper": 36.82},
        {**cell, "variant": "without both", "test_accuracy": 36.0, "paper": 35.61},
    )
    rows = [
        {"dataset": "actor", "model": m, "group": g, "test_accuracy": a, "paper": p}
        for m, a, p in (("cmgnn", 30.0, 35.0), ("gcnii", 40.0, 34.0)) for g in group_names()
    ]  # fmt: skip
    put("degrees", *rows)
    told = {"discriminability_observed": 0.1, "discriminability_estimated": 0.2}
    put("compatibility", {**cell, "distance": 0.01, **told})
    put("compatibility", {**cell, "epoch": -1, "distance": 0.05}, table="trace")
    put("desired", {**cell, "discriminability_observed": 0.1, "discriminability_desired": 0.4})
    graphs = [
        {"dataset": "cora", "model": m, "variant": v, "test_accuracy": a, "paper": p}
        for v in ("x", "y") for m, a, p in (("gcn", 60.0, 80.0), ("mlp", 70.0, 70.0))
    ]  # fmt: skip
    put("synthetic", *graphs)
    put("overlap", {"dataset": "actor", "group": "all", "overlap": 0.75})
    facts = {"milliseconds": 1234.5, "peak_mb": 400.0, "paper": 19.0, "device": "cpu", "failure": None}
    lost = {"milliseconds": None, "peak_mb": None, "paper": None, "device": None, "failure": "killed"}
    put("runtime", {**cell, **facts}, {**cell, "model": "gat", **lost})
    sizes = [
        {"model": "gcn", "n_edges": e, "milliseconds": 1.0, "median_milliseconds": e, "training_mb": e**2}
        for e in (10, 100)
    ]  # fmt: skip
    put("scaling", *sizes)
    (tmp_path / "degrees.png").write_bytes(b"figure")
    return tmp_path


def test_numbers():
    texts = (number_text(1234.56, 1), number_text(None), number_text(0.12345, 3))
    assert texts == ("1,234.6", "–", "0.123")
    rows = [{"x": 1.0, "paper": 9.0}, {"x": 3.0, "paper": 9.0}]
    assert published_comparison(rows, "x") == "2.0 / 9.0"
    assert published_comparison(rows, "x", spread=True) == "2.0 ± 1.4 / 9.0"
    assert published_comparison(rows[:1], "x", spread=True) == "1.0 / 9.0"
    assert published_comparison([rows[0], {"x": None}], "x", spread=True) == "1.0 / 9.0"


def test_every_study_has_its_numbers_beside_the_papers(folder):
    text = page(folder)
    for wanted in (
        "| actor | 37.0 / 36.8 | 36.0 / 35.6 |",
        "A variant loses or gains as in the paper in 1 of 1 cells; the changes differ by 0.21 points",
        "| cmgnn | 30.0 / 35.0 | 30.0 / 35.0 |",
        "Best on the fifth of lowest degree: actor: gcnii (paper: cmgnn).",
        "| actor | cmgnn | 1 | 0.050 | 0.010 | 0.100 | 0.200 |",
        "| actor | cmgnn | 0.100 | 0.400 |",
        "The desired matrix is more discriminable than the observed one in 1 of 1 cells, over 1 split.",
        "| x | 60.0 / 80.0 | 70.0 / 70.0 |",
        "GCN falls below MLP on 2 graphs, in the paper on 0.",
        "| actor | 0.75 |",
        "| cmgnn | 1,234.5 / 19.0, 400 MB |",
        "| gat | killed |",
        "| gcn | 2 | 1.00 | 2.00 |",
        f"![degrees](../{folder.name}/degrees.png)",
    ):
        assert wanted in text
    missing = [name for name, s in STUDIES.items() if not any((folder / f"{f}.json").exists() for f in s.files)]
    assert text.count("No data yet") == len(missing)
    assert not set(missing) & {"ablation", "degrees", "compatibility", "desired", "synthetic", "overlap", "runtime"}
    assert "No such" not in text


def test_tables_are_whole(folder):
    lines = page(folder).splitlines()
    for before, line in pairwise(lines):
        if line.startswith("|") and before.startswith("|"):
            assert line.count("|") == before.count("|")


def test_without_data_the_page_says_what_to_run(tmp_path):
    text = page(tmp_path)
    assert text.count("No data yet: run the command above.") == len(STUDIES)
    commands = re.findall(r"^ {4}heterophily study (\w+)", text, re.MULTILINE)
    assert commands == list(STUDIES)


def test_a_judgement_in_words_comes_first(folder):
    (folder / "summary.md").write_text("All is well.")
    text = page(folder)
    assert text.index("All is well.") < text.index("## Ablation")
    assert json.loads((folder / "ablation.json").read_text())[0]["variant"] == "full"


def test_the_committed_page_is_that_of_the_committed_data():
    docs = Path(__file__).parents[2] / "docs"
    assert (docs / "evidence" / "studies.md").read_text(encoding="utf-8") == page(docs / "studies")
