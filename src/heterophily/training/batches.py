"""Training in batches, for graphs whose activations do not fit: training nodes, drawn neighbors, one step.

An epoch visits every training node once, in an order that seed and epoch decide. Soft labels, compatibility
matrix and prototypes are those of the whole graph and change as they always do, when validation improves.
Evaluation is exact, layer by layer. Of several processes each takes a part of every batch; their gradients
are weighed by the nodes they stand for and added, so that the step is the one of a single process.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from heterophily.core import processes
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features, Graph, Split
from heterophily.core.sparse import Matrix
from heterophily.htmp.belief import prototype_members
from heterophily.htmp.execution.batch import Batch
from heterophily.htmp.execution.blockwise import BLOCK, evaluate
from heterophily.htmp.execution.sampling import Neighbors, Sampler, fanouts_per_hop
from heterophily.htmp.network import Network
from heterophily.training.metrics import DEFAULT_METRIC, Metric
from heterophily.training.seeds import derived_seed
from heterophily.training.trainer import Trainer

ROWS = 2**16  # nodes whose features are averaged at a time


class BatchTrainer(Trainer):
    """The loop over epochs, each a loop over batches; the graph stays on the CPU."""

    def __init__(
        self,
        network: Network,
        graph: Graph,
        *,
        split: Split,
        seed: int,
        device: torch.device,
        class_weights: bool = False,
        metric: str | Metric = DEFAULT_METRIC,
        batch_size: int,
        neighbors: Neighbors,
    ) -> None:
        check_batchable(network)
        if batch_size < 1:
            raise HeterophilyError(f"batch_size must be positive, got {batch_size}")
        super().__init__(
            network,
            graph,
            split=split,
            seed=seed,
            device=device,
            class_weights=class_weights,
            metric=metric,
        )
        self.batch_size, self.neighbors = batch_size, neighbors
        self.sampler = Sampler(self.shown, network.recipe.channels, network.encoder_part.structure)
        self.fanouts = fanouts_per_hop(neighbors, network.n_layers * self.sampler.power)
        self.n_represented = self._weight(self.nodes["train"])

    @property
    def facts(self) -> dict[str, Any]:
        """What a checkpoint must agree on to be continued."""
        return {**super().facts, "batch_size": self.batch_size, "neighbors": self.fanouts}

    def _to_device(self, graph: Graph) -> Graph:
        return graph if graph.labels.device.type == "cpu" else graph.to("cpu")

    def _begin(self) -> None:
        network, nodes = self.network, self.nodes["train"]
        if network.mind is not None:
            with self._mind_with_the_graph():
                network.mind.start(self.shown, self._prototypes(nodes), nodes)
        for term, w in zip(network.recipe.losses, network.terms, strict=True):
            term.initialize(network, self.shown, nodes, w)

    def _prototypes(self, nodes: Tensor) -> Tensor:
        """X_ptt, the means of classes, from a few rows of X at a time."""
        assert self.network.mind is not None
        rule = str(self.network.mind.belief.prototype_index)
        members, classes = prototype_members(self.shown, nodes, rule=rule)
        sums = torch.zeros(self.shown.n_classes, self.shown.n_features, dtype=torch.double)
        counts = torch.bincount(classes, minlength=self.shown.n_classes)
        for some, of in zip(members.split(ROWS), classes.split(ROWS), strict=True):
            sums += class_sums(self.network.input(Batch(self.shown, some, {})), of, len(sums))
        means = sums / counts.clamp_min(1).unsqueeze(1)
        return means.to(self.network.mind.prototypes.dtype)

    def _train_epoch(self, epoch: int) -> tuple[float, Tensor]:
        """One step for every batch; the mean loss."""
        order = torch.Generator().manual_seed(derived_seed(self.seed, epoch))
        nodes = self.nodes["train"]
        shuffled = nodes[torch.randperm(len(nodes), generator=order)]
        total = 0.0
        for step, batch in enumerate(shuffled.split(self.batch_size)):
            loss = self._step(
                batch, torch.Generator().manual_seed(derived_seed(self.seed, epoch, step))
            )
            total += self._finite(loss, epoch) * len(batch)
        return total / len(nodes), torch.empty(0)

    def _step(self, batch: Tensor, generator: torch.Generator) -> float:
        """Learn from one batch; its loss over all processes."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        own = processes.local_share(batch)
        value = torch.zeros(1, dtype=torch.double)
        if len(own):
            sample = self.sampler.draw(own, self.fanouts, generator).to(self.device)
            seeds = torch.arange(len(own), device=self.device)
            logits = self.network(sample)
            loss = self.network.loss(logits, sample, seeds, n_represented=self.n_represented)
            loss = loss * (self._weight(own) / self._weight(batch))
            loss.backward()
            value += float(loss.detach())
        processes.all_reduce_gradients(self.network)
        processes.all_reduce_sum([value])
        for optimizer in self.optimizers:
            optimizer.step()
        return float(value)

    def _weight(self, nodes: Tensor) -> float:
        """What the nodes weigh in the loss: their number, or the weights of their classes."""
        weights = self.network.class_weights
        if weights is None:
            return float(len(nodes))
        return float(weights.cpu()[self.shown.labels[nodes]].sum())

    def _evaluate(self) -> Tensor:
        return evaluate(self.network, self.shown, block=BLOCK)

    def _update_states(self, logits: Tensor) -> None:
        with self._mind_with_the_graph():
            super()._update_states(logits)

    @contextmanager
    def _mind_with_the_graph(self) -> Iterator[None]:
        """For a while, have the belief where the graph is, on the CPU."""
        mind = self.network.mind
        if mind is None or self.device.type == "cpu":
            yield
            return
        mind.to("cpu")
        yield
        mind.to(self.device)


def check_batchable(network: Network) -> None:
    """Refuse a network whose mathematics wants all nodes at once."""
    why, name = network.recipe.full_graph_reason, network.recipe.name
    if why:
        raise HeterophilyError(
            f"{name} cannot be trained in batches: {why}. Leave batch_size out to train on the whole "
            "graph, or choose another model"
        )


def class_sums(x: Features, classes: Tensor, n_classes: int) -> Tensor:
    """The sum of the rows of each class, (K, F), in double precision."""
    member = torch.nn.functional.one_hot(classes, n_classes).double()  # (n, K)
    if isinstance(x, Matrix):
        return ((x.pattern * x.values.double()).T @ member).T
    return member.T @ x.double()
