"""Fail if training has become slower than in another checkout: epoch times, new ÷ old, measured in turns.

Run `python benchmarks/regress.py OLD [--models ...] [--graphs ...] [--epochs N] [--turns N] [--json FILE]`. OLD is the
`src` folder of another checkout. Each checkout trains in a process with one thread. The two processes take turns, so
that the load of the machine affects both, and processor time is measured. The time of an epoch is the
difference of a run of N + 1 epochs and a run of one epoch, divided by N. The ratio of a cell is the median over the
turns. The exit code is 1 if the geometric mean of the ratios exceeds 1.05.
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
LIMIT = 1.05  # of the geometric mean
WORKER = """
import json, sys, time
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
def seconds(n):
    start = time.process_time()
    train(model, graph, split=split, progress=False, **{**settings, "max_epochs": n, "patience": n})
    return time.process_time() - start
for _ in sys.stdin:
    print(1e3 * (seconds(epochs + 1) - seconds(1)) / epochs, flush=True)
"""


def main() -> None:
    """Print one line per cell, and the geometric mean of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="The `src` folder of another checkout.")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--graphs", nargs="*", default=["chameleon-f", "actor"])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", type=Path, help="File for the results.")
    args = parser.parse_args()
    rows = []
    for graph in args.graphs:
        for model in args.models:
            new, old = measure(model, graph, args.old.resolve(), args.epochs, args.turns)
            ratio = median(a / b for a, b in zip(new, old, strict=True))
            rows.append({"model": model, "graph": graph, "new": median(new), "old": median(old), "ratio": ratio})
            shown = f"new {median(new):.2f} ms, old {median(old):.2f} ms, new ÷ old {ratio:.3f}"
            print(f"{model} on {graph}: {shown}", flush=True)
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1))
    worst = max(rows, key=lambda row: row["ratio"])
    mean = geometric_mean(row["ratio"] for row in rows)
    print(
        f"geometric mean over {len(rows)} cells {mean:.3f}, "
        f"largest {worst['ratio']:.3f} ({worst['model']} on {worst['graph']})"
    )
    sys.exit(mean > LIMIT)


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
