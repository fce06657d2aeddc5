"""Compare the test accuracy of mini-batch and full-batch training with the bundled settings.

Run `python benchmarks/batches.py [--graphs ...] [--models ...] [--splits N] [--neighbors 10,5 ...]`.
Full-batch training stops after 40 epochs without an improvement of the validation accuracy. Mini-batch
training, which takes one step per batch, stops after ten. The difference is computed over paired splits
and printed with its standard error.
"""

import argparse
from statistics import mean, stdev
from typing import Any

import torch

from heterophily import load
from heterophily.commands.options import parse_neighbors, parse_settings
from heterophily.models.settings import tuned
from heterophily.training.trainer import train

FULL_BATCH = {"patience": 40, "max_epochs": 300}
MINI_BATCH = {"patience": 10, "max_epochs": 60}


def main() -> None:
    """Print one row per method, graph, and number of neighbors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="*", default=["pubmed", "flickr"])
    parser.add_argument("--models", nargs="*", default=["gcn", "cmgnn"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--neighbors", nargs="*", default=["10,5"])
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--set", nargs="*", default=[], help="Settings of mini-batch training, such as width=8.")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| graph | method | neighbors | full graph | batches | difference |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in args.graphs:
        for model in args.models:
            full = scores(model, name, args.splits, **FULL_BATCH)
            for fanouts in args.neighbors:
                options = {"batch_size": args.batch_size, "neighbors": parse_neighbors(fanouts)}
                batches = scores(model, name, args.splits, **options, **MINI_BATCH, **parse_settings(args.set))
                print(f"| {name} | {model} | {fanouts} | {row(full, batches)} |", flush=True)


def scores(model: str, name: str, splits: int, **options: Any) -> list[float]:
    """Return the test accuracy on each split in percent."""
    graph, accuracies = load(name), []
    options = tuned(model, name) | options
    for number in range(splits):
        split = graph.split(str(number))
        _, run = train(model, graph, split=split, progress=False, **options)
        accuracies.append(100 * run.scores["test"]["accuracy"])
    return accuracies


def row(full: list[float], batches: list[float]) -> str:
    """Format both means, and the difference with its standard error."""
    gaps = [b - a for a, b in zip(full, batches, strict=True)]
    error = stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
    return f"{mean(full):.2f} | {mean(batches):.2f} | {mean(gaps):+.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
