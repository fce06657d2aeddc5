"""Test accuracy of training in batches against training on the whole graph, with the committed settings.

Run `python benchmarks/batches.py [--graphs ...] [--models ...] [--splits N] [--neighbors 10,5 ...]`. The
whole graph stops after 40 epochs without a better validation accuracy, batches, which take a step for each,
after ten. The difference is that of paired splits, with its standard error.
"""

import argparse
from statistics import mean, stdev
from typing import Any

import torch

from heterophily import load
from heterophily.commands.options import chosen, neighbor_counts
from heterophily.models.settings import tuned
from heterophily.training.trainer import train

WHOLE = {"patience": 40, "max_epochs": 300}
PARTS = {"patience": 10, "max_epochs": 60}


def main() -> None:
    """Print one row per method, graph and number of neighbors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="*", default=["pubmed", "flickr"])
    parser.add_argument("--models", nargs="*", default=["gcn", "cmgnn"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--neighbors", nargs="*", default=["10,5"])
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--set", nargs="*", default=[], help="settings of batches, such as width=8")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| graph | method | neighbors | whole graph | batches | difference |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in args.graphs:
        for model in args.models:
            whole = scores(model, name, args.splits, **WHOLE)
            for drawn in args.neighbors:
                options = {"batch_size": args.batch_size, "neighbors": neighbor_counts(drawn)}
                parts = scores(model, name, args.splits, **options, **PARTS, **chosen(args.set))
                print(f"| {name} | {model} | {drawn} | {row(whole, parts)} |", flush=True)


def scores(model: str, name: str, splits: int, **options: Any) -> list[float]:
    """Test accuracies in percent."""
    graph, found = load(name), []
    options = tuned(model, name) | options
    for number in range(splits):
        split = graph.split(str(number))
        _, run = train(model, graph, split=split, progress=False, **options)
        found.append(100 * run.scores["test"]["accuracy"])
    return found


def row(whole: list[float], parts: list[float]) -> str:
    """Means, and the difference with its standard error."""
    gaps = [b - a for a, b in zip(whole, parts, strict=True)]
    error = stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
    return f"{mean(whole):.2f} | {mean(parts):.2f} | {mean(gaps):+.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
