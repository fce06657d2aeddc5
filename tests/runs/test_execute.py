"""A plan is run: what is missing, once, whatever happens to single runs."""

import threading
from pathlib import Path

import pytest

from heterophily import HeterophilyError
from heterophily.benchmark.plan import plan
from heterophily.data.loading import load
from heterophily.runs import execute as module
from heterophily.runs.engines import Engine
from heterophily.runs.execute import run_jobs
from heterophily.runs.job import Limits
from heterophily.runs.record import path_of, read_record, read_records, write_record
from heterophily.runs.store import Store
from heterophily.runs.worker import Outcome, failure_record


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in Path(folder).rglob("*.json")}


def test_every_cell_gets_its_record(go, tmp_path):
    records = go("gcn", "mlp", splits="all")
    assert [r.done for r in records] == [True] * 6
    assert sorted((r.model, r.split, r.seed) for r in records) == [
        (model, str(i), i) for model in ("gcn", "mlp") for i in range(3)
    ]
    order = [(r.dataset, r.model, r.split) for r in records]
    assert [(r.dataset, r.model, r.split) for r in read_records(tmp_path / "results")] == sorted(order)


def test_a_record_that_is_removed_meanwhile_is_told(go, tmp_path, monkeypatch):
    kept = module._Scheduler._store_outcome

    def remove(scheduler, outcome):
        outcome = kept(scheduler, outcome)
        if outcome.job.split == "1":
            path_of(scheduler.store.folder, outcome.job.empty_record).unlink()
        return outcome

    monkeypatch.setattr(module._Scheduler, "_store_outcome", remove)
    with pytest.raises(HeterophilyError, match=r"for example that of gcn on small, split 1"):
        go("gcn", splits="0-1")
    monkeypatch.undo()
    assert [record.done for record in go("gcn", splits="0-1")] == [True, True]


def test_what_is_done_is_not_run_again(go, method_file, starts, tmp_path):
    mine = method_file("mine")
    first = go(mine, splits="0-1")
    before = stamps(tmp_path)
    assert go(mine, splits="0-1") == first
    assert stamps(tmp_path) == before
    assert starts() == {"mine": 2}
    go(mine, splits="all")
    assert starts() == {"mine": 3}


def test_a_changed_setting_is_a_new_run(go, method_file, starts, tmp_path):
    mine = method_file("mine")
    (old,) = go(mine)
    (new,) = go(mine, settings={"max_epochs": 3, "width": 5})
    assert starts() == {"mine": 2}
    assert (old.settings["width"], new.settings["width"]) == (4, 5)
    assert len(read_records(tmp_path / "results")) == 2


def test_the_same_run_gives_the_same_result(go, outcomes, tmp_path, planned):
    go("gcn", "cmgnn", splits="0-1")
    run_jobs(planned("cmgnn", "gcn", splits="0-1"), tmp_path / "again", workers=2)
    assert outcomes(tmp_path / "results") == outcomes(tmp_path / "again")


def test_paths_may_be_relative(graph, source, method_file, tmp_path, monkeypatch):
    method_file("mine")
    monkeypatch.chdir(tmp_path)
    cells = plan(["mine.py"], {"small.safetensors": graph}, splits="0", settings={"max_epochs": 2})
    (tmp_path / "deep").mkdir()
    (record,) = run_jobs(cells, Path("results"))
    assert record.done, record.reason
    assert len(read_records(tmp_path / "results")) == 1


def test_the_rest_goes_on_when_runs_fail(go, method_file, starts):
    raises = method_file("raises", "raise ArithmeticError('odd')")
    dies = method_file("dies", "os.kill(os.getpid(), signal.SIGKILL)")
    sleeps = method_file("sleeps", "time.sleep(600)")
    models = (raises, dies, sleeps, "gcn")
    limits = Limits(minutes=0.05)
    found = {r.model: r.status for r in go(*models, limits=limits)}
    assert found == {"raises": "error", "dies": "killed", "sleeps": "time", "gcn": "done"}
    again = {r.model: r.status for r in go(*models, limits=limits)}
    assert again == found
    assert starts() == {"dies": 2, "raises": 1, "sleeps": 1}  # only the killed one is tried again
    go(*models, limits=limits, retry=True)
    assert starts() == {"dies": 3, "raises": 2, "sleeps": 2}


def test_a_loss_that_is_not_finite_is_recorded(go):
    bad = go("gcn", settings={"learning_rate": 1e30})
    assert [r.status for r in bad] == ["error"]
    assert "the loss became" in bad[0].reason


def test_a_retry_may_succeed(go, method_file, tmp_path):
    body = f"if not Path({str(tmp_path / 'mended')!r}).exists():\n    raise ArithmeticError"
    mine = method_file("mine", body)
    assert [r.status for r in go(mine)] == ["error"]
    (tmp_path / "mended").touch()
    assert [r.status for r in go(mine)] == ["error"]
    assert [r.status for r in go(mine, retry=True)] == ["done"]


def test_a_damaged_record_is_run_again(go, tmp_path):
    (record,) = go("gcn")
    path = path_of(tmp_path / "results", record)
    path.write_text("")
    (again,) = go("gcn")
    assert again.score() == record.score()
    assert read_record(path) == again


def test_a_run_has_one_thread_whatever_the_number_of_workers(go, monkeypatch):
    seen = []

    def supervise(cell, store, terms):
        seen.append(terms.threads)
        write_record(store.folder, failure_record(cell, "error", ""))
        return Outcome(cell, failure_record(cell, "error", ""))

    monkeypatch.setattr(module, "supervise", supervise)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    for workers, threads in ((1, 1), (3, 1), (2, 4)):
        go("gcn", workers=workers, threads=threads, retry=True)
    assert seen == [1, 1, 4]


def test_the_cheapest_cells_begin_first(go, monkeypatch, planned):
    seen = []

    def supervise(cell, store, terms):
        seen.append(cell.cost)
        write_record(store.folder, failure_record(cell, "error", ""))
        return Outcome(cell, failure_record(cell, "error", ""))

    monkeypatch.setattr(module, "supervise", supervise)
    go("cmgnn", "gcn", "mlp", "gat", workers=1)
    assert seen == sorted(seen)
    assert len(set(seen)) > 1


def test_records_of_another_machine_are_written_here(planned, tmp_path, terms):
    (cell,) = planned("gcn")
    folder, path = tmp_path / "here", path_of(tmp_path / "here", cell.empty_record)
    old, new = failure_record(cell, "error", "old"), failure_record(cell, "time", "new")

    def kept(outcome, options):
        engine = Engine("dask", 1, None)
        return module._Scheduler(iter(()), Store(folder), options, engine, print)._store_outcome(outcome)

    assert kept(Outcome(cell, old), terms()).record == old
    assert read_record(path) == old
    # Its worker died when the run had been recorded: what counts is the record.
    assert kept(Outcome(cell, new), terms()).record == old
    assert read_record(path) == old
    again = terms(since="2999", retry=True)
    assert kept(Outcome(cell, new), again).record == new
    assert read_record(path) == new
    path.unlink()
    for word in ("busy", "stopped"):
        kept(Outcome(cell, None, word), terms())
    assert not path.exists()


def test_a_full_disk_stops_the_benchmark_with_advice(go, method_file, starts, tmp_path):
    body = """
import resource
if Path({!r}).exists():
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
    trainer.CHECKPOINT_SECONDS = {}
"""
    full = tmp_path / "full"
    early, late = (method_file(f"mine{s}", body.format(str(full), s)) for s in (0, 30))
    done = go("gcn")
    for mine in (early, late):
        full.touch()
        words = r"record to .*results \(.*(File too large|checkpoint).*\); free space on the disk"
        with pytest.raises(HeterophilyError, match=words):
            go("gcn", mine, limits=Limits(patience=0.1))
        assert [r.model for r in read_records(tmp_path / "results") if "mine" in r.model] == [
            "mine0" for _ in range(mine == late)
        ]
        full.unlink()
        assert go("gcn", mine)[0] == done[0]
    assert [r.done for r in read_records(tmp_path / "results")] == [True] * 3
    assert starts() == {"mine0": 2, "mine30": 2}


def test_a_full_disk_ends_the_other_runs(go, method_file, starts, tmp_path):
    full = method_file("full", "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))")
    slow = method_file("slow", "time.sleep(600)")
    with pytest.raises(HeterophilyError, match="cannot write a record"):
        go(full, slow, splits="all", limits=Limits(patience=2))
    assert read_records(tmp_path / "results") == []
    assert sum(starts().values()) < 6


def test_two_commands_at_once_run_every_cell_once(planned, method_file, starts, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.1)
    mine, other = (method_file("mine", "time.sleep(0.3)"), method_file("other", "raise ArithmeticError"))
    cells, found = planned(mine, other, splits="all"), []

    def command():
        found.append(run_jobs(cells, tmp_path / "results", workers=2, retry=True))

    threads = [threading.Thread(target=command) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert starts() == {"mine": 3, "other": 3}
    assert found[0] == found[1]
    assert sorted(r.status for r in found[0]) == ["done"] * 3 + ["error"] * 3
    assert list((tmp_path / "results" / ".work").iterdir()) == []


def test_a_cell_that_another_command_runs_is_waited_for(go, planned, monkeypatch, tmp_path):
    answers = iter(["busy", "busy", ""])
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)

    def supervise(cell, store, terms):
        word = next(answers)
        record = None if word else failure_record(cell, "error", "theirs")
        if record:
            write_record(store.folder, record)
        return Outcome(cell, record, word)

    monkeypatch.setattr(module, "supervise", supervise)
    assert [r.reason for r in go("gcn")] == ["theirs"]
    assert next(answers, None) is None


def test_no_cells_are_no_work(tmp_path):
    assert run_jobs([], tmp_path / "results") == []


def test_the_embedded_graph_is_a_dataset_like_any_other(tmp_path):
    cells = plan(["mlp"], {"digits": load("digits")}, splits="9", settings={"max_epochs": 2})
    (record,) = run_jobs(cells, tmp_path)
    assert (record.dataset, record.split, record.seed, record.done) == ("digits", "9", 9, True)
