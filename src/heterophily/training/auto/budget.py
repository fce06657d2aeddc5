"""Time budgets such as `30s`, `5m`, and `1h`, and the clock of a race."""

import re
import time
from dataclasses import dataclass, field

from heterophily.core.errors import HeterophilyError

DEFAULT_BUDGET = "5m"
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
RESERVE = 0.05  # share of the budget for the ensemble, calibration, and the final scores


def parse_budget(budget: str | float) -> float:
    """Return a budget in seconds.

    >>> parse_budget("30s"), parse_budget("1.5m"), parse_budget(10)
    (30.0, 90.0, 10.0)
    """
    if isinstance(budget, int | float) and 0 < budget < float("inf"):
        return float(budget)
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([smh]?)\s*", str(budget))
    seconds = float(match[1]) * SECONDS[match[2]] if match else 0.0
    if not seconds:
        raise HeterophilyError(f"budget must be a positive time such as 30s, 5m, or 1h, got {str(budget)!r}")
    return seconds


@dataclass(frozen=True)
class Clock:
    """The time that is left of a budget."""

    budget: float  # seconds
    start: float = field(default_factory=time.monotonic)

    def left(self, share: float = 1.0, *, since: float = 0.0) -> float:
        """Return the seconds that are left, without the reserve for the end, of a share of the time after `since`."""
        end = (1 - RESERVE) * self.budget
        return since + share * (end - since) - self.elapsed

    @property
    def elapsed(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self.start
