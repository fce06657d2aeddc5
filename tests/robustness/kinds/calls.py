"""Calls from Python with arguments of the wrong type, shape, and value."""

from functools import cache

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import strategies as st

from heterophily import Graph, NodeClassifier, Split, diagnose, load, random_splits, synthetic_graph
from heterophily.training.scoring import find_scoring
from tests.robustness.inputs import small_graph
from tests.robustness.kinds.kind import Kind, check_probabilities, check_result

VALUES = {
    "none": None,
    "zero": 0,
    "minus one": -1,
    "huge": 2**70,
    "half": 0.5,
    "nan": float("nan"),
    "infinity": float("inf"),
    "true": True,
    "text": "x",
    "empty text": "",
    "bytes": b"x",
    "empty list": [],
    "list": [0, 1],
    "pairs": [(0, 1), (1, 2)],
    "ragged": [[0], [1, 2]],
    "negative": [[0, -1]],
    "texts": ["a", "b"],
    "nones": [None, None],
    "dict": {"a": 1},
    "splits": {"0": ([0, 1], [2], [3])},
    "bad splits": {"0": 3},
    "set": {1, 2},
    "object": object(),
    "class": Graph,
    "function": len,
    "array": np.zeros((3, 2)),
    "integers": np.zeros((3, 2), dtype=np.int64),
    "vector": np.arange(30) % 3,
    "matrix": np.ones((30, 6)),
    "complex": np.ones((30, 6), dtype=complex),
    "nan matrix": np.full((30, 6), np.nan),
    "objects": np.array([object()] * 30),
    "scalar": np.float64(0.5),
    "mask": np.arange(30) < 15,
    "wrong mask": np.ones(7, dtype=bool),
    "dates": np.array(["2024-01-01"] * 30, dtype="M8[D]"),
    "tensor": torch.tensor([[0, 1], [1, 2]]),
    "gradient": torch.ones(3, 2, requires_grad=True),
    "gradient vector": torch.zeros(30, requires_grad=True),
    "gradient matrix": torch.ones(30, 6, requires_grad=True),
    "sparse tensor": torch.eye(30).to_sparse(),
    "half tensor": torch.ones(30, 6, dtype=torch.bfloat16),
    "quantized": torch.zeros(0),
    "sparse": sp.eye_array(30, format="csr"),
    "sparse 6": sp.random_array((30, 6), density=0.5, rng=np.random.default_rng(0)),
    "not square": sp.eye_array(3, 5),
    "graph": small_graph(),
    "graph without labels": small_graph(labels=None, splits=None),
    "small": Graph.from_edges([(0, 1)]),
    "one class": small_graph(labels=np.zeros(30, dtype=int)),
    "split": Split.from_nodes([0, 1, 2], [3, 4], [5]),
    "split outside": Split.from_nodes([0, 100], [3], [5]),
    "frame": {"id": [1, 2], "x": [0.5, 1]},
    "frames": ({"id": [1, 2], "label": ["a", "b"]}, {"source": [1], "target": [2]}),
    "path": "/nonexistent/x",
    "generator": range(30),
    "weights": {0: 1.0, 1: -1},
}
# Arguments of each call; the first ones have a valid value as an alternative.
SIGNATURES = {
    "from_edges": [
        "edges",
        "features",
        "labels",
        "weights",
        "splits",
        "n_nodes",
        "n_classes",
        "node_ids",
        "class_names",
        "name",
    ],
    "from_scipy": ["adjacency", "features", "labels"],
    "from_frames": ["nodes", "edges", "label", "split", "ignore", "numeric", "label_bins"],
    "from_networkx": ["graph"],
    "from_pyg": ["data"],
    "from_files": ["path"],
    "load_graph": ["path"],
    "fit": ["graph", "y", "split"],
    "parameters": [
        *("model", "preset", "random_state", "device", "class_weight", "batch_size", "neighbors", "scoring"),
        *("positive", "threshold", "calibrate", "budget", "ensemble", "workers", "verbose"),
    ],
    "settings": ["width", "dropout", "n_layers", "activation", "learning_rate", "norm"],
    "predict": ["graph"],
    "score": ["graph", "nodes", "scoring"],
    "explain": ["node", "target", "max_items"],
    "load": ["name"],
    "load_model": ["folder", "graph", "model"],
    "random_splits": ["graph", "seed", "count", "stratify"],
    "split": ["train", "val", "test"],
    "diagnose": ["graph"],
    "synthetic": ["base", "homophily", "pattern", "degree", "seed"],
    "scoring": ["scoring"],
    "save": ["path"],
}
# Values that are valid for arguments of a name, so that some calls succeed.
PLAUSIBLE = {
    "graph": ["graph", "one class", "frames", "graph without labels"],
    "base": ["graph", "one class"],
    "edges": ["pairs", "tensor", "empty list", "frame"],
    "features": ["matrix", "gradient matrix", "sparse 6", "half tensor", "sparse tensor"],
    "labels": ["vector", "gradient vector", "nones"],
    "y": ["vector", "gradient vector", "mask", "generator"],
    "nodes": ["mask", "list", "generator", "gradient vector", "frame", "none"],
    "split": ["split", "none"],
    "splits": ["splits", "none"],
    "adjacency": ["sparse"],
    "class_weight": ["weights", "none"],
    "weights": ["array", "gradient"],
}
NUMERIC = ["zero", "half", "true", "scalar", "list", "huge", "nan", "infinity", "minus one"]


def argument(name):
    """An argument with any value, or with one that may be valid."""
    likely = PLAUSIBLE.get(name, NUMERIC)
    return st.tuples(st.just(name), st.sampled_from(likely) | st.sampled_from(sorted(VALUES)))


calls = st.one_of(
    *(
        st.tuples(st.just(name), st.lists(st.sampled_from(names).flatmap(argument), min_size=1, max_size=2).map(dict))
        for name, names in SIGNATURES.items()
    )
)


@cache
def fitted():
    return NodeClassifier("gcn", max_epochs=2, width=4, device="cpu").fit(small_graph(), split="0")


def quick(**changes):
    settings = {"model": "gcn", "max_epochs": 2, "width": 4, "device": "cpu", **changes}
    return NodeClassifier(settings.pop("model"), **settings)


def fit_with(classifier, **changes):
    facts = {"graph": small_graph(), "split": "0", **changes}
    model = classifier.fit(facts.pop("graph"), facts.pop("y", None), **facts)
    check_probabilities(model.predict_proba(), model.graph_.n_nodes, len(model.classes_))


def frames(**changes):
    facts = {"nodes": {"id": [1, 2, 3], "c": ["a", "b", "a"]}, "edges": {"source": [1, 2], "target": [2, 3]}, **changes}
    return Graph.from_frames(facts.pop("nodes"), facts.pop("edges"), **facts)


def from_edges(**changes):
    facts = {"edges": [(0, 1), (1, 2)], **changes}
    return Graph.from_edges(facts.pop("edges"), facts.pop("features", None), **facts)


def from_scipy(**changes):
    facts = {"adjacency": VALUES["sparse"], **changes}
    return Graph.from_scipy(facts.pop("adjacency"), facts.pop("features", None), **facts)


def synthetic(**changes):
    facts = {"base": small_graph(), "degree": 3, **changes}
    return synthetic_graph(facts.pop("base"), **facts)


def draw_splits(**changes):
    facts = {"graph": small_graph(), **changes}
    splits = random_splits(facts.pop("graph"), **facts)
    assert all(len(split.train) for split in splits.values())


def score(**changes):
    assert np.isfinite(fitted().score(changes.pop("graph", None), **changes))


def predict(graph):
    data = graph
    found = fitted().predict_proba(data)
    check_probabilities(found, len(found), 3)


CALLS = {
    "from_edges": lambda here, **a: check_result(from_edges(**a), here),
    "from_scipy": lambda here, **a: check_result(from_scipy(**a)),
    "from_frames": lambda here, **a: check_result(frames(**a)),
    "from_networkx": lambda here, graph: check_result(Graph.from_networkx(graph)),
    "from_pyg": lambda here, data: check_result(Graph.from_pyg(data)),
    "from_files": lambda here, path: check_result(Graph.from_files(path)),
    "load_graph": lambda here, path: check_result(Graph.load(path)),
    "fit": lambda here, **a: fit_with(quick(), **a),
    "parameters": lambda here, **a: fit_with(quick(**a)),
    "settings": lambda here, **a: fit_with(quick(**a)),
    "predict": lambda here, **a: predict(**a),
    "score": lambda here, **a: score(**a),
    "explain": lambda here, **a: fitted().explain(**{"node": 3, **a}),
    "load": lambda here, name: check_result(load(name)),
    "load_model": lambda here, **a: NodeClassifier.load(**{"folder": here, **a}),
    "random_splits": lambda here, **a: draw_splits(**a),
    "split": lambda here, **a: small_graph(splits={"0": Split.from_nodes(**{"train": [0], **a})}),
    "diagnose": lambda here, graph: diagnose(graph),
    "synthetic": lambda here, **a: check_result(synthetic(**a)),
    "scoring": lambda here, scoring: find_scoring(scoring),
    "save": lambda here, path: small_graph().save(here / path if isinstance(path, str) and path[:1] != "/" else path),
}


def attempt_call(case, folder):
    name, names = case
    arguments = {argument: VALUES[value] for argument, value in names.items()}
    CALLS[name](folder, **arguments)


KINDS = [Kind("Python calls", calls, attempt_call)]
