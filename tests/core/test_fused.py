"""Fused operations equal their plain versions, in values and gradients."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from heterophily.core import fused
from heterophily.core.fused import blend, gated_sum, plain_blend, plain_gated_sum

N, D, R = 11, 4, 3
CHUNKS, WIDTH = 3, 12


def draw(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.double, generator=generator, requires_grad=True)


def assert_equal_gradients(ours: Callable[..., Tensor], plain: Callable[..., Tensor], inputs: list[Tensor]) -> None:
    """Compare values and the gradients of a random weighted sum of them."""
    values, expected = ours(*inputs), plain(*inputs)
    torch.testing.assert_close(values, expected)
    flow = torch.randn(values.shape, dtype=torch.double)
    pairs = zip(torch.autograd.grad(values, inputs, flow), torch.autograd.grad(expected, inputs, flow), strict=True)
    for gradient, plain_gradient in pairs:
        torch.testing.assert_close(gradient, plain_gradient)


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("names", [(), ("offset",), ("bias",), ("offset", "bias")])
def test_the_gated_sum_equals_its_plain_version(scale: float, names: tuple[str, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = {"attend": (R * D, R), "mix": (R, R), "offset": (R, N), "bias": (R,)}
    weights = {name: draw(generator, *shapes[name]) for name in ("attend", "mix", *names)}
    messages = [draw(generator, N, D) for _ in range(R)]

    def state(function: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., Tensor]:
        def compute(*values: Tensor) -> Tensor:
            named = dict(zip(weights, values, strict=False))
            return function(values[len(named) :], scale=scale, **named)[0]

        return compute

    inputs = [*weights.values(), *messages]
    assert_equal_gradients(state(gated_sum), state(plain_gated_sum), inputs)
    assert torch.autograd.gradcheck(state(gated_sum), inputs)
    alphas = [f(messages, scale=scale, **weights)[1] for f in (gated_sum, plain_gated_sum)]
    torch.testing.assert_close(*alphas)
    assert not any(alpha.requires_grad for alpha in alphas)


def test_the_plain_gated_sum_is_its_formula() -> None:
    generator = torch.Generator().manual_seed(1)
    messages = [draw(generator, N, D) for _ in range(R)]
    w, v, o, b = (draw(generator, *shape) for shape in ((R * D, R), (R, R), (R, N), (R,)))
    state, alpha = plain_gated_sum(messages, w, v, offset=o, bias=b, scale=3.0)
    expected = (torch.sigmoid(torch.cat(messages, dim=1) @ w + o.T) @ v + b).softmax(dim=1)
    torch.testing.assert_close(alpha, expected.detach())
    total = sum(expected[:, r : r + 1] * z for r, z in enumerate(messages))
    torch.testing.assert_close(state, 3.0 * total)


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_a_blend_equals_its_definition_in_blocks_of_any_size(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "ROWS", rows)
    generator = torch.Generator().manual_seed(rows)
    inputs = [draw(generator, N, width) for width in (CHUNKS, WIDTH, WIDTH)]
    gate, ego, mean = inputs
    wide = gate.repeat_interleave(WIDTH // CHUNKS, dim=1)
    torch.testing.assert_close(plain_blend(*inputs), wide * ego + (1 - wide) * mean)
    assert_equal_gradients(blend, plain_blend, inputs)
    assert torch.autograd.gradcheck(blend, inputs)


def test_a_graph_without_nodes_gives_none() -> None:
    empty = torch.empty(0, WIDTH)
    assert blend(torch.empty(0, CHUNKS), empty, empty).shape == (0, WIDTH)
