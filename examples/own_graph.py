"""Use your own graph, from two tables to predictions: a synthetic market of buyers, sellers, and brokers.

Run `python examples/own_graph.py [FOLDER]`. The script writes `edges.csv` and `nodes.csv` with text ids
and text labels, a third of which are missing. Then it diagnoses the graph, trains a model, and writes
the predictions.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from heterophily import Graph, NodeClassifier, diagnose
from heterophily.data.synthetic import draw_edges, target_matrix
from heterophily.views.fit import write_results

ROLES = ("broker", "buyer", "seller")
SIZES = (120, 240, 240)


def write_market(folder: Path, *, seed: int = 0) -> None:
    """Write a market in which buyers and sellers trade with each other and brokers trade with both."""
    rng = np.random.default_rng(seed)
    role = np.repeat([0, 1, 2], SIZES)
    preferences = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 4.0], [1.0, 4.0, 0.0]])
    edges = draw_edges(role, target_matrix(SIZES, 0.05, pattern=preferences), degree=8, seed=seed)
    ids = [f"{rng.integers(16**6):06x}-{i}" for i in range(len(role))]
    features = rng.normal(size=(len(role), 4)) + 0.5 * np.eye(3, 4)[role]
    hidden = rng.random(len(role)) < 1 / 3
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *((ids[i], ids[j]) for i, j in edges)])
    with (folder / "nodes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "volume", "frequency", "spread", "age"])
        for i, row in enumerate(features):
            label = "" if hidden[i] else ROLES[role[i]]
            writer.writerow([ids[i], label, *(f"{value:.3f}" for value in row)])


def main(folder: Path) -> None:
    """Create the tables, diagnose the graph, train a model, and write the results."""
    write_market(folder)
    graph = Graph.from_files(folder)
    print(diagnose(graph).verdict, "\n")
    model = NodeClassifier("cmgnn", width=32, patience=60).fit(graph)
    print(f"validation accuracy {model.run_.scores['val']['accuracy']:.1%}")
    for name, path in write_results(model, graph, folder / "results").items():
        print(f"{name}: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "market"))
