"""Search spaces reject invalid ranges."""

import pytest

from heterophily import HeterophilyError
from heterophily.core.spaces import Choice, Range


def test_a_choice_keeps_its_values():
    assert Choice(1, 2).values == (1, 2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Choice, "at least one value"),
        (lambda: Range(2, 1), "low < high, got 2 and 1"),
        (lambda: Range(0, 1, log=True), "low > 0, got 0"),
    ],
)
def test_an_empty_space_is_refused(make, words):
    with pytest.raises(HeterophilyError, match=words):
        make()
