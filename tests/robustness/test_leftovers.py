"""Finding 11: the next command removes what a killed one left: locks, checkpoints, and temporary files."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

from heterophily import Graph, NodeClassifier
from heterophily.benchmark.plan import plan
from heterophily.core import leftovers
from heterophily.core.files import write_atomically
from heterophily.core.leftovers import owned_name, temporary_folder
from heterophily.runs.execute import run_jobs
from heterophily.runs.job import RunOptions, now
from heterophily.runs.store import Store
from heterophily.runs.worker import run_here

QUICK = {"max_epochs": 2, "width": 4}


@pytest.fixture
def dead(monkeypatch):
    """The name of a temporary file whose process is gone."""
    process = subprocess.Popen(["true"])
    process.wait()

    def name(prefix):
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: process.pid)
            return owned_name(prefix) + "abcd"

    return name


def test_finding_11_a_partial_file_is_removed_when_the_file_is_written_again(dead, tmp_path, monkeypatch):
    gone, running, other = tmp_path / dead(".p.csv."), tmp_path / f"{owned_name('.p.csv.')}x", tmp_path / ".q.csv.x"
    with monkeypatch.context() as patch:
        patch.setattr(leftovers, "_HOST", "abcdef")
        elsewhere = tmp_path / dead(".p.csv.")
    for path in (gone, running, other, elsewhere):
        path.write_text("partial")
    write_atomically(tmp_path / "p.csv", lambda path: path.write_text("all"))
    assert set(tmp_path.iterdir()) == {tmp_path / "p.csv", running, other, elsewhere}


def test_finding_11_temporary_folders_of_killed_processes_are_removed(dead, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in (dead("heterophily-"), "heterophily-of-a-user"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "file").write_text("x")
    with temporary_folder() as name:
        assert {path.name for path in tmp_path.iterdir()} == {"heterophily-of-a-user", Path(name).name}
    assert [path.name for path in tmp_path.iterdir()] == ["heterophily-of-a-user"]


def test_finding_11_a_link_in_place_of_a_leftover_is_not_followed(dead, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    (tmp_path / dead("heterophily-")).symlink_to(tmp_path / "precious")
    with temporary_folder(tmp_path):
        assert [path.name for path in tmp_path.glob("precious/*")] == ["file"]


@pytest.mark.parametrize("engine", ["inline", "local"])
def test_finding_11_locks_and_checkpoints_of_finished_runs_are_removed(graph, source, dead, tmp_path, engine):
    jobs = plan(["mlp", "gcn"], {source: graph}, settings=QUICK, splits="0")
    folder = tmp_path / "results"
    run_jobs(jobs, folder, engine=engine, workers=1)
    store, before = Store(folder), set(folder.rglob("*"))
    for job in jobs:  # as if it was killed after it wrote its record
        work = store.work_path(job)
        for path in (Path(f"{work}.lock"), work.with_suffix(".pt"), work.with_name(f".{work.name}.pt.x")):
            path.write_text("")
    (folder / dead(".graphs-")).mkdir()
    with FileLock(f"{store.work_path(jobs[1])}.lock"):  # another command runs this job
        run_jobs(jobs, folder, engine=engine, workers=1)
        left = {path.name.lstrip(".")[:24] for path in (folder / ".work").iterdir()}
        assert left == {jobs[1].key[:24]}
    new = plan(["mlp", "gcn", "gat"], {source: graph}, settings=QUICK, splits="0")
    run_jobs(new, folder, engine=engine, workers=1)
    assert not list((folder / ".work").iterdir())
    assert not list(folder.glob(".graphs-*"))
    assert before < set(folder.rglob("*"))


STOP = """
import os, signal, sys
from pathlib import Path
from heterophily.core import files
from tests.robustness.inputs import small_graph
def die(*_):
    Path(os.environ["MARK"]).write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
files.os.replace = die
{call}
"""
CALLS = {
    "graph": "small_graph().save(sys.argv[1] + '/g.safetensors')",
    "model": "from heterophily import NodeClassifier\n"
    "NodeClassifier('gcn', max_epochs=2, width=4).fit(small_graph(), split='0').save(sys.argv[1])",
}


@pytest.mark.parametrize("what", CALLS)
def test_finding_11_a_kill_while_saving_leaves_nothing_after_the_next_save(tmp_path, graph, what):
    out, mark = tmp_path / "out", tmp_path / "mark"
    out.mkdir()
    words = [sys.executable, "-c", STOP.format(call=CALLS[what]), str(out)]
    end = subprocess.run(words, check=False, capture_output=True, env={**os.environ, "MARK": str(mark)})
    assert end.returncode == -signal.SIGKILL, end.stderr
    assert mark.exists()
    assert {path.name[0] for path in out.iterdir()} == {"."}
    if what == "graph":
        Graph.load(graph.save(out / "g.safetensors"))
    else:
        NodeClassifier.load(NodeClassifier("gcn", **QUICK).fit(graph, split="0").save(out))
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("is_gone", [True, False])
def test_finding_11_a_run_without_its_command_records_no_failure(graph, source, tmp_path, is_gone):
    """The next command may remove the graph of a killed one before the runs of the latter have noticed its end."""
    (job,) = plan(["mlp"], {source: graph}, settings=QUICK, splits="0")
    Path(source).unlink()
    outcome = run_here(job, Store(tmp_path / "results"), RunOptions(now()), is_abandoned=lambda: is_gone)
    assert (outcome.record is None, outcome.status) == (is_gone, "stopped" if is_gone else "")
    assert len(list((tmp_path / "results").glob("*/*/*.json"))) == (not is_gone)
