"""Trials whose process is gone are tried again, a few times; those of the living are left alone."""

import os
import socket
from dataclasses import replace

import optuna
import psutil
import pytest

from heterophily.search.study import MAX_ATTEMPTS, Claims, count_claimed, is_abandoned, open_study, recover_trials

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


def test_a_lost_trial_is_tried_again_until_it_counts_as_failed(opened):
    params = begin(opened, GONE).params
    for lost in range(1, MAX_ATTEMPTS):
        recover_trials(opened, is_local=True)
        assert count_claimed(opened) == 0
        again = begin(opened, GONE)
        assert (again.params, again.user_attrs["lost"]) == (params, lost)
        assert count_claimed(opened) == 1
    recover_trials(opened, is_local=True)
    assert count_claimed(opened) == 1
    assert [is_abandoned(t) for t in opened.trials] == [True] * (MAX_ATTEMPTS - 1) + [False]
    assert [t.state.name for t in opened.trials] == ["FAIL"] * MAX_ATTEMPTS
    assert opened.trials[-1].user_attrs["reason"] == "its process was killed"


def test_the_trials_of_living_processes_are_left_alone(opened):
    mine = {"host": socket.gethostname(), "pid": os.getpid()}
    begin(opened, {**mine, "started": psutil.Process().create_time()})
    begin(opened, {**GONE, "host": "another machine"})
    begin(opened, {**mine, "started": 1.0})  # a number that was given anew
    begin(opened, None)
    recover_trials(opened, is_local=False)
    states = [t.state.name for t in opened.trials]
    assert states == ["RUNNING", "RUNNING", "FAIL", "RUNNING", "WAITING"]
    recover_trials(opened, is_local=True)
    assert opened.trials[3].state == optuna.trial.TrialState.FAIL
