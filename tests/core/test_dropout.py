"""Cheap masks drop entries with the expected frequency."""

import pytest
import torch

from heterophily.core.dropout import LEVELS, dropout, mask

SIZE = 200_001  # not a multiple of the four entries in a random word


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.8, 0.96])
def test_the_share_of_zeros_is_the_rate_and_the_mean_stays(rate):
    torch.manual_seed(0)
    dropped = dropout(torch.ones(SIZE), rate)
    kept = dropped[dropped > 0]
    error = (rate * (1 - rate) / SIZE) ** 0.5
    assert abs(len(kept) / SIZE - (1 - rate)) < 5 * error
    assert kept.unique().tolist() == pytest.approx([1 / (1 - rate)], rel=2**-10)
    assert abs(float(dropped.mean()) - 1) < 5 * error / (1 - rate)


def test_the_scale_belongs_to_the_threshold_not_to_the_rate_asked_for():
    rate = 1 - 1.3 / LEVELS  # one of 65,536 levels is retained, not 1.3
    found = mask(10, 1, torch.float64)
    assert set(found.tolist()) <= {0.0, float(LEVELS)}
    torch.manual_seed(0)
    dropped = dropout(torch.ones(10 * LEVELS, dtype=torch.float64), rate)
    assert dropped[dropped > 0].unique().tolist() == [float(LEVELS)]


def test_entries_fall_independently_of_their_neighbors():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(SIZE), 0.5) > 0).double()
    for lag in (1, 2, 3, 4):
        assert abs(float((kept[lag:] * kept[:-lag]).mean()) - 0.25) < 5 * (0.1875 / SIZE) ** 0.5


def test_the_same_seed_gives_the_same_mask_and_the_next_call_another():
    values = torch.randn(30, 7)
    torch.manual_seed(3)
    first, second = dropout(values, 0.4), dropout(values, 0.4)
    torch.manual_seed(3)
    assert torch.equal(dropout(values, 0.4), first)
    assert not torch.equal(first, second)


def test_the_gradient_passes_where_entries_stay():
    values = torch.randn(50, 3, requires_grad=True)
    dropped = dropout(values, 0.5)
    dropped.sum().backward()
    torch.testing.assert_close(values.grad * values.detach(), dropped.detach())


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_nothing_and_everything_may_be_dropped(rate):
    values = torch.ones(20)
    assert dropout(values, rate).tolist() == [1 - rate] * 20


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 2), (2, 3, 5)])
def test_shape_and_type_stay(shape, dtype):
    dropped = dropout(torch.ones(shape, dtype=dtype), 0.3)
    assert dropped.shape == shape
    assert dropped.dtype == dtype
