"""The catalog of parts matches the code, and every part has a summary and an equation."""

from pathlib import Path

import pytest

from heterophily.views.parts import KINDS, describe, page, uses_by_part

ROOT = Path(__file__).parents[2]
BASES = tuple(kind.base for kind in KINDS)
PARTS = [part for part in uses_by_part() if issubclass(part, BASES)]


def test_committed_page_equals_the_generated_one():
    assert (ROOT / "docs/parts.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_part_has_a_summary_and_a_short_equation(part):
    summary, equation = describe(part)
    assert summary.endswith(".")
    assert 1 <= len(equation.splitlines()) <= 3
