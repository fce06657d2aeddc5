"""Train the members of an ensemble one after another, each with its own seed, best epoch, and checkpoint."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import torch

from heterophily.core.graph import Graph, Split
from heterophily.htmp.method import Method
from heterophily.htmp.network import Network
from heterophily.models.building import build
from heterophily.models.ensemble import Ensemble
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import Scoring, all_scores
from heterophily.training.seeds import derived_seed

EpochCallback = Callable[[int, float], bool]
# Trains one member with a seed, a checkpoint, and a callback.
TrainMember = Callable[[Method, int, Path | None, EpochCallback | None], tuple[Network, TrainingResult]]
UNFINISHED = ("paused", "interrupted")


def train_members(
    method: Method,
    graph: Graph,
    train_member: TrainMember,
    *,
    split: Split,
    scoring: Scoring,
    seed: int,
    in_blocks: bool = False,
    checkpoint: Path | None = None,
    on_epoch: EpochCallback | None = None,
) -> tuple[Ensemble, TrainingResult]:
    """Return the mean of the members, and the result of the first one with the scores of the mean.

    `on_epoch` is called with the number of the epoch over all members. If it pauses the training, members that are not
    trained have no weight.
    """
    networks: list[Network] = []
    results: list[TrainingResult] = []
    member = method.single()
    for i in range(method.n_members):
        callback = None if on_epoch is None else _continued(on_epoch, sum(run.n_epochs for run in results))
        path = None if checkpoint is None else checkpoint.with_name(f"{checkpoint.stem}.{i}{checkpoint.suffix}")
        network, run = train_member(member, derived_seed(seed, i) % 2**32, path, callback)
        networks.append(network)
        results.append(run)
        if run.stopped in UNFINISHED:
            break
    device = next(networks[0].parameters()).device
    untrained = [build(member, graph).to(device) for _ in range(method.n_members - len(networks))]
    ensemble = Ensemble([*networks, *untrained], [1.0] * len(networks) + [0.0] * len(untrained)).eval()
    known = graph.with_labels_only(torch.cat([split.train, split.val]))
    with torch.no_grad():
        logits = ensemble.evaluate(known) if in_blocks else ensemble(known.to(device)).cpu()
    labels = graph.labels.cpu()
    scored = {part: nodes[labels[nodes] >= 0] for part, nodes in split.parts.items()}
    scores = {part: all_scores(logits, labels, nodes, scoring=scoring) for part, nodes in scored.items()}
    return ensemble, _result(results, scores)


def _continued(on_epoch: EpochCallback, n_before: int) -> EpochCallback:
    return lambda epoch, score: on_epoch(n_before + epoch, score)


def _result(results: list[TrainingResult], scores: dict[str, dict[str, float]]) -> TrainingResult:
    """Return the result of the first member, with the scores of the mean and the time of all members."""
    first, last = results[0], results[-1]
    return dataclasses.replace(
        first,
        scores=scores,
        stopped=last.stopped if last.stopped in UNFINISHED else first.stopped,
        seconds=sum(run.seconds for run in results),
        peak_memory=max(run.peak_memory for run in results),
    )
