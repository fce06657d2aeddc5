"""Fit one method or the best of several, and derive from it what a classifier reports: scores, alarms, calibration."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.types import Value
from heterophily.htmp.method import Method
from heterophily.training.alarms import Alarm, Evidence, find_alarms
from heterophily.training.auto.budget import DEFAULT_BUDGET
from heterophily.training.auto.calibration import Calibration, measure_calibration
from heterophily.training.auto.display import show_leaderboard
from heterophily.training.auto.fit import calibrate_network, fit_auto, may_have_bias
from heterophily.training.auto.leaderboard import Leaderboard
from heterophily.training.auto.task import TrainingOptions, predict_logits
from heterophily.training.decision import Decision, Threshold, decided_scores, make_decision, parse_threshold
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import all_scores
from heterophily.training.trainer import train, warm_up_of


@dataclass(frozen=True)
class AutoOptions:
    """The options of `auto`."""

    budget: str | float = DEFAULT_BUDGET
    ensemble: bool = True
    workers: int | None = None
    settings: Mapping[str, Value] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Fit:
    """A trained predictor with everything that a classifier reports about it."""

    predictor: nn.Module
    run: TrainingResult
    logits: Tensor | None = None  # (N, K) of all nodes, on the CPU; not stored with a saved classifier
    calibration: Calibration | None = None
    leaderboard: Leaderboard | None = None
    decision: Decision = dataclasses.field(default_factory=Decision)
    alarms: tuple[Alarm, ...] = ()


def fit_candidates(
    graph: Graph, split: Split, options: TrainingOptions, auto: AutoOptions, *, checkpoint: Path | None, progress: bool
) -> Fit:
    """Fit `auto`, and show its leaderboard on a terminal if `progress` is set."""
    if checkpoint is not None:
        raise HeterophilyError("auto has no checkpoint file; omit it, or choose a model")
    with show_leaderboard(shown=progress) as update:
        fitted = fit_auto(
            graph,
            split,
            options,
            budget=auto.budget,
            ensemble=auto.ensemble,
            workers=auto.workers,
            settings=auto.settings,
            on_update=update,
        )
    return Fit(fitted.network, fitted.run, fitted.logits, fitted.calibration, fitted.leaderboard)


def fit_method(
    method: Method,
    graph: Graph,
    split: Split,
    options: TrainingOptions,
    *,
    checkpoint: Path | None,
    progress: bool,
    calibrate: bool,
) -> Fit:
    """Fit one method, and calibrate it on the validation nodes if `calibrate` is set."""
    predictor: nn.Module
    predictor, run = train(
        method,
        graph,
        split=split,
        seed=options.seed,
        device=options.device,
        checkpoint=checkpoint,
        progress=progress,
        class_weight=options.class_weight,
        batch_size=options.batch_size,
        neighbors=options.neighbors,
        scoring=options.scoring,
    )
    raw = predict_logits(predictor, graph, in_blocks=options.batch_size is not None)
    labels, logits = graph.labels.cpu(), raw
    if calibrate:
        ensemble = calibrate_network(predictor, raw, labels, split.val, options.scoring)
        logits = raw / ensemble.temperature.cpu() + ensemble.bias.cpu()
        known = {part: nodes[labels[nodes] >= 0] for part, nodes in split.parts.items()}
        scores = {part: all_scores(logits, labels, nodes, scoring=options.scoring) for part, nodes in known.items()}
        predictor, run = ensemble, dataclasses.replace(run, scores=scores)
    bias = may_have_bias(options.scoring)
    measured = _measured(raw, logits if calibrate else None, labels, split, has_bias=bias)
    return Fit(predictor, run, logits, measured)


def _measured(
    raw: Tensor, logits: Tensor | None, labels: Tensor, split: Split, *, has_bias: bool
) -> Calibration | None:
    if not bool(torch.isfinite(raw).all()):
        return None
    return measure_calibration(raw, logits, labels, split, has_bias=has_bias)


def check_threshold(threshold: Threshold, graph: Graph) -> None:
    """Reject an invalid threshold before training."""
    if parse_threshold(threshold) is not None and graph.n_classes != 2:
        raise HeterophilyError(f"a threshold requires two classes, but {graph.name} has {graph.n_classes}; omit it")


def judge(fit: Fit, graph: Graph, split: Split, options: TrainingOptions, *, threshold: Threshold) -> Fit:
    """Return a fit with its decision, the scores that follow from it, and its alarms."""
    assert fit.logits is not None
    labels, logits, scoring = graph.labels.cpu(), fit.logits, options.scoring
    decision = make_decision(threshold, logits[split.val], labels[split.val], scoring)
    scores = decided_scores(fit.run.scores, decision, logits, labels, split.parts, scoring)
    run = dataclasses.replace(fit.run, scores=scores)
    evidence = Evidence(
        logits,
        decision.predict(logits.softmax(dim=1).numpy()),
        labels,
        split,
        run,
        scoring,
        tuple(graph.class_names or map(str, range(graph.n_classes))),
        warm_up=warm_up_of(scoring),
    )
    return dataclasses.replace(fit, run=run, decision=decision, alarms=find_alarms(evidence))
