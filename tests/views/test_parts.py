"""The catalog of parts matches the code, and every part has a summary and an equation."""

from pathlib import Path

import pytest

from heterophily.htmp.architecture import Head, ParamGroup
from heterophily.htmp.channel import Channel
from heterophily.htmp.fuse import Skip
from heterophily.htmp.guidance import FixedGuidance
from heterophily.htmp.method import Deviation
from heterophily.views.parts import KINDS, describe, page, uses_by_part

ROOT = Path(__file__).parents[2]
BASES = tuple(kind.base for kind in KINDS)
PARTS = [part for part in uses_by_part() if issubclass(part, BASES)]
ABSTRACT = (*BASES, Skip, FixedGuidance)


def test_committed_page_equals_the_generated_one():
    assert (ROOT / "docs/reference/parts.md").read_text(encoding="utf-8") == page()


def subclasses(part):
    """Return all parts of the library that are derived from a part."""
    own = [each for each in part.__subclasses__() if each.__module__.startswith("heterophily.")]
    return {each for direct in own for each in (direct, *subclasses(direct))}


def test_every_part_has_an_example():
    derived = {part for base in (*ABSTRACT, Head) for part in subclasses(base)} - set(ABSTRACT)
    parts = derived | {Channel, Deviation, Head, ParamGroup}
    assert len(parts) > 60
    assert {part.__name__ for part in parts if "Examples\n    --------\n    >>>" not in (part.__doc__ or "")} == set()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_part_has_a_summary_and_a_short_equation(part):
    summary, equation = describe(part)
    assert summary.endswith(".")
    assert 1 <= len(equation.splitlines()) <= 3
