"""Choose robust settings for the portfolio of `auto` by successive halving over many graphs.

Run `python benchmarks/portfolio.py [--methods ...] [--graphs ...] [--seconds 20] [--out FILE]`.

Every method has a few diverse settings. In each round, each remaining setting is trained on one more third of the
graphs, and the worse half of the settings of each method is dropped. The score of a setting on a graph is its score on
VALIDATION nodes minus the best one of any setting of any method on this graph; test nodes are never scored. The last
table shows the mean over graphs of the remaining settings, and the loss by choosing on the other graphs: for each
graph, the setting is chosen that is best on all others (cross-validation over graphs).

Results are appended to a file, and a rerun computes only missing ones.
"""

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from heterophily import Graph, load
from heterophily.data.synthetic import synthetic_graph
from heterophily.training.auto.fit import feature_scaling, training_graph
from heterophily.training.auto.task import SPLIT
from heterophily.training.scoring import SCORINGS
from heterophily.training.trainer import train

GRAPHS = ("wisconsin", "synthetic 0.1", "chameleon-f", "cora", "tolokers", "synthetic 0.8", "actor", "citeseer")
NOISE = 1.0  # standard deviation, for features between 0 and 1
NETWORK = {"max_epochs": 200, "patience": 50}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "boosting": [
        {"learning_rate": 0.05, "max_epochs": 300, "patience": 40},
        {"learning_rate": 0.02, "max_features": 0.2, "max_epochs": 800, "patience": 80},
        {"learning_rate": 0.1, "max_leaf_nodes": 7, "min_samples_leaf": 5, "max_epochs": 300, "patience": 40},
        {"learning_rate": 0.05, "n_positions": 64, "label_shares": False, "max_epochs": 300, "patience": 40},
        {"learning_rate": 0.05, "n_columns": 32, "n_hops": 1, "max_epochs": 300, "patience": 40},
        {"learning_rate": 0.05, "max_features": 0.1, "n_positions": 64, "max_epochs": 300, "patience": 40},
    ],
    "mlp": [
        {"dropout": 0.5, "learning_rate": 0.01, "weight_decay": 0.0, **NETWORK},
        {"width": 128, "dropout": 0.7, "learning_rate": 0.005, "weight_decay": 5e-4, **NETWORK},
        {"width": 128, "dropout": 0.2, "learning_rate": 0.005, "weight_decay": 5e-3, **NETWORK},
    ],
    "gpr-gnn": [
        {"learning_rate": 0.01, "weight_decay": 5e-4, **NETWORK},
        {"learning_rate": 0.05, "weight_decay": 5e-4, "dropout": 0.7, **NETWORK},
    ],
    "linkx": [
        {"learning_rate": 0.01, "weight_decay": 1e-3, **NETWORK},
        {"width": 128, "dropout": 0.7, "learning_rate": 0.005, "weight_decay": 1e-4, **NETWORK},
        {"dropout": 0.2, "learning_rate": 0.005, "weight_decay": 5e-3, **NETWORK},
    ],
    "sage+": [
        {"width": 64, "n_layers": 2, "learning_rate": 0.005, **NETWORK},
        {"width": 64, "n_layers": 2, "learning_rate": 0.005, "norm": "none", **NETWORK},
        {"width": 128, "n_layers": 4, "dropout": 0.3, "learning_rate": 0.003, **NETWORK},
    ],
    "acm-gcn": [
        {"learning_rate": 0.01, "weight_decay": 5e-4, "feature_norm": "none", **NETWORK},
        {"learning_rate": 0.05, "weight_decay": 5e-4, "feature_norm": "none", "dropout": 0.7, **NETWORK},
    ],
}


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(SETTINGS))
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU time of one training run.")
    parser.add_argument("--out", type=Path, default=Path("portfolio.jsonl"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    remaining = {method: list(range(len(SETTINGS[method]))) for method in args.methods}
    done = read(args.out)
    third = math.ceil(len(args.graphs) / 3)
    for first in range(0, len(args.graphs), third):
        for name in args.graphs[first : first + third]:
            run_graph(name, remaining, done, args)
        seen = args.graphs[: first + third]
        remaining = {method: better_half(method, kept, seen, done) for method, kept in remaining.items()}
    for method, kept in remaining.items():
        print_method(method, kept, args.graphs, done)


class Limit:
    """Pauses a run after some seconds of CPU time."""

    def __init__(self, seconds: float) -> None:
        self.end = time.process_time() + seconds

    def __call__(self, epoch: int, score: float) -> bool:
        """Return whether the time is over."""
        return time.process_time() > self.end


def read(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return the finished runs by graph, method, and number of the setting."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    # A setting that was edited since is trained again.
    known = [row for row in rows if SETTINGS[row["method"]][row["setting"]] == row["settings"]]
    return {(row["graph"], row["method"], row["setting"]): row for row in known}


def make_graph(name: str) -> Graph:
    """Return a real graph, or a synthetic one with the given homophily and noisy features."""
    if not name.startswith("synthetic"):
        return load(name)
    digits = load("digits")
    assert isinstance(digits.features, torch.Tensor)
    noise = NOISE * torch.randn(digits.features.shape, generator=torch.Generator().manual_seed(0))
    noisy = digits.replace(features=digits.features + noise)
    return synthetic_graph(noisy, homophily=float(name.split()[1]), pattern="hard", degree=6)


def run_graph(name: str, remaining: dict[str, list[int]], done: dict[Any, Any], args: argparse.Namespace) -> None:
    """Train all remaining settings on the first split of a graph, as the race does."""
    graph = make_graph(name)
    split = graph.split("0")
    shown = training_graph(graph, split, feature_scaling(graph))
    scoring = SCORINGS["roc_auc" if name == "tolokers" else "accuracy"]
    for method, kept in remaining.items():
        for number in kept:
            if (name, method, number) in done:
                continue
            start = time.process_time()
            settings = SETTINGS[method][number]
            _, run = train(
                method,
                shown,
                split=shown.split(SPLIT),
                progress=False,
                scoring=scoring,
                on_epoch=Limit(args.seconds),
                **settings,
            )
            row = {"graph": name, "method": method, "setting": number, "settings": settings}
            row |= {"val": run.score("val", scoring.name), "seconds": time.process_time() - start}
            row |= {"n_epochs": run.n_epochs, "stopped": run.stopped}
            done[name, method, number] = row
            with args.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{name:14} {method:10} {number} val {row['val']:.4f} {row['seconds']:.1f} s", flush=True)


def regrets(method: str, graphs: list[str], done: dict[Any, Any]) -> dict[int, dict[str, float]]:
    """Return the difference to the best run on each graph, in points, by setting."""
    best: dict[str, float] = defaultdict(float)
    for (graph, _, _), row in done.items():
        best[graph] = max(best[graph], row["val"])
    result: dict[int, dict[str, float]] = defaultdict(dict)
    for (graph, name, number), row in done.items():
        if name == method and graph in graphs:
            result[number][graph] = 100 * (row["val"] - best[graph])
    return result


def better_half(method: str, kept: list[int], graphs: list[str], done: dict[Any, Any]) -> list[int]:
    """Return the better half of the settings, at least two."""
    found = regrets(method, graphs, done)
    ranked = sorted(kept, key=lambda number: -mean(found[number].values()))
    return sorted(ranked[: max(2, math.ceil(len(ranked) / 2))])


def print_method(method: str, kept: list[int], graphs: list[str], done: dict[Any, Any]) -> None:
    """Print the remaining settings of a method, and the choice by cross-validation over graphs."""
    found = regrets(method, graphs, done)
    for number in kept:
        seconds = mean(done[graph, method, number]["seconds"] for graph in found[number])
        print(f"{method:10} {mean(found[number].values()):6.2f} {seconds:6.1f} s  {SETTINGS[method][number]}")
    chosen = []
    for graph in graphs:
        others = {n: mean(v for g, v in found[n].items() if g != graph) for n in kept}
        choice = max(others, key=lambda n: others[n])
        chosen.append(found[choice][graph] - max(found[n][graph] for n in kept))
    print(f"{method:10} choosing on the other graphs costs {-mean(chosen):.2f} points")


if __name__ == "__main__":
    main()
