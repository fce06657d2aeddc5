"""The result of a training run, as it is stored in records and saved models."""

from dataclasses import asdict, dataclass, field
from typing import cast

from heterophily.core.types import JsonObject
from heterophily.training.metrics import DEFAULT_METRIC


@dataclass
class History:
    """Loss, validation score, and seconds of every epoch."""

    metric: str = DEFAULT_METRIC.name
    loss: list[float] = field(default_factory=list)
    val_scores: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain data. The key of the validation scores contains the metric: `val_accuracy`."""
        scores = {f"val_{self.metric}": self.val_scores}
        return {"loss": self.loss, **scores, "seconds": self.seconds}

    @classmethod
    def from_dict(cls, values: dict[str, list[float]]) -> "History":
        """Restore the result of `to_dict`."""
        key = next(key for key in values if key.startswith("val_"))
        return cls(key.removeprefix("val_"), values["loss"], values[key], values["seconds"])


@dataclass(frozen=True)
class TrainingResult:
    """Scores, epochs, and costs of a training run."""

    scores: dict[str, dict[str, float]]  # by part (train, val, test) and metric
    best_epoch: int
    n_epochs: int
    stopped: str  # patience, max_epochs, or interrupted
    seconds: float
    milliseconds_per_epoch: float
    peak_memory: float  # MB of the process
    history: History
    seed: int
    device: str

    def score(self, part: str = "test", metric: str = DEFAULT_METRIC.name) -> float:
        """Return a metric on a part of the split."""
        return self.scores[part][metric]

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
        return cls(**rest, history=History.from_dict(curve))  # type: ignore[arg-type]
