"""One task of a race: train a candidate up to an epoch, and write its weights and predictions to a file.

The file is a safetensors file with the best state of the network, the logits of all nodes, and the training
result as JSON. A checkpoint next to it lets the candidate continue in the next round.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph
from heterophily.core.types import JsonObject
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.htmp.network import Network
from heterophily.training.auto.portfolio import Candidate
from heterophily.training.class_weight import ClassWeight
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import DEFAULT_SCORING, Scoring
from heterophily.training.seeds import derived_seed
from heterophily.training.trainer import train

SPLIT = "race"  # name of the split in the graph that all candidates receive
EpochCallback = Callable[[int, float], None]  # epoch and validation score


@dataclass(frozen=True)
class TrainingOptions:
    """What all candidates of a race have in common."""

    seed: int = 0
    device: str = "auto"
    scoring: Scoring = DEFAULT_SCORING
    class_weight: ClassWeight = None
    batch_size: int | None = None
    neighbors: Neighbors = NEIGHBORS


@dataclass(frozen=True)
class Task:
    """Train candidate `index` until `n_epochs` epochs are done, or until `seconds` have passed."""

    index: int
    candidate: Candidate
    n_epochs: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """The end of a task."""

    index: int
    status: str  # done, paused, out of time, interrupted, or failed
    score: float = float("nan")  # on the validation nodes
    n_epochs: int = 0
    seconds: float = 0.0  # of all tasks of the candidate
    reason: str = ""  # of a failure


@dataclass(frozen=True)
class Trained:
    """The content of the file of a candidate."""

    state: dict[str, Tensor]
    logits: Tensor  # (N, K)
    run: TrainingResult


def run_task(task: Task, graph: Graph, options: TrainingOptions, folder: Path, on_epoch: EpochCallback) -> Outcome:
    """Train a candidate. A failure is an outcome, too."""
    try:
        return _train(task, graph, options, folder, on_epoch)
    except Exception as error:  # any failure is part of the leaderboard, and other candidates continue
        return Outcome(task.index, "failed", reason=_describe(error))


def _train(task: Task, graph: Graph, options: TrainingOptions, folder: Path, on_epoch: EpochCallback) -> Outcome:
    end, candidate = time.monotonic() + task.seconds, task.candidate

    def pause(epoch: int, score: float) -> bool:
        on_epoch(epoch, score)
        return epoch + 1 >= task.n_epochs or time.monotonic() > end

    network, run = train(
        candidate.make(),
        graph,
        split=graph.split(SPLIT),
        seed=derived_seed(options.seed, candidate.seed) % 2**32 if candidate.seed else options.seed,
        device=options.device,
        checkpoint=folder / f"{task.index}.pt",
        progress=False,
        class_weight=options.class_weight or candidate.class_weight,
        batch_size=options.batch_size,
        neighbors=options.neighbors,
        scoring=options.scoring,
        on_epoch=pause,
    )
    logits = predict_logits(network, graph, in_blocks=options.batch_size is not None)
    _write(result_path(folder, task.index), network, logits, run)
    late = run.stopped == "paused" and run.n_epochs < task.n_epochs
    statuses = {"paused": "out of time" if late else "paused", "interrupted": "interrupted"}
    return Outcome(
        task.index,
        statuses.get(run.stopped, "done"),
        score=run.score("val", options.scoring.name),
        n_epochs=run.n_epochs,
        seconds=run.seconds,
    )


def predict_logits(network: nn.Module, graph: Graph, *, in_blocks: bool) -> Tensor:
    """Return the logits of all nodes on the CPU, (N, K)."""
    if in_blocks and isinstance(network, Network):
        return evaluate(network, graph)
    place = next(iter(network.state_dict().values())).device
    with torch.no_grad():
        logits: Tensor = network.eval()(graph if graph.labels.device == place else graph.to(place))
    return logits.cpu()


def result_path(folder: Path, index: int) -> Path:
    """Return the path of the file of a candidate."""
    return folder / f"{index}.safetensors"


def _write(path: Path, network: nn.Module, logits: Tensor, run: TrainingResult) -> None:
    tensors = {f"state.{name}": value.detach().cpu().clone() for name, value in network.state_dict().items()}
    tensors["logits"] = logits.contiguous()
    write_atomically(path, lambda p: save_file(tensors, p, {"run": json.dumps(run.to_dict())}))


def read_result(folder: Path, index: int) -> Trained:
    """Read the file of a candidate."""
    with safe_open(result_path(folder, index), framework="pt") as file:
        run = cast("JsonObject", json.loads(file.metadata()["run"]))
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    logits = tensors.pop("logits")
    state = {key.removeprefix("state."): value for key, value in tensors.items()}
    return Trained(state, logits, TrainingResult.from_dict(run))


def _describe(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or ("allocate" in text and "memory" in text):
        return "out of memory"
    return text if isinstance(error, HeterophilyError) else f"{type(error).__name__}: {text.splitlines()[0]}"
