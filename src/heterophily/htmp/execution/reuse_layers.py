"""Layers that a training pass shares with the preceding evaluation, which used the same weights.

Up to the first layer with dropout, Z^l of a training pass equals Z^l of the evaluation.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from heterophily.core.graph import Graph
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context

T = TypeVar("T")


def start_pass(network: Network, graph: Graph, n_layers: int) -> Context:
    """Return the context after the first layers, from which passes continue with `network(context)`."""
    network.context = None
    return network.propagate(network.encode(graph), n_layers)


def training_equals_evaluation(network: Network, graph: Graph) -> bool:
    """Return whether one forward pass serves as evaluation and as the next training pass.

    This requires that there is no dropout, no batch norm, and no state that changes after the evaluation.
    """
    if not _is_comparable(network, graph):
        return False
    with torch.no_grad():
        logits = _run_without_randomness(lambda: network.train()(graph))
        return logits is not None and torch.equal(logits, network.eval()(graph))


def n_reusable_layers(network: Network, graph: Graph) -> int:
    """Return the number of layers of a training pass that equal those of the preceding evaluation."""
    architecture, n = network.architecture, network.n_layers
    if not _is_comparable(network, graph) or architecture.separate_networks or architecture.carried_keys:
        return 0
    with torch.no_grad():
        before = torch.get_rng_state()
        training = start_pass(network.train(), graph, n).outputs[0]
        evaluation = start_pass(network.eval(), graph, n).outputs[0]
        torch.set_rng_state(before)
        pairs = zip(training, evaluation, strict=True)
        equal = [a is b or (isinstance(a, Tensor) and isinstance(b, Tensor) and torch.equal(a, b)) for a, b in pairs]
        shared = [*equal, False].index(False) - 1
        if shared < 1:
            return 0
        started = _run_without_randomness(lambda: start_pass(network.train(), graph, shared))
        return 0 if started is None else shared


def _is_comparable(network: Network, graph: Graph) -> bool:
    has_batch_norm = network.method.norm == "batch"
    uses_states = any(state.used_in_forward for state in network.states)
    return not has_batch_norm and not uses_states and graph.labels.device.type == "cpu"


def _run_without_randomness(compute: Callable[[], T]) -> T | None:
    """Return the result, or None if random numbers were used; restore the random state."""
    before = torch.get_rng_state()
    result = compute()
    is_random = not torch.equal(before, torch.get_rng_state())
    torch.set_rng_state(before)
    return None if is_random else result
