"""The command line, run in this process, as a person would call it."""

import json
import re
import subprocess
import sys

import pytest
import torch

import heterophily
from heterophily.analysis.diagnosis import diagnose
from heterophily.commands.main import main
from heterophily.core.graph import Graph
from heterophily.data.catalog import CATALOG
from heterophily.data.loading import load
from heterophily.data.store import VARIABLE
from heterophily.data.synthetic import digits, synthetic_graph
from heterophily.models import REGISTRY

COMMANDS = ("datasets", "download", "diagnose", "audit", "synthesize")


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command; returns its exit code, and what it prints without colors."""
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["heterophily", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        code = end.value.code or 0
        return code, *(re.sub(r"\x1b\[[\d;]*m", "", text) for text in printed)

    return call


@pytest.fixture
def output(run):
    """Run a command that must succeed without complaint; returns its output."""

    def call(*words):
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        return out

    return call


def test_help_lists_every_command(output):
    text = output("--help")
    assert all(re.search(rf"\b{command} ", text) for command in COMMANDS)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("datasets", ["--json", "List the datasets"]),
        ("download", ["Names of datasets", "verify their checksums"]),
        ("diagnose", ["GRAPH", "--nodes", "--plot", "--json", "recommend methods"]),
        ("audit", ["GRAPH", "--nodes", "--json", "leakage between splits"]),
        ("synthesize", ["File for the graph", "--base", "--homophily", "--pattern", "--degree", "--seed"]),
    ],
)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_a_command_describes_its_options(output, command, words, flag):
    text = output(command, flag)
    assert all(word in text for word in words)


def test_the_version_is_that_of_the_package(output):
    assert output("--version") == f"heterophily {heterophily.__version__}\n"


def test_the_command_starts_without_torch():
    code = "import heterophily.commands.main, sys; assert not {'torch', 'scipy'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_module_is_the_command():
    words = [sys.executable, "-m", "heterophily", "--version"]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert out == f"heterophily {heterophily.__version__}\n"


def test_absent_datasets_are_listed_as_not_downloaded(output):
    lines = [line for line in output("datasets").splitlines() if "not downloaded" in line]
    assert [line.split()[0] for line in lines] == list(CATALOG)
    assert lines[0].split()[1:5] == ["22,662", "65,854", "300", "18"]


def test_a_present_dataset_is_listed_with_its_splits(output, tiny):
    line = output("datasets").splitlines()[-2]
    assert " ".join(line.split()) == "tiny 40 80 8 4 2.0 yes 0.00 19 / 12 / 9 random"
    rows = {row["name"]: row for row in json.loads(output("datasets", "--json"))}
    assert rows["tiny"]["present"]
    assert rows["tiny"]["train_val_test"] == [19, 12, 9]
    assert not rows["cora"]["present"]


def test_download_says_where_the_files_are(output, tiny, tmp_path):
    assert output("download", "tiny") == f"tiny: 1 file is in {tmp_path / 'data' / 'tiny'}\n"


def test_diagnose_prints_numbers_and_verdict(output):
    text = output("diagnose", "digits")
    diagnosis = diagnose(load("digits"))
    assert "1,797, 1,797 of them labeled" in text
    assert f"{diagnosis.homophily.edge:.3f} as stored" in text
    assert f"{diagnosis.discriminability:.3f}" in text
    assert "Compatibility matrix" in text
    words = " ".join(text.split())
    assert f"verdict {diagnosis.headline}" in words
    assert diagnosis.decision.reason in words
    assert diagnosis.decision.advice in words
    assert f"features alone {100 * diagnosis.probes.scores['features'].mean():.1f}" in words


def test_diagnose_prints_json(output):
    content = json.loads(output("diagnose", "digits", "--json"))
    assert content == json.loads(json.dumps(diagnose(load("digits")).to_dict()))


def test_diagnose_draws_the_matrix(run, tmp_path):
    path = tmp_path / "m.svg"
    code, out, err = run("diagnose", "digits", "--json", "--plot", path)
    assert code == 0
    assert json.loads(out)["n_classes"] == 10
    assert err == f"wrote {path}\n"
    assert path.read_bytes().startswith(b"<?xml")


def test_names_of_classes_are_printed_as_they_are(output, tmp_path):
    names = ["[red]", "[/b]"]
    graph = Graph.from_edges([(0, 1), (2, 3)], labels=[0, 1, 0, 1], class_names=names)
    text = output("diagnose", graph.save(tmp_path / "a.safetensors"))
    assert "closest: [red] and [/b]" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["[red]", "[/b]"] in rows
    assert ["[red]", "0.00", "1.00"] in rows


def test_a_matrix_of_many_classes_is_left_to_the_figure(output, tmp_path):
    ring = torch.arange(52)
    edges = torch.stack([ring, (ring + 1) % 52], dim=1)
    graph = Graph.from_edges(edges, labels=ring % 13)
    text = output("diagnose", graph.save(tmp_path / "a.safetensors"))
    assert "The compatibility matrix has 13 classes; use --plot or --json to show it." in text


def test_audit_prints_findings(output, tmp_path):
    graph = Graph.from_edges([(0, 1), (1, 1)], labels=[0] * 20 + [-1])
    path = graph.save(tmp_path / "a.safetensors")
    text = output("audit", path)
    assert "• 1 self-loop among the stored edges" in text
    content = json.loads(output("audit", path, "--json"))
    assert content["isolated_nodes"] == 19
    assert content["unlabelled_nodes"] == 1


def test_audit_of_a_clean_graph_finds_nothing(output, drawn, tmp_path):
    path = drawn(0.2, "easy", 18).save(tmp_path / "a.safetensors")
    assert output("audit", path) == "no problems found\n"


def test_tables_of_nodes_and_edges_are_diagnosed(output, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,d\nd,a\n")
    (tmp_path / "nodes.csv").write_text("id,label\na,x\nb,y\nc,x\nd,y\n")
    folder = json.loads(output("diagnose", tmp_path, "--json"))
    tables = tmp_path / "edges.csv", "--nodes", tmp_path / "nodes.csv"
    assert folder["compatibility"] == [[0, 1], [1, 0]]
    assert json.loads(output("diagnose", *tables, "--json"))["compatibility"] == [[0, 1], [1, 0]]


def test_a_synthesized_graph_can_be_diagnosed(output, tmp_path):
    path = tmp_path / "a.safetensors"
    options = ["--homophily", 0.5, "--pattern", "hard", "--degree", 4, "--seed", 3]
    expected = synthetic_graph(digits(), homophily=0.5, pattern="hard", degree=4, seed=3)
    text = output("synthesize", path, *options)
    assert text == f"wrote {path}: digits, homophily 0.5, hard, degree 4.0, {expected.n_edges:,} edges\n"
    assert Graph.load(path).checksum == expected.checksum
    content = json.loads(output("diagnose", path, "--json"))
    assert content["homophily"]["edge"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("diagnose chamelon-f", 'did you mean "chameleon-f"?'),
        ("audit nowhere.csv", "no file or folder at nowhere.csv"),
        ("download coora", 'unknown dataset "coora"; did you mean "cora"?'),
        ("diagnose digits --plot m.jpg", "extension .png, .pdf, .svg, got 'm.jpg'"),
        ("diagnose digits --plot /dev/null/m.png", "exists: /dev/null"),
        ("synthesize out.txt", "must have the extension .safetensors, got 'out.txt'"),
        ("synthesize out.safetensors --degree 2000", "use a lower degree"),
    ],
)
def test_a_problem_is_one_sentence_and_exit_code_two(run, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*words.split())
    assert code == 2
    assert sentence in err
    assert re.fullmatch(r"heterophily: .+\n", err)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_data_folder_is_one_sentence(run, monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    code, out, err = run("datasets")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"heterophily: HETEROPHILY_DATA must be a folder, got .+\n", err)


@pytest.mark.parametrize("words", ["", "synthesize a.safetensors --homophily 2", "nothing"])
def test_a_call_that_makes_no_sense_ends_with_code_two(run, words):
    code, out, err = run(*words.split())
    assert code == 2
    assert "Usage:" in out + err
    assert "Traceback" not in err


def test_models_prints_the_table_and_json(output):
    assert "h2gcn" in output("models")
    rows = json.loads(output("models", "--json"))
    assert {"name", "neighborhoods", "guidance", "combine", "fuse", "citation"} == set(rows[0])
    assert len(rows) >= 23


def test_show_prints_one_method(output):
    assert "Zhu et al." in output("show", "h2gcn")
    assert json.loads(output("show", "h2gcn", "--json"))["settings"]["second_hop"] == "strict"


def test_a_method_in_a_file_is_a_model_like_any_other(output, tmp_path, monkeypatch):
    monkeypatch.setattr("heterophily.models.REGISTRY", dict(REGISTRY))
    path = tmp_path / "mine.py"
    path.write_text(
        "from heterophily import define_method\n"
        "from heterophily.models.gcn import GCN\n"
        "@define_method\n"
        "class Mine(GCN):\n"
        "    name = 'mine'\n"
    )
    assert "mine" in [row["name"] for row in json.loads(output("models", path, "--json"))]
    assert "Kipf" in output("show", path)
