"""Time budgets as people write them."""

import pytest

from heterophily import HeterophilyError
from heterophily.training.auto.budget import Clock, parse_budget


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("0.5 m", 30), (12, 12)])
def test_budgets_are_seconds_minutes_or_hours(text, seconds):
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "5 days", "-1m", "0", "m", "nan"])
def test_other_budgets_are_rejected(text):
    with pytest.raises(HeterophilyError, match="budget must be a positive time such as 30s, 5m, or 1h"):
        parse_budget(text)


def test_a_part_of_the_budget_is_reserved_for_the_end():
    clock = Clock(100.0)
    assert clock.left(0.5) < 50 < clock.left() < 100
