"""CMGNN of this library and the published program, compared with the published means."""

import pytest

from heterophily.core.errors import HeterophilyError
from heterophily.views.reproduction import ProgramResult, compare_reproduction, read_program
from heterophily.views.settings_kinds import by_kind_of_settings
from tests.views.test_settings_kinds import runs


@pytest.fixture(autouse=True)
def _three_runs(monkeypatch):
    """The paper's ten runs are three here."""
    monkeypatch.setattr("heterophily.benchmark.table.PAPER_RUNS", 3)


def compare(means, program):
    """Compare runs with the published means: actor 36.82 ± 0.78 and photo 95.48 ± 0.29, each with tolerance 0.3."""
    records = [each for name, mean in means.items() for each in runs("cmgnn", mean, dataset=name)]
    return compare_reproduction(by_kind_of_settings(records).tuned, {}, program)


def test_a_mean_that_neither_reaches(monkeypatch):
    found = compare({"actor": 36.0, "photo": 95.4}, {"actor": ProgramResult(36.3, 1.0)})
    assert found.summary == "reached on 1 of 2 datasets; not reached by the published program either on actor"
    assert found.complete
    assert "On actor, the published program does not reach the published mean" in " ".join(found.sentences)
    assert [row[5] for row in found.table.rows] == ["36.30 ± 1.00", "–"]


def test_a_mean_that_only_the_program_reaches():
    found = compare({"actor": 36.0}, {"actor": ProgramResult(36.6, 0.3)})
    assert not found.complete
    text = " ".join(found.sentences)
    assert "it is 0.60 points lower than the program" in text
    assert "of 3 splits is 0.27" in text  # sqrt((0.361² + 0.3²) / 3)


def test_a_mean_that_only_the_library_reaches():
    found = compare({"actor": 36.8}, {"actor": ProgramResult(36.3, 1.0)})
    assert found.complete
    assert "On actor, this library reaches it and the published program does not." in found.sentences


def test_a_few_splits_do_not_decide():
    found = compare({"actor": 36.0}, {"actor": ProgramResult(35.0, scores=(35.5, 34.5))})
    assert not found.complete
    assert found.summary == "reached on 0 of 1 datasets; undecided on actor"
    assert found.sentences[-1] == (
        "On actor, the published program was run on splits 0 and 1 only, which is too little to decide: 35.50 and "
        "34.50, compared with 35.60 and 36.10 of this library."
    )
    assert found.table.rows[0][5] == "35.00 (2/10)"


def test_without_the_program_it_is_only_reported_what_is_missing():
    found = compare({"actor": 36.0}, {})
    assert (found.summary, found.sentences) == ("reached on 0 of 1 datasets; not reached on actor", ())


def test_unknown_datasets_of_the_program_are_rejected():
    with pytest.raises(HeterophilyError, match='did you mean "actor"'):
        compare({"actor": 36.0}, {"actr": ProgramResult(36.0, 1.0)})


def test_results_of_the_program_are_read(tmp_path):
    path = tmp_path / "program.toml"
    assert read_program(path) == {}
    path.write_text("[actor]\nmean = 36.5\nstd = 1\n[photo]\nscores = [95.0, 96.0]\n")
    assert read_program(path) == {"actor": ProgramResult(36.5, 1.0), "photo": ProgramResult(95.5, scores=(95.0, 96.0))}


@pytest.mark.parametrize("text", ["[actor", "[actor]\nmean = 36.5", "actor = 1", "[actor]\nscores = []"])
def test_damaged_results_of_the_program_are_rejected(tmp_path, text):
    path = tmp_path / "program.toml"
    path.write_text(text)
    with pytest.raises(HeterophilyError, match="must have a table with mean and std"):
        read_program(path)
