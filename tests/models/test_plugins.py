"""Installed packages add methods by entry points; the package of the docs is built and installed."""

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from heterophily import HeterophilyError, models
from heterophily.core.errors import HeterophilyWarning

ROOT = Path(__file__).parents[2]
MODULE = """
from heterophily import Architecture, Method, define_method
from heterophily.htmp.combine import Add
from heterophily.htmp.guidance import Ones, RowMean
from heterophily.htmp.neighborhoods import Ego, Hop


@define_method
class TwoHop(Method):
    \"\"\"A node and the mean of its second hop.

    Z = Z W_1 + R(A_2) Z W_2
    \"\"\"

    name, title, paper = "two-hop", "TwoHop", "unpublished"

    def architecture(self):
        return Architecture(channels=(Ego() * Ones(), Hop(2) * RowMean()), combine=Add())
"""


def run(*words, **variables):
    """Run a command in a separate process; return what it prints."""
    environment = {**os.environ, "COLUMNS": "200", **variables}
    found = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_a_built_and_installed_package_adds_its_method(tmp_path):
    pytest.importorskip("setuptools")
    page = (ROOT / "docs" / "tutorials" / "own-method.md").read_text(encoding="utf-8")
    source, target = tmp_path / "package", tmp_path / "installed"
    source.mkdir()
    (source / "pyproject.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    (source / "two_hop.py").write_text(MODULE)
    run("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(target), str(source))
    code = (
        "import runpy, sys; from heterophily import build, load\n"
        "print(build('two-hop', load('digits'), width=8).method); sys.argv = ['heterophily', 'models']\n"
        "runpy.run_module('heterophily', run_name='__main__')"
    )
    printed = run("-c", code, PYTHONPATH=os.pathsep.join([str(target), str(ROOT / "src")]))
    assert printed.startswith("TwoHop(width=8")
    assert "two-hop" in printed.partition("\n")[2]


@pytest.mark.parametrize(
    ("place", "reason"),
    [("no_such_module:X", "ModuleNotFoundError"), ("heterophily.models.gcn:GCN", "must be a method with the name 'x'")],
)
def test_a_package_that_cannot_be_loaded_is_skipped_with_a_warning(monkeypatch, place, reason):
    entry = EntryPoint("x", place, models.ENTRY_POINTS)
    monkeypatch.setattr(models, "entry_points", lambda group: [entry])
    with (
        pytest.warns(HeterophilyWarning, match=f"the installed model 'x' cannot be loaded: .*{reason}"),
        pytest.raises(HeterophilyError, match='unknown model "x"'),
    ):
        models.find_method("x")
    assert "x" not in models.REGISTRY
