"""FUSE: one representation from the states of all layers Z⁰, .., Z^L (paper, Section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError, check_option

INITS = ("ppr", "nppr", "sgc", "random")


@dataclass(frozen=True)
class LastLayer:
    """The state of the last layer.

    Z = Z^L

    Examples
    --------
    >>> LastLayer().symbol
    'Z^L'
    """

    symbol = "Z^L"
    uses_all_layers = False  # whether states of earlier layers matter
    concatenates = False  # whether Z is wider than each layer

    def weights(self, n_layers: int) -> dict[str, nn.Parameter]:
        """None."""
        return {}

    def width(self, widths: Sequence[int]) -> int:
        """The width of the last state."""
        return widths[-1]

    def __call__(self, states: Sequence[Any], w: Any) -> Any:
        """Z^L."""
        return states[-1]


@dataclass(frozen=True)
class ConcatLayers(LastLayer):
    """Concatenation of the states of all layers.

    Z = [Z⁰ ‖ .. ‖ Z^L]

    Examples
    --------
    >>> ConcatLayers().symbol
    'Cat'
    """

    symbol = "Cat"
    uses_all_layers = concatenates = True

    def width(self, widths: Sequence[int]) -> int:
        """The sum of all widths."""
        return sum(widths)

    def __call__(self, states: Sequence[Any], w: Any) -> Tensor:
        """[Z⁰ ‖ .. ‖ Z^L]."""
        return torch.cat(list(states), dim=1)


@dataclass(frozen=True)
class WeightedLayerSum(LastLayer):
    """Sum over layers with one learned weight per layer, of either sign.

    Z = Σ_l γ_l Z^l

    Parameters
    ----------
    teleport
        α, which determines the initial weights.
    init
        Initial weights: `ppr` for α(1-α)^l and (1-α)^L in the last layer, `nppr` for normalized
        α^l, `sgc` for 1 at layer α, `random`, or a tuple of L + 1 numbers.

    Examples
    --------
    >>> WeightedLayerSum(0.1).symbol
    'AdaAdd'
    """

    teleport: float = 0.1  # α
    init: str | tuple[float, ...] = "ppr"
    symbol = "AdaAdd"
    uses_all_layers = True

    def __post_init__(self) -> None:
        if isinstance(self.init, str):
            check_option("gamma_init", self.init, INITS)

    def weights(self, n_layers: int) -> dict[str, nn.Parameter]:
        """γ (L + 1)."""
        return {"gamma": nn.Parameter(self._initial(n_layers))}

    def _initial(self, n_layers: int) -> Tensor:
        alpha = self.teleport
        steps = torch.arange(n_layers + 1.0)
        if not isinstance(self.init, str):
            return self._given(n_layers + 1)
        if self.init == "ppr":
            gamma = alpha * (1 - alpha) ** steps
            gamma[-1] = (1 - alpha) ** n_layers
            return gamma
        if self.init == "sgc":
            return (steps == round(alpha)).to(steps.dtype)
        raw = alpha**steps if self.init == "nppr" else 2 * torch.rand(n_layers + 1) - 1
        return raw / raw.abs().sum()

    def _given(self, count: int) -> Tensor:
        if len(self.init) != count:
            raise HeterophilyError(f"gamma_init must have {count} numbers, got {len(self.init)}")
        return torch.tensor(self.init, dtype=torch.get_default_dtype())

    def __call__(self, states: Sequence[Any], w: Any) -> Tensor:
        """Σ_l γ_l Z^l."""
        total: Tensor = w.gamma[0] * states[0]
        for gamma, state in zip(w.gamma[1:], states[1:], strict=True):
            total = torch.addcmul(total, gamma, state)
        return total
