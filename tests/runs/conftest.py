"""What the tests of the benchmark share: a small graph in a file, methods that misbehave, the command."""

import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest

from heterophily import Graph
from heterophily.benchmark.plan import plan
from heterophily.models import REGISTRY
from heterophily.runs.execute import run_jobs
from heterophily.runs.job import RunOptions, now
from heterophily.runs.record import read_records

QUICK = {"max_epochs": 3, "width": 4}
SECONDS = 600  # within which anything must have happened, also on a busy machine

# A file with a method, and with code that runs only where the method is trained.
METHOD = """
import multiprocessing, os, signal, time
from pathlib import Path
from heterophily import define_method
from heterophily.models.gcn import GCN
from heterophily.training import trainer

@define_method
class Mine(GCN):
    name = {name!r}

if multiprocessing.parent_process() is not None:
    with Path({log!r}).open("a") as log:
        log.write(f"{name} {{os.getpid()}}\\n")
{body}
"""


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    """Forget the methods of files."""
    monkeypatch.setattr("heterophily.models.REGISTRY", dict(REGISTRY))


@pytest.fixture
def graph():
    """60 nodes in three classes with three splits."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(60) % 3
    x = np.abs(rng.normal(3 * np.eye(3, 6)[labels], 1.2))
    orders = [rng.permutation(60) for _ in range(3)]
    splits = {str(i): (o[:30], o[30:45], o[45:]) for i, o in enumerate(orders)}
    edges = np.argwhere(rng.random((60, 60)) < 0.05)
    return Graph.from_edges(edges, x, labels=labels, splits=splits, name="small")


@pytest.fixture
def source(graph, tmp_path):
    """The path of the small graph."""
    return str(graph.save(tmp_path / "small.safetensors"))


@pytest.fixture
def method_file(tmp_path):
    """Write a file with a method; `body` runs in the training process. Its starts are in `log.txt`."""

    def write(name, body="pass"):
        path = tmp_path / f"{name}.py"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        path.write_text(METHOD.format(name=name, log=str(tmp_path / "log.txt"), body=lines))
        return str(path)

    return write


@pytest.fixture
def starts(tmp_path):
    """How often each method of a file began to train."""

    def count():
        path = tmp_path / "log.txt"
        names = [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []
        return {name: names.count(name) for name in sorted(set(names))}

    return count


@pytest.fixture
def planned(source, graph):
    """Plan models on the small graph."""

    def make(*models, splits="0", settings=QUICK, **options):
        return plan(models, {source: graph}, splits=splits, settings=settings, **options)

    return make


@pytest.fixture
def go(planned, tmp_path):
    """Run models on the small graph into the folder `results`: their records."""

    def call(*models, splits="0", settings=QUICK, **options):
        options = {"workers": 2, **options}
        return run_jobs(planned(*models, splits=splits, settings=settings), tmp_path / "results", **options)

    return call


@pytest.fixture
def terms():
    """The terms of a command that begins now."""
    return lambda **changes: RunOptions(**{"since": now(), **changes})


@pytest.fixture
def outcomes():
    """All of the records of a folder that must not depend on when, where and how often they were tried."""
    return lambda folder: [_outcome(record) for record in read_records(folder)]


def _outcome(record):
    facts = record.to_dict()
    names = ("key", "model", "dataset", "split", "seed", "settings", "status", "details", "parameters")
    gone = {"seconds", "milliseconds_per_epoch", "peak_memory", "curve"}
    run = {name: value for name, value in facts["run"].items() if name not in gone}
    curve = {k: v for k, v in facts["run"].get("curve", {}).items() if k != "seconds"}
    return {name: facts[name] for name in names} | {"run": run, "curve": curve}


@pytest.fixture
def means():
    """The table of a folder: mean test accuracy and number of runs per model."""

    def of(folder):
        scores = {}
        for record in read_records(folder):
            assert record.done, record.reason
            scores.setdefault(record.model, []).append(record.score())
        return {model: (np.mean(found), len(found)) for model, found in scores.items()}

    return of


@pytest.fixture
def until():
    """Wait until something is so."""
    return wait_until


def wait_until(condition, what="what was waited for", seconds=SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.02)


@dataclass
class Command:
    """`heterophily bench` as a process."""

    words: list[str]
    log: Path

    def __enter__(self):
        with self.log.open("w") as log:
            command = [sys.executable, "-W", "error", "-m", "heterophily", "bench", *map(str, self.words)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.log.parent)
        self.ps = psutil.Process(self.process.pid)
        return self

    def __exit__(self, *reason):
        if self.process.poll() is None:
            self.kill()

    @property
    def runs(self):
        """The training processes."""
        try:
            family = self.ps.children(recursive=True)
            return [p for p in family if p.ppid() != self.ps.pid and p.is_running()]
        except psutil.NoSuchProcess:
            return []

    def kill(self):
        """End the command as nothing can prevent, and see its processes end too; whether it was running."""
        family = self.ps.children(recursive=True) if self.process.poll() is None else []
        self.process.kill()
        hit = self.process.wait() == -signal.SIGKILL
        wait_until(lambda: not any(map(_alive, family)), "the end of the training processes")
        return hit

    def end(self):
        """Wait for the end: the exit code and what was printed."""
        code = self.process.wait(SECONDS)
        return code, self.text

    @property
    def text(self):
        return self.log.read_text()


def _alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def command(tmp_path):
    """Start `heterophily bench` with these words, printing into a file."""
    count = iter(range(1000))
    return lambda *words: Command(list(words), tmp_path / f"command{next(count)}.txt")
