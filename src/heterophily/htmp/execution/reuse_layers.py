"""What a training pass shares with the evaluation before it, which had the same weights."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heterophily.core.graph import Graph
from heterophily.htmp.network import Network


def training_equals_evaluation(network: Network, graph: Graph) -> bool:
    """Whether a training pass computes what the last evaluation did: one forward pass then serves both.

    So it is where nothing is dropped, no batch is normalised and no belief changes after the evaluation.
    """
    if not _comparable(network, graph):
        return False
    with torch.no_grad():
        heard = _run_without_randomness(lambda: network.train()(graph))
        return heard is not None and torch.equal(heard, network.eval()(graph))


def n_reusable_layers(network: Network, graph: Graph) -> int:
    """How many layers a training pass begins with that compute what they did in the last evaluation.

    So it is up to the first one that hears a dropped state, where `repeats` is so but for that.
    """
    architecture, n = network.architecture, network.n_layers
    if (
        not _comparable(network, graph)
        or architecture.separate_networks
        or architecture.carried_keys
    ):
        return 0
    with torch.no_grad():
        before = torch.get_rng_state()
        heard, seen = network.train().start(graph, n).states, network.eval().start(graph, n).states
        torch.set_rng_state(before)
        pairs = zip(heard, seen, strict=True)
        equal = [a is b or (isinstance(a, Tensor) and torch.equal(a, b)) for a, b in pairs]
        shared = [*equal, False].index(False) - 1
        if (
            shared < 1
            or _run_without_randomness(lambda: network.train().start(graph, shared)) is None
        ):
            return 0
        return shared


def _comparable(network: Network, graph: Graph) -> bool:
    normalized = network.method.norm == "batch"
    return not normalized and network.mind is None and graph.labels.device.type == "cpu"


def _run_without_randomness(compute: Callable[[], Any]) -> Any:
    """What is computed, or none if random numbers were drawn, which are put back."""
    before = torch.get_rng_state()
    result = compute()
    drawn = not torch.equal(before, torch.get_rng_state())
    torch.set_rng_state(before)
    return None if drawn else result
