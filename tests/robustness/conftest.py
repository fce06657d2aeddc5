"""What the tests of robustness share: a small graph, a valid record, and the command line."""

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from heterophily import Graph, HeterophilyError
from heterophily.commands.main import app
from heterophily.models import REGISTRY


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    """Forget the methods of files."""
    monkeypatch.setattr("heterophily.models.REGISTRY", dict(REGISTRY))


def small_graph(n=30, **changes):
    """Nodes in three classes with two splits."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(n) % 3
    x = np.abs(rng.normal(2 * np.eye(3, 6)[labels], 1.0)).astype(np.float32)
    orders = [rng.permutation(n) for _ in range(2)]
    splits = {str(i): (o[: n // 2], o[n // 2 : 3 * n // 4], o[3 * n // 4 :]) for i, o in enumerate(orders)}
    facts = {"features": x, "labels": labels, "splits": splits, "name": "small", **changes}
    return Graph.from_edges(np.argwhere(rng.random((n, n)) < 0.1), **facts)


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

    def make(**changes):
        return {
            "key": "ab" * 32,
            "model": "gcn",
            "dataset": "small",
            "split": "0",
            "seed": 3,
            "settings": {"width": 4},
            "preset": "published",
            "source": "defaults",
            "recipe": "r" * 64,
            "checksum": "c" * 64,
            "run": {"scores": {"test": {"accuracy": 0.5}, "val": {"accuracy": 0.75}}, "n_epochs": 2},
            "details": {"split": {"train": 5, "val": 2, "test": 3}},
            "finished": "2024-01-01T00:00:00.000+00:00",
            **changes,
        }

    return make


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
