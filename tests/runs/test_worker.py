"""One run in a process of its own: what it records, and how it fails."""

import dataclasses
import errno
import platform
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from heterophily.core.errors import HeterophilyWarning
from heterophily.htmp.identity import digest
from heterophily.runs import worker as module
from heterophily.runs.job import now
from heterophily.runs.record import LIBRARIES, describe_environment, path_of, read_record, write_record
from heterophily.runs.store import Store
from heterophily.runs.worker import failure_record, resume_job, run_job
from heterophily.training import trainer
from heterophily.training.trainer import train


@pytest.fixture
def raising(monkeypatch):
    """Let training raise an error."""

    def prepare(error):
        def break_off(*_, **__):
            raise error

        monkeypatch.setattr(module, "train", break_off)

    return prepare


def test_the_record_is_that_of_the_trainer(planned, graph):
    (cell,) = planned("gcn", splits="1", seed=5)
    record = run_job(cell)
    network, found = train("gcn", graph, split=graph.split("1"), seed=6, progress=False, max_epochs=3, width=4)
    assert record.done
    assert record.run["scores"] == found.scores
    assert record.run["curve"]["loss"] == found.history.loss
    assert record.run["seed"] == record.seed == 6
    assert record.parameters == sum(p.numel() for p in network.parameters())
    assert record.details == {"split": {"train": 30, "val": 15, "test": 15}}
    assert record.settings["width"] == 4
    assert record.checksum == graph.checksum
    assert record.key == cell.key
    assert record.finished <= now()


def test_the_record_has_the_belief_of_the_network(planned, graph):
    (cell,) = planned("cmgnn")
    details = run_job(cell).details
    options = {"seed": 0, "progress": False, "max_epochs": 3, "width": 4}
    network, _ = train("cmgnn", graph, split=graph.split("0"), **options)
    believed = network.states[0].compatibility
    assert torch.allclose(torch.tensor(details["compatibility"]), believed, atol=1e-4)
    assert 0 < details["compatibility_error"] < 1


def test_the_record_says_where_it_was_made(planned):
    (cell,) = planned("gcn")
    where = run_job(cell).environment
    assert where == describe_environment()
    assert where["torch"] == torch.__version__
    assert where["python"] == platform.python_version()
    assert where["threads"] == 1
    assert describe_environment(7)["threads"] == 7
    assert {"gpu", "system", "processor", *LIBRARIES} <= where.keys()
    assert where["processor"]


def test_a_problem_of_the_input_is_told_in_its_own_words(planned):
    (cell,) = planned("gcn", settings={"learning_rate": 1e30, "max_epochs": 3})
    record = run_job(cell)
    assert record.status == "error"
    assert record.reason.startswith("the loss became ")
    assert "lower learning_rate" in record.reason
    assert record.environment == describe_environment()
    assert record.run == {}


def test_an_error_of_the_code_is_told_with_its_place(planned, raising):
    raising(ZeroDivisionError("of all things"))
    (cell,) = planned("gcn")
    record = run_job(cell)
    assert record.status == "error"
    assert "break_off" in record.reason
    assert record.reason.strip().endswith("ZeroDivisionError: of all things")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "out of memory"),
        (torch.OutOfMemoryError("CUDA out of memory"), "CUDA out of memory"),
        (RuntimeError("can't allocate memory: you tried to allocate 8 bytes"), "you tried to allocate"),
    ],
)
def test_want_of_memory_is_a_kind_of_its_own(planned, raising, error, reason):
    raising(error)
    record = run_job(planned("gcn")[0])
    assert record.status == "memory"
    assert reason in record.reason


def test_pytorch_says_so_when_memory_is_wanting(planned, monkeypatch):
    monkeypatch.setattr(module, "train", lambda *_, **__: torch.empty(2**58))
    assert run_job(planned("gcn")[0]).status == "memory"


def test_a_full_disk_is_no_failure_of_the_run(planned, raising):
    (cell,) = planned("gcn")
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        raising(OSError(number, "no room"))
        with pytest.raises(OSError, match="no room"):
            run_job(cell)
    raising(OSError(errno.EACCES, "not yours"))
    assert run_job(cell).status == "error"


@contextmanager
def no_room():
    """Files of at most 500 bytes; not for longer than needed, since a log of the tests is a file too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_run_goes_on_where_a_checkpoint_has_no_room(planned, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    (cell,) = planned("gcn")
    with no_room(), pytest.warns(HeterophilyWarning, match=r"cannot write checkpoint .*run.pt"):
        record = run_job(cell, tmp_path / "run.pt")
    assert record.done
    assert record.run["scores"] == run_job(cell).run["scores"]
    assert [path.name for path in tmp_path.iterdir() if "run.pt" in path.name] == []


def test_a_graph_that_changed_since_the_plan_is_refused(planned, graph, source):
    (cell,) = planned("gcn")
    graph.replace(features=graph.features * 2).save(source)
    assert "changed after the run was planned" in run_job(cell).reason
    split = {"0": graph.split("1")}
    graph.replace(splits=split).save(source)
    assert "changed after the run was planned" in run_job(cell).reason


def test_a_recipe_that_changed_since_the_plan_is_refused(planned, method_file):
    path = method_file("mine")
    (cell,) = planned(path)
    text = Path(path).read_text()
    changed = text.replace("name = 'mine'", "name = 'mine'\n    dropout: float = 0.25")
    assert changed != text
    Path(path).write_text(changed)
    assert "changed after the run was planned" in run_job(cell).reason


@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_checkpoint_that_cannot_be_used_is_left(planned, tmp_path, monkeypatch, damage):
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    (cell,), (other,) = planned("gcn"), planned("mlp")
    path = tmp_path / "run.pt"
    run_job(other if damage == "other" else cell, path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    record = resume_job(cell, path)
    assert record.done, record.reason
    assert record.run["scores"] == run_job(cell).run["scores"]


def test_a_run_continues_from_its_checkpoint(planned, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    (cell,) = planned("gcn")
    undisturbed = run_job(cell, tmp_path / "run.pt")
    begun = []
    monkeypatch.setattr(trainer.Trainer, "_epoch", lambda self, epoch: begun.append(epoch))
    assert resume_job(cell, tmp_path / "run.pt").run["curve"]["loss"] == undisturbed.run["curve"]["loss"]
    assert begun == []


def test_a_failure_without_checkpoint_is_not_tried_twice(planned, raising, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(module, "run_job", lambda cell, path: calls.append(1) or failure_record(cell, "error", ""))
    resume_job(planned("gcn")[0], tmp_path / "run.pt")
    assert calls == [1]


EARLY, FUTURE = "2020-01-01T00:00:00.000+00:00", "2999-01-01T00:00:00.000+00:00"
LATE = "now"  # after the command has started
RUN = {"scores": {"test": {"accuracy": 0.5}}}


@pytest.mark.parametrize(
    ("status", "finished", "retry", "stays"),
    [
        ("done", EARLY, False, True),
        ("done", EARLY, True, True),
        ("error", EARLY, False, True),
        ("time", EARLY, False, True),
        ("memory", EARLY, True, False),
        ("error", EARLY, True, False),
        ("killed", EARLY, False, False),
        ("killed", EARLY, True, False),
        ("killed", LATE, False, True),
        ("error", LATE, True, True),
        ("killed", FUTURE, False, False),  # the clock was wrong
    ],
)
def test_which_cells_are_run_again(planned, terms, tmp_path, status, finished, retry, stays):
    (cell,) = planned("gcn")
    options, finished = terms(retry=retry), now() if finished == LATE else finished
    run = RUN if status == "done" else {}
    record = dataclasses.replace(cell.empty_record, status=status, finished=finished, run=run)
    path = write_record(tmp_path, record)
    assert Store(tmp_path).find_finished(cell, options) == (record if stays else None)
    path.unlink()
    assert Store(tmp_path).find_finished(cell, terms(retry=retry)) is None


def test_a_damaged_record_is_run_again(planned, terms, tmp_path):
    (cell,) = planned("gcn")
    path = path_of(tmp_path, cell.empty_record)
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert Store(tmp_path).find_finished(cell, terms()) is None


def test_writing_waits_for_room(planned, tmp_path, monkeypatch):
    (cell,) = planned("gcn")
    record = failure_record(cell, "error", "")
    tries = []

    def write(folder, record):
        tries.append(1)
        if len(tries) < 3:
            raise OSError(errno.ENOSPC, "full")
        return write_record(folder, record)

    monkeypatch.setattr("heterophily.runs.store.write_record", write)
    module._write(Store(tmp_path), cell, record, 1.0)
    assert len(tries) == 3
    assert read_record(path_of(tmp_path, record)) == record


def test_writing_gives_up_at_last(planned, tmp_path):
    (cell,) = planned("gcn")
    record = failure_record(cell, "error", "x" * 1000)
    with no_room(), pytest.raises(OSError, match="too large"):
        module._write(Store(tmp_path), cell, record, 0.05)
    assert list(tmp_path.rglob("*.json*")) == []


def stored_by_older_code(cell, **fields):
    blank = dataclasses.replace(cell.empty_record, run=RUN)
    key = digest(["older", blank.checksum, cell.nodes, blank.seed, blank.version])
    return dataclasses.replace(blank, recipe="older", key=key, finished=EARLY, **fields)


def test_a_record_of_a_built_in_method_is_recognized_by_its_settings(planned, terms, tmp_path):
    cell, other = planned("gcn", splits="0-1")
    record = stored_by_older_code(cell)
    path = write_record(tmp_path, record)
    assert path != path_of(tmp_path, cell.empty_record)
    assert Store(tmp_path).find_finished(cell, terms()) == record
    assert Store(tmp_path).find_finished(other, terms()) is None
    write_record(tmp_path, dataclasses.replace(record, settings={"width": 5}))
    assert Store(tmp_path).find_finished(cell, terms()) is None
    write_record(tmp_path, dataclasses.replace(record, key=other.key))  # of other nodes
    assert Store(tmp_path).find_finished(cell, terms()) is None


def test_only_its_key_identifies_a_record_of_another_method(planned, method_file, terms, tmp_path):
    (cell,) = planned(method_file("mine"))
    write_record(tmp_path, stored_by_older_code(cell))
    assert Store(tmp_path).find_finished(cell, terms()) is None
    record = dataclasses.replace(cell.empty_record, run=RUN)
    write_record(tmp_path, record)
    assert Store(tmp_path).find_finished(cell, terms()) == record


def test_a_new_record_replaces_one_of_older_code(planned, terms, tmp_path):
    (cell,) = planned("gcn")
    old = write_record(tmp_path, stored_by_older_code(cell, status="error"))
    record = dataclasses.replace(cell.empty_record, run=RUN)
    Store(tmp_path).write(cell, record)
    assert not old.exists()
    assert Store(tmp_path).find_finished(cell, terms()) == record
