"""Findings 7 and 12: a full disk and a read-only one are a sentence, and nothing that exists is lost."""

import os
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from heterophily import Graph, HeterophilyError, NodeClassifier
from heterophily.benchmark.plan import plan
from heterophily.runs.execute import run_jobs
from heterophily.runs.job import Limits
from heterophily.runs.record import read_records
from tests.robustness.chaos import row_without_seconds
from tests.robustness.inputs import small_graph

QUICK = {"max_epochs": 2, "width": 4}


class Disk:
    """A file system in memory, which can be full or read-only."""

    def __init__(self, folder):
        self.folder = folder

    def mount(self, options):
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    @contextmanager
    def full(self):
        """Fill the disk for a while."""
        path = self.folder / "filler"
        free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
        path.write_bytes(bytes(free))
        yield
        path.unlink()

    @contextmanager
    def read_only(self):
        """Make the disk read-only for a while."""
        assert self.mount("remount,ro")
        yield
        assert self.mount("remount,rw")

    def files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    made = Disk(folder)
    if not made.mount("size=2m"):
        pytest.skip("mounting a file system is not permitted")
    yield made
    subprocess.run(["umount", folder], check=True)


def refused(message):
    return pytest.raises(HeterophilyError, match=message)


ADVICE = {
    "full": r"No space left.*; free space on the disk",
    "read_only": r"Read-only file system.*; choose a folder in which you can",
}


@pytest.mark.parametrize("state", ["full", "read_only"])
def test_finding_07_a_graph_or_model_that_cannot_be_saved_is_a_sentence(disk, state):
    one = NodeClassifier("gcn", **QUICK).fit(small_graph(), split="0")
    two = NodeClassifier("mlp", width=512, max_epochs=2).fit(small_graph(), split="0")
    small_graph().save(disk.folder / "g.safetensors")
    one.save(disk.folder / "model")
    before = disk.files()
    with getattr(disk, state)():
        with refused(ADVICE[state]):
            small_graph(n=300).save(disk.folder / "g.safetensors")
        with refused(ADVICE[state]):
            two.save(disk.folder / "model")
    assert disk.files() == before
    graph = Graph.load(disk.folder / "g.safetensors")
    fitted = NodeClassifier.load(disk.folder / "model", graph=graph)
    np.testing.assert_array_equal(fitted.predict_proba(), one.predict_proba())
    two.save(disk.folder / "model")
    assert NodeClassifier.load(disk.folder / "model").method.name == "mlp"


@pytest.mark.parametrize("state", ["full", "read_only"])
def test_finding_07_a_fit_that_cannot_be_written_is_a_sentence(run, shell, source, disk, state):
    words = ["fit", source, "--model", "gcn", "--set", "max_epochs=2", "--out", disk.folder / "out"]
    with getattr(disk, state)():
        code, text = shell(*words)
    assert code == 2, text
    assert "Traceback" not in text
    assert ("free space" in text) == (state == "full")
    assert not [path for path in disk.folder.rglob("*") if path.is_file()]
    assert run(*words)[0] == 0


@pytest.mark.parametrize("state", ["full", "read_only"])
def test_a_benchmark_and_a_search_continue_when_they_can_write_again(run, shell, disk, tmp_path, state):
    graph = small_graph()
    source = str(graph.save(tmp_path / "small.safetensors"))
    jobs = plan(["mlp", "gcn"], {source: graph}, settings=QUICK)
    expected = scores_of(run_jobs(jobs, tmp_path / "runs", engine="inline", workers=1))
    words = ["search", "mlp", source, "--splits", "0", "--set", "max_epochs=2", "--set", "patience=2"]
    assert run(*words, "--trials", "3", "--out", tmp_path / "search")[0] == 0
    (first,) = run_jobs(jobs[:1], disk.folder / "runs", engine="inline", workers=1)
    assert run(*words, "--trials", "1", "--out", disk.folder / "search")[0] == 0
    before = {path: content for path, content in disk.files().items() if path.suffix == ".json"}
    with getattr(disk, state)():
        with refused(ADVICE[state]):
            run_jobs(jobs, disk.folder / "runs", engine="inline", workers=1, limits=Limits(patience=0.1))
        code, text = shell(*words, "--trials", "3", "--out", disk.folder / "search")
        assert (code, "Traceback" in text) == (2, False), text
    assert before.items() <= disk.files().items()
    records = run_jobs(jobs, disk.folder / "runs", engine="inline", workers=1)
    assert records[0] == first
    assert scores_of(records) == expected
    assert run(*words, "--trials", "3", "--out", disk.folder / "search")[0] == 0
    one, two = (folder / "search" / "trials.csv" for folder in (disk.folder, tmp_path))
    assert [row_without_seconds(line) for line in one.read_text().splitlines()] == [
        row_without_seconds(line) for line in two.read_text().splitlines()
    ]
    assert len(read_records(disk.folder / "runs")) == len(jobs)
    assert not [path for path in disk.folder.rglob(".*.*-*") if path.is_file()]


def scores_of(records):
    return [(record.key, record.run["scores"], record.run["curve"]["loss"]) for record in records]


def test_finding_03_weights_of_another_fit_are_not_loaded(tmp_path, monkeypatch):
    """A kill between the two files of a model leaves no model, instead of one with the weights of another."""
    NodeClassifier("gcn", **QUICK).fit(small_graph(), split="0").save(tmp_path)
    other = NodeClassifier("gcn", random_state=1, **QUICK).fit(small_graph(), split="0")

    def die_at_the_second(*paths):
        if str(paths[1]).endswith("model.json"):
            raise KeyboardInterrupt
        rename(*paths)

    from heterophily.core import files

    rename = files.os.replace
    monkeypatch.setattr(files.os, "replace", die_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        other.save(tmp_path)
    with refused("model.json is not a file in it"):
        NodeClassifier.load(tmp_path)
    monkeypatch.undo()
    other.save(tmp_path)
    loaded = NodeClassifier.load(tmp_path).predictor_.state_dict()
    assert all(torch.equal(value, loaded[name]) for name, value in other.predictor_.state_dict().items())
