"""The verdict as a function of the scores of the probes."""

import numpy as np
import pytest

from heterophily.analysis.probes import AVERAGE, FEATURES, GAINS, Probes
from heterophily.analysis.verdict import MODELS, NOT_ENOUGH, decide
from heterophily.models import REGISTRY

NOISE = np.array([-1, 1, 0.5, -0.5, 0.2, -0.2, 0.8, -0.8, 0.4, -0.4])


def probes(*, gain, spread, average=0.0, position=-0.3, n_sampled=1_000, n_folds=5):
    base = np.full(10, 0.5)
    scores = {FEATURES: base, **dict.fromkeys(GAINS, base + gain + spread * NOISE)}
    scores |= {"position": base + position + 0.01 * NOISE, AVERAGE: base + average + 0.01 * NOISE}
    return Probes(scores, dict.fromkeys(scores, "linear"), n_sampled, n_folds)


@pytest.mark.parametrize(
    ("measured", "adjusted", "kind", "confidence"),
    [
        ({"gain": 0.1, "spread": 0.01}, 0.7, "homophily", "high"),
        ({"gain": 0.1, "spread": 0.01}, float("nan"), "homophily", "high"),
        ({"gain": 0.1, "spread": 0.01}, 0.1, "helpful heterophily", "high"),
        ({"gain": 0.1, "spread": 0.09}, 0.1, "helpful heterophily", "moderate"),
        ({"gain": 0.1, "spread": 0.01, "average": -0.2}, 0.1, "edges mislead plain averaging", "high"),
        ({"gain": 0.0, "spread": 0.01}, 0.7, "edges add nothing measurable", "high"),
        ({"gain": 0.0, "spread": 0.01, "average": -0.2}, 0.0, "edges add nothing measurable", "high"),
        ({"gain": 0.05, "spread": 0.3}, 0.1, NOT_ENOUGH, "low"),
        ({"gain": 0.3, "spread": 0.01, "n_sampled": 12}, 0.1, NOT_ENOUGH, "low"),
        ({"gain": 0.3, "spread": 0.01, "n_folds": 3}, 0.1, NOT_ENOUGH, "low"),
    ],
)
def test_the_kind_and_the_confidence(measured, adjusted, kind, confidence):
    verdict = decide(probes(**measured), adjusted)
    assert (verdict.kind, verdict.confidence) == (kind, confidence)
    assert all(model in verdict.advice for model in verdict.models)


def test_ties_are_called_ties():
    verdict = decide(probes(gain=0.0, spread=0.01), 0.0)
    assert "a tie within noise" in verdict.reason
    verdict = decide(probes(gain=0.05, spread=0.3), 0.0)
    assert "does not exclude a useful gain" in verdict.reason


def test_the_reason_states_gain_and_loss():
    reason = decide(probes(gain=0.1, spread=0.01, average=-0.2), 0.1).reason
    assert "rises by 10.0 points (95% interval" in reason
    assert "averages over neighbors instead of features change it by −20.0" in reason


def test_a_best_set_of_three_needs_more_than_one_of_one():
    """The probability that edges help accounts for the choice of the best set."""
    some = probes(gain=0.1, spread=0.06)
    gain = some.difference(GAINS[0], FEATURES)
    assert decide(some, 0.0).probability == pytest.approx(1 - 3 * (1 - gain.probability_above()))


def test_without_probes_nothing_is_claimed():
    verdict = decide(None, 0.9)
    assert verdict.kind == NOT_ENOUGH
    assert "20 labeled nodes" in verdict.reason


def test_linkx_is_recommended_if_position_beats_features():
    assert "linkx" in decide(probes(gain=0.1, spread=0.01, position=0.1), 0.1).models
    assert "linkx" not in decide(probes(gain=0.1, spread=0.01), 0.1).models


def test_recommended_methods_exist():
    assert {model for models in MODELS.values() for model in models} <= set(REGISTRY)
