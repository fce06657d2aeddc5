"""Milliseconds per epoch and peak memory of every method on large graphs.

Run `python benchmarks/memory.py [--models ...] [--graphs ...]`. Each cell trains for 20 epochs in a process
of its own with the committed settings of the dataset (or of the one that the graph is sized after);
peak memory is that of the whole process, the interpreter, libraries and precomputation included.
"""

import argparse
import json
import time
from typing import Any

from fresh import in_own_process

GRAPHS = ("pubmed", "flickr", "size of roman-empire", "size of amazon-ratings")
EPOCHS = 20


def main() -> None:
    """Print one Markdown row per method."""
    from heterophily.models import PUBLISHED

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=[recipe.name for recipe in PUBLISHED])
    parser.add_argument("--graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        print(json.dumps(measure(*args.cell)))
        return
    print("| method | " + " | ".join(args.graphs) + " |")
    print("|---" * (1 + len(args.graphs)) + "|")
    for model in args.models:
        cells = [cell(in_own_process("--cell", model, graph)) for graph in args.graphs]
        print(f"| {model} | " + " | ".join(cells) + " |", flush=True)


def cell(found: dict[str, Any]) -> str:
    """One cell of the table."""
    if "error" in found:
        return str(found["error"])
    return f"{found['milliseconds']:,.0f} ms, {found['gigabytes']:.1f} GB"


def measure(model: str, name: str) -> dict[str, float]:
    """Train for a few epochs; seconds of setting up, median milliseconds per epoch, peak memory."""
    import torch
    from training import epoch_of, graph_named, milliseconds, times

    from heterophily import build
    from heterophily.core.machine import peak_memory
    from heterophily.models.settings import tuned

    torch.manual_seed(0)
    graph = graph_named(name)
    start = time.perf_counter()
    network = build(model, graph, **tuned(model, name.removeprefix("size of ")))
    epoch = epoch_of(network, graph)
    epoch()
    setup = time.perf_counter() - start
    found = milliseconds(times(epoch, EPOCHS - 1))
    return {"setup": setup, "milliseconds": found, "gigabytes": peak_memory() / 2**10}


if __name__ == "__main__":
    main()
