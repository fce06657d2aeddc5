"""Measure time per epoch and peak memory of every method on large graphs.

Run `python benchmarks/memory.py [--models ...] [--graphs ...]`. Each combination trains for 20 epochs in
a separate process with the bundled settings of the dataset (or of the dataset whose size the graph has).
Peak memory is that of the process, including the interpreter, the libraries, and all precomputations.
"""

import argparse
import json
import time
from typing import Any

from fresh import in_separate_process

GRAPHS = ("pubmed", "flickr", "size of roman-empire", "size of amazon-ratings")
EPOCHS = 20


def main() -> None:
    """Print one Markdown row per method."""
    from heterophily.models import PUBLISHED

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=[method.name for method in PUBLISHED])
    parser.add_argument("--graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        print(json.dumps(measure(*args.cell)))
        return
    print("| method | " + " | ".join(args.graphs) + " |")
    print("|---" * (1 + len(args.graphs)) + "|")
    for model in args.models:
        cells = [cell(in_separate_process("--cell", model, graph)) for graph in args.graphs]
        print(f"| {model} | " + " | ".join(cells) + " |", flush=True)


def cell(result: dict[str, Any]) -> str:
    """Format one cell of the table."""
    if "error" in result:
        return str(result["error"])
    return f"{result['milliseconds']:,.0f} ms, {result['gigabytes']:.1f} GB"


def measure(model: str, name: str) -> dict[str, float]:
    """Train for a few epochs and return setup time, median time per epoch, and peak memory."""
    import torch
    from training import epoch_of, graph_named, milliseconds, times

    from heterophily import build
    from heterophily.core.machine import peak_memory
    from heterophily.htmp.method import make_method
    from heterophily.models import find_method
    from heterophily.models.settings import tuned

    torch.manual_seed(0)
    graph = graph_named(name)
    start = time.perf_counter()
    settings = tuned(model, name.removeprefix("size of "))
    network = build(make_method(find_method(model), settings), graph)
    epoch = epoch_of(network, graph)
    epoch()
    setup = time.perf_counter() - start
    median_ms = milliseconds(times(epoch, EPOCHS - 1))
    return {"setup": setup, "milliseconds": median_ms, "gigabytes": peak_memory() / 2**10}


if __name__ == "__main__":
    main()
