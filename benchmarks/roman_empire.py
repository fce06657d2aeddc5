"""Measure roman-empire from its edges and labels, without its features, and train methods that do not need them.

Run `python benchmarks/roman_empire.py FOLDER [--splits N] [--methods ...]`. The folder contains edges.csv with the
columns source and target, labels.csv with the label of one node per row, and splits.npz with the official splits. The
script prints the numbers of the section in docs/explanation/diagnosis.md.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from heterophily import Graph, diagnose
from heterophily.core.structure import with_features
from heterophily.data.catalog import CATALOG
from heterophily.data.splits import official_splits
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.training.trainer import train

NAME = "roman-empire"


def read_graph(folder: Path) -> Graph:
    """Return the graph with labels and official splits, and without features."""
    with (folder / "edges.csv").open() as lines:
        edges = [(int(row["source"]), int(row["target"])) for row in csv.DictReader(lines)]
    with (folder / "labels.csv").open() as lines:
        labels = [int(row["label"]) for row in csv.DictReader(lines)]
    splits = official_splits(folder / "splits.npz", len(labels))
    return Graph.from_edges(edges, labels=labels, n_nodes=len(labels), splits=splits, name=f"{NAME} without features")


def print_measures(graph: Graph) -> None:
    """Print homophily, compatibility, and the verdict, next to the numbers of the catalog."""
    found, published = diagnose(graph), CATALOG[NAME]
    print(f"nodes {graph.n_nodes} ({published.n_nodes}), classes {graph.n_classes} ({published.n_classes})")
    print(f"symmetrized entries {graph.symmetric.n_entries} ({published.n_symmetric})")
    print(f"homophily {found.homophily_symmetric} (edge homophily {published.edge_homophily})")
    print(f"CMD {found.cmd:.3f}, of edges {found.cmd_of_edges:.3f}; discriminability {found.discriminability:.3f}")
    print(f"neighborhood accuracy {found.neighborhood_accuracy:.3f}, largest class {found.largest_class:.3f}")
    print(found.verdict)


def print_scores(graph: Graph, methods: Sequence[str], n_splits: int) -> None:
    """Print the test accuracy of methods with default settings."""
    graph = with_features(graph)  # degrees and positions
    for name in methods:
        scores = []
        for seed, split in enumerate(list(graph.splits.values())[:n_splits]):
            _, run = train(make_method(find_method(name)), graph, split=split, seed=seed, progress=False)
            scores.append(100 * run.score("test"))
        spread = f" ± {stdev(scores):.2f}" if len(scores) > 1 else ""
        print(f"{name} {fmean(scores):.2f}{spread} over {len(scores)} splits", flush=True)


def main() -> None:
    """Read the options and print all numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--methods", default="clp,boosting")
    options = parser.parse_args()
    graph = read_graph(options.folder)
    print_measures(graph)
    print_scores(graph, options.methods.split(","), options.splits)


if __name__ == "__main__":
    main()
