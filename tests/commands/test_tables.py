"""The options for tables on the command line: names of columns, reports, and graphs without features."""

import csv
import json
import sys

import numpy as np
import pytest

from heterophily.commands.main import main
from heterophily.commands.models import FitOptions
from heterophily.commands.options import TableOptions

N = 90
QUICK = ("--set", "max_epochs=3", "--set", "width=8")
ROLES = ("--id", "account", "--label", "kind", "--source", "payer", "--target", "payee", "--split-column", "fold")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Accounts and payments with unusual names of columns, separated by semicolons, with decimal commas."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("bank")
    kinds = np.arange(N) % 3
    folds = rng.choice(["train", "val", "test"], N, p=[0.5, 0.25, 0.25])
    nodes = ["account;kind;fold;balance;country;iban;region"]
    for i, kind in enumerate(kinds):
        balance = f"{rng.normal(100 * kind, 30):.2f}".replace(".", ",")
        region = rng.integers(3)
        nodes.append(f"a{i};{'xyz'[kind]};{folds[i]};{balance};{rng.choice(['de', 'us'])};DE{i:09};{region}")
    pairs = rng.integers(N, size=(3 * N, 2))
    (folder / "nodes.csv").write_text("\n".join(nodes))
    (folder / "edges.csv").write_text("\n".join(["payer;payee", *(f"a{i};a{j}" for i, j in pairs)]))
    (folder / "plain.csv").write_text("id,label\n" + "".join(f"a{i},{k}\n" for i, k in enumerate(kinds)))
    return folder


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["heterophily", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return call


@pytest.mark.filterwarnings("always::heterophily.core.errors.HeterophilyWarning")
def test_fit_reports_the_columns_and_predict_reads_them_again(folder, tmp_path, run):
    out = tmp_path / "results"
    options = (*ROLES, "--categorical", "region", *QUICK)
    code, text, err = run("fit", folder, "--model", "gcn", "--out", out, "--report", tmp_path / "r.html", *options)
    assert code == 0
    assert err == (
        "heterophily: 'iban' will not be used, like identifiers; name them in categorical to keep them, or in ignore\n"
    )
    assert "one-hot of 3" in text
    assert "dropped: almost every value is different" in text
    columns = {row["name"]: row for row in json.loads((out / "metrics.json").read_text())["columns"]}
    assert [columns[name]["type"] for name in ("balance", "country", "iban", "region")] == [
        "numeric",
        "category",
        "id",
        "category",
    ]
    page = (tmp_path / "r.html").read_text()
    assert "Columns of the node table" in page
    assert "--id account --label kind --split-column fold --categorical region" in page
    code, _, err = run("predict", out, folder, "--out", tmp_path / "p.csv")
    assert (code, err) == (0, "")
    assert (tmp_path / "p.csv").read_text() == (out / "predictions.csv").read_text()
    rows = list(csv.reader((tmp_path / "p.csv").read_text().splitlines()))
    assert rows[0] == ["id", "predicted", "x", "y", "z"]


def test_predict_rejects_missing_columns_and_other_graphs(folder, tmp_path, run):
    assert run("fit", folder, "--model", "mlp", "--out", tmp_path / "out", "--ignore", "iban", *ROLES, *QUICK)[0] == 0
    (tmp_path / "new.csv").write_text("account;iban\na1;1\na2;2\n")
    (tmp_path / "edges.csv").write_text("payer;payee\na1;a2\n")
    words = ("predict", tmp_path / "out", tmp_path / "edges.csv", "--nodes", tmp_path / "new.csv")
    code, _, err = run(*words, "--out", tmp_path / "p.csv")
    assert code == 2
    assert "the model requires columns 'balance', 'country', 'region', but the table has only 'iban'" in err
    assert len(err.splitlines()) == 1
    code, _, err = run("predict", tmp_path / "out", "digits", "--out", tmp_path / "p.csv")
    assert code == 2
    assert "were not encoded by the encoder with which the classifier was fitted" in err


def test_diagnose_and_audit_read_named_columns(folder, tmp_path, run):
    words = (folder, *ROLES, "--ignore", "iban")
    code, out, err = run("diagnose", *words)
    assert (code, err) == (0, "")
    assert out.startswith("Columns")
    assert "dropped: ignored on request" in out
    content = json.loads(run("diagnose", *words, "--json")[1])
    assert [row["name"] for row in content["columns"]] == ["balance", "country", "iban", "region"]
    assert "columns" not in json.loads(run("diagnose", "digits", "--json")[1])
    assert run("audit", *words)[0] == 0


@pytest.mark.filterwarnings("always::heterophily.core.errors.HeterophilyWarning")
def test_a_graph_without_features_works_everywhere(folder, tmp_path, run):
    words = (folder / "edges.csv", "--nodes", folder / "plain.csv", "--source", "payer", "--target", "payee")
    code, out, err = run("fit", *words, "--model", "gcn", "--out", tmp_path / "out", *QUICK)
    assert code == 0
    assert err == (
        "heterophily: plain has no usable features of nodes, so degrees and 16 positions in the graph are used as "
        "features\n"
    )
    assert "position 01" in out
    same = ("predict", tmp_path / "out", *words[:3], "--out", tmp_path / "p.csv")
    assert run(*same)[0] == 0
    assert (tmp_path / "p.csv").read_text() == (tmp_path / "out" / "predictions.csv").read_text()
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join((folder / "edges.csv").read_text().splitlines()[:60]))
    code, _, err = run("predict", tmp_path / "out", fewer, *words[1:3], "--out", tmp_path / "p.csv")
    assert code == 2
    assert "the model uses positions in the graph on which it was fitted" in err
    assert run("fit", *words, "--positions", 0, "--model", "gcn", "--out", tmp_path / "out", *QUICK)[0] == 0
    assert run("predict", tmp_path / "out", fewer, *words[1:3], "--out", tmp_path / "p.csv")[0] == 0
    assert run("diagnose", *words)[0] == 0


def test_bench_and_search_read_tables(folder, tmp_path, run):
    tables = (*ROLES, "--ignore", "iban")
    code, _, err = run(
        "bench", "--models", "mlp", "--datasets", folder, "--workers", 1, "--out", tmp_path / "b", *tables, *QUICK
    )
    assert code == 0, err
    words = ("--trials", 1, "--out", tmp_path / "s", *tables, "--set", "max_epochs=2")
    assert run("search", "mlp", folder, *words)[0] == 0
    code, _, err = run("study", "overlap", folder, "--out", tmp_path / "t", "--figures", "none", *tables)
    assert code == 0, err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("digits", "--label", "kind"), "digits has no tables, so it does not accept names of columns"),
        (("FOLDER", "--nodes", "x.csv"), "is a folder with its own table of nodes; pass its edge table instead"),
        (("FOLDER", *ROLES, "--id", "acount"), "unknown column of"),
        (("FOLDER", *ROLES, "--ignore", "x"), "an option names column 'x', but the table has only"),
    ],
)
def test_wrong_options_are_one_sentence(folder, run, words, sentence):
    code, _, err = run("diagnose", *(folder if word == "FOLDER" else word for word in words))
    assert code == 2
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_options_are_words_of_a_command():
    options = TableOptions(id_column="my id", ignore=["a", "b"], label_bins=3)
    assert options.table_words == ["--id", "my id", "--ignore", "a", "--ignore", "b", "--label-bins", "3"]
    assert TableOptions().roles is None
    assert FitOptions(source="g", out="o", positions=0, label_column="y").table_words == [
        "--label",
        "y",
        "--positions",
        "0",
    ]
    assert FitOptions(source="g", out="o").table_words == []
    assert FitOptions(source="g", out="o", positions=0).roles is None
    assert options.roles.label_bins == 3
