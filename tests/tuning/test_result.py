"""What is told of the trials of a search."""

from heterophily.tuning.result import TrialResult, baseline_of


def attempt(number, **answers):
    return TrialResult(number, "done", 0.5, (0.5,), 1.0, answers)


def test_the_start_is_the_trial_of_the_settings_with_which_the_search_began():
    sampled, again = attempt(1, width=8, dropout=0.1), attempt(2, width=4, dropout=0.5)
    assert baseline_of([sampled, again], {"width": 4, "dropout": 0.5}) is again


def test_a_question_that_the_start_was_not_asked_does_not_count():
    one = attempt(0, width=4)
    assert baseline_of([one, attempt(1, width=8)], {"width": 4, "fuse": "last"}) is one


def test_without_such_a_trial_it_is_the_first():
    failed = attempt(0)
    assert baseline_of([failed, attempt(1, width=8)], {"width": 4}) is failed
