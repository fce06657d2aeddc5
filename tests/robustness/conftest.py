"""What the tests of robustness share: a small graph, a valid record, and the command line."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from heterophily import HeterophilyError
from heterophily.commands.main import app
from heterophily.models import REGISTRY
from tests.robustness.inputs import record_facts, small_graph


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    """Forget the methods of files."""
    monkeypatch.setattr("heterophily.models.REGISTRY", dict(REGISTRY))


@pytest.fixture
def graph():
    return small_graph()


@pytest.fixture
def source(graph, tmp_path):
    """The path of the small graph."""
    return str(graph.save(tmp_path / "small.safetensors"))


@pytest.fixture
def facts():
    """The content of a valid record; arguments replace fields."""
    return record_facts


@pytest.fixture
def run():
    """Run a command in this process. A problem with the input is its exit code, as for users."""

    def call(*words):
        result = CliRunner().invoke(app, list(map(str, words)))
        if isinstance(result.exception, HeterophilyError):
            return 2, str(result.exception)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return call


@pytest.fixture
def shell():
    """Run a command as a process: exit code and all of its output."""

    def call(*words, timeout=300, **options):
        command = [sys.executable, "-m", "heterophily", *map(str, words)]
        end = subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout, **options)
        return end.returncode, end.stdout + end.stderr

    return call
