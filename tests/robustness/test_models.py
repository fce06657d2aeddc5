"""Findings 2 and 3: predictions are numbers, and a saved model is not trusted."""

import json
import os
import shutil
import struct
from functools import cache
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from safetensors.torch import load_file, save_file

from heterophily import HeterophilyError, NodeClassifier
from heterophily.models import BUILT_IN
from tests.robustness.inputs import small_graph

QUICK = {"max_epochs": 3, "device": "cpu"}


def refused(message):
    return pytest.raises(HeterophilyError, match=message)


@pytest.mark.parametrize("model", BUILT_IN)
def test_finding_02_predictions_are_finite_or_refused(model):
    features = small_graph().features.clone()
    features[25:] *= 1e37
    graph = small_graph(features=features, splits={"0": (range(10), range(10, 20), range(20, 30))})
    message = sentence_of(lambda: check_finite(NodeClassifier(model, **QUICK).fit(graph, split="0").predict_proba()))
    assert message == "" or "e+37" in message or "loss became" in message


def sentence_of(call):
    """The message of a `HeterophilyError`, or nothing."""
    try:
        call()
    except HeterophilyError as error:
        return str(error)
    return ""


def check_finite(values):
    assert np.asarray(values).dtype.kind != "f" or np.isfinite(values).all()


@pytest.mark.parametrize("model", ["gcn+", "sage+", "gat+", "gat"])
def test_finding_02_a_finite_model_refuses_a_graph_with_huge_features(model):
    fitted = NodeClassifier(model, **QUICK).fit(small_graph(), split="0")
    features = small_graph().features.clone()
    features[3] *= 3e38 / features[3].max()
    huge = small_graph(features=features)
    for call in (fitted.predict, fitted.predict_proba, fitted.score, fitted.embed):
        message = sentence_of(lambda call=call: check_finite(call(huge)))
        assert message == "" or "scale the features" in message


def test_finding_02_the_command_ends_with_a_sentence(run, tmp_path):
    features = small_graph().features.clone() * 1e37
    graph = small_graph(features=features).save(tmp_path / "huge.safetensors")
    words = ("fit", graph, "--model", "gcn+", "--split", "0", "--set", "max_epochs=3", "--out", tmp_path / "out")
    code, text = run(*words)
    assert code == 2
    assert "scale the features" in text or "loss became" in text
    assert not (tmp_path / "out" / "predictions.csv").exists()


def test_finding_02_a_model_with_a_nan_weight_is_refused(folder):
    weights = load_file(folder / "weights.safetensors")
    name = next(iter(weights))
    weights[name].view(-1)[0] = float("nan")
    save_file(weights, folder / "weights.safetensors")
    with refused(f"{name} contains NaN; fit and save it again"):
        NodeClassifier.load(folder)


def test_finding_02_a_nan_weight_in_memory_is_named():
    fitted = NodeClassifier("gcn", **QUICK).fit(small_graph(), split="0")
    with torch.no_grad():
        next(fitted.predictor_.parameters()).view(-1)[0] = float("nan")
    with refused("contain NaN; fit the model again"):
        fitted.predict()


@cache
def saved(model, path):
    return NodeClassifier(model, **QUICK).fit(small_graph(), split="0").save(path)


@pytest.fixture(scope="module")
def saved_gcn(tmp_path_factory):
    return saved("gcn", tmp_path_factory.mktemp("gcn"))


@pytest.fixture
def folder(saved_gcn, tmp_path):
    """A saved gcn that a test may damage."""
    return Path(shutil.copytree(saved_gcn, tmp_path / "model"))


def change(folder, edit):
    content = json.loads((folder / "model.json").read_text())
    edit(content)
    (folder / "model.json").write_text(json.dumps(content))


DAMAGES = {
    "n_classes": lambda c: c.update(classes=[str(i) for i in range(7)]),
    "one class": lambda c: c.update(classes=["a"]),
    "equal classes": lambda c: c.update(classes=["a", "a", "b"]),
    "classes mistyped": lambda c: c.update(classes={"a": 1}),
    "classes of several types": lambda c: c.update(classes=["a", 1, None]),
    "n_nodes huge": lambda c: c.update(n_nodes=10**12),
    "n_nodes negative": lambda c: c.update(n_nodes=-1),
    "n_nodes text": lambda c: c.update(n_nodes="30"),
    "n_features huge": lambda c: c.update(n_features=10**9),
    "n_features zero": lambda c: c.update(n_features=0),
    "feature names": lambda c: c.update(feature_names=["a"]),
    "predictor empty": lambda c: c.update(predictor={}),
    "predictor mistyped": lambda c: c.update(predictor=[1]),
    "members mistyped": lambda c: c.update(predictor={"members": "gcn"}),
    "members empty": lambda c: c.update(predictor={"members": []}),
    "members nested": lambda c: c.update(predictor={"members": [{"members": [{"members": []}]}]}),
    "settings mistyped": lambda c: c["predictor"].update(settings=[1]),
    "width text": lambda c: c["predictor"]["settings"].update(width="64"),
    "width huge": lambda c: c["predictor"]["settings"].update(width=10**9),
    "width large": lambda c: c["predictor"]["settings"].update(width=10**6),
    "layers": lambda c: c["predictor"]["settings"].update(n_layers=10**7),
    "unknown setting": lambda c: c["predictor"]["settings"].update(speed=3),
    "method": lambda c: c["predictor"].update(method="none"),
    "method mistyped": lambda c: c["predictor"].update(method=["gcn"]),
    "another method": lambda c: c["predictor"].update(method="mlp"),
    "parameters": lambda c: c.update(parameters=3),
    "unknown parameter": lambda c: c["parameters"].update(predict=3),
    "random_state": lambda c: c["parameters"].update(random_state=-1),
    "batch_size": lambda c: c["parameters"].update(batch_size="many"),
    "neighbors": lambda c: c["parameters"].update(neighbors={"tuple": 3}),
    "class_weight": lambda c: c["parameters"].update(class_weight={"dict": [[[], 1]]}),
    "split": lambda c: c.update(split={"train": [0]}),
    "split outside": lambda c: c["split"].update(test=[10**6]),
    "split twice": lambda c: c["split"].update(test=c["split"]["train"]),
    "split text": lambda c: c["split"].update(test=["a"]),
    "run": lambda c: c.update(run={}),
    "run mistyped": lambda c: c["run"].update(scores=3),
    "curve": lambda c: c["run"].update(curve={"loss": [], "seconds": []}),
    "format": lambda c: c.update(format=3),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_finding_03_a_damaged_model_json_is_refused(folder, damage):
    change(folder, DAMAGES[damage])
    before = psutil.Process().memory_info().rss
    with refused("model.json|saved classifier|weights in|unknown|must be|layers|fitted with|needs"):
        NodeClassifier.load(folder)
    assert psutil.Process().memory_info().rss - before < 2**28


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 10**6, "\0", '{"format": "heterophily-model-2"}', '"x"'])
def test_finding_03_other_json_is_refused(folder, text):
    (folder / "model.json").write_text(text)
    with refused("saved classifier|model.json"):
        NodeClassifier.load(folder)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
def test_finding_03_a_missing_file_or_a_pipe_is_refused(folder, name):
    (folder / name).unlink()
    with refused(f"{name} is not a file"):
        NodeClassifier.load(folder)
    os.mkfifo(folder / name)
    with refused(f"{name} is not a file"):
        NodeClassifier.load(folder)


def test_finding_03_renamed_misshapen_and_missing_weights_are_refused(folder):
    weights = load_file(folder / "weights.safetensors")
    name, *others = sorted(weights)
    for damaged in (
        {name + "x": weights[name], **{n: weights[n] for n in others}},
        {n: weights[n] for n in others},
        {**weights, "more": torch.zeros(1)},
        {**weights, name: torch.zeros(2, 2, 2)},
        {},
    ):
        save_file(damaged, folder / "weights.safetensors")
        with refused("do not fit its model.json: .* must have shape"):
            NodeClassifier.load(folder)


TREES = {
    "n_samples": lambda trees: torch.zeros(3, dtype=torch.int64),
    "feature": lambda trees: torch.full_like(trees["feature"], 10**6),
    "left": lambda trees: trees["left"] - 1,
    "right": lambda trees: trees["right"] + len(trees["right"]),
    "threshold": lambda trees: trees["threshold"].float(),
    "value": lambda trees: trees["value"][:-1],
    "roots": lambda trees: trees["roots"] - 10**6,
    "classes": lambda trees: trees["classes"] + 1,
    "classes ": lambda trees: trees["classes"][:2],
    "classes  ": lambda trees: trees["classes"].flip(0),
    "baseline": lambda trees: trees["baseline"][:1],
}


@pytest.mark.parametrize("name", TREES)
def test_finding_03_damaged_trees_are_refused(tmp_path, name):
    folder = NodeClassifier("boosting").fit(small_graph(), split="0").save(tmp_path)
    weights = load_file(folder / "weights.safetensors")
    trees = {key.removeprefix("forest."): value for key, value in weights.items() if key.startswith("forest.")}
    weights["forest." + name.strip()] = TREES[name](trees)
    save_file(weights, folder / "weights.safetensors")
    with refused("do not fit|damaged"):
        NodeClassifier.load(folder, graph=small_graph()).predict()


@pytest.mark.parametrize("shape", [[2**40], [2**62, 2], [0], [1, 2, 3]])
def test_finding_03_a_header_with_other_sizes_than_the_file_is_refused(folder, shape):
    path = folder / "weights.safetensors"
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    next(value for key, value in header.items() if key != "__metadata__")["shape"] = shape
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    with refused("saved classifier"):
        NodeClassifier.load(folder)


@pytest.mark.parametrize("model", BUILT_IN)
def test_a_saved_model_of_every_method_is_loaded(model, tmp_path):
    graph = small_graph()
    one = NodeClassifier(model, **QUICK).fit(graph, split="0")
    two = NodeClassifier.load(one.save(tmp_path), graph=graph)
    np.testing.assert_array_equal(one.predict_proba(), two.predict_proba())
