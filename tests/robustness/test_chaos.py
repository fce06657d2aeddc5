"""Commands that are killed at random moments: a short version of `make chaos`."""

from dataclasses import replace

import pytest

from tests.robustness.chaos import KINDS, PROBLEMS, make_source, n_kills, run_campaign, undisturbed
from tests.robustness.launcher import Launcher

SHORT = {"max_epochs=80": "max_epochs=20", "patience=80": "patience=20", "0-7": "0-1", "12": "4"}


@pytest.fixture(scope="module")
def launcher():
    with Launcher() as started:
        yield started


@pytest.mark.parametrize("name", ["bench", "search", "fit"])
def test_a_killed_command_loses_nothing_and_leaves_nothing(name, launcher, tmp_path):
    (kind,) = (kind for kind in KINDS if kind.name == name)
    kind = replace(kind, words=tuple(SHORT.get(word, word) for word in kind.words))
    make_source(tmp_path)
    expected, results = undisturbed(kind, tmp_path, launcher), []
    while sum(map(n_kills, results)) < 3 and len(results) < 20:  # a fast machine may finish before it was hit
        results.append(run_campaign(kind, tmp_path, len(results), expected, 3, launcher))
        assert {problem: results[-1][problem] for problem in PROBLEMS} == {problem: [] for problem in PROBLEMS}
    assert sum(map(n_kills, results)) >= 3
