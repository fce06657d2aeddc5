"""Findings 6, 7, and 8: searches and benchmarks do not depend on kills and workers, and damage is a sentence."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

from heterophily import HeterophilyError
from heterophily.benchmark.plan import plan
from heterophily.runs.execute import run_jobs
from heterophily.runs.record import read_records
from heterophily.tuning import search
from heterophily.tuning.study import open_study
from tests.robustness.inputs import small_graph

FAST = {"max_epochs": 2, "patience": 2}


def curves(folder):
    """Everything of the runs of a folder that must be equal to the last bit."""
    return [(r.key, r.run["scores"], r.run["curve"]["loss"], r.environment["threads"]) for r in read_records(folder)]


def test_finding_06_results_do_not_depend_on_the_number_of_workers(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    graph = small_graph(n=600)
    source = str(graph.save(tmp_path / "small.safetensors"))
    jobs = plan(["gcn"], {source: graph}, settings={"max_epochs": 5, "width": 128}, splits="0")
    for workers in (1, 2):
        run_jobs(jobs, tmp_path / str(workers), workers=workers)
    torch.set_num_threads(2)  # of the program that calls the library
    run_jobs(jobs, tmp_path / "inline", engine="inline", workers=1)
    assert torch.get_num_threads() == 2
    assert curves(tmp_path / "1") == curves(tmp_path / "2") == curves(tmp_path / "inline")
    assert {threads for *_, threads in curves(tmp_path / "1")} == {1}
    run_jobs(jobs, tmp_path / "threads", threads=2)
    assert {threads for *_, threads in curves(tmp_path / "threads")} == {2}


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """The journal of a finished search."""
    folder = tmp_path_factory.mktemp("search")
    search("mlp", small_graph(), trials=2, out=folder, splits="0", settings=FAST)
    return (folder / "study.journal").read_bytes()


def resume(folder, content):
    folder.mkdir(exist_ok=True)
    (folder / "study.journal").write_bytes(content)
    return search("mlp", small_graph(), trials=3, out=folder, splits="0", settings=FAST)


@pytest.mark.parametrize("seed", range(12))
def test_finding_07_a_damaged_journal_is_a_sentence(journal, tmp_path, seed):
    rng = random.Random(seed)
    lines = journal.split(b"\n")
    number = rng.randrange(len(lines) - 1)
    lines[number] = rng.choice(
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            b"[" * 10_000,
            b'{"op_code": 99, "worker_id": "x"}',
            b'{"op_code": "a"}',
            lines[number].replace(b'"', b"", 1),
            lines[number].replace(b"0", b'"x"', 1),
            lines[number][: len(lines[number]) // 2],
            lines[number].replace(b"1", b"null"),
        ]
    )
    try:
        resume(tmp_path / "out", b"\n".join(lines))
    except HeterophilyError as error:
        assert "damaged" in str(error) or "study" in str(error) or "trials" in str(error)  # noqa: PT017


def test_finding_07_a_journal_without_a_direction_is_a_sentence(journal, tmp_path):
    lines = journal.splitlines()
    assert json.loads(lines[0])["directions"] == [2]
    for directions in ([], [1], [2, 2], [9], "x"):
        lines[0] = json.dumps({**json.loads(lines[0]), "directions": directions}).encode()
        with pytest.raises(HeterophilyError, match="is damaged"):
            resume(tmp_path / str(directions), b"\n".join(lines) + b"\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "width=[1]"),
        ("--set", "width={}"),
        ("--set", "width=null"),
        ("--set", "width=1e400"),
        ("--set", "width=" + "9" * 5000),
        ("--set", "width=" + "[" * 5000),
        ("--set", "n_layers=10000000"),
        ("--set", "seed=x"),
        ("--set", "split=1"),
        ("--set", "device=3"),
        ("--set", "batch_size=many"),
        ("--set", "preset=[1]"),
        ("--set", "preset=none"),
        ("--set", "=3"),
        ("--set", "learning_rate=NaN"),
        ("--set", "max_epochs=-1"),
        ("--seed", "-1"),
        ("--seed", "99999999999999999999"),
        ("--seed", "x"),
        ("--device", "toaster"),
        ("--split", "none"),
        ("--neighbors", "a,b"),
        ("--neighbors", "-1"),
        ("--batch-size", "0"),
        ("--threads", "-1"),
        ("--class-weight", "heavy"),
    ],
    ids=lambda words: f"{words[0]} {words[1][:20]}",
)
def test_finding_07_wrong_options_of_fit_are_a_sentence(run, source, tmp_path, words):
    code, text = run("fit", source, "--model", "gcn", "--out", tmp_path / "out", *words)
    assert code == 2, text


KILLED = """
import sys
from heterophily.tuning import search
from heterophily.training import trainer
from tests.robustness.inputs import small_graph
if __name__ == "__main__":
    settings = {"max_epochs": 30, "patience": 30}
    search("gcn", small_graph(), trials=int(sys.argv[2]), out=sys.argv[1], splits="0-1", settings=settings)
"""


def trials_of(folder):
    lines = (folder / "trials.csv").read_text().splitlines()
    seconds = lines[0].split(",").index("seconds")
    return [[cell for i, cell in enumerate(line.split(",")) if i != seconds] for line in lines]


@pytest.mark.parametrize("seed", range(int(os.environ.get("HETEROPHILY_CAMPAIGNS", "2"))))
def test_finding_08_a_killed_search_continues_with_the_same_trials(tmp_path, seed):
    rng, command = random.Random(seed), [sys.executable, "-c", KILLED]
    settings = {"max_epochs": 30, "patience": 30}
    search("gcn", small_graph(), trials=16, out=tmp_path / "whole", splits="0-1", settings=settings)
    out, kills = tmp_path / "killed", 0
    for signal_number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM, None):
        process = subprocess.Popen([*command, str(out), "16"], stderr=subprocess.DEVNULL)
        while signal_number is not None and not (out / "study.journal").exists() and process.poll() is None:
            time.sleep(0.01)
        if signal_number is not None:
            time.sleep(rng.uniform(0, 0.6))
            process.send_signal(signal_number)
        kills += process.wait() != 0
    assert kills > 1
    assert trials_of(out) == trials_of(tmp_path / "whole")


def test_finding_08_a_trial_that_was_cut_in_the_middle_has_the_same_settings(tmp_path):
    search("gcn", small_graph(), trials=6, out=tmp_path / "whole", splits="0", settings=FAST)
    journal = (tmp_path / "whole" / "study.journal").read_text()
    journal = re.sub(rf'"pid": ?{os.getpid()}', '"pid": 4194305', journal)  # a process that is gone
    assert "4194305" in journal
    journal = journal.splitlines(keepends=True)
    starts = [i for i, line in enumerate(journal) if json.loads(line)["op_code"] == 4]
    for cut in range(starts[3], len(journal), 11):
        folder = tmp_path / f"cut{cut}"
        folder.mkdir()
        (folder / "study.journal").write_text("".join(journal[:cut]))
        search("gcn", small_graph(), trials=6, out=folder, splits="0", settings=FAST)
        assert trials_of(folder) == trials_of(tmp_path / "whole")
    assert open_study(folder / "study.journal", "gcn on small").trials[-1].number == 5
