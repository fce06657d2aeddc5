"""Saved classifiers: one folder with weights (safetensors) and everything else (JSON), without pickle and code.

A predictor of one method is described by its name, identity, and settings; an ensemble by its members. Loading
builds the predictor from this description and then restores its state.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.random import RandomState
from safetensors.torch import save_file
from torch import nn

from heterophily.core.arguments import PATH, check_argument
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import unwritten_as_error, write_together
from heterophily.core.graph import PARTS, Graph, Split
from heterophily.core.types import Json, JsonObject, PathLike
from heterophily.htmp.identity import identity_of
from heterophily.htmp.method import Method, make_method, settings_of
from heterophily.models import REGISTRY, Model, find_method
from heterophily.models.building import build_predictor
from heterophily.models.ensemble import Ensemble
from heterophily.training.alarms import Alarm
from heterophily.training.auto.calibration import Calibration
from heterophily.training.auto.leaderboard import Leaderboard
from heterophily.training.decision import Decision
from heterophily.training.fitting import Fit
from heterophily.training.result import TrainingResult
from heterophily.training.saved import FORMAT, Saved, check_shapes, empty_graph, read_content, read_shapes, read_weights
from heterophily.training.scoring import DEFAULT_SCORING, SCORINGS, Scoring, find_scoring

if TYPE_CHECKING:
    from heterophily.training.estimator import NodeClassifier
    from heterophily.training.inputs import GraphInput

_HINT = "pass its method as `model`, or with --model FILE"


def save_classifier(fitted: "NodeClassifier", folder: PathLike) -> Path:
    """Write a fitted classifier into a folder."""
    names = getattr(fitted, "feature_names_in_", None)
    content: JsonObject = {
        "format": FORMAT,
        "parameters": _plain_params(fitted),
        "predictor": describe(fitted.predictor_),
        "classes": fitted.classes_.tolist(),
        "n_nodes": fitted.n_nodes_in_,
        "n_features": fitted.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "encoder": None if fitted.encoder_ is None else fitted.encoder_.to_dict(),
        "split": {part: nodes.tolist() for part, nodes in fitted.split_.parts.items()},
        "run": fitted.run_.to_dict(),
        "judgment": _judgment(fitted),
    }
    check_argument("folder", folder, PATH)
    target, text = Path(folder), json.dumps(content)
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in fitted.predictor_.state_dict().items()}
    with unwritten_as_error(folder):
        # Without `model.json`, which is written last, nothing is loaded: weights never belong to another model.
        write_together(
            {
                target / "weights.safetensors": lambda p: save_file(state, p),
                target / "model.json": lambda p: p.write_text(text),
            }
        )
    return target


def _plain_params(fitted: "NodeClassifier") -> JsonObject:
    """Return all parameters as plain data. A function becomes its name, and a `RandomState` the seed."""
    params = fitted.get_params()
    if fitted.scoring is not None:
        params["scoring"] = find_scoring(fitted.scoring).name
    if isinstance(fitted.random_state, RandomState):
        params["random_state"] = fitted.run_.seed
    return {name: to_json(value) for name, value in params.items()}


def load_classifier(
    cls: "type[NodeClassifier]", folder: PathLike, *, graph: "GraphInput | None", model: Model | None
) -> "NodeClassifier":
    """Read a classifier that `save_classifier` wrote."""
    check_argument("folder", folder, PATH)
    content = read_content(Path(folder))
    try:
        return _restore(cls, content, graph, model=model, folder=Path(folder))
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError) as error:
        raise HeterophilyError(f"{folder}/model.json is damaged ({error!r}); fit and save it again") from error


def _create(cls: "type[NodeClassifier]", content: Saved, model: Model | None) -> "NodeClassifier":
    """Return a classifier with everything except its predictor and its graph."""
    saved = cast("JsonObject", content["parameters"])
    params = {name: from_json(value) for name, value in saved.items() if name != "model"}
    used = from_json(saved["model"]) if model is None else model
    fitted = cls(used)  # type: ignore[arg-type]
    fitted.set_params(**params)  # rejects names that are not parameters
    fitted.classes_ = np.array(content["classes"])
    saved_encoder = cast("JsonObject | None", content["encoder"])
    encoder = None if saved_encoder is None else FeatureEncoder.from_dict(saved_encoder)
    fitted.set_features(content["n_nodes"], content["n_features"], content["feature_names"], encoder=encoder)
    fitted.split_ = Split.from_nodes(*(content["split"][part] for part in PARTS))
    fitted.scoring_ = _read_scoring(cast("JsonObject", content["judgment"]))
    return fitted


def _judgment(fitted: "NodeClassifier") -> JsonObject:
    """Return what is known about a fitted model besides its predictions."""
    calibration, board = fitted.calibration_, fitted.leaderboard_
    return {
        "scoring": fitted.scoring_.name,
        "positive": fitted.scoring_.positive,
        "threshold": fitted.threshold_,
        "alarms": [alarm.to_dict() for alarm in fitted.alarms_],
        "calibration": None if calibration is None else calibration.to_dict(),
        "leaderboard": None if board is None else board.to_dict(),
    }


def _read_scoring(judgment: JsonObject) -> Scoring:
    """Return the scoring of a saved classifier. A function was saved only as its name."""
    scoring = SCORINGS.get(str(judgment["scoring"]), DEFAULT_SCORING)
    return replace(scoring, positive=cast("int | None", judgment["positive"]))


def _read_fit(content: Saved, predictor: nn.Module) -> Fit:
    judgment = content["judgment"]
    calibration, board = judgment["calibration"], judgment["leaderboard"]
    return Fit(
        predictor,
        TrainingResult.from_dict(cast("JsonObject", content["run"])),
        calibration=None if calibration is None else Calibration.from_dict(cast("JsonObject", calibration)),
        leaderboard=None if board is None else Leaderboard.from_dict(cast("JsonObject", board)),
        decision=Decision(judgment["threshold"], 1 if judgment["positive"] is None else judgment["positive"]),
        alarms=tuple(Alarm(each["kind"], each["text"]) for each in judgment["alarms"]),
    )


def describe(predictor: nn.Module) -> JsonObject:
    """Return the methods and settings of a predictor as plain data."""
    if isinstance(predictor, Ensemble):
        return {"members": [describe(member) for member in predictor.members]}
    method = cast("Method", predictor.method)
    settings = {name: to_json(value) for name, value in settings_of(method).items()}
    return {"method": method.name, "identity": identity_of(method), "settings": settings}


def rebuild(description: JsonObject, graph: Graph, *, model: Model | None, folder: PathLike) -> nn.Module:
    """Build a predictor with the methods and settings of a description, for the sizes of a graph."""
    if "members" in description:
        members = cast("list[JsonObject]", description["members"])
        return Ensemble([rebuild(each, graph, model=model, folder=folder) for each in members])
    name = str(description["method"])
    if name not in REGISTRY and model is None:
        raise HeterophilyError(f'{folder} was fitted with "{name}", which is not part of the library; {_HINT}')
    settings = {key: from_json(value) for key, value in cast("JsonObject", description["settings"]).items()}
    method = make_method(find_method(name if model is None else model), settings)  # type: ignore[arg-type]
    if description["identity"] != identity_of(method):
        raise HeterophilyError(f'{folder} was fitted with another version of "{name}"; {_HINT}')
    return build_predictor(method, graph)


def _restore(
    cls: "type[NodeClassifier]", content: Saved, graph: "GraphInput | None", *, model: Model | None, folder: Path
) -> "NodeClassifier":
    """Return the saved classifier, with its predictor in evaluation mode."""
    description = cast("JsonObject", content["predictor"])

    def rebuilt(graph: Graph) -> nn.Module:
        return rebuild(description, graph, model=model, folder=folder)

    check_shapes(rebuilt, content, read_shapes(folder), folder)
    fitted = _create(cls, content, model)
    fitted.graph_ = None if graph is None else fitted.align(graph)
    predictor = rebuilt(empty_graph(content) if fitted.graph_ is None else fitted.graph_)
    try:
        predictor.load_state_dict(read_weights(folder))
    except RuntimeError as error:
        raise HeterophilyError(f"the weights in {folder} do not fit its model.json: {error}") from error
    fitted.set_fit(_read_fit(content, predictor.eval()))
    return fitted


def to_json(value: object) -> Json:
    """Return a parameter as plain data; `from_json` restores tuples, dictionaries, and methods.

    >>> from_json(to_json({0: (1, 2.5)}))
    {0: (1, 2.5)}
    """
    if isinstance(value, tuple | list):
        items = [to_json(item) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {"dict": [[to_json(k), to_json(v)] for k, v in value.items()]}
    if isinstance(value, type) and issubclass(value, Method):
        return {"method": value.name}
    if isinstance(value, Method):
        return {"method": value.name, "settings": to_json(settings_of(value))}
    plain = value.item() if isinstance(value, np.generic) else value
    return str(plain) if isinstance(plain, Path) else cast("Json", plain)


def from_json(value: Json) -> object:
    """Restore a parameter from the result of `to_json`."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(from_json(item) for item in cast("list[Json]", value["tuple"]))
    if "dict" in value:
        return {from_json(k): from_json(v) for k, v in cast("list[tuple[Json, Json]]", value["dict"])}
    method = find_method(str(value["method"]))
    return make_method(method, from_json(value["settings"])) if "settings" in value else method  # type: ignore[arg-type]
