"""Findings 10 and 12: what commands write is what its name says, and cannot be executed by other programs."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from pyarrow import parquet

from heterophily import Graph, HeterophilyError, NodeClassifier
from heterophily.benchmark.table import build_table
from heterophily.runs.record import Record
from heterophily.studies.tidy import write_rows
from heterophily.tuning.files import write_trials
from heterophily.tuning.result import TrialResult
from heterophily.views.predictions import write_predictions
from heterophily.views.tables import render_pairs, render_table

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1"]
QUICK = {"max_epochs": 2, "width": 4}


def records_of(facts, model, dataset):
    for split in ("0", "1", "2"):
        yield Record.from_dict(facts(model=model, dataset=dataset, split=split, key=f"{model}{split}".encode().hex()))


def cells_of(text):
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def is_formula(cell):
    return cell[:1] in ("=", "+", "@", "\t", "\r") or (cell[:1] == "-" and not cell[1:].replace(".", "").isdigit())


@pytest.mark.parametrize("name", ["a\nb", "a\r\n\\input{x}", "a\u2028b", "a\x85b", "a\n\nb"])
def test_finding_10_a_line_break_in_a_name_stays_in_its_comment_or_row(facts, name):
    records = [*records_of(facts, name, name), *records_of(facts, "gcn", name)]
    latex = render_table(build_table(records), "latex")
    body, notes = latex.split(r"\end{tabular}")
    assert all(line.startswith("%") for line in notes.splitlines() if line)
    lines = body.splitlines()
    assert [line for line in lines if line.endswith(r"\\")] == [lines[3], *lines[5:7]]
    assert r"\input" not in latex
    grid = render_table(build_table(records), "md").split("\n\n")[0]
    assert [line[0] + line[-1] for line in grid.splitlines()] == ["||"] * 4


@pytest.mark.parametrize("name", FORMULAS)
def test_finding_10_no_table_has_a_cell_that_a_spreadsheet_evaluates(facts, name, tmp_path):
    table = build_table([*records_of(facts, name, name), *records_of(facts, "gcn", name)])
    write_rows([{"dataset": name, "value": -0.5}], tmp_path / "study.json")
    trial = TrialResult(number=0, state="failed", value=None, seconds=1.0, scores=(), answers={name: name}, reason=name)
    write_trials([trial], [name], tmp_path / "trials.csv")
    texts = [render_table(table, "csv"), render_pairs(table, "csv")]
    texts += [(tmp_path / file).read_text() for file in ("study.csv", "trials.csv")]
    for text in texts:
        assert not [cell for cell in cells_of(text) if is_formula(cell)]
    assert "-0.5" in texts[2]


@pytest.fixture
def hostile():
    """A fitted model whose classes and nodes are named like formulas."""
    edges = {"source": ["=a", "+b", "-3", "@d"], "target": ["+b", "-3", "@d", "=a"]}
    nodes = {"id": ["=a", "+b", "-3", "@d"], "label": ["=x", "-y", "=x", "-y"], "split": ["train", "train", "val", ""]}
    graph = Graph.from_frames({**nodes, "f": [0.0, 1.0, 0.5, 0.2]}, edges)
    return NodeClassifier("gcn", **QUICK).fit(graph), graph


def test_finding_10_predictions_escape_formulas_in_csv_only(hostile, tmp_path):
    fitted, graph = hostile
    write_predictions(fitted, graph, tmp_path / "p.csv")
    text = (tmp_path / "p.csv").read_text()
    assert not [cell for cell in cells_of(text) if is_formula(cell)]
    assert {row["id"] for row in csv.DictReader(text.splitlines())} == {"'=a", "'+b", "-3", "'@d"}
    write_predictions(fitted, graph, tmp_path / "p.json")
    assert {row["id"] for row in json.loads((tmp_path / "p.json").read_text())} == {"=a", "+b", "-3", "@d"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from tests.robustness.inputs import small_graph

    return NodeClassifier("gcn", **QUICK).fit(small_graph(), split="0").save(tmp_path_factory.mktemp("fit") / "model")


def test_finding_12_predict_writes_what_the_extension_says(run, source, model, tmp_path):
    fitted, graph = NodeClassifier.load(model), Graph.load(source)
    expected = fitted.predict_proba(graph)
    for name in ("p.csv", "p.json", "p.parquet", "P.JSON"):
        code, text = run("predict", model, source, "--out", tmp_path / name)
        assert code == 0, text
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert [float(row["1"]) for row in rows] == pytest.approx(expected[:, 1], abs=1e-6)
    rows = json.loads((tmp_path / "p.json").read_text())
    assert [row["probabilities"]["1"] for row in rows] == pytest.approx(expected[:, 1], abs=1e-6)
    assert [row["id"] for row in rows] == list(range(graph.n_nodes))
    table = parquet.read_table(tmp_path / "p.parquet")
    assert table.column_names == ["id", "predicted", "0", "1", "2"]
    assert table["1"].to_pylist() == pytest.approx(expected[:, 1])
    assert table["predicted"].to_pylist() == [row["predicted"] for row in rows]


@pytest.mark.parametrize("name", ["p", "p.txt", "p.xlsx", "p.csv.gz"])
def test_finding_12_predict_rejects_other_extensions(run, source, model, tmp_path, name):
    code, text = run("predict", model, source, "--out", tmp_path / name)
    assert code == 2
    assert ".csv, .json, .parquet" in text
    assert list(tmp_path.glob("p*")) == []


def test_finding_12_parquet_cannot_have_two_columns_of_one_name(tmp_path):
    nodes = {
        "id": ["a", "b", "c"],
        "label": ["id", "x", "id"],
        "f": [0.0, 1.0, 0.5],
        "split": ["train", "train", "val"],
    }
    graph = Graph.from_frames(nodes, {"source": ["a", "b"], "target": ["b", "c"]})
    with pytest.raises(HeterophilyError, match="named 'id'"):
        write_predictions(NodeClassifier("gcn", **QUICK).fit(graph), graph, tmp_path / "p.parquet")


def at_terminal(words, **changes):
    """The output of a command whose output is a terminal."""
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", **changes}
    process = subprocess.Popen(words, stdout=other, stderr=other, stdin=other, env=environment)
    os.close(other)
    chunks = []
    while True:
        try:
            chunk = os.read(main, 4096)
        except OSError:  # the terminal is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(main)
    process.wait()
    return b"".join(chunks)


def test_finding_12_no_color_is_respected(tmp_path):
    for words in (["table", str(tmp_path / "none")], ["show", "gcn"]):
        command = [sys.executable, "-m", "heterophily", *words]
        assert b"\x1b[" in at_terminal(command)
        assert b"\x1b[3" not in at_terminal(command, NO_COLOR="1")


@pytest.mark.parametrize(
    "words", [["models"], ["show", "cmgnn"], ["datasets"], ["audit"], ["diagnose"], ["fit"], ["table"], ["table", "md"]]
)
def test_finding_12_piped_output_has_no_trailing_blanks(shell, source, facts, tmp_path, words):
    command, *rest = words
    if command in ("audit", "diagnose"):
        rest = [source]
    if command == "fit":
        rest = [source, "--model", "gcn", "--set", "max_epochs=2", "--out", tmp_path / "out"]
    if command == "table":
        (tmp_path / "runs.jsonl").write_text(
            "\n".join(json.dumps(facts(model=m, key=m)) for m in ("gcn", "mlp")) + "\n"
        )
        rest = [tmp_path / "runs.jsonl", *(["--format", "md"] if rest else [])]
    code, text = shell(command, *rest)
    assert code == 0, text
    assert text.strip()
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_background", [False, True])
def test_finding_12_sigterm_ends_like_ctrl_c(source, tmp_path, number, is_background):
    if is_background and number == signal.SIGINT:
        pytest.skip("a shell lets background commands ignore Ctrl-C")
    words = [
        sys.executable,
        "-m",
        "heterophily",
        "bench",
        "--models",
        "gcn,mlp",
        "--datasets",
        source,
        "--workers",
        "1",
    ]
    words += ["--set", "max_epochs=100000", "--set", "patience=100000", "--out", str(tmp_path / "out")]
    if is_background:
        words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *words]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: list((tmp_path / "out").glob(".work/*.lock")))
    process.send_signal(number)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 130
    assert text.splitlines()[-1].startswith("heterophily: interrupted; run the same")
    assert "Traceback" not in text


@pytest.fixture
def read_only(tmp_path):
    """A file system that cannot be written, or no test if it cannot be mounted."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(folder)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system is not permitted")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_finding_12_a_read_only_folder_is_not_called_a_full_disk(shell, source, model, read_only):
    quick = ["--set", "max_epochs=2"]
    for words in (
        ["bench", "--models", "gcn", "--datasets", source, *quick, "--out", read_only / "out"],
        ["bench", "--models", "gcn", "--datasets", source, *quick, "--out", read_only],
        ["search", "gcn", source, "--trials", "1", *quick, "--out", read_only / "out"],
        ["fit", source, "--model", "gcn", *quick, "--out", read_only / "out"],
        ["predict", model, source, "--out", read_only / "p.csv"],
    ):
        code, text = shell(*words)
        assert code == 2, text
        assert "Read-only file system" in text
        assert "choose a folder in which you can write" in text
        assert "Traceback" not in text
        assert "free space" not in text


INTERRUPTED = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for commands in the background
from heterophily.commands import main
kill = lambda: os.kill(os.getpid(), signal.{name})
{place}
sys.argv = ["heterophily", "models", "--json"]
main.main()
"""
PLACES = {"before the command": "main.app = kill", "at the exit": "atexit.register(kill)"}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("place", PLACES)
def test_finding_12_an_interruption_at_any_time_is_a_sentence(name, place):
    code = INTERRUPTED.format(name=name, place=PLACES[place])
    end = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert end.returncode in ((130,) if place == "before the command" else (0, -signal.SIGTERM)), end.stderr
    assert "Traceback" not in end.stderr
    assert end.stderr.startswith("heterophily: interrupted") == (place == "before the command")
