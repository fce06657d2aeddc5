"""Weights of the messages in a prediction, and what a predictor stores about a graph."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from heterophily.core.graph import Graph
from heterophily.htmp.channel import Channel
from heterophily.htmp.neighborhoods import Ego
from heterophily.htmp.network import Network
from heterophily.htmp.state import Recognition, State, modules_with_memory, recognize
from heterophily.models.boosting import BoostedTrees
from heterophily.models.ensemble import Ensemble
from heterophily.training.explanation import PARTS, GateShare, Part

if TYPE_CHECKING:
    from heterophily.training.estimator import NodeClassifier


def title_of(fitted: "NodeClassifier") -> str:
    """Return the name of the model in reports."""
    predictor = fitted.predictor_
    if isinstance(predictor, Ensemble) and len(predictor.members) > 1:
        methods = (cast("Network", member).method for member in predictor.members)
        names = ", ".join(dict.fromkeys(method.title or method.name for method in methods))
        return f"ensemble of {len(predictor.members)} models: {names}"
    return fitted.method.title or fitted.method.name


def knows_graph(predictor: nn.Module, graph: Graph) -> bool:
    """Return whether what the predictor stores about nodes, if anything, belongs to this graph."""
    inner = predictor.scale_features(graph) if isinstance(predictor, Ensemble) else graph
    return all(each.is_training_graph(inner) for each in modules_with_memory(predictor))


def recognize_copies(predictor: nn.Module, graph: Graph, recognition: Recognition) -> AbstractContextManager[None]:
    """Let changed copies of the graph count as the training graph in a `with` block, if the graph itself does."""
    return recognize(predictor, recognition) if knows_graph(predictor, graph) else nullcontext()


def fixed_edges_note(predictor: nn.Module) -> str:
    """Return why no prediction without an edge exists; empty if it does."""
    for network in predictor.modules():
        if isinstance(network, Network) and any(c.guidance.weight_per_entry for c in network.architecture.channels):
            return f"{network.method.name} has one weight per pair of nodes, so the effects of edges cannot be measured"
    return ""


def notes_of(predictor: nn.Module, graph: Graph) -> tuple[str, ...]:
    """Return what occlusion cannot measure, or keeps."""
    notes = [fixed_edges_note(predictor)]
    if any(isinstance(each, State) and each.n_virtual for each in predictor.modules()):
        notes.append("the soft labels that the model stores are kept if an edge or a value is hidden")
    if any(isinstance(each, BoostedTrees) and each.method.n_positions for each in predictor.modules()):
        notes.append("the positions of nodes in the graph, which boosting uses, are kept if an edge is hidden")
    if getattr(graph.encoder, "structure_", None) is not None:
        notes.append("columns that were computed from the edges, such as degree, are kept if an edge is hidden")
    return tuple(note for note in notes if note)


def node_gates(predictor: nn.Module, graph: Graph, node: int) -> tuple[GateShare, ...]:
    """Return the mean weights of the messages of one node."""
    return _gates(predictor, graph, lambda alpha: alpha[node])


def mean_gates(predictor: nn.Module, graph: Graph, nodes: Tensor) -> tuple[GateShare, ...]:
    """Return the mean weights of the messages of some nodes."""
    return _gates(predictor, graph, lambda alpha: alpha[nodes].mean(dim=0))


def _gates(predictor: nn.Module, graph: Graph, select: Callable[[Tensor], Tensor]) -> tuple[GateShare, ...]:
    networks = [each for each in predictor.modules() if isinstance(each, Network)]
    with torch.no_grad():
        predictor.eval()(graph)
    shares: list[GateShare] = []
    for network in networks:
        found = [] if network.context is None else network.context.aux_outputs.get("alpha", [])
        if found:
            weights = torch.stack([select(alpha.cpu()) for alpha in found]).mean(dim=0).tolist()
            total = dict.fromkeys(PARTS, 0.0)
            for channel, weight in zip(network.architecture.channels, weights, strict=True):
                total[part_of(channel)] += weight
            parts = {part_of(channel) for channel in network.architecture.channels}
            shares += [GateShare(network.method.name, part, total[part]) for part in PARTS if part in parts]
    return tuple(shares)


def part_of(channel: Channel) -> Part:
    """Return which kind of messages a channel sends."""
    if channel.input == "prototypes":
        return "supplementary"
    return "ego" if isinstance(channel.neighborhood, Ego) else "neighbors"
