"""What `heterophily fit` leaves in a folder, and what `predict` makes of it."""

import csv
import json
import sys

import numpy as np
import pytest
import torch

from heterophily import Graph, NodeClassifier
from heterophily.commands.main import main
from heterophily.views.fit import confusion

NODES = 60


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """Two tables: text ids, three kinds that meet on a ring, a third of the labels missing."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("market")
    kinds = np.arange(NODES) % 3
    pairs = [(i, j) for i in range(NODES) for j in rng.choice(NODES, 9) if (kinds[i] + 1) % 3 == kinds[j]]
    lines = ["source,target", *(f"n{i:03d},n{j:03d}" for i, j in pairs)]
    (folder / "edges.csv").write_text("\n".join(lines))
    rows = ["id,label,a,b,c"]
    for i, kind in enumerate(kinds):
        hints = rng.normal(size=3) + np.eye(3)[kind]
        name = "" if i % 3 == 0 and i % 2 else ("red", "green", "blue")[kind]
        rows.append(f"n{i:03d},{name}," + ",".join(f"{h:.3f}" for h in hints))
    (folder / "nodes.csv").write_text("\n".join(rows))
    return folder


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["heterophily", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    out, err = capsys.readouterr()
    return stop.value.code or 0, out, err


def test_fit_takes_a_file_of_settings(market, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.toml").write_text(f"[{market.name}]\nwidth = 7\nmax_epochs = 2")
    words = ("--model", "gcn", "--settings", tmp_path / "mine.toml", "--out", tmp_path / "out")
    assert run(monkeypatch, capsys, "fit", market, *words, "--set", "max_epochs=3")[0] == 0
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert (metrics["settings"]["width"], metrics["n_epochs"]) == (7, 3)
    code, _, err = run(monkeypatch, capsys, "fit", market, *words[2:], "--model", "auto")
    assert code == 2
    assert "a settings file is for one method" in err


def test_fit_writes_the_model_predictions_metrics_and_figures(market, tmp_path, monkeypatch, capsys):
    quick = ("--model", "cmgnn", "--set", "max_epochs=8", "--set", "width=8")
    code, out, err = run(monkeypatch, capsys, "fit", market, "--out", tmp_path, *quick)
    assert code == 0
    assert not err
    assert "CMGNN on" in out
    assert out.count("cmgnn uses each edge in both directions") == 1
    assert {p.name for p in tmp_path.iterdir()} == {
        "model",
        "predictions.csv",
        "metrics.json",
        "source.json",
        "compatibility.png",
        "curve.png",
        "confusion.png",
        "reliability.png",
    }
    rows = list(csv.DictReader((tmp_path / "predictions.csv").read_text().splitlines()))
    assert len(rows) == NODES
    assert list(rows[0]) == ["id", "predicted", "blue", "green", "red"]
    assert rows[7]["id"] == "n007"
    chances = {name: float(rows[7][name]) for name in ("blue", "green", "red")}
    assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert rows[7]["predicted"] == max(chances, key=chances.get)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["model"] == "cmgnn"
    assert metrics["settings"]["width"] == 8
    assert "held out" in metrics["split"]["origin"]
    code, out, _ = run(monkeypatch, capsys, "predict", tmp_path, market, "--out", tmp_path / "b.csv")
    assert code == 0
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "predictions.csv").read_text()


def test_fit_takes_threads_and_the_number_of_neighbors(market, tmp_path, monkeypatch, capsys):
    before = torch.get_num_threads()
    words = ("--model", "gcn", "--set", "max_epochs=1", "--batch-size", 9, "--out", tmp_path / "out")
    try:
        more = ("--num-neighbors", "2,1", "--threads", 2)
        assert run(monkeypatch, capsys, "fit", market, *words, *more)[0] == 0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert NodeClassifier.load(tmp_path / "out" / "model").neighbors == [2, 1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--model", "cmgnn", "--set", "widht=3"), 'unknown setting of cmgnn "widht"'),
        (("--set", "widht=3"), "no candidate of auto has a setting widht"),
        (("--budget", "soon"), "budget must be a positive time such as 30s, 5m, or 1h, got 'soon'"),
        (("--model", "mlp", "--budget", "5m"), "--budget is an option of --model auto, but the model is mlp"),
        (("--model", "mlp", "--no-ensemble"), "--no-ensemble is an option of --model auto"),
        (("--model", "mlp", "--threshold", "f1"), "a threshold requires two classes, but market"),
        (("--model", "mlp", "--threshold", "f2"), "threshold must be f1, youden, or a number between 0 and 1"),
        (("--model", "mlp", "--class-weight", "heavy"), "--class-weight must be none, balanced, JSON, or pairs"),
        (("--model", "mlp", "--class-weight", "pink=2"), 'unknown class in class_weight "pink"'),
        (("--scoring", "auroc"), 'unknown scoring "auroc"'),
        (("--set", "width"), "--set must have the form name=value, got 'width'"),
        (("--model", "gcm"), 'unknown model "gcm"'),
        (("--device", "tpu9"), "device"),
    ],
)
def test_what_cannot_work_is_one_sentence(market, tmp_path, monkeypatch, capsys, words, sentence):
    code, _, err = run(monkeypatch, capsys, "fit", market, "--out", tmp_path / "x", *words)
    assert code == 2
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "x").exists()


@pytest.fixture(scope="module")
def accounts(tmp_path_factory):
    """400 accounts, 10 % of them fraud, with one informative column and random edges."""
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("accounts")
    fraud = np.arange(400) < 40
    pairs = rng.integers(400, size=(900, 2))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"{i},{j}" for i, j in pairs)]))
    rows = [f"{i},{'fraud' if f else 'honest'},{rng.normal(2 * f):.3f},{rng.normal():.3f}" for i, f in enumerate(fraud)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,amount,noise", *rows]))
    return folder


def test_auto_is_the_default_and_its_leaderboard_is_everywhere(accounts, tmp_path, monkeypatch, capsys):
    quick = ("--budget", "10m", "--set", "max_epochs=15", "--set", "width=8", "--workers", 1, "--threshold", "f1")
    report = tmp_path / "report.html"
    code, out, err = run(monkeypatch, capsys, "fit", accounts, *quick, "--out", tmp_path, "--report", report)
    assert (code, err) == (0, "")
    assert "average precision of class 'fraud', because the rarer of two classes has 10.0%" in out
    for text in ("Leaderboard", "linear balanced", "calibration error", "(best f1 on validation nodes)"):
        assert text in out
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["model"] == "auto"
    assert metrics["scoring"]["name"] == metrics["leaderboard"]["scoring"] == "average_precision"
    assert metrics["scoring"]["positive"] == "fraud"
    assert "rarer of two classes" in metrics["scoring"]["reason"]
    entries = metrics["leaderboard"]["entries"]
    assert sum(entry["weight"] for entry in entries) == pytest.approx(1)
    assert {"before", "after", "part", "n_nodes"} == set(metrics["calibration"])
    assert metrics["threshold"]["rule"] == "f1"
    assert 0 < metrics["threshold"]["val"]["f1"] <= 1
    rows = list(csv.DictReader((tmp_path / "predictions.csv").read_text().splitlines()))
    value = metrics["threshold"]["value"]
    assert all((row["predicted"] == "fraud") == (float(row["fraud"]) >= value) for row in rows)
    page = report.read_text(encoding="utf-8")
    assert 'id="leaderboard"' in page
    assert "heterophily fit" in page
    assert "--model auto --seed 0 --threshold f1 --budget 10m --workers 1" in page
    assert run(monkeypatch, capsys, "predict", tmp_path, accounts, "--out", tmp_path / "b.csv")[0] == 0
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "predictions.csv").read_text()


def test_alarms_are_at_the_top_of_the_output_and_in_the_files(accounts, tmp_path, monkeypatch, capsys):
    words = ("--model", "mlp", "--scoring", "accuracy", "--set", "max_epochs=2", "--set", "learning_rate=1e-6")
    report = tmp_path / "report.html"
    code, out, err = run(monkeypatch, capsys, "fit", accounts, *words, "--out", tmp_path, "--report", report)
    assert (code, err) == (0, "")
    assert out.startswith("Alarm: ")
    alarms = json.loads((tmp_path / "metrics.json").read_text())["alarms"]
    assert "trivial" in {alarm["kind"] for alarm in alarms}
    page = report.read_text(encoding="utf-8")
    assert "--model mlp --seed 0 --scoring accuracy" in page
    for alarm in alarms:
        assert alarm["text"] in out.replace("\n", " ")
    assert 'role="alert"' in page


@pytest.mark.parametrize("weight", ["balanced", "fraud=9,honest=1", '{"fraud": 9, "honest": 1}'])
def test_weights_of_classes_find_more_fraud(accounts, tmp_path, monkeypatch, capsys, weight):
    words = ("--model", "mlp", "--scoring", "f1_macro", "--set", "max_epochs=40", "--set", "width=8")
    assert run(monkeypatch, capsys, "fit", accounts, *words, "--out", tmp_path / "a")[0] == 0
    more = ("--class-weight", weight, "--calibrate")
    assert run(monkeypatch, capsys, "fit", accounts, *words, *more, "--out", tmp_path / "b")[0] == 0
    a, b = (tmp_path / name / "predictions.csv" for name in "ab")
    assert b.read_text().count("fraud") > a.read_text().count("fraud")
    assert json.loads((tmp_path / "b" / "metrics.json").read_text())["calibration"]["after"] is not None


def test_confusion_counts_true_rows_and_predicted_columns():
    graph = Graph.from_edges([], labels=[0, 0, 1, 1])
    counts = confusion(np.array([0, 1, 1, 1]), graph, np.array([0, 1, 2]))
    assert counts.tolist() == [[1, 1], [0, 1]]
