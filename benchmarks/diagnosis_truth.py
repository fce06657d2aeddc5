"""Train networks on the graphs of `diagnosis_graphs`, and store their scores on nodes whose labels nobody saw.

Run `python benchmarks/diagnosis_truth.py [--count N] [--out FILE]`. It needs about a second of one processor for
each random graph. One line of JSON is stored for each graph and division of its labeled nodes
into training and validation nodes, and an interrupted command resumes.

Scores are 2 AUC - 1, the mean over the classes. `covariance` is that of the estimation errors of the scores of the
methods in `COMPARED`, from the finite number of test nodes (DeLong et al. 1988), in units of 10⁻⁶.
"""

import argparse
import json
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diagnosis_graphs import FEW, REAL, division, open_graph
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier

from heterophily import Graph, HeterophilyError, NodeClassifier, Split
from heterophily.core.neighborhood import feature_projection, label_shares, project_features
from heterophily.core.types import FloatArray, IntArray

NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {},
    "gcn": {},
    "sage+": {"n_layers": 2, "learning_rate": 0.01},
    "cmgnn": {},
}
TREES, LABELS = "trees", "trees and labels"
COMPARED = (*NETWORKS, TREES, LABELS)
N_DIVISIONS, EPOCHS, PATIENCE = 3, 100, 30
LARGE, FEWER_EPOCHS = 100_000, 60  # edges, from which only fewer epochs are affordable
Scores = dict[str, Any]  # probabilities of the test nodes, (n, K)


def train_networks(graph: Graph, split: Split, *, seed: int) -> Scores:
    """Return the probabilities of the test nodes by network."""
    given: dict[str, Any] = {"max_epochs": FEWER_EPOCHS if graph.n_edges > LARGE else EPOCHS, "patience": PATIENCE}
    given["width"] = 64 if graph.n_features > 200 else 32
    results: Scores = {}
    for name, settings in NETWORKS.items():
        model = NodeClassifier(name, scoring="neg_log_loss", random_state=seed, **given, **settings)
        results[name] = model.fit(graph, split=split).predict_proba()[split.test.numpy()]
    return results


def train_trees(graph: Graph, split: Split) -> Scores:
    """Return probabilities of boosted trees on features, and on features and the labels of neighbors."""
    nodes = np.concatenate([split.train.numpy(), split.val.numpy()])
    labels = graph.labels.numpy()
    visible = np.full_like(labels, -1)
    visible[nodes] = labels[nodes]
    features = project_features(graph.features, feature_projection(graph.features))
    shares, count = label_shares(graph.symmetric, visible, graph.n_classes)
    columns = {TREES: features, LABELS: np.hstack([features, shares, count[:, None]])}
    results: Scores = {}
    for name, x in columns.items():
        model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, early_stopping=False, random_state=0)
        results[name] = np.zeros((len(split.test), graph.n_classes))
        model.fit(x[nodes], labels[nodes])
        results[name][:, model.classes_] = model.predict_proba(x[split.test.numpy()])
    return results


def score_and_influence(classes: IntArray, predicted: FloatArray) -> tuple[float, FloatArray]:
    """Return 2 AUC - 1, the mean over classes, and the influence of each node on it, with mean 0."""
    found, influence, ranks = [], np.zeros(len(classes)), rankdata(predicted, axis=0)
    present = [k for k in range(predicted.shape[1]) if 0 < (classes == k).sum() < len(classes)]
    for k in present:
        own = classes == k
        n, m = own.sum(), (~own).sum()
        above = (ranks[own, k] - rankdata(predicted[own, k])) / m  # share of the other nodes with a lower score
        below = 1 - (ranks[~own, k] - rankdata(predicted[~own, k])) / n
        auc = above.mean()
        found.append(2 * auc - 1)
        influence[own] += 2 * (above - auc) * len(classes) / n / len(present)
        influence[~own] += 2 * (below - auc) * len(classes) / m / len(present)
    return float(np.mean(found)), influence


def measure(key: str, number: int) -> dict[str, Any]:
    """Train all methods on one division of the labeled nodes of a graph, and return the line of results."""
    start = time.process_time()
    graph, classes = open_graph(key)
    train, val = division(graph.labels, seed=number)
    hidden = np.flatnonzero((graph.labels.numpy() < 0) & (classes >= 0))
    split = Split.from_nodes(train, val, hidden)
    complete = graph.replace(labels=torch.as_tensor(classes))
    predicted = {**train_networks(complete, split, seed=number), **train_trees(complete, split)}
    truth = classes[split.test.numpy()]
    found = {name: score_and_influence(truth, each) for name, each in predicted.items()}
    covariance = np.cov([found[name][1] for name in COMPARED]) / len(truth)
    return {
        "graph": key,
        "division": number,
        "n_test": len(truth),
        "seconds": round(time.process_time() - start, 1),
        "scores": {name: round(score, 4) for name, (score, _) in found.items()},
        "accuracy": {name: round(float((each.argmax(axis=1) == truth).mean()), 4) for name, each in predicted.items()},
        "covariance": [round(1e6 * x) for x in covariance[np.triu_indices(len(COMPARED))]],
    }


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a file of JSON lines; none if it does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def run(keys: Iterable[str], numbers: Iterable[int], out: Path) -> None:
    """Append the missing lines of some graphs and divisions."""
    done = {(line["graph"], line["division"]) for line in read_lines(out)}
    for key, number in product(keys, numbers):
        if (key, number) in done:
            continue
        try:
            line = measure(key, number)
        except HeterophilyError as problem:
            print(f"skipped {key}, {number}: {problem}", flush=True)
            continue
        with out.open("a") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        print(f"{key}, {number}: {line['seconds']} s", flush=True)


def main() -> None:
    """Compute what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/diagnosis/truth.jsonl"))
    parser.add_argument("--count", type=int, default=240, help="number of random graphs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    random, few = [str(i) for i in range(given.count)], [f"{name}@{FEW}" for name in REAL]
    batches = (
        ([*random[:60], *REAL[:8], *few[:8], *random[60:120]], [0, 1]),
        (REAL[8:], [0]),
        (random[120:], [0, 1]),
        (few[8:], [0]),
        ([*REAL, *few, *random], range(N_DIVISIONS)),
    )
    for keys, numbers in batches:
        run(keys, numbers, given.out)


if __name__ == "__main__":
    main()
