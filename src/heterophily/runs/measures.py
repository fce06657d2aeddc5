"""Measurements of a training run beyond its scores.

A job refers to a measure by the text `module:name`, so that worker processes can import it. The name is a
function or class that is called with the job, the graph, and the split, and returns a `Measure`. The rows of
the measure are stored in the details of the record, under the part of the text after the colon.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Protocol

import torch
from torch import Tensor

from heterophily.core.graph import Graph, Split
from heterophily.core.types import JsonObject
from heterophily.htmp.network import Network
from heterophily.runs.job import Job
from heterophily.training.result import TrainingResult

Rows = list[JsonObject]  # tidy data: one dictionary per row
MeasureFactory = Callable[[Job, Graph, Split], "Measure"]


@dataclass(frozen=True)
class Trained:
    """A trained network, its training result, and its logits of all nodes."""

    network: Network
    run: TrainingResult
    graph: Graph
    split: Split

    @cached_property
    def logits(self) -> Tensor:
        """Logits (N, K) of the best state, computed without test labels."""
        known = torch.cat([self.split.train, self.split.val])
        device = next(self.network.parameters()).device
        with torch.no_grad():
            logits: Tensor = self.network.eval()(self.graph.with_labels_only(known).to(device))
        return logits.cpu()

    @property
    def test_accuracy(self) -> float:
        """Accuracy on the test nodes, in percent."""
        return 100 * self.run.score("test")


class Measure(Protocol):
    """A measurement of one training run."""

    def on_improvement(self, epoch: int, network: Network, logits: Tensor) -> None:
        """Observe the network after an epoch in which the validation accuracy improved."""

    def rows(self, trained: Trained) -> Rows:
        """Return the measured values as tidy data."""


class FinalMeasure:
    """A measure that needs only the trained network: one function."""

    def __init__(self, function: Callable[[Trained], Rows]) -> None:
        self.rows = function

    def on_improvement(self, epoch: int, network: Network, logits: Tensor) -> None:
        """Ignore epochs."""


def make_measures(job: Job, graph: Graph, split: Split) -> dict[str, Measure]:
    """Return the measures of a job by their names in the details of its record."""
    return {measure_key(name): _find(name)(job, graph, split) for name in job.measures}


def measure_key(name: str) -> str:
    """Return the name of a measure in the details of a record.

    >>> measure_key("heterophily.studies.degrees:degrees")
    'degrees'
    """
    return name.partition(":")[2]


def _find(name: str) -> MeasureFactory:
    module, _, attribute = name.partition(":")
    factory: MeasureFactory = getattr(import_module(module), attribute)
    return factory


def notify(measures: Sequence[Measure]) -> Callable[[int, Network, Tensor], None] | None:
    """Return a training callback that informs all measures, or None if there are none."""
    if not measures:
        return None

    def on_improvement(epoch: int, network: Network, logits: Tensor) -> None:
        for measure in measures:
            measure.on_improvement(epoch, network, logits)

    return on_improvement
