"""Fit `auto`: prepare the graph, run the race, select and calibrate, and score the result."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.leftovers import temporary_folder
from heterophily.core.processes import is_distributed
from heterophily.core.sparse import Matrix
from heterophily.core.types import Value
from heterophily.models.building import build_predictor
from heterophily.models.ensemble import Ensemble, mean_logits, scaled_features, with_features
from heterophily.training.auto.budget import DEFAULT_BUDGET, Clock, parse_budget
from heterophily.training.auto.calibration import Calibration, fit_calibration, measure_calibration
from heterophily.training.auto.ensemble import MIN_HALVED_NODES, Selection, select_members
from heterophily.training.auto.leaderboard import Leaderboard, with_weights
from heterophily.training.auto.portfolio import BATCH_SIZE, LARGE, Candidate, choose_candidates, read_portfolio
from heterophily.training.auto.race import LeaderboardCallback, run_race
from heterophily.training.auto.task import SPLIT, Trained, TrainingOptions, read_result
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import Scoring, all_scores
from heterophily.training.seeds import seed_everything

N_SEEDS = 3  # of the best networks, if there may be an ensemble
# Scorings of predicted classes for which rare classes must not lose against likely ones.
BY_BALANCED_CLASSES = ("balanced_accuracy", "f1_macro")


@dataclass(frozen=True)
class AutoFit:
    """The result of `fit_auto`."""

    network: Ensemble
    run: TrainingResult
    leaderboard: Leaderboard
    logits: Tensor  # (N, K) of the calibrated ensemble, on the CPU
    calibration: Calibration | None


def fit_auto(
    graph: Graph,
    split: Split,
    options: TrainingOptions,
    *,
    budget: str | float = DEFAULT_BUDGET,
    ensemble: bool = True,
    workers: int | None = None,
    settings: Mapping[str, Value] | None = None,
    portfolio: Sequence[Candidate] | None = None,
    on_update: LeaderboardCallback | None = None,
) -> AutoFit:
    """Race the candidates of a portfolio on the training and validation nodes of a split.

    The result is the mean of the best candidates, or the best one or a greedy ensemble if that is clearly better on
    validation nodes. Its probabilities are calibrated on the validation nodes. Test labels are used only for the final
    scores.
    """
    clock = Clock(parse_budget(budget))
    if is_distributed():
        raise HeterophilyError("auto does not run under torchrun; choose a model, or start it without torchrun")
    scaling = feature_scaling(graph)
    shown = training_graph(graph, split, scaling)
    options = _complete(options, graph)
    candidates = choose_candidates(shown, read_portfolio() if portfolio is None else portfolio, settings)
    with temporary_folder() as name:
        folder = Path(name)
        n_seeds = N_SEEDS if ensemble and len(split.val) >= MIN_HALVED_NODES else 1
        board, candidates = run_race(
            shown, candidates, options, folder, clock=clock, workers=workers, n_seeds=n_seeds, on_update=on_update
        )
        trained = {i: read_result(folder, i) for i, entry in enumerate(board.entries) if entry.has_score}
    if not trained:
        raise HeterophilyError(_no_result(board, budget))
    scoring, labels = options.scoring, graph.labels[split.val].cpu()
    val_logits = [each.logits[split.val] for each in trained.values()]
    selection = select_members(val_logits, labels, scoring, ensemble=ensemble, seed=options.seed)
    members = _members(trained, selection)
    network = _assemble([(candidates[i], trained[i], w, t) for i, w, t in members], shown, scaling, options.seed)
    outputs = [trained[i].logits for i, *_ in members]
    raw = mean_logits(outputs, network.weights, torch.ones(len(members)))
    mean = mean_logits(outputs, network.weights, network.member_temperatures)
    logits = calibrate(network, mean, split.val, labels, scoring)
    weights = {i: w for i, w, _ in members}
    board = with_weights(board, [weights.get(i, 0.0) for i in range(len(candidates))])
    best = trained[max(members, key=lambda each: each[1])[0]].run
    run = _result(best, logits, graph, split, scoring)
    run = dataclasses.replace(run, seconds=clock.elapsed, stopped=_stopped(board, best))
    measured = measure_calibration(raw, logits, graph.labels.cpu(), split, has_bias=may_have_bias(scoring))
    return AutoFit(network, run, dataclasses.replace(board, seconds=clock.elapsed), logits, measured)


def calibrate_network(network: nn.Module, logits: Tensor, labels: Tensor, nodes: Tensor, scoring: Scoring) -> Ensemble:
    """Return a calibrated predictor that contains a trained one, given the logits (N, K) of the latter."""
    ensemble = Ensemble([network]).to(logits.device)
    calibrate(ensemble, logits, nodes, labels[nodes], scoring)
    place = next(iter(network.state_dict().values())).device
    return ensemble.to(place).eval()


def training_graph(graph: Graph, split: Split, scaling: tuple[Tensor, Tensor]) -> Graph:
    """Return the graph that candidates receive: scaled features, and no labels of test nodes."""
    known = graph.with_labels_only(torch.cat([split.train, split.val]))
    scaled = with_features(known, scaled_features(graph.features, *scaling))
    result = scaled.replace(splits={SPLIT: Split.from_nodes(split.train, split.val)})
    result.__dict__["symmetric"] = graph.symmetric
    return result


def _complete(options: TrainingOptions, graph: Graph) -> TrainingOptions:
    """Add mini-batches for large graphs, and balanced classes for scorings that need them."""
    weight = "balanced" if options.scoring.name in BY_BALANCED_CLASSES else None
    size = BATCH_SIZE if graph.n_nodes >= LARGE else None
    given = options.class_weight
    if isinstance(given, Mapping):  # by name, because JSON has no numbers as keys
        given = {
            k if isinstance(k, str) else str((graph.class_names or range(graph.n_classes))[k]): v
            for k, v in given.items()
        }
    return dataclasses.replace(options, class_weight=given or weight, batch_size=options.batch_size or size)


def feature_scaling(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return mean and scale of dense features, (F,). Sparse and binary features are not scaled."""
    x = graph.features
    mean, scale = torch.zeros(graph.n_features), torch.ones(graph.n_features)
    if isinstance(x, Matrix) or bool(((x == 0) | (x == 1)).all()):
        return mean, scale
    columns = x.double()
    deviation = columns.std(dim=0, correction=0)
    # A constant column stays constant. A column of large equal numbers has a deviation of rounding errors.
    is_constant = deviation <= 1e-9 * columns.abs().amax(dim=0).clamp_min(1e-30)
    return columns.mean(dim=0).to(mean), torch.where(is_constant, 1.0, deviation).to(scale)


def _members(trained: Mapping[int, Trained], selection: Selection) -> list[tuple[int, float, float]]:
    """Return index, weight, and temperature of the selected candidates."""
    rows = zip(trained, selection.weights.tolist(), selection.temperatures.tolist(), strict=True)
    return [(i, weight, temperature) for i, weight, temperature in rows if weight > 0]


def _assemble(
    members: Sequence[tuple[Candidate, Trained, float, float]], graph: Graph, scaling: tuple[Tensor, Tensor], seed: int
) -> Ensemble:
    """Build the networks of the members and load their weights."""
    seed_everything(seed)
    networks = []
    for candidate, trained, *_ in members:
        network = build_predictor(candidate.make(), graph)
        network.load_state_dict(trained.state)
        networks.append(network)
    result = Ensemble(networks, [weight for *_, weight, _ in members])
    result.member_temperatures.copy_(torch.tensor([temperature for *_, temperature in members]))
    result.feature_mean.copy_(scaling[0])
    result.feature_scale.copy_(scaling[1])
    return result.eval()


def calibrate(network: Ensemble, mean: Tensor, nodes: Tensor, labels: Tensor, scoring: Scoring) -> Tensor:
    """Calibrate an ensemble on nodes with labels. Return its logits, given the mean of its members, (N, K)."""
    temperature, bias = fit_calibration(mean[nodes], labels, has_bias=may_have_bias(scoring))
    network.temperature.fill_(temperature)
    network.bias.copy_(bias)
    return mean / temperature + bias


def may_have_bias(scoring: Scoring) -> bool:
    """Return whether calibration may add a bias, which makes fewer nodes belong to rare classes."""
    return scoring.name not in BY_BALANCED_CLASSES


def _result(best: TrainingResult, logits: Tensor, graph: Graph, split: Split, scoring: Scoring) -> TrainingResult:
    """Return the result of the member with the largest weight, with the scores of the ensemble."""
    labels = graph.labels.cpu()
    known = {part: nodes[labels[nodes] >= 0] for part, nodes in split.parts.items()}
    scores = {part: all_scores(logits, labels, nodes, scoring=scoring) for part, nodes in known.items()}
    return dataclasses.replace(best, scores=scores)


def _stopped(board: Leaderboard, best: TrainingResult) -> str:
    return best.stopped if board.stopped == "finished" else board.stopped


def _no_result(board: Leaderboard, budget: str | float) -> str:
    reasons = [f"{entry.name}: {entry.reason}" for entry in board.entries if entry.reason]
    if board.stopped == "interrupted":
        return "auto was interrupted before a candidate had a result"
    if reasons:
        return f"all candidates of auto failed ({'; '.join(reasons[:3])}); fix the graph or choose a model"
    return f"no candidate of auto finished within the budget of {budget}; use a larger budget"
