"""A process that trains candidates: it reads tasks from its input and writes outcomes to its output.

Each line is a JSON object. The process ends when its input is closed, also in the middle of a task.
"""

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import time
import warnings
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TextIO, cast

from heterophily.core.graph import Graph
from heterophily.core.machine import prepare_process
from heterophily.core.types import JsonObject
from heterophily.training.auto.portfolio import Candidate
from heterophily.training.auto.task import Task, TrainingOptions, run_task
from heterophily.training.scoring import SCORINGS

GRAPH, OPTIONS = "graph.safetensors", "options.json"
REPORT_SECONDS = 0.5  # between two reports of the current score


def main(folder: Path) -> None:
    """Run tasks until the input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the race handles Ctrl-C
    output = _own_output()
    prepare_process(1)
    warnings.simplefilter("ignore")  # the race prints to the terminal
    tasks: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_tasks, args=(tasks,), daemon=True).start()
    graph = Graph.load(folder / GRAPH, mmap=True)
    options = decode_options(json.loads((folder / OPTIONS).read_text()))
    while True:
        task = decode_task(json.loads(tasks.get()))
        outcome = run_task(task, graph, options, folder, _Reporter(task.index, output))
        _send(output, {"outcome": asdict(outcome)})


def encode_options(options: TrainingOptions) -> JsonObject | None:
    """Return options as plain data, or None if the scoring is a function of the user."""
    scoring = options.scoring
    if replace(scoring, positive=None) != SCORINGS.get(scoring.name):
        return None
    rest = {field.name: getattr(options, field.name) for field in fields(options) if field.name != "scoring"}
    return {**rest, "scoring": scoring.name, "positive": scoring.positive}


def decode_options(values: JsonObject) -> TrainingOptions:
    """Restore the result of `encode_options`."""
    positive = cast("int | None", values.pop("positive"))
    scoring = replace(SCORINGS[str(values.pop("scoring"))], positive=positive)
    return TrainingOptions(**{**values, "scoring": scoring})  # type: ignore[arg-type]


def encode_task(task: Task) -> JsonObject:
    """Return a task as plain data."""
    return cast("JsonObject", asdict(task))


def decode_task(values: JsonObject) -> Task:
    """Restore the result of `encode_task`."""
    candidate = Candidate(**cast("JsonObject", values["candidate"]))  # type: ignore[arg-type]
    return Task(**{**values, "candidate": candidate})  # type: ignore[arg-type]


class _Reporter:
    """Reports the current score from time to time."""

    def __init__(self, index: int, output: TextIO) -> None:
        self.index, self.output, self.reported = index, output, 0.0

    def __call__(self, epoch: int, score: float) -> None:
        now = time.monotonic()
        if now - self.reported > REPORT_SECONDS:
            self.reported = now
            _send(self.output, {"index": self.index, "epoch": epoch, "score": score})


def _own_output() -> TextIO:
    """Return the output for messages. Everything that libraries print goes to the standard error."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return output


def _read_tasks(tasks: "queue.Queue[str]") -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)


def _send(output: TextIO, message: JsonObject) -> None:
    with contextlib.suppress(BrokenPipeError):
        output.write(json.dumps(message) + "\n")
        output.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
