"""The two ways to compute an epoch: on the full graph, or in mini-batches with sampled neighbors.

Both update the weights in `train_epoch` and return exact logits of all nodes from `evaluate`.
"""

import math

import torch
from torch import Tensor

from heterophily.core import processes
from heterophily.core.arguments import check_integer
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import Json
from heterophily.htmp.execution.blockwise import BLOCK, evaluate
from heterophily.htmp.execution.reuse_layers import n_reusable_layers, start_pass, training_equals_evaluation
from heterophily.htmp.execution.sampling import Neighbors, Sampler, fanouts_per_hop
from heterophily.htmp.method import full_graph_reason
from heterophily.htmp.network import Network
from heterophily.htmp.parts import Context
from heterophily.training.optimizers import make_optimizers
from heterophily.training.seeds import derived_seed

MAX_BATCH = 2**31 - 1
ROWS = 2**16  # nodes whose features are averaged at a time


class FullBatch:
    """One optimizer step per epoch, on the full graph.

    Evaluation and the next training pass use the same weights. The layers before the first dropout, or all
    layers without dropout, are therefore computed once for both.
    """

    def __init__(self, network: Network, graph: Graph, nodes: Tensor) -> None:
        self.network, self.graph, self.nodes = network, graph, nodes
        self.facts: dict[str, Json] = {}
        self._reuses_pass, self._n_reused_layers = False, 0
        self._last_pass: tuple[Tensor, Context | None] | None = None
        self._first_layers: Context | None = None

    def initialize(self) -> None:
        """Initialize states and optimizers."""
        self.network.initialize_states(self.graph, self.nodes)
        self._reuses_pass = training_equals_evaluation(self.network, self.graph)
        if not self._reuses_pass:
            self._n_reused_layers = n_reusable_layers(self.network, self.graph)
        self.optimizers = make_optimizers(self.network)

    def train_epoch(self, epoch: int) -> tuple[float, Tensor]:
        """Update the weights once. Return the loss and the logits of the training pass."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        logits = self._forward()
        loss = self.network.loss(logits, self.graph, self.nodes)
        value = _check_finite(float(loss.detach()), epoch, self.network)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return value, logits

    def _forward(self) -> Tensor:
        if self._last_pass is None:
            first_layers, self._first_layers = self._first_layers, None
            source = self.graph if first_layers is None else first_layers.copy(training=True)
            return self.network(source)
        logits, self.network.context = self._last_pass  # a callback may have changed the context
        return logits

    def evaluate(self, *, is_last: bool = False) -> Tensor:
        """Return the logits of all nodes, without gradient."""
        self._last_pass, self._first_layers = None, None
        source: Graph | Context = self.graph
        reuses_pass = self._reuses_pass and not is_last
        if self._n_reused_layers and not is_last:
            self._first_layers = start_pass(self.network, self.graph, self._n_reused_layers)
            source = self._first_layers.copy(training=False)
        with torch.set_grad_enabled(reuses_pass):
            logits: Tensor = self.network(source)
        if not reuses_pass:
            return logits
        self._last_pass = logits, self.network.context
        return logits.detach()


class MiniBatch:
    """One optimizer step per batch of training nodes, each with sampled neighbors.

    Seed and epoch determine the order of the nodes. States are those of the full graph. Each process handles
    its share of every batch; gradients are weighted by the nodes that they represent and added, so the step
    equals that of a single process. The graph stays on the CPU.
    """

    def __init__(
        self,
        network: Network,
        graph: Graph,
        nodes: Tensor,
        *,
        seed: int,
        device: torch.device,
        batch_size: int,
        neighbors: Neighbors,
    ) -> None:
        check_integer("batch_size", batch_size, low=1, high=MAX_BATCH)
        self.network, self.graph, self.nodes = network, graph, nodes
        self.seed, self.device, self.batch_size = seed, device, batch_size
        self.sampler = Sampler(graph, network.architecture.channels, network.encoder_part.structure)
        self.fanouts = fanouts_per_hop(neighbors, network.n_layers * self.sampler.power)
        self.facts: dict[str, Json] = {"batch_size": batch_size, "neighbors": self.fanouts}
        self.n_represented = self._weight(nodes)

    def initialize(self) -> None:
        """Initialize states and optimizers."""
        self.network.initialize_states(self.graph, self.nodes, block=ROWS)
        self.optimizers = make_optimizers(self.network)

    def train_epoch(self, epoch: int) -> tuple[float, Tensor]:
        """Update the weights once per batch. Return the mean loss and no logits."""
        order = torch.Generator().manual_seed(derived_seed(self.seed, epoch))
        shuffled = self.nodes[torch.randperm(len(self.nodes), generator=order)]
        total = 0.0
        for step, batch in enumerate(shuffled.split(self.batch_size)):
            generator = torch.Generator().manual_seed(derived_seed(self.seed, epoch, step))
            loss = self.train_batch(batch, generator)
            total += _check_finite(loss, epoch, self.network) * len(batch)
        return total / len(self.nodes), torch.empty(0)

    def train_batch(self, batch: Tensor, generator: torch.Generator) -> float:
        """Update the weights with one batch. Return its loss over all processes."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        share = processes.local_share(batch)
        value = torch.zeros(1, dtype=torch.double)
        if len(share):
            sample = self.sampler.draw(share, self.fanouts, generator).to(self.device)
            seeds = torch.arange(len(share), device=self.device)
            logits = self.network(sample)
            loss = self.network.loss(logits, sample, seeds, n_represented=self.n_represented)
            loss = loss * (self._weight(share) / self._weight(batch))
            loss.backward()
            value += float(loss.detach())
        processes.all_reduce_gradients(self.network)
        processes.all_reduce_sum([value])
        for optimizer in self.optimizers:
            optimizer.step()
        return float(value)

    def _weight(self, nodes: Tensor) -> float:
        """Return the weight of nodes in the loss: their number, or the sum of their class weights."""
        weights = self.network.class_weights
        if weights is None:
            return float(len(nodes))
        return float(weights.cpu()[self.graph.labels[nodes]].sum())

    def evaluate(self, *, is_last: bool = False) -> Tensor:
        """Return the logits of all nodes, computed layer by layer in blocks of rows."""
        return evaluate(self.network, self.graph, block=BLOCK)


def check_batchable(network: Network) -> None:
    """Raise an error if the method requires all nodes in every step."""
    reason, name = full_graph_reason(network.method), network.method.name
    if reason:
        raise HeterophilyError(
            f"{name} cannot be trained in batches: {reason}; omit batch_size to train on the full graph, or "
            "choose another model"
        )


def _check_finite(loss: float, epoch: int, network: Network) -> float:
    if math.isfinite(loss):
        return loss
    rate = network.method.learning_rate
    raise HeterophilyError(
        f"the loss became {loss} in epoch {epoch} of {network.method.name}; lower learning_rate (now {rate}) "
        "or normalize the features with feature_norm"
    )
