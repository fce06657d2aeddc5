"""One trainer for every recipe: Adam on the whole graph, early stopping, the best state restored.

Training sees the labels of training and validation nodes only; the test nodes are scored once, at the end.
"""

import hashlib
import json
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, cast

import torch
from torch import Tensor

from heterophily.core import processes
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.files import NO_ROOM
from heterophily.core.graph import Graph, Split
from heterophily.core.machine import peak_memory, return_freed_memory
from heterophily.htmp.execution.reuse_layers import n_reusable_layers, training_equals_evaluation
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.htmp.network import Network, Start
from heterophily.htmp.part import Context
from heterophily.htmp.recipe import Recipe
from heterophily.models.building import build
from heterophily.training.checkpoint import load_checkpoint, restore, save_checkpoint
from heterophily.training.metrics import DEFAULT_METRIC, Metric, all_metrics, find_metric
from heterophily.training.optimizers import make_optimizers
from heterophily.training.progress import progress_bar
from heterophily.training.result import History, TrainingResult
from heterophily.training.seeds import seed_everything
from heterophily.training.stopping import EarlyStopping

CHECKPOINT_SECONDS = 30.0
# Called with the epoch, the network and its logits after validation improved and the belief took them up.
ImprovementCallback = Callable[[int, Network, Tensor], None]


def choose_device(name: str = "auto") -> torch.device:
    """A device by name; `auto` is the GPU if there is one."""
    if name != "auto":
        try:
            return torch.empty(0, device=name).device
        except (RuntimeError, AssertionError, ImportError) as error:
            raise HeterophilyError(f"no device {name!r} here; take auto or cpu") from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def train(
    model: str | Recipe,
    graph: Graph,
    *,
    split: Split,
    seed: int = 0,
    device: str = "auto",
    preset: str = "published",
    checkpoint: Path | None = None,
    progress: bool = True,
    class_weights: bool = False,
    batch_size: int | None = None,
    neighbors: Neighbors = NEIGHBORS,
    on_improvement: ImprovementCallback | None = None,
    metric: str | Metric = DEFAULT_METRIC,
    **settings: Any,
) -> tuple[Network, TrainingResult]:
    """Train a model on a split; the network comes back in its best state, in evaluation mode.

    With a `batch_size` in batches of training nodes and drawn `neighbors`, else on the whole graph.
    """
    place = choose_device(device)
    seed_everything(seed)
    network = build(model, graph, preset=preset, **settings).to(place)
    facts: dict[str, Any] = {"split": split, "seed": seed, "device": place}
    trainer = trainer_for(batch_size, neighbors)(
        network, graph, class_weights=class_weights, metric=metric, **facts
    )
    trainer.on_improvement = on_improvement
    return network, trainer.run(checkpoint=checkpoint, progress=progress)


def trainer_for(batch_size: int | None, neighbors: Neighbors) -> Callable[..., "Trainer"]:
    """The trainer for whole graphs, or the one for batches."""
    from heterophily.training.batches import BatchTrainer

    if batch_size is not None:
        return partial(BatchTrainer, batch_size=batch_size, neighbors=neighbors)
    if processes.is_distributed():
        raise HeterophilyError("several processes share batches; give a batch_size, such as 1024")
    return Trainer


class Trainer:
    """The loop over epochs."""

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
    ) -> None:
        self.network, self.seed, self.device = network, seed, device
        self.settings = network.recipe.settings
        self.graph = self._to_device(graph)
        graph.replace(splits={split.origin: split})  # refuses a split that does not fit
        place = self.graph.labels.device
        self.nodes = {part: nodes.to(place) for part, nodes in split.parts.items()}
        if not len(self.nodes["val"]):
            raise HeterophilyError("training needs validation nodes to know when to stop; add some")
        known = torch.cat([self.nodes["train"], self.nodes["val"]])
        self.shown = self.graph.with_labels_only(known)
        weights = (
            balanced_class_weights(self.shown, self.nodes["train"]).to(device)
            if class_weights
            else None
        )
        network.class_weights = weights
        self.metric = find_metric(metric)
        self.metric.check(self.graph.labels[self.nodes["val"]], graph.n_classes)
        patience = int(self.settings["patience"])
        self.best = EarlyStopping(patience, higher_is_better=self.metric.higher_is_better)
        self.history = History(self.metric.name)
        self.on_improvement: ImprovementCallback | None = None
        self.training_equals_evaluation = False
        # The last evaluation, if it is the next training pass: its logits and what parts noted in it.
        self._pass: tuple[Tensor, Context | None] | None = None
        # Layers that training passes share with the evaluation before, and those of the last one.
        self.shared, self._start = 0, cast("Start | None", None)

    @property
    def key(self) -> str:
        """The facts in short."""
        return hashlib.sha256(json.dumps(self.facts).encode()).hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        """What a checkpoint must agree on to be continued."""
        return {
            "recipe": repr(self.network.recipe),
            "graph": self.graph.checksum,
            "nodes": [self.nodes[part].tolist() for part in ("train", "val")],
            "seed": self.seed,
            "class_weights": self.network.class_weights is not None,
            "metric": self.metric.name,
        }

    def run(self, *, checkpoint: Path | None = None, progress: bool = True) -> TrainingResult:
        """Train until patience runs out, restore the best state and score all parts."""
        start, stopped = time.perf_counter(), "max_epochs"
        self._begin()
        self.optimizers = make_optimizers(self.network)
        first = self._resume(checkpoint)
        before = sum(self.history.seconds)  # of a run that continues
        shown = progress and not processes.rank()
        with progress_bar(int(self.settings["max_epochs"]), shown=shown) as advance:
            try:
                for epoch in range(first, int(self.settings["max_epochs"])):
                    self._epoch(epoch)
                    advance(epoch, self.best.score)
                    if self.best.should_stop:
                        stopped = "patience"
                        break
                    self._save_checkpoint(checkpoint, epoch)
            except KeyboardInterrupt:
                stopped = "interrupted"
        return self._finish(stopped, before + time.perf_counter() - start)

    def _epoch(self, epoch: int) -> None:
        start = time.perf_counter()
        network, graph = self.network, self.shown
        network.train()
        value, heard = self._train_epoch(epoch)
        network.eval()
        logits = self._evaluate()
        score = self.metric(logits, graph.labels, self.nodes["val"])
        if self.best.update(score, epoch, network):
            self._update_states(heard if network.learns_from_training else logits)
            if self.on_improvement is not None:
                self.on_improvement(epoch, network, logits)
        self.history.loss.append(value)
        self.history.val_scores.append(score)
        self.history.seconds.append(time.perf_counter() - start)

    def _to_device(self, graph: Graph) -> Graph:
        return graph if graph.labels.device == self.device else graph.to(self.device)

    def _begin(self) -> None:
        self.network.initialize_states(self.shown, self.nodes["train"])
        self.training_equals_evaluation = training_equals_evaluation(self.network, self.shown)
        self.shared = (
            0 if self.training_equals_evaluation else n_reusable_layers(self.network, self.shown)
        )

    def _train_epoch(self, epoch: int) -> tuple[float, Tensor]:
        """One step; the loss and the logits of the training pass."""
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        heard = self._forward()
        loss = self.network.loss(heard, self.shown, self.nodes["train"])
        value = self._finite(float(loss.detach()), epoch)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        return value, heard

    def _forward(self) -> Tensor:
        """The logits of a training pass; the scene of one that was kept may have been left since."""
        if self._pass is None:
            start, self._start = self._start, None
            return cast("Tensor", self.network(self.shown, start))
        heard, self.network.context = self._pass
        return heard

    def _finite(self, value: float, epoch: int) -> float:
        if math.isfinite(value):
            return value
        raise HeterophilyError(
            f"the loss became {value} in epoch {epoch} of {self.network.recipe.name}; lower learning_rate "
            f"(now {self.settings['learning_rate']}) or normalise the features with feature_norm"
        )

    def _evaluate(self) -> Tensor:
        """Logits; what the next training pass would repeat of them is kept with its gradients."""
        if self.shared:
            self._start = self.network.start(self.shown, self.shared)
            with torch.no_grad():
                return cast("Tensor", self.network(self.shown, self._start))
        with torch.set_grad_enabled(self.training_equals_evaluation):
            logits: Tensor = self.network(self.shown)
        if not self.training_equals_evaluation:
            return logits
        self._pass = logits, self.network.context
        return logits.detach()

    def _update_states(self, logits: Tensor) -> None:
        self.network.update_states(self.shown, logits)

    def _resume(self, checkpoint: Path | None) -> int:
        self._saved = time.monotonic()
        content = load_checkpoint(checkpoint, key=self.key) if checkpoint else None
        if content is None:
            return 0
        restore(content, self.network, self.optimizers, self.best)
        self.history = History.from_dict(content["curve"])
        return int(content["epoch"]) + 1

    def _save_checkpoint(self, checkpoint: Path | None, epoch: int) -> None:
        if checkpoint is None or processes.rank():
            return
        if time.monotonic() - self._saved < CHECKPOINT_SECONDS:
            return
        try:
            save_checkpoint(
                checkpoint,
                key=self.key,
                epoch=epoch,
                network=self.network,
                optimizers=self.optimizers,
                best=self.best,
                curve=self.history.to_dict(),
            )
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            words = f"no room for the checkpoint {checkpoint}; training goes on without it"
            warnings.warn(words, HeterophilyWarning, stacklevel=2)
        self._saved = time.monotonic()

    def _finish(self, stopped: str, seconds: float) -> TrainingResult:
        if self.best.state:
            self.network.load_state_dict(self.best.state)
        self.network.eval()
        # There is no next pass.
        self.training_equals_evaluation, self._pass, self.shared, self._start = False, None, 0, None
        logits = self._evaluate()
        return_freed_memory()
        labels, times = self.graph.labels, self.history.seconds
        known = {part: nodes[labels[nodes] >= 0] for part, nodes in self.nodes.items()}
        return TrainingResult(
            scores={part: all_metrics(logits, labels, nodes) for part, nodes in known.items()},
            best_epoch=self.best.epoch,
            n_epochs=len(times),
            stopped=stopped,
            seconds=seconds,
            milliseconds_per_epoch=1e3 * median(times) if times else 0.0,
            peak_memory=peak_memory(),
            history=self.history,
            seed=self.seed,
            device=str(self.device),
        )


def balanced_class_weights(graph: Graph, nodes: Tensor) -> Tensor:
    """Class weights n / (K n_k) over the training nodes, 0 for a class without any."""
    counts = torch.bincount(graph.labels[nodes], minlength=graph.n_classes)
    weights = counts.sum() / (graph.n_classes * counts.clamp_min(1))
    return torch.where(counts > 0, weights, 0.0).to(torch.get_default_dtype())
