"""The fused gated sum against its formula, and its gradient against finite differences."""

from typing import Any

import pytest
import torch
from torch import Tensor

from heterophily.core.gates import gated_sum

N, D, R = 7, 4, 3


def inputs(seed: int = 0) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Messages, and weights by name."""
    torch.manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.double, requires_grad=True)

    named = {"attend": (R * D, R), "mix": (R, R), "offset": (R, N), "bias": (R,)}
    return [draw(N, D) for _ in range(R)], {k: draw(*shape) for k, shape in named.items()}


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("more", [(), ("offset",), ("bias",), ("offset", "bias")])
def test_the_gated_sum_equals_its_formula(scale: float, more: tuple[str, ...]) -> None:
    messages, w = inputs()
    options: dict[str, Any] = {name: w[name] for name in more}
    state, alpha = gated_sum(messages, w["attend"], w["mix"], scale=scale, **options)
    scores = torch.cat(messages, dim=1) @ w["attend"]
    scores = scores + (w["offset"].T if "offset" in more else 0)
    mixed = torch.sigmoid(scores) @ w["mix"] + (w["bias"] if "bias" in more else 0)
    expected = mixed.softmax(dim=1)
    torch.testing.assert_close(alpha, expected.detach())
    total = sum(expected[:, r : r + 1] * z for r, z in enumerate(messages))
    torch.testing.assert_close(state, scale * total)
    assert not alpha.requires_grad


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_its_gradient_is_right(scale: float) -> None:
    messages, w = inputs(1)
    names = list(w)

    def state(*values: Tensor) -> Tensor:
        named = dict(zip(names, values, strict=False))
        attend, mix = named.pop("attend"), named.pop("mix")
        return gated_sum(values[len(names) :], attend, mix, scale=scale, **named)[0]

    assert torch.autograd.gradcheck(state, (*w.values(), *messages))
