"""How jobs are executed: limits, threads, and which failed jobs run again."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Limits:
    """Limits of one run; 0 for no limit."""

    memory: float = 0.0  # GB
    minutes: float = 0.0
    patience: float = 60.0  # seconds to wait for space on a full disk


@dataclass(frozen=True)
class RunOptions:
    """The options with which one command executes its jobs."""

    since: str  # time at which the command started
    threads: int = 1  # per run
    limits: Limits = Limits()
    retry: bool = False  # whether to run jobs again that failed before
    attempts: int = 1  # how often a job starts if its process is killed


def now() -> str:
    """Return the time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
