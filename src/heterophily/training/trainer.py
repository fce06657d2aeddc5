"""One training loop for all methods: Adam, early stopping, and the best state restored at the end.

Training reads only the labels of training and validation nodes. Test nodes are scored once, at the end.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn

from heterophily.core import processes
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.files import FULL, READ_ONLY
from heterophily.core.graph import Graph, Split
from heterophily.core.machine import choose_device, peak_memory, return_freed_memory
from heterophily.core.progress import track_epochs
from heterophily.core.types import Value
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.htmp.identity import digest, identity_of
from heterophily.htmp.method import Method, make_method
from heterophily.htmp.network import Network
from heterophily.models import Model, find_method
from heterophily.models.boosting import Boosting
from heterophily.models.building import Predictor, build
from heterophily.training.boosting import train_boosting
from heterophily.training.checkpoint import load_checkpoint, restore, save_checkpoint
from heterophily.training.class_weight import ClassWeight, make_class_weights
from heterophily.training.finite import check_logits
from heterophily.training.members import EpochCallback, ImprovementCallback, TrainerOptions, train_members
from heterophily.training.result import History, TrainingResult
from heterophily.training.scoring import DEFAULT_SCORING, Scoring, ScoringLike, all_scores, find_scoring, neg_log_loss
from heterophily.training.seeds import seed_everything
from heterophily.training.steps import FullBatch, MiniBatch, check_batchable
from heterophily.training.stopping import EarlyStopping

CHECKPOINT_SECONDS = 30.0
WARM_UP = 5  # epochs without early stopping if the scoring is not accuracy: first ranks are mostly random


def train(
    model: Model,
    graph: Graph,
    *,
    split: Split,
    seed: int = 0,
    device: str = "auto",
    preset: str = "published",
    checkpoint: Path | None = None,
    progress: bool = True,
    class_weight: ClassWeight = None,
    batch_size: int | None = None,
    neighbors: Neighbors = NEIGHBORS,
    on_improvement: ImprovementCallback | None = None,
    on_epoch: EpochCallback | None = None,
    scoring: ScoringLike = DEFAULT_SCORING,
    **settings: Value,
) -> tuple[Predictor, TrainingResult]:
    """Train a model on a split. Return the predictor in its best state and evaluation mode.

    With a `batch_size`, networks train on batches with sampled `neighbors`. Trees have no batches and checkpoints.
    """
    if isinstance(method := make_method(find_method(model), settings, preset=preset), Boosting):
        return train_boosting(
            method,
            graph,
            split=split,
            scoring=find_scoring(scoring),
            seed=seed,
            class_weight=class_weight,
            progress=progress,
            on_epoch=on_epoch,
        )
    options = TrainerOptions(
        split=split,
        class_weight=class_weight,
        batch_size=batch_size,
        neighbors=neighbors,
        on_improvement=on_improvement,
        scoring=scoring,
    )
    train_one = partial(_train_network, method, graph, options, device=device, progress=progress)
    if method.n_members == 1:
        return train_one(seed=seed, checkpoint=checkpoint, on_epoch=on_epoch)
    return train_members(method, graph, train_one, options, seed=seed, checkpoint=checkpoint, on_epoch=on_epoch)


def _train_network(
    method: Method,
    graph: Graph,
    options: TrainerOptions,
    *,
    seed: int,
    device: str,
    checkpoint: Path | None,
    progress: bool,
    on_epoch: EpochCallback | None,
) -> tuple[Network, TrainingResult]:
    seed_everything(seed)
    network = build(method, graph).to(place := choose_device(device))
    trainer = Trainer(network, graph, seed=seed, device=place, on_epoch=on_epoch, **options)
    return network, trainer.run(checkpoint=checkpoint, progress=progress)


def mode_setter(network: Network) -> Callable[[bool], object]:
    """Return `network.train` with a list of all modules, which takes a tenth of the time."""
    modules = list(network.modules())
    if any(type(module).train is not nn.Module.train for module in modules):
        return network.train

    def set_training(training: bool) -> None:
        for module in modules:
            vars(module)["training"] = training

    return set_training


def warm_up_of(scoring: Scoring) -> int:
    """Return the epoch up to which each epoch is better than those before it."""
    return 0 if scoring.name == DEFAULT_SCORING.name else WARM_UP


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
        class_weight: ClassWeight = None,
        batch_size: int | None = None,
        neighbors: Neighbors = NEIGHBORS,
        on_improvement: ImprovementCallback | None = None,
        on_epoch: EpochCallback | None = None,
        scoring: ScoringLike = DEFAULT_SCORING,
    ) -> None:
        if batch_size is not None:
            check_batchable(network)
        elif processes.is_distributed():
            raise HeterophilyError("several processes share batches; pass a batch_size such as 1024")
        self.network, self.seed, self.device = network, seed, device
        self.method, self.on_improvement, self.on_epoch = network.method, on_improvement, on_epoch
        self._place(graph, split, device if batch_size is None else torch.device("cpu"))
        weights = make_class_weights(class_weight, self.training_graph, self.nodes["train"])
        network.class_weights = None if weights is None else weights.to(device)
        self.scoring = find_scoring(scoring).with_positive(self.training_graph.labels, graph.n_classes)
        self.scoring.check(self._val_labels, graph.n_classes)
        self.history = History(self.scoring.name)
        # The rules of the paper's benchmark: only accuracy counts, from the first epoch.
        self._is_usual = self.scoring.name == DEFAULT_SCORING.name
        self.stopping = EarlyStopping(self.method.patience, warm_up=warm_up_of(self.scoring))
        self.step = self._make_step(batch_size, neighbors)

    def _place(self, graph: Graph, split: Split, place: torch.device) -> None:
        """Put the graph on a device, check the split, and hide the labels of test nodes."""
        self.graph = graph if graph.labels.device == place else graph.to(place)
        graph.replace(splits={split.origin: split})  # rejects a split that does not fit
        self.nodes = {part: nodes.to(place) for part, nodes in split.parts.items()}
        if not len(self.nodes["val"]):
            raise HeterophilyError("training requires validation nodes for early stopping; add some")
        known = torch.cat([self.nodes["train"], self.nodes["val"]])
        self.training_graph = self.graph.with_labels_only(known)
        self._val_labels = self.training_graph.labels[self.nodes["val"]]

    def _make_step(self, batch_size: int | None, neighbors: Neighbors) -> FullBatch | MiniBatch:
        network, graph, nodes = self.network, self.training_graph, self.nodes["train"]
        if batch_size is None:
            return FullBatch(network, graph, nodes)
        options = {"seed": self.seed, "batch_size": batch_size}
        return MiniBatch(network, graph, nodes, device=self.device, neighbors=neighbors, **options)

    @property
    def key(self) -> str:
        """A digest of everything on which a checkpoint and its run must agree."""
        weights = self.network.class_weights
        facts = {
            "method": identity_of(self.method),
            "graph": self.graph.checksum,
            "nodes": [self.nodes[part].tolist() for part in ("train", "val")],
            "seed": self.seed,
            "class_weight": None if weights is None else weights.tolist(),
            "scoring": [self.scoring.name, self.scoring.positive],
        }
        return digest({**facts, **self.step.facts})

    def run(self, *, checkpoint: Path | None = None, progress: bool = True) -> TrainingResult:
        """Train until patience runs out, restore the best state, and score all parts of the split."""
        start = time.perf_counter()
        self.step.initialize()
        self._set_training = mode_setter(self.network)
        first = self._resume(checkpoint)
        earlier = sum(self.history.seconds)  # of the run that this one continues
        stopped = self._run_epochs(first, checkpoint, progress=progress)
        return self._finish(stopped, earlier + time.perf_counter() - start)

    def _run_epochs(self, first: int, checkpoint: Path | None, *, progress: bool) -> str:
        """Run epochs and return why they ended."""
        n_epochs = self.method.max_epochs
        with track_epochs(n_epochs, shown=progress and not processes.rank()) as advance:
            try:
                for epoch in range(first, n_epochs):
                    self._epoch(epoch)
                    advance(epoch, self.history.val_scores[self.stopping.epoch])
                    if self.stopping.should_stop:
                        return "patience"
                    is_paused = self.on_epoch is not None and self.on_epoch(epoch, self.history.val_scores[-1])
                    self._save_checkpoint(checkpoint, epoch, now=is_paused)
                    if is_paused:
                        return "paused"
            except KeyboardInterrupt:
                return "interrupted"
        return "max_epochs"

    def _epoch(self, epoch: int) -> None:
        start = time.perf_counter()
        self._set_training(True)
        loss, training_logits = self.step.train_epoch(epoch)
        self._set_training(False)
        logits = self.step.evaluate()
        score, criterion, tie_break = self._validate(logits)
        if self.stopping.update(criterion, epoch, self.network, tie_break=tie_break):
            self.network.update_states(self.training_graph, logits, training_logits=training_logits)
            if self.on_improvement is not None:
                self.on_improvement(epoch, self.network, logits)
        self.history.loss.append(loss)
        self.history.val_scores.append(score)
        self.history.seconds.append(time.perf_counter() - start)

    def _validate(self, logits: Tensor) -> tuple[float, float, float]:
        """Return the validation score, the value that selects the epoch, and that which decides between equal ones."""
        arguments = logits.index_select(0, self.nodes["val"]), self._val_labels
        score, stops_by_loss = self.scoring.score(*arguments), self.method.monitor == "loss"
        negative_loss = neg_log_loss.score(*arguments) if stops_by_loss or not self._is_usual else 0.0
        return (score, negative_loss, score) if stops_by_loss else (score, score, negative_loss)

    def _resume(self, checkpoint: Path | None) -> int:
        """Restore a checkpoint if there is one. Return the first epoch to run."""
        self._saved = time.monotonic()
        content = load_checkpoint(checkpoint, key=self.key) if checkpoint else None
        if content is None:
            return 0
        self.history = restore(content, self.network, self.step.optimizers, self.stopping)
        return int(content["epoch"]) + 1

    def _save_checkpoint(self, checkpoint: Path | None, epoch: int, *, now: bool = False) -> None:
        if checkpoint is None or processes.rank():
            return
        if not now and time.monotonic() - self._saved < CHECKPOINT_SECONDS:
            return
        parts = self.network, self.step.optimizers, self.stopping, self.history
        try:
            save_checkpoint(checkpoint, *parts, key=self.key, epoch=epoch)
        except OSError as error:
            if error.errno not in (*FULL, *READ_ONLY):
                raise
            message = f"cannot write checkpoint {checkpoint} ({error.strerror}); training continues without it"
            warnings.warn(message, HeterophilyWarning, stacklevel=2)
        self._saved = time.monotonic()

    def _finish(self, stopped: str, seconds: float) -> TrainingResult:
        if self.stopping.state:
            self.network.load_state_dict(self.stopping.state)
        self.network.eval()
        logits = check_logits(self.step.evaluate(is_last=True), self.graph, self.network)
        return_freed_memory()
        labels, times = self.graph.labels, self.history.seconds
        known = {part: nodes[labels[nodes] >= 0] for part, nodes in self.nodes.items()}
        return TrainingResult(
            scores={part: all_scores(logits, labels, nodes, scoring=self.scoring) for part, nodes in known.items()},
            best_epoch=self.stopping.epoch,
            n_epochs=len(times),
            stopped=stopped,
            seconds=seconds,
            milliseconds_per_epoch=1e3 * median(times) if times else 0.0,
            peak_memory=peak_memory(),
            history=self.history,
            seed=self.seed,
            device=str(self.device),
        )
