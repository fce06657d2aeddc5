"""Products equal plain ones whichever way they go, values and gradients."""

import pytest
import torch

from heterophily import dense as ways
from heterophily.dense import matmul, product, turned_product
from heterophily.sparse import Matrix


@pytest.fixture(params=[False, True], ids=["mkl", "onednn"])
def _onednn(request, monkeypatch):
    """Both libraries, whatever the processor is."""
    if request.param and not torch.backends.mkldnn.is_available():
        pytest.skip("PyTorch was built without oneDNN")
    monkeypatch.setattr(ways, "onednn_is_faster", lambda: request.param)
    monkeypatch.setattr(ways, "SMALL", 1)


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


def test_factors_may_be_transposes_and_slices() -> None:
    left, right = torch.randn(60, 80), torch.randn(60, 90)
    expected = left.double().T[:, 5:] @ right.double()[5:]
    torch.testing.assert_close(
        matmul(left.T[:, 5:], right[5:]).double(), expected, rtol=1e-5, atol=1e-5
    )
    turned = turned_product(left, right[:, :80].T[:, :3])
    expected = (left.double() @ right.double()[:, :80].T[:, :3]).T
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


def test_a_missing_operator_is_noticed_before_it_is_used(monkeypatch) -> None:
    assert ways._onednn_works() == torch.backends.mkldnn.is_available()

    def missing(*_: torch.Tensor) -> torch.Tensor:
        raise AttributeError

    monkeypatch.setattr(ways, "_onednn", missing)
    assert not ways._onednn_works()
