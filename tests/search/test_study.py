"""Trials whose process is gone are tried again, a few times; those of the living are left alone."""

import os
import socket
from dataclasses import replace

import optuna
import psutil
import pytest

from heterophily.search.problem import SettingsSearch
from heterophily.search.study import (
    TRIES,
    Task,
    count_taken,
    is_void,
    open_study,
    recover,
    run_next,
)

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


def test_no_more_trials_are_claimed_than_wanted(graph, tmp_path, scored):
    scored(lambda settings, split: 0.5)
    options = {"splits": ("0",), "seed": 0, "study": "a study", "folder": tmp_path}
    task = Task(SettingsSearch("gcn"), graph, trials=2, place=tmp_path / "study.journal", **options)
    assert [run_next(task).number for _ in range(2)] == [0, 1]
    assert run_next(task) is None
    assert run_next(replace(task, trials=3)).number == 2


def test_a_lost_trial_is_tried_again_until_it_counts_as_failed(opened):
    params = begin(opened, GONE).params
    for lost in range(1, TRIES):
        recover(opened, local=True)
        assert count_taken(opened) == 0
        again = begin(opened, GONE)
        assert (again.params, again.user_attrs["lost"]) == (params, lost)
        assert count_taken(opened) == 1
    recover(opened, local=True)
    assert count_taken(opened) == 1
    assert [is_void(t) for t in opened.trials] == [True] * (TRIES - 1) + [False]
    assert [t.state.name for t in opened.trials] == ["FAIL"] * TRIES
    assert opened.trials[-1].user_attrs["reason"] == "its process was killed"


def test_the_trials_of_living_processes_are_left_alone(opened):
    mine = {"host": socket.gethostname(), "pid": os.getpid()}
    begin(opened, {**mine, "started": psutil.Process().create_time()})
    begin(opened, {**GONE, "host": "another machine"})
    begin(opened, {**mine, "started": 1.0})  # a number that was given anew
    begin(opened, None)
    recover(opened, local=False)
    states = [t.state.name for t in opened.trials]
    assert states == ["RUNNING", "RUNNING", "FAIL", "RUNNING", "WAITING"]
    recover(opened, local=True)
    assert opened.trials[3].state == optuna.trial.TrialState.FAIL
