"""What a search may try for a setting: a choice, or a range on a plain or logarithmic scale."""

from dataclasses import dataclass
from typing import Any

from heterophily.core.errors import HeterophilyError


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)
        if not values:
            raise HeterophilyError("a choice needs at least one value")


@dataclass(frozen=True)
class Uniform:
    """Any number from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise HeterophilyError(f"a range needs low < high, got {self.low} and {self.high}")


@dataclass(frozen=True)
class LogUniform(Uniform):
    """Any positive number from `low` to `high`, on a logarithmic scale."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise HeterophilyError(f"a logarithmic range needs low > 0, got {self.low}")
