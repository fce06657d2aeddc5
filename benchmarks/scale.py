"""Time and memory per edge of whole-graph and of batch training, from 100,000 to 1,000,000 nodes.

Run `python benchmarks/scale.py [--nodes 100000 1000000] [--models ...] [--batch-size 1024]`. A graph is drawn
once per size: ten edges per node, 128 features, ten classes, a tenth of the neighbors of the own class. Every
model trains in a process of its own, width 64 and two layers (gpr-gnn: ten steps). Milliseconds are of the
median epoch; nanoseconds per edge are of processor time in the fastest one, which other work on the machine
disturbs less. Peak memory is that of the process; per edge, without what it had before it built the model.
`--keep` lets glibc keep freed memory. With a batch size, steps and an exact evaluation of all nodes are
measured, and an epoch is their sum.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from fresh import in_own_process

SETTINGS: dict[str, dict[str, Any]] = {
    "gcn": {},
    "acm-gcn": {},
    "gpr-gnn": {},
    "h2gcn": {"second_hop_limit": 20},
    "cmgnn": {},
}
HEAD = (
    *("model", "nodes", "edges", "set up, s", "ms per epoch", "peak GB"),
    *("CPU ns per edge", "ratio", "bytes per edge", "ratio"),
)
# Large tensors are given back to the system when they are freed, and new ones come as pages that the system
# fills with zeros first. These settings of glibc keep the memory in the process instead.
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
DEGREE, FEATURES, CLASSES, HOMOPHILY = 20, 128, 10, 0.1


def main() -> None:
    """Print one Markdown row per model and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", nargs="*", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--models", nargs="*", default=list(SETTINGS))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="Let processes keep memory they freed.")
    parser.add_argument("--folder", type=Path, help="Where the graphs are, or are to be kept.")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        what, path = args.job
        print(
            json.dumps(
                draw(Path(path), args.nodes[0]) if what == "draw" else measure(what, path, args)
            )
        )
        return
    with tempfile.TemporaryDirectory() as scratch:
        run(args, Path(args.folder or scratch))


def run(args: argparse.Namespace, folder: Path) -> None:
    """Draw each graph, measure each model on it, and print as it comes."""
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    first: dict[str, dict[str, float]] = {}
    for n in args.nodes:
        path = folder / f"scale-{n}.safetensors"
        if not path.exists():
            in_own_process("--job", "draw", path, "--nodes", n)
        for model in args.models:
            words = ("--epochs", args.epochs, "--batch-size", args.batch_size)
            found = in_own_process("--job", model, path, *words, **(KEEP if args.keep else {}))
            print(row(model, n, found, first.setdefault(model, found)), flush=True)


def row(model: str, n: int, found: dict[str, Any], first: dict[str, Any]) -> str:
    """One row of the table; ratios are against the first size."""
    if "error" in found:
        return f"| {model} | {n:,} | {found['error']} |"
    keys = ("time", "memory")
    ratios = [f"{found[k] / first[k]:.2f}×" if k in first else "" for k in keys]
    cells = (
        model,
        f"{n:,}",
        f"{found['edges']:,}",
        f"{found['setup']:.1f}",
        f"{found['epoch']:,.0f}{found.get('note', '')}",
        f"{found['peak']:.2f}",
        f"{found['time']:,.0f}",
        ratios[0],
        f"{found['memory']:,.0f}",
        ratios[1],
    )
    return "| " + " | ".join(cells) + " |"


def draw(path: Path, n: int) -> dict[str, int]:
    """Draw the graph of n nodes and save it."""
    import numpy as np
    import torch

    from heterophily import Graph, random_splits
    from heterophily.data.synthetic import draw_edges, preference_pattern, target_matrix

    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=n)
    sizes = np.bincount(labels, minlength=CLASSES)
    matrix = target_matrix(sizes, HOMOPHILY, pattern=preference_pattern("easy", CLASSES))
    edges = draw_edges(labels, matrix, degree=DEGREE)
    centers = torch.from_numpy(rng.standard_normal((CLASSES, FEATURES)).astype(np.float32))
    x = torch.randn(n, FEATURES, generator=torch.Generator().manual_seed(0))
    x.add_(centers[torch.from_numpy(labels)], alpha=0.1)
    both = np.concatenate([edges, edges[:, ::-1]])
    graph = Graph.from_edges(both, x, labels=labels, name=f"{n:,} nodes")
    graph.replace(splits=random_splits(graph, count=1)).save(path)
    return {"edges": len(edges)}


def measure(model: str, path: str, args: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds per epoch and memory of a model on a saved graph."""
    import torch

    from heterophily import Graph, build

    import_module("heterophily.training.batches")  # so that libraries are not counted below
    torch.manual_seed(0)
    graph = Graph.load(path, mmap=True)
    edges = graph.n_edges // 2
    before, start = megabytes("VmRSS"), time.perf_counter()
    network = build(model, graph, **SETTINGS.get(model, {}))
    found = (
        in_batches(network, graph, args) if args.batch_size else as_a_whole(network, graph, args)
    )
    peak = megabytes("VmHWM")
    found["setup"] += found.pop("began") - start
    per_edge = {"time": 1e6 * found.pop("work") / edges, "memory": 2**20 * (peak - before) / edges}
    return {**found, "edges": edges, "peak": peak / 1024, **per_edge}


def as_a_whole(network: Any, graph: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Epochs after the first one, which counts as setting up."""
    from training import epoch_of

    began = time.perf_counter()
    epoch = epoch_of(network, graph)
    epoch()
    setup = time.perf_counter() - began
    middle, work = timed([epoch] * args.epochs)
    return {"began": began, "setup": setup, "epoch": middle, "work": work}


def timed(calls: Sequence[Callable[[], Any]]) -> tuple[float, float]:
    """The median of the calls on the clock, and the least processor time of one, in milliseconds."""
    seconds, work = [], []
    for call in calls:
        start, used = time.perf_counter(), time.process_time()
        call()
        seconds.append(time.perf_counter() - start)
        work.append(time.process_time() - used)
    return 1e3 * median(seconds), 1e3 * min(work)


def in_batches(network: Any, graph: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Steps of one epoch, as many as `epochs` times ten, and one evaluation."""
    import torch

    from heterophily.htmp.execution.sampling import NEIGHBORS
    from heterophily.training.batches import BatchTrainer
    from heterophily.training.optimizers import make_optimizers

    began = time.perf_counter()
    facts = {"split": graph.split("0"), "seed": 0, "device": torch.device("cpu")}
    trainer = BatchTrainer(network, graph, batch_size=args.batch_size, neighbors=NEIGHBORS, **facts)
    trainer._begin()
    trainer.optimizers = make_optimizers(network)
    batches = trainer.nodes["train"].split(args.batch_size)
    network.train()
    draws = torch.Generator().manual_seed(0)
    setup = time.perf_counter() - began
    calls = [partial(trainer._step, batch, draws) for batch in batches[: 10 * args.epochs]]
    step, step_work = timed(calls)
    network.eval()
    evaluation, work = timed([trainer._evaluate])
    return {
        "began": began,
        "setup": setup,
        "epoch": len(batches) * step + evaluation,
        "work": len(batches) * step_work + work,
        "note": f" (CPU: {len(batches)} steps of {step_work:.0f}, evaluation {work:,.0f})",
    }


def megabytes(key: str) -> float:
    """Memory of this process: VmRSS now, VmHWM at its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return float(line.split()[1]) / 1024
    return float("nan")


if __name__ == "__main__":
    main()
