"""The journal outlives kills: no lock stays behind, and a cut line spoils nothing."""

import json
import subprocess
import sys

import pytest
from filelock import FileLock, Timeout

from heterophily import HeterophilyError
from heterophily.tuning.study import Journal, lock_path, open_storage

HOLD = """
import os, signal, sys
from pathlib import Path
from heterophily.tuning.study import KernelLock
KernelLock(Path(sys.argv[1])).acquire()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_no_lock(tmp_path):
    path = tmp_path / "study.journal"
    ended = subprocess.run([sys.executable, "-c", HOLD, str(path)], check=False)
    assert ended.returncode == -9
    assert path.with_name(".study.journal.lock").exists()
    FileLock(lock_path(path), timeout=0).acquire()  # raises if it is held


def test_the_lock_keeps_others_out(tmp_path):
    journal = Journal(tmp_path / "study.journal")
    journal._held.acquire()
    with pytest.raises(Timeout):
        FileLock(lock_path(tmp_path / "study.journal"), timeout=0).acquire()
    journal._held.release()


@pytest.mark.parametrize("cut", [b'{"b', b'{"b": 2}', b"\xff"])
def test_a_line_that_was_cut_off_is_taken_away(tmp_path, cut):
    path = tmp_path / "study.journal"
    Journal(path).append_logs([{"a": 1}])
    with path.open("ab") as file:
        file.write(cut)
    again = Journal(path)
    assert list(again.read_logs(0)) == [{"a": 1}]
    again.append_logs([{"c": 3}])
    assert list(again.read_logs(0)) == [{"a": 1}, {"c": 3}]
    assert list(Journal(path).read_logs(1)) == [{"c": 3}]
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"a": 1}, {"c": 3}]


def test_a_journal_of_a_cut_line_alone_begins_anew(tmp_path):
    path = tmp_path / "study.journal"
    path.write_bytes(b'{"a"')
    Journal(path).append_logs([{"c": 3}])
    assert list(Journal(path).read_logs(0)) == [{"c": 3}]


def test_a_storage_that_cannot_be_opened_is_named():
    with pytest.raises(HeterophilyError, match="cannot open the storage 'nothing://here'"):
        open_storage("nothing://here")
