"""The result of a training run, as it is stored in records and saved models."""

from dataclasses import asdict, dataclass, field
from typing import cast

from heterophily.core.types import JsonObject
from heterophily.training.scoring import DEFAULT_SCORING, RENAMED, renamed_scores


@dataclass
class History:
    """Loss, validation score, and seconds of every epoch."""

    scoring: str = DEFAULT_SCORING.name
    loss: list[float] = field(default_factory=list)
    val_scores: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain data. The key of the validation scores contains the scoring: `val_accuracy`."""
        scores = {f"val_{self.scoring}": self.val_scores}
        return {"loss": self.loss, **scores, "seconds": self.seconds}

    @classmethod
    def from_dict(cls, values: dict[str, list[float]]) -> "History":
        """Restore the result of `to_dict`."""
        key = next(key for key in values if key.startswith("val_"))
        name = key.removeprefix("val_")
        return cls(RENAMED.get(name, name), values["loss"], values[key], values["seconds"])


@dataclass(frozen=True)
class TrainingResult:
    """Scores, epochs, and costs of a training run."""

    scores: dict[str, dict[str, float]]  # by part (train, val, test) and scoring
    best_epoch: int
    n_epochs: int
    stopped: str  # patience, max_epochs, or interrupted
    seconds: float
    milliseconds_per_epoch: float
    peak_memory: float  # MB of the process
    history: History
    seed: int
    device: str

    def score(self, part: str = "test", scoring: str = DEFAULT_SCORING.name) -> float:
        """Return a scoring on a part of the split."""
        return self.scores[part][scoring]

    def to_dict(self) -> JsonObject:
        """Return plain data with the field names of stored records."""
        values = asdict(self)
        del values["history"]
        return {**values, "curve": self.history.to_dict()}

    @classmethod
    def from_dict(cls, values: JsonObject) -> "TrainingResult":
        """Restore the result of `to_dict`."""
        curve = cast("dict[str, list[float]]", values["curve"])
        rest = {name: value for name, value in values.items() if name != "curve"}
        rest["scores"] = renamed_scores(values["scores"])  # type: ignore[arg-type]
        return cls(**rest, history=History.from_dict(curve))  # type: ignore[arg-type]
