"""Narrow products equal plain ones, values and gradients."""

import pytest
import torch

from heterophily.dense import product
from heterophily.sparse import Matrix


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 9, 15, 16, 40])
@pytest.mark.parametrize("biased", [False, True])
def test_products_of_any_width_equal_the_plain_one(columns: int, biased: bool) -> None:
    generator = torch.Generator().manual_seed(columns)
    state = torch.randn(30, 12, dtype=torch.double, generator=generator, requires_grad=True)
    weight = torch.randn(12, columns, dtype=torch.double, generator=generator, requires_grad=True)
    bias = torch.randn(columns, dtype=torch.double, generator=generator) if biased else None
    expected = state @ weight + (0 if bias is None else bias)
    found = product(state, weight, bias)
    torch.testing.assert_close(found, expected)
    assert found.is_contiguous()
    flow = torch.randn(expected.shape, dtype=torch.double, generator=generator)
    inputs = (state, weight)
    pairs = zip(
        torch.autograd.grad(found, inputs, flow),
        torch.autograd.grad(expected, inputs, flow),
        strict=True,
    )
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)
        assert ours.is_contiguous()


def test_a_sparse_state_may_be_multiplied_too() -> None:
    dense = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    weight = torch.arange(12.0).view(3, 4)
    sparse = Matrix.from_scipy(dense.numpy())
    torch.testing.assert_close(
        product(sparse, weight, torch.ones(4)),
        dense @ weight + 1,
    )


def test_no_rows_give_no_rows() -> None:
    assert product(torch.empty(0, 6), torch.ones(6, 3)).shape == (0, 3)
