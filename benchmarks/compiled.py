"""Measure whether `torch.compile` pays off: compilation time, and time per epoch before and after.

Run `python benchmarks/compiled.py [--models ...] [--graphs ...]`. The benchmark compiles all operations
that could be fused: COMBINE with its gates, norms, and activations in every layer, forward and backward.
The compiler cannot trace the sparse kernels, because they define custom gradients. The break-even is the
number of epochs after which compilation has paid off. Runs have 40 to 1,500 epochs.
"""

import argparse
import time
from statistics import median

import torch
import torch._dynamo
from training import epoch_of, graph_named, times

from heterophily import Graph, build
from heterophily.htmp.layer import Layer
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.models.settings import tuned


def main() -> None:
    """Print one Markdown row per model and graph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="*", default=("chameleon-f", "actor"))
    parser.add_argument("--models", nargs="*", default=("gcn", "acm-gcn", "cmgnn"))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch._dynamo.config.recompile_limit = 64  # layers differ in their auxiliary outputs
    print("| method | graph | compile, s | ms | ms compiled | break-even, epochs |")
    print("|---" * 6 + "|")
    for name in args.graphs:
        for model in args.models:
            print(row(model, name, args.epochs), flush=True)


def row(model: str, name: str, count: int) -> str:
    """Format one row of the table."""
    graph = graph_named(name)
    plain, _ = measure(model, name, graph, count, compiled=False)
    fast, seconds = measure(model, name, graph, count, compiled=True)
    gain = plain - fast
    even = f"{1e3 * seconds / gain:,.0f}" if gain > 0 else "never"
    return f"| {model} | {name} | {seconds:.0f} | {plain:.1f} | {fast:.1f} | {even} |"


def measure(model: str, name: str, graph: Graph, count: int, *, compiled: bool) -> tuple[float, float]:
    """Return the median milliseconds per epoch, and the seconds of the first three epochs."""
    torch.manual_seed(0)
    network = build(make_method(find_method(model), tuned(model, name)), graph)
    epoch = epoch_of(network, graph)
    for layer in network.modules() if compiled else ():
        if isinstance(layer, Layer):
            layer.update = torch.compile(layer.update)  # type: ignore[method-assign]
    start = time.perf_counter()
    times(epoch, 3)
    first = time.perf_counter() - start
    return 1e3 * median(times(epoch, count)), first


if __name__ == "__main__":
    main()
