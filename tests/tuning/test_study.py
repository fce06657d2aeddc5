"""Trials whose process is gone are tried again, a few times; those of the living are left alone."""

import os
import socket
from dataclasses import replace

import psutil
import pytest

from heterophily.tuning.study import MAX_ATTEMPTS, Claims, open_study, orphans, recover_trials, release_trial

GONE = {"host": socket.gethostname(), "pid": 2**22 + 1, "started": 0.0}


@pytest.fixture
def opened(tmp_path):
    return open_study(tmp_path / "study.journal", "a study")


def begin(study, process):
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    if process is not None:
        trial.set_user_attr("process", process)
    return trial


def test_no_more_trials_are_claimed_than_wanted(opened, tmp_path):
    claims = Claims(opened, 2, 0, tmp_path, is_local=True)
    assert [claims.claim_trial().number for _ in range(2)] == [0, 1]
    assert claims.claim_trial() is None
    assert replace(claims, n_trials=3).claim_trial().number == 2


def test_a_lost_trial_continues_until_it_was_lost_too_often(opened, tmp_path):
    claims = Claims(opened, 2, 0, tmp_path, is_local=True)
    trial = claims.claim_trial()
    draw = trial.user_attrs["draw"]
    for lost in range(1, MAX_ATTEMPTS):
        trial.set_user_attr("process", GONE)
        assert claims.count_missing() == 2
        trial = claims.claim_trial()
        assert (trial.number, trial.user_attrs["lost"], trial.user_attrs["draw"]) == (0, lost, draw)
        assert claims.count_missing() == 1
    trial.set_user_attr("process", GONE)
    assert claims.count_missing() == 1
    assert [(t.state.name, t.user_attrs["reason"]) for t in opened.trials] == [("FAIL", "its process was killed")]


def test_an_interrupted_trial_continues_and_is_not_lost(opened, tmp_path):
    claims = Claims(opened, 1, 0, tmp_path, is_local=False)
    for _ in range(2 * MAX_ATTEMPTS):
        trial = claims.claim_trial()
        assert trial.number == 0
        release_trial(trial)
    assert [t.state.name for t in opened.trials] == ["RUNNING"]


def test_the_trials_of_living_processes_are_left_alone(opened):
    mine = {"host": socket.gethostname(), "pid": os.getpid()}
    begin(opened, {**mine, "started": psutil.Process().create_time()})
    begin(opened, {**GONE, "host": "another machine"})
    begin(opened, {**mine, "started": 1.0})  # a number that was given anew
    begin(opened, None)
    assert [trial.number for trial in orphans(opened, is_local=False)] == [2]
    assert [trial.number for trial in orphans(opened, is_local=True)] == [2, 3]
    recover_trials(opened, is_local=True)
    assert [t.state.name for t in opened.trials] == ["RUNNING"] * 4
