"""Without the packages of its extras, the library fits and compares models, and an error names the missing extra."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from heterophily.core.extras import EXTRAS, MissingExtraError, require

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# `torch` installs Jinja2 and NetworkX, and scikit-learn installs narwhals, so they are never missing.
HIDDEN = sorted({*EXTRAS, "dask", "pandas", "polars"} - {"jinja2", "networkx", "narwhals"})
HIDE = f"""
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {HIDDEN} else find(name, *rest)
"""
# One process runs all of them, because importing PyTorch takes most of the time.
RUN = """
import sys, warnings
import heterophily
from heterophily import Graph, HeterophilyError
from heterophily.commands.main import main
warnings.simplefilter("ignore", DeprecationWarning)

def run(line):
    if "(" not in line:
        sys.argv = ["heterophily", *line.split()]
        main()
    try:
        eval(line)
    except HeterophilyError as error:
        print(error, file=sys.stderr)
        sys.exit(2)

for line in sys.stdin.read().splitlines():
    print("$", line, file=sys.stderr, flush=True)
    code = 0
    try:
        run(line)
    except SystemExit as end:
        code = end.code or 0
    except Exception as error:
        print(type(error).__name__, error, file=sys.stderr)
        code = 1
    print("exit", code, file=sys.stderr, flush=True)
"""
WORKS = (
    "diagnose digits --json",
    "fit digits --model gcn --set max_epochs=1 --out fitted",
    "predict fitted digits --out predictions.csv",
    "bench --models mlp --datasets digits --splits 0 --set max_epochs=1 --out results",
    "table results",
    "study overlap digits --figures none",
    "datasets",
    "audit digits",
    "models",
    "show gcn",
    "explain fitted 3",
    "synthesize g.safetensors --degree 4",
    "pack results all.jsonl",
    "unpack all.jsonl copy",
    "heterophily.diagnose(heterophily.load('digits'))",
    "heterophily.fit('digits', 'mlp', max_epochs=1)",
    "heterophily.table('results')",
)
# The package that is missing first, and its extra. Lines with parentheses are Python.
MISSING = {
    "fit digits --out other --report page.html": ("matplotlib", "report"),
    "report results --out page.html": ("matplotlib", "report"),
    "diagnose digits --report page.html": ("matplotlib", "report"),
    "diagnose digits --plot m.png": ("matplotlib", "report"),
    "explain fitted 3 --plot why.png": ("matplotlib", "report"),
    "explain fitted 3 --report why.html": ("matplotlib", "report"),
    "table results --diagram ranks.png": ("matplotlib", "report"),
    "study overlap digits": ("matplotlib", "report"),
    "heterophily.report('results', 'page.html')": ("matplotlib", "report"),
    "diagnose edges.csv": ("pyarrow", "tables"),
    "audit edges.csv": ("pyarrow", "tables"),
    "fit edges.csv --out other": ("pyarrow", "tables"),
    "bench --models gcn --datasets edges.csv --out results": ("pyarrow", "tables"),
    "study overlap edges.csv --figures none": ("pyarrow", "tables"),
    "predict fitted digits --out predictions.parquet": ("pyarrow", "tables"),
    "Graph.from_files('edges.csv')": ("pyarrow", "tables"),
    "heterophily.fit('edges.csv', 'mlp')": ("pyarrow", "tables"),
    "heterophily.FeatureEncoder().fit({'amount': [1.0, 2.0]})": ("pyarrow", "tables"),
    "search mlp digits --trials 1 --out best": ("optuna", "search"),
    "search htmp digits --trials 1 --out best": ("optuna", "search"),
    "tune --models mlp --datasets digits --trials 1 --out tuned": ("optuna", "search"),
    "heterophily.search('mlp', 'digits', trials=1, out='best')": ("optuna", "search"),
    "heterophily.tune('mlp', 'digits', trials=1, out='tuned')": ("optuna", "search"),
    "heterophily.load('digits').to_pyg()": ("torch_geometric", "pyg"),
    "bench --models gcn --datasets digits --out results --engine dask --address tcp://x:1": ("distributed", "dask"),
    "bench --models gcn --datasets digits --out results --engine ray --address x:1": ("ray", "ray"),
    "heterophily.bench('gcn', 'digits', out='results', engine='dask', address='tcp://x:1')": ("distributed", "dask"),
    "heterophily.bench('gcn', 'digits', out='results', engine='ray', address='x:1')": ("ray", "ray"),
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The exit code and the errors of every command, by command."""
    folder = tmp_path_factory.mktemp("core-only")
    (folder / "sitecustomize.py").write_text(HIDE)
    (folder / "edges.csv").write_text("source,target\na,b\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src")])}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input="\n".join([*WORKS, *MISSING]),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*?)exit (\d+)$", done.stderr, re.MULTILINE)
    return {command: (int(code), errors) for command, errors, code in found}


def test_all_commands_ran(outputs):
    assert list(outputs) == [*WORKS, *MISSING]


@pytest.mark.parametrize("command", WORKS)
def test_a_command_needs_no_extra(outputs, command):
    assert outputs[command][0] == 0, outputs[command][1]


def test_fit_reports_that_it_wrote_no_figures(outputs):
    assert "no figures were written: plotting requires matplotlib" in outputs[WORKS[1]][1]


@pytest.mark.parametrize("command", MISSING)
def test_a_missing_extra_is_one_sentence_with_the_pip_command(outputs, command):
    code, errors = outputs[command]
    package, extra = MISSING[command]
    assert code == 2
    sentence = errors.splitlines()[-1]
    assert sentence.endswith(f"requires {package}, which is not installed; pip install 'heterophily[{extra}]'")


def test_python_raises_the_same_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    with pytest.raises(MissingExtraError, match=r"^a search requires tomlkit, .*'heterophily\[search\]'$"):
        require("a search", "optuna", "tomlkit")


def test_extras_of_the_code_are_those_of_the_package():
    names = {"faiss": "faiss-cpu", "torch_geometric": "torch-geometric"}
    groups = PROJECT["optional-dependencies"]
    for package, extra in EXTRAS.items():
        installed = [re.split(r"[>=\[]", line)[0] for line in groups[extra]]
        assert names.get(package, package) in installed
    everything = re.search(r"\[(.*)\]", groups["all"][0])[1].split(",")
    assert set(everything) == set(groups) - {"all", "dev", "docs"}
