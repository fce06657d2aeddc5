"""Compare the verdicts of `diagnose` with the methods that win on held-out nodes.

Run `python benchmarks/diagnosis.py [--folder FOLDER] [--count N] [--real]`. It needs about 10 s of one processor for
each random graph. Results are stored in the folder, and an interrupted command resumes.

* **Truth.** MLP, GCN, SAGE (`sage+`, two layers), and CMGNN train for at most 100 epochs. Because no network uses the
  labels of neighbors, boosted trees on features with and without them are compared, too. Scores are 2 AUC - 1 on all
  nodes that the diagnosis and the training do not see the labels of, or on the test nodes of a real graph. Edges help
  if a method with edges beats the best without them by 2.5 standard errors, from a bootstrap of the test nodes. If an
  advantage of 15 points cannot be excluded either, the truth is unclear, and no verdict is counted as right or wrong.
* **Verdict.** Wrong are: edges help, where no method gains; `homophily`, where GCN loses to MLP; and `edges add nothing
  measurable`, where edges help. `not enough labels to tell` is undecided.

The thresholds of the verdict were chosen on graphs with even numbers. The table reports odd and even ones separately.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diagnosis_graphs import REAL, build, division, draw_recipe
from sklearn.ensemble import HistGradientBoostingClassifier

from heterophily import Graph, HeterophilyError, NodeClassifier, Split, load
from heterophily.analysis.probes import Probes, measure_probes, ranking_score
from heterophily.analysis.verdict import MODELS, NOT_ENOUGH, decide
from heterophily.core.homophily import measure_homophily
from heterophily.core.neighborhood import feature_projection, label_shares, project_features

NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {},
    "gcn": {},
    "sage+": {"n_layers": 2, "learning_rate": 0.01},
    "cmgnn": {},
}
EPOCHS, PATIENCE = 100, 30
N_BOOTSTRAPS, N_ERRORS, UNCLEAR = 100, 2.5, 0.15
MIN_ERROR = 0.01  # of a difference, for the noise of training
NOTHING = "edges add nothing measurable"
HELP = tuple(kind for kind in MODELS if kind not in (NOT_ENOUGH, NOTHING))
Scores = dict[str, np.ndarray]


def train_networks(graph: Graph, split: Split, *, seed: int, width: int) -> Scores:
    """Return the probabilities of the test nodes, (n, K), by network."""
    results = {}
    for name, settings in NETWORKS.items():
        fixed: dict[str, Any] = {"random_state": seed, "max_epochs": EPOCHS, "patience": PATIENCE, "width": width}
        model = NodeClassifier(name, scoring="neg_log_loss", **fixed, **settings).fit(graph, split=split)
        results[name] = model.predict_proba()[split.test.numpy()].astype(np.float16)
    return results


def train_trees(graph: Graph, split: Split) -> Scores:
    """Return probabilities of boosted trees on features, and on features and the labels of neighbors."""
    nodes = np.concatenate([split.train.numpy(), split.val.numpy()])
    labels = graph.labels.numpy()
    visible = np.full_like(labels, -1)
    visible[nodes] = labels[nodes]
    features = project_features(graph.features, feature_projection(graph.features))
    shares, count = label_shares(graph.symmetric, visible, graph.n_classes)
    columns = {"trees": features, "trees and labels": np.hstack([features, shares, count[:, None]])}
    results = {}
    for name, x in columns.items():
        model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, early_stopping=False, random_state=0)
        results[name] = np.zeros((len(split.test), graph.n_classes), dtype=np.float16)
        model.fit(x[nodes], labels[nodes])
        results[name][:, model.classes_] = model.predict_proba(x[split.test.numpy()])
    return results


def open_graph(key: str) -> tuple[Graph, Graph, Split]:
    """Return a graph as the diagnosis sees it, the same with all labels, and a split."""
    if not key.isdigit():
        graph = load(key)
        return graph, graph, graph.split("0")
    graph, classes = build(draw_recipe(int(key)))
    train, val = division(graph.labels, seed=0)
    split = Split.from_nodes(train, val, np.flatnonzero(graph.labels.numpy() < 0))
    return graph, graph.replace(labels=torch.as_tensor(classes)), split


def compute(key: str, folder: Path) -> None:
    """Train all methods on a graph, and measure its probes, unless the files exist."""
    paths = [folder / f"{key}-0.npz", folder / f"{key}-0-trees.npz", folder / f"{key}.json"]
    if all(path.exists() for path in paths):
        return
    start = time.time()
    graph, complete, split = open_graph(key)
    networks, trees, probed = paths
    if not networks.exists():
        found: dict[str, Any] = train_networks(complete, split, seed=0, width=32 if key.isdigit() else 64)
        np.savez_compressed(networks, **found, classes=complete.labels[split.test].numpy())
    if not trees.exists():
        more: dict[str, Any] = train_trees(complete, split)
        np.savez_compressed(trees, **more)
    if not probed.exists():
        probed.write_text(json.dumps(probe(graph)))
    print(f"{key}: {time.time() - start:.1f} s", flush=True)


def probe(graph: Graph) -> dict[str, Any]:
    """Return the scores of the probes and what else the verdict depends on, as plain data."""
    start = time.process_time()
    probes = measure_probes(graph)
    seconds = time.process_time() - start
    adjusted = measure_homophily(graph.symmetric, graph.labels, graph.n_classes).adjusted
    row = {"seconds": seconds, "n_labeled": int(graph.labeled.sum()), "adjusted": adjusted}
    if probes is None:
        return row
    scores = {name: values.tolist() for name, values in probes.scores.items()}
    return {**row, "scores": scores, "kinds": dict(probes.kinds), "n": probes.n_sampled, "n_folds": probes.n_folds}


def truth_of(key: str, folder: Path) -> tuple[str, bool]:
    """Return whether edges help (`edges help`, `no gain`, or `unclear`), and whether GCN loses to MLP."""
    files = [np.load(folder / f"{key}-0.npz"), np.load(folder / f"{key}-0-trees.npz")]
    methods = ("mlp", "gcn", "sage+", "cmgnn", "trees", "trees and labels")
    predicted = {m: file[m].astype(float) for file in files for m in methods if m in file}
    classes = files[0]["classes"].astype(np.int64)
    generator = np.random.default_rng(0)
    draws = [np.arange(len(classes)), *generator.integers(len(classes), size=(N_BOOTSTRAPS, len(classes)))]
    scores = {m: np.array([ranking_score(classes[i], p[i]) for i in draws]) for m, p in predicted.items()}
    trees = scores["trees and labels"] - np.maximum(scores["mlp"], scores["trees"])
    gains = [*(scores[m] - scores["mlp"] for m in ("gcn", "sage+", "cmgnn")), trees]
    margins = [(gain[0], N_ERRORS * max(float(gain[1:].std()), MIN_ERROR)) for gain in gains]
    loses = margins[0][0] < -margins[0][1]
    if any(mean > margin for mean, margin in margins):
        return "edges help", loses
    return ("unclear" if max(mean + margin for mean, margin in margins) > UNCLEAR else "no gain"), loses


def verdict_of(key: str, folder: Path) -> str:
    """Return the verdict from stored scores."""
    row = json.loads((folder / f"{key}.json").read_text())
    probes = None
    if "scores" in row:
        scores = {name: np.array(values) for name, values in row["scores"].items()}
        probes = Probes(scores, row["kinds"], row["n"], row["n_folds"])
    return decide(probes, row["adjusted"]).kind


def is_wrong(truth: str, loses: bool, verdict: str) -> bool:
    """Return whether a verdict contradicts the truth."""
    if truth == "no gain":
        return verdict in HELP
    return truth == "edges help" and (verdict == NOTHING or (verdict == "homophily" and loses))


def print_table(title: str, keys: Iterable[str], folder: Path, *, listed: bool = False) -> None:
    """Print the confusion matrix of some graphs in Markdown."""
    rows = [(key, *truth_of(key, folder), verdict_of(key, folder)) for key in keys]
    counts = Counter((truth, verdict) for _, truth, _, verdict in rows)
    print(f"\n{title}: {len(rows)} graphs\n\n| truth | {' | '.join(MODELS)} |\n|---|{'---:|' * len(MODELS)}")
    for truth in ("edges help", "no gain", "unclear"):
        print(f"| {truth} | {' | '.join(str(counts[truth, kind]) for kind in MODELS)} |")
    clear = [row for row in rows if row[1] != "unclear"]
    wrong = [key for key, truth, loses, verdict in clear if is_wrong(truth, loses, verdict)]
    undecided = sum(row[3] == NOT_ENOUGH for row in clear)
    right = len(clear) - len(wrong) - undecided
    print(f"\nRight {right}, undecided {undecided}, wrong {len(wrong)} of {len(clear)}: {', '.join(wrong)}")
    edgeless = [row for row in rows if row[0].isdigit() and draw_recipe(int(row[0])).pattern == "random"]
    if edgeless:
        print(f"Random edges said to help: {sum(row[3] in HELP for row in edgeless)} of {len(edgeless)}")
    for row in rows if listed else ():
        print(f"| {row[0]} | {row[1]} | {'yes' if row[2] else 'no'} | {row[3]} |")


def main() -> None:
    """Compute what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("diagnosis-results"))
    parser.add_argument("--count", type=int, default=220, help="number of random graphs")
    parser.add_argument("--real", action="store_true", help="use the real graphs, too")
    parser.add_argument("--table", action="store_true", help="only print the tables of complete results")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.folder.mkdir(parents=True, exist_ok=True)
    keys = [*map(str, range(given.count)), *(REAL if given.real else ())]
    for key in () if given.table else keys:
        try:
            compute(key, given.folder)
        except HeterophilyError as problem:
            print(f"skipped {key}: {problem}")
    endings = ("-0.npz", "-0-trees.npz", ".json")
    done = [key for key in keys if all((given.folder / f"{key}{ending}").exists() for ending in endings)]
    random = [key for key in done if key.isdigit()]
    print_table("Even numbers, used to choose thresholds", [k for k in random if int(k) % 2 == 0], given.folder)
    print_table("Odd numbers", [k for k in random if int(k) % 2], given.folder)
    if given.real:
        print_table("Real graphs", [key for key in done if not key.isdigit()], given.folder, listed=True)


if __name__ == "__main__":
    main()
