"""The schema of a record: types, limits of scores, and the characters of its key, which is part of a file name."""

import json
from typing import Annotated, Literal, NotRequired

from pydantic import Field

from heterophily.core.errors import HeterophilyError
from heterophily.core.schema import (
    IGNORE_OTHERS,
    RETAIN_OTHERS,
    Count,
    Finite,
    Scalar,
    Seed,
    SettingValue,
    Text,
    TypedDict,
    parse_json,
)
from heterophily.core.types import JsonObject
from heterophily.training.scoring import RENAMED, SCORINGS

Key = Annotated[str, Field(pattern=r"^[0-9A-Za-z_+][0-9A-Za-z_+.-]{0,199}$")]
Time = Annotated[str, Field(pattern=r"^(\d{4}(-\d\d(-\d\d(T\d\d:\d\d:\d\d(\.\d{1,6})?(\+00:00|Z)?)?)?)?)?$")]
Status = Literal["done", "error", "memory", "time", "killed"]
Scores = dict[str, Finite]


class CurveSchema(TypedDict, total=False):
    """One value per epoch. A loss may be NaN."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    loss: list[float]
    seconds: list[float]


class RunSchema(TypedDict, total=False):
    """The result of training."""

    __pydantic_config__ = IGNORE_OTHERS  # type: ignore[misc]
    scores: dict[Literal["train", "val", "test"], Scores | None]
    best_epoch: int
    n_epochs: Count
    stopped: Text
    seconds: Finite
    milliseconds_per_epoch: Finite
    peak_memory: Finite
    curve: CurveSchema
    seed: Seed
    device: Text


class DetailsSchema(TypedDict, total=False):
    """Sizes, the estimated compatibility matrix, and the rows of measures."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    split: dict[str, Count]
    compatibility: list[list[Finite]]
    compatibility_error: Finite


class RecordSchema(TypedDict):
    """A record. Fields with a default may be missing, and fields of later versions are ignored."""

    __pydantic_config__ = IGNORE_OTHERS  # type: ignore[misc]
    key: Key
    model: Text
    dataset: Text
    split: Text
    seed: Seed
    settings: dict[str, SettingValue]
    preset: Text
    source: Text
    recipe: Text
    checksum: Text
    status: NotRequired[Status]
    reason: NotRequired[str]
    run: NotRequired[RunSchema]
    parameters: NotRequired[Count]
    details: NotRequired[DetailsSchema]
    environment: NotRequired[dict[str, Scalar]]
    finished: NotRequired[Time]
    version: NotRequired[Count]
    trials: NotRequired[Count]


def parse_record(text: bytes) -> JsonObject:
    """Return the content of a record as it was written, or raise an error that describes the damage."""
    content = parse_json(RecordSchema, text)
    scores = content.get("run", {}).get("scores", {})
    if content.get("status", "done") == "done" and not any(scores.values()):
        raise HeterophilyError("run.scores is missing although the run is done")
    for part, found in scores.items():
        for name, value in (found or {}).items():
            _check_score(f"run.scores.{part}.{name}", RENAMED.get(name, name), value)
    plain: JsonObject = json.loads(text)
    return plain


def _check_score(place: str, name: str, value: float) -> None:
    if name in SCORINGS and SCORINGS[name].is_share and not 0 <= value <= 1:
        raise HeterophilyError(f"{place} must be between 0 and 1, got {value:g}")
