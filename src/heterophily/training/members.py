"""Train the members of an ensemble one after another, each with its own seed, best epoch, and checkpoint."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypedDict

import torch
from torch import Tensor

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.htmp.execution.sampling import Neighbors
from heterophily.htmp.method import Method
from heterophily.htmp.network import Network
from heterophily.models.building import build
from heterophily.models.ensemble import Ensemble
from heterophily.training.class_weight import ClassWeight
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import ScoringLike, all_scores, find_scoring
from heterophily.training.seeds import derived_seed

# Called with epoch, network, and logits after validation has improved and the states have been updated.
ImprovementCallback = Callable[[int, Network, Tensor], None]
# Called with epoch and validation score after every epoch. If it returns True, the run is paused.
EpochCallback = Callable[[int, float], bool]
UNFINISHED = ("paused", "interrupted")


class TrainerOptions(TypedDict):
    """Options that all members have in common."""

    split: Split
    class_weight: ClassWeight
    batch_size: int | None
    neighbors: Neighbors
    on_improvement: ImprovementCallback | None
    scoring: ScoringLike


class TrainMember(Protocol):
    """Trains one member."""

    def __call__(
        self, *, seed: int, checkpoint: Path | None, on_epoch: EpochCallback | None
    ) -> tuple[Network, TrainingResult]:
        """Return the trained network and its result."""


def train_members(
    method: Method,
    graph: Graph,
    train_member: TrainMember,
    options: TrainerOptions,
    *,
    seed: int,
    checkpoint: Path | None,
    on_epoch: EpochCallback | None,
) -> tuple[Ensemble, TrainingResult]:
    """Return the mean of the members, and the result of the first one with the scores of the mean.

    `on_epoch` is called with the number of the epoch over all members. If it pauses the training, members that are not
    trained have no weight.
    """
    if options["on_improvement"] is not None:
        raise HeterophilyError(f"measurements need a single network, got {method.n_members} members; set n_members=1")
    networks: list[Network] = []
    results: list[TrainingResult] = []
    for i in range(method.n_members):
        network, run = train_member(
            seed=derived_seed(seed, i) % 2**32,
            checkpoint=checkpoint and checkpoint.with_name(f"{checkpoint.stem}.{i}{checkpoint.suffix}"),
            on_epoch=on_epoch and _continued(on_epoch, sum(run.n_epochs for run in results)),
        )
        networks.append(network)
        results.append(run)
        if run.stopped in UNFINISHED:
            break
    device = next(networks[0].parameters()).device
    untrained = [build(method, graph).to(device) for _ in range(method.n_members - len(networks))]
    ensemble = Ensemble([*networks, *untrained], [1.0] * len(networks) + [0.0] * len(untrained)).to(device).eval()
    return ensemble, _result(results, _scores(ensemble, graph, options), seed)


def _continued(on_epoch: EpochCallback, n_before: int) -> EpochCallback:
    return lambda epoch, score: on_epoch(n_before + epoch, score)


def _scores(ensemble: Ensemble, graph: Graph, options: TrainerOptions) -> dict[str, dict[str, float]]:
    """Return the scores of the ensemble on all parts of the split."""
    split, labels = options["split"], graph.labels.cpu()
    scoring = find_scoring(options["scoring"]).with_positive(labels, graph.n_classes)
    known = graph.with_labels_only(torch.cat([split.train, split.val]))
    with torch.no_grad():
        if options["batch_size"] is None:
            logits = ensemble(known.to(ensemble.weights.device)).cpu()
        else:
            logits = ensemble.evaluate(known)
    scored = {part: nodes[labels[nodes] >= 0] for part, nodes in split.parts.items()}
    return {part: all_scores(logits, labels, nodes, scoring=scoring) for part, nodes in scored.items()}


def _result(results: list[TrainingResult], scores: dict[str, dict[str, float]], seed: int) -> TrainingResult:
    """Return the result of the first member, with the scores of the mean and the time of all members."""
    first, last = results[0], results[-1]
    return dataclasses.replace(
        first,
        scores=scores,
        seed=seed,
        stopped=last.stopped if last.stopped in UNFINISHED else first.stopped,
        seconds=sum(run.seconds for run in results),
        peak_memory=max(run.peak_memory for run in results),
    )
