"""Products equal plain ones for every implementation, in values and gradients."""

from itertools import product as product_of

import pytest
import torch

from heterophily.core import dense as ways
from heterophily.core.dense import matmul, product, transposed_product
from heterophily.core.sparse import Matrix


@pytest.fixture(params=[False, True], ids=["mkl", "onednn"])
def _onednn(request, monkeypatch):
    """Use both libraries on every processor."""
    if request.param and not torch.backends.mkldnn.is_available():
        pytest.skip("PyTorch was built without oneDNN")
    monkeypatch.setattr(ways, "onednn_is_faster", lambda: request.param)
    monkeypatch.setattr(ways, "MIN_ONEDNN_MULTIPLICATIONS", 1)
    torch.manual_seed(0)


pytestmark = pytest.mark.usefixtures("_onednn")


@pytest.mark.parametrize("columns", [1, 3, 16, 40])
def test_single_precision_agrees_with_double(columns: int) -> None:
    generator = torch.Generator().manual_seed(columns)
    drawn = (torch.randn(*shape, generator=generator) for shape in [(50, 33), (33, columns)])
    state, weight = (tensor.requires_grad_() for tensor in drawn)
    bias, flow = torch.randn(columns, generator=generator), torch.randn(50, columns)
    exact = [tensor.detach().double().requires_grad_() for tensor in (state, weight)]
    found, expected = product(state, weight, bias), exact[0] @ exact[1] + bias.double()
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    ours = torch.autograd.grad(found, (state, weight), flow)
    theirs = torch.autograd.grad(expected, exact, flow.double())
    for one, other in zip(ours, theirs, strict=True):
        assert one.is_contiguous()
        torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [3, 60])
def test_factors_may_be_transposes_and_slices(rows: int, monkeypatch) -> None:
    called, gaps = ways.onednn_matmul, []

    def watched(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        gaps.append(not (right.is_contiguous() or right.T.is_contiguous()))
        return called(left, right)

    monkeypatch.setattr(ways, "onednn_matmul", watched)
    left, right = torch.randn(rows, 55), torch.randn(80, 90)
    lefts = left, left.T.contiguous().T, torch.cat([left, left], 1)[:, :55]
    rights = right[5:60], right[5:60, :70], right[:70, 5:60].T, right.T[5:60].contiguous()
    for one, other in product_of(lefts, rights):
        expected = one.double() @ other.double()
        torch.testing.assert_close(matmul(one, other).double(), expected, rtol=1e-5, atol=1e-5)
    assert not any(gaps)  # gaps make oneDNN very slow; a few rows use another product, and more rows are copied
    assert len(gaps) == ways.onednn_is_faster() * (12 if rows == 60 else 6)


def test_a_turned_product_is_the_transpose_of_the_plain_one() -> None:
    state, weight = torch.randn(60, 80), torch.randn(3, 80).T
    expected = (state.double() @ weight.double()).T
    turned = transposed_product(state, weight)
    torch.testing.assert_close(turned.double(), expected, rtol=1e-5, atol=1e-5)


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
    pairs = zip(torch.autograd.grad(found, inputs, flow), torch.autograd.grad(expected, inputs, flow), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)
        assert ours.is_contiguous()


def test_a_sparse_state_may_be_multiplied_too() -> None:
    dense = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    weight = torch.arange(12.0).view(3, 4)
    sparse = Matrix.from_scipy(dense.numpy())
    torch.testing.assert_close(product(sparse, weight, torch.ones(4)), dense @ weight + 1)


def test_no_rows_give_no_rows() -> None:
    assert product(torch.empty(0, 6), torch.ones(6, 3)).shape == (0, 3)


def test_a_missing_operator_is_noticed_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ways.onednn_works() == torch.backends.mkldnn.is_available()

    def missing(*_: object) -> None:
        raise AttributeError

    monkeypatch.setattr(ways, "onednn_matmul", missing)
    assert not ways.onednn_works()
