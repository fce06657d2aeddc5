"""Compare the time and the memory of a method with another program that trains the same network.

Run `python benchmarks/beside.py MODEL GRAPH --command "python train.py --epochs {epochs}" [--json FILE]`. The command
must contain `{epochs}`, the number of epochs to train without early stopping. `--set KEY=VALUE` changes a setting of
MODEL, and `--start "python -c 'import torch'"` is what the program needs before it does anything.

Both sides run as processes with one thread and take turns, so that the load of the machine affects both. The time of
an epoch is the difference in processor time of a run of N + 1 epochs and a run of one epoch, divided by N. The memory
is the peak of the longer run minus that of `--start`. The ratio is the median over the turns of theirs ÷ ours.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

START = "import torch"
TRAIN = """
import json, sys
from heterophily.core.machine import prepare_process
prepare_process(1)
from heterophily import load
from heterophily.models.settings import tuned
from heterophily.training.trainer import train
model, name, changes, epochs = json.loads(sys.argv[1])
graph = load(name)
settings = {**tuned(model, name), **changes, "max_epochs": epochs, "patience": epochs}
train(model, graph, split=next(iter(graph.splits.values())), progress=False, **settings)
"""


@dataclass(frozen=True)
class Usage:
    """What a process used."""

    seconds: float  # of the processor
    memory: int  # peak, bytes


@dataclass(frozen=True)
class Side:
    """The measurements of one program, one value per turn."""

    milliseconds: list[float]  # per epoch
    megabytes: list[float]  # peak above that of the start


def main() -> None:
    """Measure both sides in turns and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("graph")
    parser.add_argument("--command", required=True, help="command of the other program, with {epochs}")
    parser.add_argument(
        "--start", default=shlex.join([sys.executable, "-c", START]), help="command that only starts it"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="setting of MODEL, in JSON")
    parser.add_argument("--epochs", type=int, default=200, help="so many that the start does not matter")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file for the measurements")
    args = parser.parse_args()
    if "{epochs}" not in args.command:
        parser.error("--command must contain {epochs}, for example 'python train.py --epochs {epochs}'")
    ours, theirs = compare(args)
    ratio = median(b / a for a, b in zip(ours.milliseconds, theirs.milliseconds, strict=True))
    for name, side in (("ours", ours), ("theirs", theirs)):
        print(f"{name:7}{median(side.milliseconds):10.2f} ms per epoch {median(side.megabytes):10.0f} MB above start")
    print(f"theirs ÷ ours {ratio:.2f} in time, {median(theirs.megabytes) / median(ours.megabytes):.2f} in memory")
    if args.json:
        found = {"model": args.model, "graph": args.graph, "ours": asdict(ours), "theirs": asdict(theirs)}
        args.json.write_text(json.dumps({**found, "ratio": ratio}, indent=1))


def compare(args: argparse.Namespace) -> tuple[Side, Side]:
    """Return the measurements of our method and of the other program."""
    changes = dict(pair.split("=", 1) for pair in args.set)
    job = [args.model, args.graph, {key: parse(value) for key, value in changes.items()}]
    starts = [run([sys.executable, "-c", START]), run(shlex.split(args.start))]
    sides = [Side([], []), Side([], [])]
    for turn in range(args.turns):
        for number in (0, 1) if turn % 2 else (1, 0):
            commands = [
                [sys.executable, "-c", TRAIN, json.dumps([*job, epochs])]
                if number == 0
                else shlex.split(args.command.replace("{epochs}", str(epochs)))
                for epochs in (1, args.epochs + 1)
            ]
            short, long = (run(command) for command in commands)
            sides[number].milliseconds.append(1e3 * (long.seconds - short.seconds) / args.epochs)
            sides[number].megabytes.append((long.memory - starts[number].memory) / 2**20)
    return sides[0], sides[1]


def parse(value: str) -> object:
    """Return a value of JSON, or the text itself."""
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def run(command: Sequence[str]) -> Usage:
    """Run a command with one thread, and return what it used together with its children."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"{shlex.join(command)} ended with exit code {code}: {errors.decode(errors='replace')[-500:]}")
    return Usage(used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)


if __name__ == "__main__":
    main()
