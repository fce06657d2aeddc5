"""Watching one run: limits, deaths and locks, with real processes."""

import multiprocessing
import os
import signal
import threading
import time
from multiprocessing import forkserver
from multiprocessing.connection import wait

import psutil
import pytest
from filelock import FileLock

from heterophily.runs import supervise as module
from heterophily.runs.job import Limits
from heterophily.runs.record import path_of, read_record, write_record
from heterophily.runs.store import Store
from heterophily.runs.supervise import stopping, supervise
from heterophily.runs.worker import failure_record

SLEEP = "time.sleep(600)"


@pytest.fixture(autouse=True)
def _running():
    stopping.clear()
    yield
    stopping.clear()


@pytest.fixture
def see(planned, terms, tmp_path):
    """Supervise a model on split 0 of the small graph."""

    def through(model, *, limits=None, **changes):
        (cell,) = planned(model)
        return supervise(cell, Store(tmp_path), terms(limits=limits or Limits(), **changes))

    return through


def test_a_run_ends_with_its_record_and_leaves_nothing_else(see, tmp_path):
    outcome = see("gcn")
    assert outcome.status == ""
    assert outcome.record.done
    assert read_record(path_of(tmp_path, outcome.record)) == outcome.record
    assert list((tmp_path / ".work").iterdir()) == []


def test_a_run_has_the_threads_it_is_told(see):
    assert see("gcn", threads=1).record.environment["threads"] == 1
    assert see("mlp", threads=2).record.environment["threads"] == 2


def test_a_run_that_is_there_does_not_start(see, method_file, starts):
    path = method_file("mine")
    first, second = see(path), see(path)
    assert first == second
    assert starts() == {"mine": 1}


@pytest.mark.parametrize(
    ("body", "limits", "status", "reason"),
    [
        (SLEEP, Limits(minutes=0.02), "time", "took more than 0.02 minutes"),
        (f"hoard = bytearray(10**9)\n{SLEEP}", Limits(memory=0.8), "memory", "needed more than 0.8 GB"),
        ("os.kill(os.getpid(), signal.SIGKILL)", Limits(), "killed", "SIGKILL, perhaps because"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Limits(), "killed", "ended with signal SIGSEGV"),
        ("os._exit(7)", Limits(), "killed", "the process ended with exit code 7"),
        ("raise SystemExit(7)", Limits(), "killed", "the process ended with exit code 7"),
        ("raise ArithmeticError('odd')", Limits(), "error", "ArithmeticError on line 15: odd"),
        ("Mine = 3", Limits(), "error", "must define exactly one method, but defines 0"),
    ],
)  # fmt: skip
def test_a_run_that_ends_badly_is_recorded_with_its_reason(see, method_file, tmp_path, body, limits, status, reason):
    outcome = see(method_file("mine", body), limits=limits, threads=1)
    assert (outcome.status, outcome.record.status) == ("", status)
    assert reason in outcome.record.reason
    assert outcome.record.environment["threads"] == 1
    assert read_record(path_of(tmp_path, outcome.record)) == outcome.record


def test_limits_that_are_kept_change_nothing(see):
    assert see("gcn", limits=Limits(memory=50, minutes=5)).record.done


def test_a_process_that_was_killed_lets_go_of_its_lock(see, method_file, starts, tmp_path):
    bad = method_file(
        "mine", "if not Path('{0}').exists():\n    Path('{0}').touch()\n    os._exit(1)".format(tmp_path / "once")
    )
    assert see(bad).record.status == "killed"
    assert list((tmp_path / ".work").glob("*.lock"))
    assert see(bad).record.done
    assert starts() == {"mine": 2}
    assert list((tmp_path / ".work").iterdir()) == []


def test_a_record_that_was_written_before_the_kill_stays(see, monkeypatch, method_file, tmp_path):
    body = """
from heterophily.runs.store import Store
Store.remove_work_files = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""
    outcome = see(method_file("mine", body))
    assert outcome.record.done
    assert read_record(path_of(tmp_path, outcome.record)).done
    assert list((tmp_path / ".work").glob("*.lock"))


def test_what_killed_writers_left_is_tidied_up(see, planned, tmp_path):
    (cell,) = planned("gcn")
    path, aside = path_of(tmp_path, cell.empty_record), tmp_path / ".work" / cell.key[:24]
    foreign = path.parent / ".other.json.abc"
    litter = [path.parent / f".{path.name}.x1y2z3a4", aside.parent / f".{aside.name}.pt.x1y2z3a4"]
    for file in (*litter, foreign):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"half")
    assert see("gcn").record.done
    assert [file.exists() for file in (*litter, foreign)] == [False, False, True]


def test_a_cell_that_another_process_runs_is_busy(see, planned, tmp_path):
    (cell,) = planned("gcn")
    (tmp_path / ".work").mkdir()
    with FileLock(tmp_path / ".work" / f"{cell.key[:24]}.lock"):
        outcome = see("gcn")
        assert (outcome.record, outcome.status) == (None, "busy")
        assert not path_of(tmp_path, cell.empty_record).exists()
    assert see("gcn").record.done


def test_a_retry_keeps_the_old_record_until_there_is_a_new_one(see, method_file, planned, tmp_path, until):
    path = method_file("mine", f"if Path('{tmp_path / 'slow'}').exists():\n    {SLEEP}")
    (cell,) = planned(path)
    file = write_record(tmp_path, failure_record(cell, "error", "old"))
    (tmp_path / "slow").touch()
    outcome = see(path, retry=True, limits=Limits(minutes=0.02))
    assert outcome.record.status == read_record(file).status == "time"
    assert see(path).record.status == "time"
    (tmp_path / "slow").unlink()
    assert see(path, retry=True).record.done


def test_an_interrupted_run_ends_unrecorded(see, method_file, starts, tmp_path, until):
    path, outcomes = method_file("mine", SLEEP), []
    thread = threading.Thread(target=lambda: outcomes.append(see(path)))
    thread.start()
    until(starts, "the start of the run")
    stopping.set()
    thread.join(120)
    assert [(outcome.record, outcome.status) for outcome in outcomes] == [(None, "stopped")]
    assert list(tmp_path.rglob("*.json")) == []
    outcome = see(path)
    assert (outcome.record, outcome.status) == (None, "stopped")
    assert starts() == {"mine": 1}


def test_a_run_ends_with_an_error_of_its_watcher(see, method_file, starts, tmp_path, until, monkeypatch):
    def break_off(child, limits):
        until(starts, "the start of the run")
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_watch", break_off)
    with pytest.raises(KeyboardInterrupt):
        see(method_file("mine", SLEEP))
    number = int((tmp_path / "log.txt").read_text().split()[1])
    until(lambda: not psutil.pid_exists(number), "the end of the run")


def test_a_server_that_is_killed_is_started_again(see, method_file, starts, until, tmp_path):
    path, outcomes = method_file("mine", SLEEP), []
    thread = threading.Thread(target=lambda: outcomes.append(see(path)))
    thread.start()
    until(starts, "the start of the run")
    number = int((tmp_path / "log.txt").read_text().split()[1])
    os.kill(psutil.Process(number).ppid(), signal.SIGKILL)
    thread.join(120)
    assert outcomes[0].record.status == "killed"
    until(lambda: not psutil.pid_exists(number), "the end of the run")
    assert see("gcn").record.done


def test_a_process_that_does_not_start_is_recorded(see, monkeypatch):
    def start(child):
        raise ConnectionRefusedError("gone")

    monkeypatch.setattr(module, "_start", start)
    record = see("gcn").record
    assert record.status == "killed"
    assert "the process did not start: ConnectionRefusedError('gone')" in record.reason


def test_a_daemonic_process_may_watch_runs_too(see):
    config = multiprocessing.current_process()._config
    config["daemon"] = True
    try:
        assert see("gcn").record.done
        assert config["daemon"]
    finally:
        del config["daemon"]


def test_a_record_without_room_is_unwritten(see, method_file):
    body = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))"
    outcome = see(method_file("mine", body), limits=Limits(patience=0.1))
    assert (outcome.record, outcome.status) == (None, "unwritten")
    assert "File too large" in outcome.reason


def test_a_failure_without_room_is_unwritten(see, method_file, monkeypatch):
    def write(store, job, record):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "write", write)
    outcome = see(method_file("mine", "os._exit(1)"))
    assert (outcome.record.status, outcome.status) == ("killed", "unwritten")
    assert "No space left" in outcome.reason


def test_an_exit_code_is_read_once(monkeypatch):
    def slowly(sentinel, read=forkserver.read_signed):
        time.sleep(0.2)
        return read(sentinel)

    monkeypatch.setattr(forkserver, "read_signed", slowly)
    child, other = (module._context().Process(target=os._exit, args=(code,)) for code in (7, 0))
    module._start(child)
    assert wait([child.sentinel], 60)
    start = threading.Thread(target=module._start, args=(other,))
    watch = threading.Thread(target=module._watch, args=(child, Limits()))
    for thread in (start, watch):
        thread.start()
    for thread in (start, watch):
        thread.join()
    assert child.exitcode == 7
    module._watch(other, Limits())
