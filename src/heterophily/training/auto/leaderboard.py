"""The leaderboard of a race: one entry per candidate, best first, as plain data."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from heterophily.core.types import JsonObject

FINISHED = ("done", "stopped early", "out of time", "interrupted")  # statuses of candidates with predictions


@dataclass(frozen=True)
class Entry:
    """A candidate of a race and its result so far."""

    name: str
    method: str
    status: str = "pending"  # pending, running, paused, done, stopped early, out of time, skipped, or failed
    score: float = float("nan")  # on the validation nodes, NaN if unknown
    n_epochs: int = 0
    seconds: float = 0.0
    weight: float = 0.0  # in the final ensemble
    reason: str = ""  # of a failure

    @property
    def has_score(self) -> bool:
        """Whether there is a score."""
        return not math.isnan(self.score)


@dataclass(frozen=True)
class Leaderboard:
    """All candidates of a race, and how the result was selected from them."""

    scoring: str
    entries: tuple[Entry, ...]  # in the order of the portfolio
    seconds: float = 0.0
    stopped: str = "finished"  # finished, budget, or interrupted

    @property
    def ranked(self) -> list[Entry]:
        """The entries, best first. Entries without a score come last."""
        return sorted(self.entries, key=lambda e: -e.score if e.has_score else math.inf)

    @property
    def members(self) -> list[Entry]:
        """The members of the final ensemble, by weight."""
        return sorted((e for e in self.entries if e.weight), key=lambda e: -e.weight)

    def to_dict(self) -> JsonObject:
        """Return plain data, with None for unknown scores."""
        rows = [dataclasses.asdict(entry) for entry in self.ranked]
        for row in rows:
            row["score"] = None if math.isnan(row["score"]) else row["score"]
        return {"scoring": self.scoring, "seconds": self.seconds, "stopped": self.stopped, "entries": rows}

    @classmethod
    def from_dict(cls, values: JsonObject) -> "Leaderboard":
        """Restore the result of `to_dict`, with the entries in the order of their scores."""
        rows = cast("list[JsonObject]", values["entries"])
        known = ({**row, "score": math.nan if row["score"] is None else row["score"]} for row in rows)
        entries = tuple(Entry(**row) for row in known)  # type: ignore[arg-type]
        rest = {name: value for name, value in values.items() if name != "entries"}
        return cls(entries=entries, **rest)  # type: ignore[arg-type]


def with_weights(board: Leaderboard, weights: Sequence[float]) -> Leaderboard:
    """Return a leaderboard with the weights of the ensemble, in the order of the entries."""
    entries = (dataclasses.replace(e, weight=float(w)) for e, w in zip(board.entries, weights, strict=True))
    return dataclasses.replace(board, entries=tuple(entries))
