"""Calibration against independent computations."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from heterophily.training.auto.calibration import (
    expected_calibration_error,
    fit_calibration,
    fit_temperature,
    reliability,
)


def sample(n, k, *, factor=1.0, shift=0.0):
    """Labels that are sampled from the softmax of random logits, and these logits, distorted."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n, k, generator=generator) * 1.5
    labels = torch.multinomial(logits.softmax(1), 1, generator=generator).squeeze(1)
    distorted = logits * factor
    distorted[:, 1] += shift
    return distorted, labels


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_the_temperature_of_distorted_logits_is_recovered(factor):
    logits, labels = sample(4000, 4, factor=factor)
    temperature = fit_temperature(logits, labels)
    assert temperature == pytest.approx(factor, rel=0.1)
    before, after = (
        expected_calibration_error(z.softmax(1).numpy(), labels.numpy()) for z in (logits, logits / factor)
    )
    assert after < 0.04 < before
    grid = torch.linspace(0.1, 5, 491)
    best = min(grid, key=lambda t: F.cross_entropy(logits / t, labels))
    assert temperature == pytest.approx(float(best), abs=0.03)


def test_the_bias_of_two_classes_is_recovered():
    logits, labels = sample(4000, 2, shift=2.0)
    temperature, bias = fit_calibration(logits, labels, has_bias=True)
    assert temperature == pytest.approx(1.0, abs=0.15)
    assert bias.tolist() == [0.0, pytest.approx(-2.0, abs=0.25)]
    assert fit_calibration(*sample(50, 3, shift=2.0), has_bias=True)[1].tolist() == [0.0, 0.0, 0.0]


def test_timid_probabilities_of_a_rare_class_become_decisive():
    labels = (torch.arange(100) < 7).long()
    logits = torch.zeros(100, 2)
    logits[:, 1] = -2.7 + 0.9 * labels + torch.linspace(0, 0.1, 100)  # perfect order, but no probability above 0.17
    temperature, bias = fit_calibration(logits, labels, has_bias=True)
    calibrated = logits / temperature + bias
    assert torch.equal(calibrated.argmax(dim=1), labels)
    assert F.cross_entropy(calibrated, labels) < 0.1 < F.cross_entropy(logits, labels)


def test_few_nodes_and_perfect_predictions_give_finite_temperatures():
    logits = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    temperature, bias = fit_calibration(logits, torch.tensor([0, 1]), has_bias=True)
    assert 0.1 < temperature <= 1.0
    assert bias.isfinite().all()


def test_the_calibration_error_is_the_weighted_gap_of_the_bins():
    probabilities = np.array([[0.95, 0.05], [0.95, 0.05], [0.35, 0.65], [0.65, 0.35]])
    labels = np.array([0, 1, 1, 0])
    bins = reliability(probabilities, labels)
    assert [(b.n_nodes, round(b.confidence, 6), b.accuracy) for b in bins] == [(2, 0.65, 1.0), (2, 0.95, 0.5)]
    assert expected_calibration_error(probabilities, labels) == pytest.approx((0.35 + 0.45) / 2)
    assert sum(b.n_nodes for b in reliability(np.eye(2), np.array([0, 0]))) == 2
