"""The two files of a saved classifier, validated before anything that they describe is allocated.

`model.json` follows a schema. The predictor that it describes is first built without memory, on PyTorch's meta
device, and its shapes must be those in the header of the weights file, whose length proves them.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

import torch
from pydantic import Field
from pydantic.types import JsonValue
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import PARTS, Graph
from heterophily.core.schema import (
    IGNORE_OTHERS,
    RETAIN_OTHERS,
    Count,
    Finite,
    Seed,
    Text,
    TypedDict,
    check_json,
    parse_json,
)
from heterophily.core.sparse import Pattern

FORMAT = "heterophily-model-2"
Shapes = Mapping[str, tuple[int, ...]]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1.0001)]
Size: TypeAlias = Annotated[int, Field(ge=0, lt=2**31)]


class Parameters(TypedDict, total=False):
    """The parameters of a classifier. The settings of the method are further entries."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    model: Text | dict[str, JsonValue]
    preset: Literal["published", "reference"]
    random_state: Seed | None
    device: Text
    class_weight: JsonValue
    batch_size: Annotated[int, Field(ge=1, le=2**40)] | None
    neighbors: Text | list[Size] | dict[str, list[Size]]
    scoring: Text | None
    positive: Text | int | None
    threshold: Text | Finite | None
    calibrate: bool
    budget: Text | Finite
    ensemble: bool
    workers: Annotated[int, Field(ge=1)] | None
    verbose: bool


class AlarmData(TypedDict):
    """An alarm."""

    kind: Text
    text: str


class BinData(TypedDict):
    """A bin of a reliability plot."""

    confidence: Share
    accuracy: Share
    n_nodes: Count


class ReliabilityData(TypedDict):
    """A calibration error with its bins."""

    error: Share
    bins: list[BinData]


class CalibrationData(TypedDict):
    """Reliability before and after calibration."""

    part: Text
    n_nodes: Count
    before: ReliabilityData
    after: ReliabilityData | None


class EntryData(TypedDict):
    """A candidate of `auto`."""

    name: Text
    method: Text
    status: Text
    score: Finite | None
    n_epochs: Count
    seconds: Finite
    weight: Share
    reason: str


class BoardData(TypedDict):
    """The leaderboard of `auto`."""

    scoring: Text
    seconds: Finite
    stopped: Text
    entries: list[EntryData]


class Judgment(TypedDict):
    """What is known about a fitted model besides its predictions."""

    scoring: Text
    positive: Literal[0, 1] | None
    threshold: Share | None
    alarms: list[AlarmData]
    calibration: CalibrationData | None
    leaderboard: BoardData | None


class Curve(TypedDict):
    """The learning curve. One further entry has the validation scores."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    loss: list[float]
    seconds: list[float]


class Run(TypedDict):
    """The result of training."""

    __pydantic_config__ = IGNORE_OTHERS  # type: ignore[misc]
    scores: dict[Literal["train", "val", "test"], dict[str, float]]
    best_epoch: int
    n_epochs: Count
    stopped: Text
    seconds: Finite
    milliseconds_per_epoch: Finite
    peak_memory: Finite
    curve: Curve
    seed: Seed
    device: Text


class Saved(TypedDict):
    """The content of `model.json`."""

    __pydantic_config__ = RETAIN_OTHERS  # type: ignore[misc]
    format: Literal["heterophily-model-2"]
    parameters: Parameters
    predictor: dict[str, JsonValue]
    classes: list[str] | list[int] | list[Finite] | list[bool]
    n_nodes: Size
    n_features: Size
    feature_names: list[str] | None
    encoder: dict[str, JsonValue] | None
    split: dict[str, list[Size]]
    run: Run
    judgment: Judgment


def read_content(folder: Path) -> Saved:
    """Return the content of `model.json`."""
    path = folder / "model.json"
    _check_files(folder)
    try:
        text = path.read_bytes()
        found = parse_json(dict[str, JsonValue], text)
        if found.get("format") != FORMAT:
            raise HeterophilyError(f"{folder} is not a saved classifier of format {FORMAT}; fit and save it again")
        if missing := Saved.__required_keys__ - found.keys():
            sentence = f"model.json has no {', '.join(sorted(missing))}"
            raise HeterophilyError(f"{folder} is not a saved classifier: {sentence}")
        check_json(Saved, found)
    except OSError as error:
        raise HeterophilyError(f"{folder} is not a saved classifier: {error}") from error
    except HeterophilyError as error:
        known = str(error).startswith(str(folder))
        raise error if known else HeterophilyError(f"{path} is damaged: {error}; fit and save it again") from None
    content = cast("Saved", json.loads(text))
    _check_consistency(content, path)
    return content


def _check_files(folder: Path) -> None:
    """Raise an error unless both files are regular files; reading from a pipe would never end."""
    for path in (folder / "model.json", folder / "weights.safetensors"):
        if not path.is_file():
            raise HeterophilyError(f"{folder} is not a saved classifier: {path.name} is not a file in it")


def _check_consistency(content: Saved, path: Path) -> None:
    n_nodes, classes, names = content["n_nodes"], content["classes"], content["feature_names"]
    nodes = [node for part in PARTS for node in content["split"].get(part, [])]
    problems = {
        "classes must be at least two different ones": len(set(classes)) == len(classes) > 1,
        "feature_names must have one name per feature": names is None or len(names) == content["n_features"],
        "split must have the parts train, val, and test": content["split"].keys() == set(PARTS),
        "split has nodes outside the graph or twice": len(set(nodes)) == len(nodes) and max(nodes, default=0) < n_nodes,
        "run.curve has no validation scores": any(key.startswith("val_") for key in content["run"]["curve"]),
    }
    for problem, is_fine in problems.items():
        if not is_fine:
            raise HeterophilyError(f"{path} is damaged: {problem}; fit and save it again")


def read_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all tensors from the header of the weights file."""
    path = folder / "weights.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            return {name: tuple(each.get_shape()) for name, each in slices.items()}
    except (OSError, SafetensorError) as error:
        raise HeterophilyError(f"{folder} is not a saved classifier: {error}") from error


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of the weights file, none of which contains NaN."""
    weights = load_file(folder / "weights.safetensors")
    for name, tensor in weights.items():
        if tensor.is_floating_point() and bool(torch.isnan(tensor).any()):
            raise HeterophilyError(f"the weights in {folder} are damaged: {name} contains NaN; fit and save it again")
    return weights


def check_shapes(build: Callable[[Graph], nn.Module], content: Saved, shapes: Shapes, folder: Path) -> None:
    """Raise an error unless the predictor that `build` returns for a graph has the given shapes.

    A predictor that computes its weights from edges cannot be built on the meta device and is not checked.
    """
    graph = empty_graph(content)
    try:
        with torch.device("meta"):
            predictor = build(graph)
    except NotImplementedError:  # a computation needs values
        return
    expected = {name: tuple(tensor.shape) for name, tensor in predictor.state_dict().items()}
    expected |= {name: shapes[name] for name in _names_of_any_size(predictor) if name in shapes}
    if expected == dict(shapes):
        return
    different = [name for name in {**expected, **shapes} if expected.get(name) != shapes.get(name)]
    name = different[0]
    raise HeterophilyError(
        f"the weights in {folder} do not fit its model.json: {name} must have shape "
        f"{_text(expected.get(name))}, got {_text(shapes.get(name))}; fit and save it again"
    )


def _names_of_any_size(predictor: nn.Module) -> list[str]:
    """Return the tensors whose sizes do not follow from the graph, such as those of trees."""
    modules = {name: module for name, module in predictor.named_modules() if getattr(module, "has_any_size", False)}
    return [f"{name}.{tensor}" for name, module in modules.items() for tensor in module.state_dict()]


def _text(shape: tuple[int, ...] | None) -> str:
    return "no value" if shape is None else str(shape)


def empty_graph(content: Saved) -> Graph:
    """Return a graph with the sizes of the graph on which a classifier was fitted, which takes no memory."""
    n, f = content["n_nodes"], content["n_features"]
    small = Graph.from_edges([], torch.zeros(1, 1), n_nodes=1, n_classes=len(content["classes"]))
    offsets = torch.zeros(1, dtype=torch.int64).expand(n + 1)
    fields: dict[str, object] = {
        **small._fields,
        "adjacency": Pattern(offsets, torch.zeros(0, dtype=torch.int64), n),
        "features": torch.zeros(1, 1).expand(n, f),
        "labels": small.labels.expand(n),
    }
    return Graph._from_validated(fields)
