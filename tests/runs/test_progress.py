"""What a benchmark shows: one line per run in a log, a bar on a terminal."""

import dataclasses
import io
import sys

import pytest

from heterophily.runs.worker import Outcome, failure_record
from heterophily.views.progress import RunProgress, format_outcome

RUN = {"scores": {"test": {"accuracy": 0.5}, "val": {"accuracy": 0.756}}, "n_epochs": 7, "seconds": 1.25}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def cells(planned):
    return planned("mlp", splits="all")


def done(cell):
    return Outcome(cell, dataclasses.replace(cell.empty_record, run=RUN))


def test_a_log_has_one_line_per_run(cells, capsys):
    trouble = failure_record(cells[1], "error", "Traceback:\n  in a file\nArithmeticError: odd\n")
    with RunProgress([], cells, workers=2) as display:
        display.update(done(cells[0]))
        display.update(Outcome(cells[1], trouble))
        display.update(Outcome(cells[2], None, "busy"))
        display.update(Outcome(cells[2], None, "stopped"))
        display.update(Outcome(cells[2], None, "unwritten", "(no space); free space"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "0 of 3 runs are already finished",
        "[1/3] mlp on small, split 0: test 50.00%, validation 75.60%, 7 epochs in 1.2 s",
        "[2/3] mlp on small, split 1: failed (error), ArithmeticError: odd",
        "[3/3] mlp on small, split 2: cannot write its record (no space); free space",
    ]


def test_a_log_counts_what_is_there(cells, capsys):
    found = [done(cells[0]).record, failure_record(cells[1], "time", "slow")]
    with RunProgress(found, cells[2:], workers=2) as display:
        display.update(done(cells[2]))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "1 of 3 runs are already finished, 1 failed earlier"
    assert lines[1].startswith("[3/3] mlp on small, split 2: test")


def test_a_quiet_benchmark_prints_nothing(cells, capsys):
    with RunProgress([], cells, workers=2, quiet=True) as display:
        display.update(done(cells[0]))
        display.update(Outcome(cells[1], failure_record(cells[1], "time", "slow")))
    assert capsys.readouterr() == ("", "")


def test_the_counts_are_right_at_every_moment(cells):
    display = RunProgress([], cells, workers=2, quiet=True)
    assert display.text == "0 done, 2 running, 0 failed, 1 pending"
    display.update(done(cells[0]))
    assert display.text == "1 done, 2 running, 0 failed, 0 pending"
    display.update(Outcome(cells[1], failure_record(cells[1], "time", "slow")))
    display.update(Outcome(cells[2], None, "busy"))
    assert display.text == "1 done, 1 running, 1 failed, 0 pending"


def test_the_bar_measures_work_by_cost(cells):
    costly = [dataclasses.replace(cell, cost=cost) for cell, cost in zip(cells, (1, 2, 5), strict=True)]
    display = RunProgress([], costly, workers=2, quiet=True)
    display.update(done(costly[0]))
    assert (display.bar.tasks[0].completed, display.bar.tasks[0].total) == (1, 8)


def test_a_terminal_gets_a_bar_and_lines_for_failures_only(cells, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with RunProgress([], cells, workers=2) as display:
        display.update(done(cells[0]))
        display.update(Outcome(cells[1], failure_record(cells[1], "time", "took [bold]more")))
    text = terminal.getvalue()
    assert "1 done, 1 running, 1 failed, 0 pending" in text
    assert "67 % of the work" in text
    assert "left" in text
    assert "[2/3] mlp on small, split 1: failed (time), took [bold]more" in text
    assert "test 50.00%" not in text


def test_a_failure_without_reason_is_shown_too(cells):
    assert format_outcome(Outcome(cells[0], failure_record(cells[0], "error", " \n"))).endswith("failed (error), ")
