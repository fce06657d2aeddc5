"""Saved models, settings files, and `--set`."""

import json
import shutil
import struct
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from heterophily import HeterophilyError, NodeClassifier
from heterophily.commands import models as commands
from heterophily.commands.main import app
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.models.settings import merge_settings, read_settings
from tests.robustness.inputs import small_graph
from tests.robustness.kinds.graphs import damaged_tensors, tensors
from tests.robustness.kinds.kind import Kind, check_probabilities
from tests.robustness.strategies import changes, damaged, edited, edits, text, value

QUICK = {"max_epochs": 2, "device": "cpu"}
SAVED = ["gcn", "cmgnn", "linkx", "boosting", "gat", "ensemble"]


@cache
def saved(name):
    """The folder of a saved model."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-model-")) / name
    if name == "ensemble":
        fitted = NodeClassifier("gcn", calibrate=True, width=4, **QUICK)
    else:
        fitted = NodeClassifier(name, **({"width": 4} if name != "boosting" else {}), **QUICK)
    return fitted.fit(small_graph(), split="0").save(folder)


model_cases = st.tuples(
    st.sampled_from(SAVED),
    st.one_of(
        st.tuples(st.just("json"), changes),
        st.tuples(st.just("json"), changes),
        st.tuples(st.just("tensors"), tensors),
        st.tuples(st.just("text"), edits),
        st.tuples(st.just("header"), edits),
        st.tuples(st.just("bytes"), edits),
    ),
    st.booleans(),
)


def attempt_model(case, folder):
    name, (form, steps), give = case
    path = Path(shutil.copytree(saved(name), folder / "model"))
    text_file, weights = path / "model.json", path / "weights.safetensors"
    if form == "json":
        text_file.write_text(json.dumps(damaged(json.loads(text_file.read_text()), steps)))
    elif form == "text":
        text_file.write_bytes(edited(text_file.read_bytes(), steps))
    elif form == "bytes":
        weights.write_bytes(edited(weights.read_bytes(), steps))
    elif form == "header":
        content = weights.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = edited(content[8 : 8 + length], steps)
        weights.write_bytes(struct.pack("<Q", len(header)) + header + content[8 + length :])
    else:
        save_file(damaged_tensors(load_file(weights), steps), weights)
    graph = small_graph()
    fitted = NodeClassifier.load(path, graph=graph if give else None)
    values = fitted.predict_proba(None if give else graph)
    check_probabilities(values, graph.n_nodes, len(fitted.classes_))
    assert len(fitted.predict(graph)) == graph.n_nodes
    assert 0 <= fitted.score(graph, scoring="accuracy") <= 1
    assert repr(fitted)


TOML = """# Settings
[small]
source = "search"
width = 8
dropout = 0.5
activation = "relu"

[other]
preset = "reference"
learning_rate = 0.01
"""
KEYS = ["width", "dropout", "n_layers", "preset", "activation", "source", "norm", "seed", "split", "device"]
KEYS += ["model", "loss", "max_epochs", "patience", "learning_rate", "weight_decay", "feature_norm", "residual"]
KEYS += ["batch_size", "random_state"]
settings_cases = st.one_of(edits, st.dictionaries(st.sampled_from(KEYS) | text, value, max_size=3))


def toml_text(content):
    lines = [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in content.items()]
    return "[small]\n" + "\n".join(lines) + "\n"


def attempt_settings(case, folder):
    path = folder / "gcn.toml"
    if isinstance(case, dict):
        path.write_bytes(toml_text(case).encode("utf-8", "replace"))
    else:
        path.write_bytes(edited(TOML.encode(), case))
    tables = read_settings(path, datasets=["small"])
    values, origin = merge_settings("gcn", "small", tables)
    assert isinstance(origin, str)
    make_method(find_method("gcn"), values)


OPTIONS = ["--seed", "--device", "--split", "--neighbors", "--batch-size", "--class-weight", "--scoring", "--positive"]
OPTIONS += ["--threshold", "--model"]
option = st.one_of(
    st.tuples(st.just("--set"), st.tuples(st.sampled_from(KEYS) | text, value.map(json.dumps) | text).map("=".join)),
    st.tuples(st.just("--set"), st.tuples(st.sampled_from(KEYS), value.map(json.dumps) | text).map("=".join)),
    st.tuples(st.sampled_from(OPTIONS), text),
)
MODELS = ["gcn", "cmgnn", "mlp", "gat", "boosting"]
set_cases = st.tuples(st.sampled_from(MODELS), st.lists(option, min_size=1, max_size=2))


@cache
def graph_path():
    return str(small_graph().save(Path(tempfile.mkdtemp(prefix="fuzz-graph-")) / "small.safetensors"))


def check_fit(options, fitted, graph, model):
    check_probabilities(fitted.predict_proba(), graph.n_nodes, graph.n_classes)


def run_command(words):
    """Run a command as users do; its exit code."""
    result = CliRunner().invoke(app, words)
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code
    raise result.exception


def attempt_set(case, folder):
    model, options = case
    words = ["fit", graph_path(), "--model", model, "--out", str(folder / "out")]
    if not any(w.startswith("max_epochs") for _, w in options):
        words += ["--set", "max_epochs=2"] if model != "boosting" else []
    words += [f"{name}={text}" for name, text in options]
    with patch.object(commands, "_write_fit", check_fit):
        code = run_command(words)
    if code == 1:
        raise HeterophilyError("the command failed")


KINDS = [
    Kind("saved models", model_cases, attempt_model),
    Kind("settings", settings_cases, attempt_settings),
    Kind("set options", set_cases, attempt_set),
]
