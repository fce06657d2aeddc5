"""The notebooks run with small budgets, and the committed ones contain the outputs of a complete run."""

import importlib.util
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATHS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
QUICK = {
    "own-table": {"EPOCHS": 3},
    "htmp": {"EPOCHS": 3},
    "reproduce": {"MODELS": ["mlp"], "DATASETS": ["chameleon-f"], "SPLITS": "0", "SETTINGS": {"max_epochs": 3}},
}
REAL = ("reproduce",)  # notebooks that need datasets
HAS_TOOLS = all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel"))
pytestmark = [
    pytest.mark.skipif(not HAS_TOOLS, reason="notebooks need the extra docs: pip install -e '.[docs]'"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),  # of the Jupyter client
]


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(ROOT / "tools" / "notebooks.py"))


def named(path):
    return pytest.param(path, id=path.stem, marks=[pytest.mark.real] if path.stem in REAL else [])


def outputs(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("path", [*map(named, PATHS)])
def test_a_notebook_runs(path, tool):
    notebook = tool["run"](path, QUICK[path.stem])
    assert [output.output_type for output in outputs(notebook) if output.output_type == "error"] == []
    assert outputs(notebook)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_committed_notebook_has_its_outputs(path, tool, tmp_path):
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert "parameters" in code[0].metadata.tags
    text = tool["to_markdown"](path, tmp_path)
    assert text.startswith("# ")
    assert text.count("```python\n") == len(code)
    figures = re.findall(r"!\[[^]]*\]\(([^)]+\.png)\)", text)
    assert sorted(figures) == sorted(file.name for file in tmp_path.iterdir())
    assert "Traceback" not in text
    assert "/tmp/" not in text
