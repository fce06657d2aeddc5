"""Time of an epoch of every method on every dataset, with four comparisons.

Run `python benchmarks/epoch.py [--models ...] [--graphs ...] [--epochs N] [--threads 1 2]`. An epoch is
that of the trainer: forward pass, backward pass, optimizer step, evaluation, and a copy of the best
weights. The settings are the bundled ones, or the published ones if a search changed the cost of an
epoch. Each combination runs in a separate process. Milliseconds are medians with one and with two
threads. Peak memory is that of the process with one thread. Ratios are measured alternately in one
process with one thread:

* dense ÷ ours: the same method with dense instead of sparse matrices (of at most 10⁸ entries);
* PyG ÷ ours: the architecture assembled from the layers of PyTorch Geometric, if they exist;
* published ÷ ours: the reference implementation, measured on a similar machine with one thread;
* ours ÷ bound: only the matrix products and sparse products of the method.
"""

import argparse
import json
import math
import warnings
from collections.abc import Callable
from statistics import geometric_mean, median
from typing import Any

from fresh import in_separate_process

GRAPHS = ("chameleon-f", "squirrel-f", "actor", "photo", "pubmed", "flickr", "blogcatalog")
# Processor time of the reference implementation per epoch in milliseconds, with one thread.
PUBLISHED = {
    "chameleon-f": "mlp 53 gcn 44 gat 69 gcnii 102 h2gcn 68 mixhop 422 gbk-gnn 2132 ggcn 478 "
    "glognn 1014 hog-gcn 666 gpr-gnn 83 acm-gcn 102 ordered-gnn 282 cmgnn 165",
    "squirrel-f": "mlp 127 gcn 169 gat 184 gcnii 155 h2gcn 420 mixhop 2975 gbk-gnn 10744 ggcn 1406 "
    "glognn 151 hog-gcn 3985 gpr-gnn 228 acm-gcn 299 ordered-gnn 2176 cmgnn 525",
    "actor": "mlp 97 gcn 215 gat 422 gcnii 121 h2gcn 885 mixhop 2277 ggcn 90000 gpr-gnn 224 "
    "acm-gcn 1328 ordered-gnn 1728 cmgnn 209",
    "blogcatalog": "mlp 1249 gcn 584 gat 1715 gcnii 2093 gpr-gnn 1411 acm-gcn 2494 ordered-gnn 10100 cmgnn 2762",
    "flickr": "mlp 2716 gcn 3738 gat 16500 gcnii 3310 gpr-gnn 2950 acm-gcn 23300 ordered-gnn 17600 cmgnn 8200",
}
# Settings that affect the time of an epoch, where the bundled ones differ from the reference implementation.
SAME: dict[tuple[str, str], dict[str, Any]] = {
    ("mlp", "chameleon-f"): {"width": 32},
    ("mlp", "squirrel-f"): {"width": 64},
    ("mlp", "actor"): {"width": 128},
    ("gat", "blogcatalog"): {"attention_dropout": 0.0},
    ("gcnii", "chameleon-f"): {"star": True},
    ("h2gcn", "squirrel-f"): {"activation": "relu", "dropout": 0.5},
    ("mixhop", "chameleon-f"): {"width": 200},
    ("gbk-gnn", "squirrel-f"): {"width": 16},
    ("ggcn", "chameleon-f"): {"n_layers": 8},
    ("glognn", "squirrel-f"): {"n_layers": 1},
    ("ordered-gnn", "chameleon-f"): {"n_input_layers": 2},
    ("ordered-gnn", "squirrel-f"): {"n_input_layers": 2},
    ("cmgnn", "blogcatalog"): {"n_layers": 4, "width": 256},
    ("cmgnn", "flickr"): {"structure": True},
}
HEAD = (
    *("method", "ms, 1 thread", "2 threads", "peak GB"),
    *("dense ÷ ours", "PyG ÷ ours", "published ÷ ours", "ours ÷ bound"),
)
MAX_DENSE_ENTRIES, DEFAULT_EPOCHS = 10**8, 24
MAX_SECONDS = 20  # time limit for the alternating measurements of one ratio


def main() -> None:
    """Print one Markdown table per dataset."""
    from heterophily.benchmark.plan import MODELS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--epochs", type=int, default=DEFAULT_EPOCHS)
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2], choices=[1, 2])
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        model, name = args.cell
        print(json.dumps(measure(model, name, args.epochs, args.threads[0])))
        return
    gains = []
    for name in args.graphs:
        print(f"\n{name}\n\n| " + " | ".join(HEAD) + " |")
        print("|---" * len(HEAD) + "|", flush=True)
        for model in args.models:
            options = ("--cell", model, name, "--epochs", args.epochs, "--threads")
            one, two = (in_separate_process(*options, n) if n in args.threads else {} for n in (1, 2))
            print(row(model, one, two), flush=True)
            gains += [one["published"]] if one.get("published") else []
    if gains:
        mean = f"{geometric_mean(gains):.1f}"
        print(f"\nPublished ÷ ours over {len(gains)} cells: geometric mean {mean}, minimum {min(gains):.1f}")


def row(model: str, one: dict[str, Any], two: dict[str, Any]) -> str:
    """Format one row of a table."""
    if "error" in one or "error" in two:
        return f"| {model} | {one.get('error') or two.get('error')}" + " |" * len(HEAD[1:])
    columns = [(one, "ms", ",.1f"), (two, "ms", ",.1f"), (one, "gigabytes", ".2f")]
    columns += [(one, name, ".1f") for name in ("dense", "pyg", "published")]
    columns += [(one, "bound", ".2f")]
    result = ((facts.get(name), form) for facts, name, form in columns)
    cells = ["" if value is None else format(value, form) for value, form in result]
    return f"| {model} | " + " | ".join(cells) + " |"


def measure(model: str, name: str, count: int, threads: int) -> dict[str, Any]:
    """Measure milliseconds, peak memory, and ratios of one method on one dataset."""
    import torch
    from bound import products_of
    from training import epoch_of, graph_named, times

    from heterophily import build
    from heterophily.core.machine import peak_memory
    from heterophily.models.settings import tuned

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    graph = graph_named(name)
    network = build(model, graph, **tuned(model, name) | SAME.get((model, name), {}))
    epoch = epoch_of(network, graph)
    warm = times(epoch, 2)
    count = max(4, min(count, math.ceil(20 / warm[1])))
    seconds = median(times(epoch, count))
    result: dict[str, Any] = {"ms": 1e3 * seconds, "gigabytes": peak_memory() / 2**10}
    if threads > 1:
        return result
    published = dict(zip(*[iter(PUBLISHED.get(name, "").split())] * 2, strict=True)).get(model)
    result["published"] = float(published) / result["ms"] if published else None
    result["bound"] = 1 / ratio(epoch, products_of(epoch).run, count)
    result |= compare(model, graph, network, epoch, count)
    return result


def compare(model: str, graph: Any, network: Any, epoch: Callable[[], None], count: int) -> dict[str, Any]:
    """Measure the ratios to PyTorch Geometric and to dense matrices."""
    import pyg
    from densely import densely

    from heterophily.htmp.method import settings_of

    result, few = {}, max(3, count // 4)
    # PyTorch warns for each new CSR tensor that the layout is in beta state.
    warnings.filterwarnings("ignore", message="Sparse")
    if model in pyg.MODELS:
        theirs = pyg.pyg_epoch(model, graph, settings_of(network.method))
        result["pyg"] = ratio(epoch, theirs, few)
    if graph.n_nodes * max(graph.n_nodes, graph.n_features) <= MAX_DENSE_ENTRIES:

        def dense() -> None:
            with densely():
                epoch()

        result["dense"] = ratio(epoch, dense, few)
    return result


def ratio(ours: Callable[[], None], theirs: Callable[[], None], count: int) -> float:
    """Return their median time divided by ours, over at most `count` alternating rounds."""
    from training import times

    own: list[float] = []
    other: list[float] = []
    while len(own) < 2 or (len(own) <= count and sum(own + other) < MAX_SECONDS):
        own += times(ours, 1)
        other += times(theirs, 1)
    return median(other[1:]) / median(own[1:])


if __name__ == "__main__":
    main()
