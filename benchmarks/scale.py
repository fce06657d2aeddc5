"""Measure time and memory per edge of full-batch and mini-batch training, for up to a million nodes.

Run `python benchmarks/scale.py [--nodes 100000 1000000] [--models ...] [--batch-size 1024]`. One graph
is generated per size, with ten edges per node, 128 features, and ten classes; a tenth of the neighbors
have the same class. Every model trains in a separate process with width 64 and two layers (gpr-gnn: ten
steps). Milliseconds are those of the median epoch. Nanoseconds per edge are processor time of the
fastest epoch, which is affected less by other work on the machine. Peak memory is that of the process;
the memory per edge excludes what the process used before it built the model. `--keep` configures glibc
to retain freed memory. With a batch size, the benchmark measures single steps and an exact evaluation of
all nodes, and an epoch is their sum.
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

from fresh import in_separate_process

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
# By default, glibc returns freed tensors to the system and receives new ones as zero-filled pages. With
# these variables, it retains the memory.
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
DEGREE, FEATURES, CLASSES, HOMOPHILY = 20, 128, 10, 0.1


def main() -> None:
    """Print one Markdown row per model and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", nargs="*", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--models", nargs="*", default=list(SETTINGS))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="Retain freed memory in the process.")
    parser.add_argument("--folder", type=Path, help="Folder for the graphs; existing ones are reused.")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        task, path = args.job
        print(json.dumps(generate(Path(path), args.nodes[0]) if task == "generate" else measure(task, path, args)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        run(args, Path(args.folder or scratch))


def run(args: argparse.Namespace, folder: Path) -> None:
    """Generate each graph, measure each model on it, and print the rows."""
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    first: dict[str, dict[str, float]] = {}
    for n in args.nodes:
        path = folder / f"scale-{n}.safetensors"
        if not path.exists():
            in_separate_process("--job", "generate", path, "--nodes", n)
        for model in args.models:
            options = ("--epochs", args.epochs, "--batch-size", args.batch_size)
            result = in_separate_process("--job", model, path, *options, **(KEEP if args.keep else {}))
            print(row(model, n, result, first.setdefault(model, result)), flush=True)


def row(model: str, n: int, result: dict[str, Any], first: dict[str, Any]) -> str:
    """Format one row of the table; ratios are relative to the first size."""
    if "error" in result:
        return f"| {model} | {n:,} | {result['error']} |"
    keys = ("time", "memory")
    ratios = [f"{result[k] / first[k]:.2f}×" if k in first else "" for k in keys]
    cells = (
        model,
        f"{n:,}",
        f"{result['edges']:,}",
        f"{result['setup']:.1f}",
        f"{result['epoch']:,.0f}{result.get('note', '')}",
        f"{result['peak']:.2f}",
        f"{result['time']:,.0f}",
        ratios[0],
        f"{result['memory']:,.0f}",
        ratios[1],
    )
    return "| " + " | ".join(cells) + " |"


def generate(path: Path, n: int) -> dict[str, int]:
    """Generate a graph with n nodes and save it."""
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
    """Measure the time per epoch and the memory of a model on a saved graph."""
    import torch

    from heterophily import Graph, build

    import_module("heterophily.training.batches")  # exclude the libraries from the memory below
    torch.manual_seed(0)
    graph = Graph.load(path, mmap=True)
    edges = graph.n_edges // 2
    before, start = megabytes("VmRSS"), time.perf_counter()
    network = build(model, graph, **SETTINGS.get(model, {}))
    result = mini_batch(network, graph, args) if args.batch_size else full_batch(network, graph, args)
    peak = megabytes("VmHWM")
    result["setup"] += result.pop("began") - start
    per_edge = {"time": 1e6 * result.pop("work") / edges, "memory": 2**20 * (peak - before) / edges}
    return {**result, "edges": edges, "peak": peak / 1024, **per_edge}


def full_batch(network: Any, graph: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Measure all epochs except the first one, which is part of the setup."""
    from training import epoch_of

    began = time.perf_counter()
    epoch = epoch_of(network, graph)
    epoch()
    setup = time.perf_counter() - began
    middle, work = timed([epoch] * args.epochs)
    return {"began": began, "setup": setup, "epoch": middle, "work": work}


def timed(calls: Sequence[Callable[[], Any]]) -> tuple[float, float]:
    """Return the median time of the calls and the minimum processor time, in milliseconds."""
    seconds, work = [], []
    for call in calls:
        start, used = time.perf_counter(), time.process_time()
        call()
        seconds.append(time.perf_counter() - start)
        work.append(time.process_time() - used)
    return 1e3 * median(seconds), 1e3 * min(work)


def mini_batch(network: Any, graph: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Measure up to ten steps per requested epoch, and one evaluation."""
    import torch

    from heterophily.htmp.execution.sampling import NEIGHBORS
    from heterophily.training.steps import MiniBatch

    began = time.perf_counter()
    split = graph.split("0")
    known = graph.with_labels_only(torch.cat([split.train, split.val]))
    trainer = MiniBatch(
        network, known, split.train, seed=0, device=torch.device("cpu"), batch_size=args.batch_size, neighbors=NEIGHBORS
    )
    trainer.initialize()
    batches = split.train.split(args.batch_size)
    network.train()
    draws = torch.Generator().manual_seed(0)
    setup = time.perf_counter() - began
    calls = [partial(trainer.train_batch, batch, draws) for batch in batches[: 10 * args.epochs]]
    step, step_work = timed(calls)
    network.eval()
    evaluation, work = timed([trainer.evaluate])
    return {
        "began": began,
        "setup": setup,
        "epoch": len(batches) * step + evaluation,
        "work": len(batches) * step_work + work,
        "note": f" (CPU: {len(batches)} steps of {step_work:.0f}, evaluation {work:,.0f})",
    }


def megabytes(key: str) -> float:
    """Return the memory of this process: VmRSS is the current value, VmHWM the peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return float(line.split()[1]) / 1024
    return float("nan")


if __name__ == "__main__":
    main()
