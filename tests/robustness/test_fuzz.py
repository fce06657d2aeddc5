"""Damaged inputs of every kind: a short, reproducible version of `make fuzz`."""

import os
import tempfile

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.robustness.fuzz import KINDS, outcome_of

EXAMPLES = int(os.environ.get("HETEROPHILY_FUZZ", "40"))  # per kind


@pytest.mark.parametrize("name", KINDS)
def test_damaged_input_is_read_or_rejected_with_a_sentence(name, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    failures = []

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS[name].cases)
    def run(case):
        outcome, text = outcome_of(KINDS[name], case)
        if outcome not in ("read", "rejected"):
            failures.append(f"{outcome}: {case!r:.500}\n{text}")

    run()
    assert failures == []
