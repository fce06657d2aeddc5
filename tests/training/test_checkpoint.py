"""A run that was killed goes on to the same result, bit for bit."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from heterophily import Graph, HeterophilyError, Split
from heterophily.training import trainer as module
from heterophily.training.checkpoint import load_checkpoint
from heterophily.training.trainer import train

MODELS = {
    "gcn": {},
    "cmgnn": {"dropout": 0.3},
    "cmgnn masked": {"supplementary_labels": "masked"},
    "cmgnn reference": {"preset": "reference", "structure": True},
    "hog-gcn": {},  # two optimisers, and labels that are fixed before training
    "gcn+": {"norm": "batch"},  # running means
    "simp-gcn": {},  # draws pairs
}


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every epoch."""
    monkeypatch.setattr(module, "CHECKPOINT_SECONDS", 0.0)


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("epoch", [1, 7])
def test_a_killed_run_continues_to_the_same_result(run, same, raise_at, often, tmp_path, name, epoch):
    options = {"seed": 2, "checkpoint": tmp_path / "run.pt", **MODELS[name]}
    model = name.split()[0]
    undisturbed = run(model, **{**options, "checkpoint": None})
    raise_at(epoch, KilledError())
    with pytest.raises(KilledError):
        run(model, **options)
    begun = raise_at()
    torch.manual_seed(99)
    same(run(model, **options), undisturbed)
    assert begun == list(range(epoch, 12))


def test_a_paused_run_continues_to_the_same_result(run, same, tmp_path):
    seen = []

    def pause(epoch, score):
        seen.append((epoch, score))
        return epoch == 4

    first = run("cmgnn", checkpoint=tmp_path / "run.pt", on_epoch=pause)[1]
    assert (first.stopped, first.n_epochs) == ("paused", 5)
    continued = run("cmgnn", checkpoint=tmp_path / "run.pt", on_epoch=pause)
    same(continued, run("cmgnn"))
    assert seen == list(enumerate(continued[1].history.val_scores))


def test_the_seconds_of_a_continued_run_are_those_of_all_attempts(run, raise_at, often, tmp_path):
    raise_at(9, KilledError())
    with pytest.raises(KilledError):
        run("gcn", checkpoint=tmp_path / "run.pt")
    raise_at()
    found = run("gcn", checkpoint=tmp_path / "run.pt")[1]
    assert found.seconds >= sum(found.history.seconds)


def test_a_run_killed_twice_continues_to_the_same_result(run, same, raise_at, often, tmp_path):
    options = {"dropout": 0.3, "checkpoint": tmp_path / "run.pt"}
    undisturbed = run("cmgnn", dropout=0.3)
    for epoch in (3, 6):
        raise_at(epoch, KilledError())
        with pytest.raises(KilledError):
            run("cmgnn", **options)
    begun = raise_at()
    same(run("cmgnn", **options), undisturbed)
    assert begun == list(range(6, 12))


def test_patience_goes_on_where_it_was(run, same, raise_at, often, tmp_path):
    options = {"patience": 6, "max_epochs": 400, "learning_rate": 1e-12}
    undisturbed = run("gcn", **options)
    assert undisturbed[1].n_epochs == 7
    raise_at(4, KilledError())
    with pytest.raises(KilledError):
        run("gcn", checkpoint=tmp_path / "run.pt", **options)
    begun = raise_at()
    same(run("gcn", checkpoint=tmp_path / "run.pt", **options), undisturbed)
    assert begun == [4, 5, 6]


def test_a_finished_run_gives_the_same_result_again(run, same, often, tmp_path, raise_at):
    first = run("cmgnn", checkpoint=tmp_path / "run.pt")
    begun = raise_at()
    same(run("cmgnn", checkpoint=tmp_path / "run.pt"), first)
    assert begun == []


def test_checkpoints_change_nothing(run, same, often, tmp_path):
    same(run("cmgnn", checkpoint=tmp_path / "run.pt"), run("cmgnn"))
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["run.pt"]


def test_checkpoints_are_not_written_all_the_time(run, tmp_path):
    run("gcn", checkpoint=tmp_path / "run.pt")  # takes less than CHECKPOINT_SECONDS
    assert not (tmp_path / "run.pt").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1}, {"width": 16}, {"model": "mlp"}, {"class_weight": "balanced"},
        {"preset": "reference"}, {"max_epochs": 13},
    ],
    ids=str,
)  # fmt: skip
def test_a_checkpoint_of_another_run_is_refused(run, often, tmp_path, change):
    run("gcn", checkpoint=tmp_path / "run.pt")
    with pytest.raises(HeterophilyError, match=r"belongs to another run .* delete it or choose"):
        run(**{"model": "gcn", "checkpoint": tmp_path / "run.pt", **change})


def test_a_checkpoint_of_another_split_or_graph_is_refused(graph, split, often, tmp_path):
    options = {"checkpoint": tmp_path / "run.pt", "progress": False, "max_epochs": 3}
    train("gcn", graph, split=split, device="cpu", **options)
    turned = Split.from_nodes(split.val, split.train, split.test)
    brighter = graph.replace(features=graph.features * 2)
    for other, parts in ((graph, turned), (brighter, split)):
        with pytest.raises(HeterophilyError, match="belongs to another run"):
            train("gcn", other, split=parts, device="cpu", **options)


@pytest.mark.parametrize("damage", ["empty", "text", "cut"])
def test_a_damaged_checkpoint_is_refused(run, often, tmp_path, damage):
    path = tmp_path / "run.pt"
    run("gcn", checkpoint=path)
    whole = path.read_bytes()
    content = {"empty": b"", "text": b"no checkpoint", "cut": whole[: len(whole) // 2]}
    path.write_bytes(content[damage])
    with pytest.raises(HeterophilyError, match="not a readable checkpoint; delete it to start"):
        run("gcn", checkpoint=path)


def test_a_file_of_something_else_is_refused(tmp_path):
    torch.save([1, 2], tmp_path / "run.pt")
    with pytest.raises(HeterophilyError, match="belongs to another run"):
        load_checkpoint(tmp_path / "run.pt", key="mine")


def test_no_file_is_no_checkpoint(tmp_path):
    assert load_checkpoint(tmp_path / "run.pt", key="mine") is None


PROGRAM = """
import sys, time
from pathlib import Path
import torch
from heterophily import Graph, Split
from heterophily.training import trainer

torch.set_num_threads(1)
trainer.CHECKPOINT_SECONDS = 0.0
epoch = trainer.Trainer._epoch

def slowly(self, number):
    time.sleep(0.02)
    epoch(self, number)

trainer.Trainer._epoch = slowly
graph = Graph.load(sys.argv[1])
trainer.train(
    "cmgnn", graph, split=graph.split("0"), checkpoint=Path(sys.argv[2]), seed=4, device="cpu",
    width=8, dropout=0.4, max_epochs=200, patience=200, progress=False,
)
"""


def wait_for(path, process, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_process_that_is_killed_continues_to_the_same_result(graph, split, same, raise_at, tmp_path):
    graph = graph.replace(splits={"0": split})
    saved, checkpoint = graph.save(tmp_path / "graph.safetensors"), tmp_path / "run.pt"
    command = [sys.executable, "-c", PROGRAM, str(saved), str(checkpoint)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(checkpoint, process)
        time.sleep(0.2)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    settings = {"width": 8, "dropout": 0.4, "max_epochs": 200, "patience": 200}
    loaded = Graph.load(saved)
    options = {"split": loaded.split("0"), "seed": 4, "device": "cpu", "progress": False}
    undisturbed = train("cmgnn", loaded, **options, **settings)
    begun = raise_at()
    continued = train("cmgnn", loaded, checkpoint=checkpoint, **options, **settings)
    same(continued, undisturbed)
    assert 0 < begun[0] < 199
    assert begun == list(range(begun[0], 200))
