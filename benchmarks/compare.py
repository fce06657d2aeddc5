"""Epoch times of this checkout divided by those of another one, measured in turns.

Run `python benchmarks/compare.py OLD [--models ...] [--graphs ...] [--epochs N] [--turns N]`, where OLD is
the `src` folder of another checkout. Each checkout trains in a process with one thread. The two processes
take turns, so that the load of the machine affects both. The ratio of a cell is the median over the turns.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean, median

NEW = Path(__file__).resolve().parents[1] / "src"
MODELS = (
    *("mlp", "gcn", "gat", "gcnii", "h2gcn", "mixhop", "gbk-gnn", "ggcn", "glognn", "hog-gcn"),
    *("gpr-gnn", "acm-gcn", "ordered-gnn", "cmgnn"),
)
WORKER = """
import json, sys
import torch
from heterophily import load
from heterophily.training.trainer import train
torch.set_num_threads(1)
try:  # as the library's worker processes do
    from heterophily.core.machine import prepare_process
    prepare_process(1)
except ImportError:  # older versions do this while they train
    pass
model, name, epochs, settings = json.loads(sys.argv[1])
graph = load(name)
split = next(iter(graph.splits.values()))
options = {"max_epochs": epochs, "patience": epochs}
for _ in sys.stdin:
    _, run = train(model, graph, split=split, progress=False, **{**settings, **options})
    print(run.milliseconds_per_epoch, flush=True)
"""


def main() -> None:
    """Print one line per cell, and the geometric mean of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="The `src` folder of another checkout.")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--graphs", nargs="*", default=["chameleon-f", "actor"])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    ratios = {}
    for graph in args.graphs:
        for model in args.models:
            new, old = measure(model, graph, args.old.resolve(), args.epochs, args.turns)
            ratios[model, graph] = median(a / b for a, b in zip(new, old, strict=True))
            print(
                f"{model} on {graph}: new {median(new):.2f} ms, old {median(old):.2f} ms, "
                f"new ÷ old {ratios[model, graph]:.3f}",
                flush=True,
            )
    worst = max(ratios, key=lambda cell: ratios[cell])
    print(
        f"geometric mean over {len(ratios)} cells {geometric_mean(ratios.values()):.3f}, "
        f"largest {ratios[worst]:.3f} ({worst[0]} on {worst[1]})"
    )


def measure(model: str, graph: str, old: Path, epochs: int, turns: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds per epoch of both checkouts, one value per turn."""
    settings = tuned(model, graph)
    job = json.dumps([model, graph, epochs, settings])
    workers = [start(source, job) for source in (NEW, old)]
    times: list[list[float]] = [[], []]
    for turn in range(turns + 1):
        order = (0, 1) if turn % 2 else (1, 0)
        for number in order:
            value = ask(workers[number])
            if turn:  # the first turn warms up
                times[number].append(value)
    for worker in workers:
        worker.terminate()
        worker.wait()
    return times[0], times[1]


def tuned(model: str, graph: str) -> dict[str, object]:
    """Return the bundled settings of a model for a dataset."""
    import tomllib

    path = NEW / "heterophily" / "models" / "settings" / f"{model}.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {key: value for key, value in tables.get(graph, {}).items() if key != "source"}


def start(source: Path, job: str) -> subprocess.Popen[str]:
    """Start a process that trains once for each line that it reads."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORKER, job]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(worker: subprocess.Popen[str]) -> float:
    """Let a process train once and return its milliseconds per epoch."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write("\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


if __name__ == "__main__":
    main()
