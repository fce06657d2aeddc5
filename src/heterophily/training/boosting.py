"""Train boosted trees: scikit-learn grows them, and the scoring of validation nodes selects their number.

The trees grow in chunks, of which each continues the last one. After a chunk, the validation nodes are scored for each
of its iterations. The result does not depend on the sizes of the chunks, unless `on_epoch` pauses the training.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch.nn import functional as F

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.machine import peak_memory
from heterophily.core.progress import track_epochs
from heterophily.core.types import FloatArray, IntArray
from heterophily.models.boosting import BoostedTrees, Boosting
from heterophily.models.boosting_trees import Forest
from heterophily.training.class_weight import ClassWeight, make_class_weights
from heterophily.training.result import History, TrainingResult
from heterophily.training.scoring import Scoring, all_scores

FIRST_CHUNK, GROWTH = 10, 0.5  # iterations of the first chunk, and of later ones as a share of all before them
EpochCallback = Callable[[int, float], bool]


def train_boosting(
    method: Boosting,
    graph: Graph,
    *,
    split: Split,
    scoring: Scoring,
    seed: int = 0,
    class_weight: ClassWeight = None,
    progress: bool = False,
    on_epoch: EpochCallback | None = None,
) -> tuple[BoostedTrees, TrainingResult]:
    """Train boosted trees on the full graph, on the CPU. One epoch is one iteration.

    `on_epoch` is called after each chunk. If it returns True, the run is paused and returns the best trees so far.
    """
    start = time.perf_counter()
    graph.replace(splits={split.origin: split})  # rejects a split that does not fit
    if not len(split.val):
        raise HeterophilyError("training requires validation nodes for early stopping; add some")
    known = graph.with_labels_only(torch.cat([split.train, split.val]).to(graph.labels.device)).to("cpu")
    scoring = scoring.with_positive(known.labels, graph.n_classes)
    scoring.check(known.labels[split.val], graph.n_classes)
    trees = BoostedTrees(method, known)
    trees.initialize(known, split.train, seed=seed)
    weights = make_class_weights(class_weight, known, split.train)
    sample_weight = None if weights is None else weights[known.labels[split.train]].double().numpy()
    grower = _Grower(method, known.labels, split, scoring, sample_weight, seed, on_epoch)
    with track_epochs(method.max_epochs, shown=progress) as advance, threadpool_limits(torch.get_num_threads()):
        grower.grow(trees.forest, trees.table(known), advance)
        grower.grow_again(trees.inductive_forest, trees.inductive_table(known))
    with torch.no_grad():
        logits, labels = trees(known), graph.labels.cpu()
    scored = {part: nodes[labels[nodes] >= 0] for part, nodes in split.parts.items()}
    scores = {part: all_scores(logits, labels, nodes, scoring=scoring) for part, nodes in scored.items()}
    result = grower.result(scores, seconds=time.perf_counter() - start)
    return trees.eval(), result


@dataclass(frozen=True)
class _Rows:
    """A part of a table, with the scores of its rows."""

    x: FloatArray  # (n, d)
    labels: Tensor
    raw: FloatArray  # (n, C), without the baseline

    @classmethod
    def select(cls, table: FloatArray, nodes: Tensor, labels: Tensor, n_columns: int) -> "_Rows":
        """Select the rows of some nodes."""
        return cls(np.ascontiguousarray(table[nodes.numpy()]), labels[nodes], np.zeros((len(nodes), n_columns)))


class _Grower:
    """Grows forests on the training nodes of a split."""

    def __init__(
        self,
        method: Boosting,
        labels: Tensor,
        split: Split,
        scoring: Scoring,
        sample_weight: FloatArray | None,
        seed: int,
        on_epoch: EpochCallback | None,
    ) -> None:
        self.method, self.labels, self.split, self.scoring = method, labels, split, scoring
        self.sample_weight, self.seed, self.on_epoch = sample_weight, seed, on_epoch
        self.history, self.stopped = History(scoring.name), "max_epochs"
        self.best, self.n_best, self.n_higher = (-math.inf, -math.inf), 0, 0

    def grow(self, forest: Forest, table: FloatArray, advance: Callable[[int, float], None]) -> None:
        """Add trees until patience runs out, and retain the best number of iterations."""
        y = self.labels[self.split.train].numpy()
        forest.set_classes(y)
        n_present = len(forest.classes)
        parts = {"train": self.split.train, "val": self.split.val}
        rows = {
            part: _Rows.select(table, nodes, self.labels, 1 if n_present <= 2 else n_present)
            for part, nodes in parts.items()
        }
        classifier = self._classifier()
        try:
            while n_present > 1 and self.stopped == "max_epochs" and forest.n_iterations < self.method.max_epochs:
                self._grow_chunk(classifier, forest, rows, y)
                advance(len(self.history.loss) - 1, self.best[0])
                if self.stopped == "max_epochs" and self._is_paused():
                    self.stopped = "paused"
        except KeyboardInterrupt:
            self.stopped = "interrupted"
        forest.truncate(self.n_best)

    def _is_paused(self) -> bool:
        return self.on_epoch is not None and self.on_epoch(len(self.history.loss) - 1, self.best[0])

    def grow_again(self, forest: Forest, table: FloatArray) -> None:
        """Grow trees on another table, with as many iterations as were best before, without scoring them."""
        y = self.labels[self.split.train].numpy()
        forest.set_classes(y)
        classifier, x = self._classifier(), table[self.split.train.numpy()]
        while forest.n_iterations < self.n_best:
            self._continue(classifier, forest, x, y, limit=self.n_best)
            if self.stopped in ("paused", "interrupted") or self._is_paused():
                return

    def _grow_chunk(
        self, classifier: HistGradientBoostingClassifier, forest: Forest, rows: dict[str, _Rows], y: IntArray
    ) -> None:
        """Add iterations and score each of them."""
        start, first = time.perf_counter(), forest.n_iterations
        self._continue(classifier, forest, rows["train"].x, y, limit=self.method.max_epochs)
        seconds = (time.perf_counter() - start) / (forest.n_iterations - first)
        steps = zip(*(forest.steps(each.x, first) for each in rows.values()), strict=True)
        for both in steps:
            for each, step in zip(rows.values(), both, strict=True):
                each.raw[:] += step
            self._score(forest, rows, seconds)
            if len(self.history.loss) - self.n_higher >= self.method.patience:
                self.stopped = "patience"
                return

    def _continue(
        self, classifier: HistGradientBoostingClassifier, forest: Forest, x: FloatArray, y: IntArray, *, limit: int
    ) -> None:
        n = forest.n_iterations
        classifier.set_params(max_iter=min(n + max(FIRST_CHUNK, int(GROWTH * n)), limit))
        forest.append(classifier.fit(x, y, sample_weight=self.sample_weight))

    def _score(self, forest: Forest, rows: dict[str, _Rows], seconds: float) -> None:
        """Record the scores after an iteration. The log loss decides between equal scores."""
        logits = {part: forest.log_probabilities(each.raw) for part, each in rows.items()}
        loss = {part: float(F.cross_entropy(logits[part], each.labels)) for part, each in rows.items()}
        score = self.scoring.score(logits["val"], rows["val"].labels)
        self.history.loss.append(loss["train"])
        self.history.val_scores.append(score)
        self.history.seconds.append(seconds)
        if not score <= self.best[0]:
            self.n_higher = len(self.history.loss)
        if (score, -loss["val"]) > self.best or not self.n_best:
            self.best, self.n_best = (score, -loss["val"]), len(self.history.loss)

    def _classifier(self) -> HistGradientBoostingClassifier:
        method = self.method
        return HistGradientBoostingClassifier(
            learning_rate=method.learning_rate,
            max_leaf_nodes=method.max_leaf_nodes,
            min_samples_leaf=method.min_samples_leaf,
            l2_regularization=method.l2_regularization,
            max_features=method.max_features,
            max_bins=method.max_bins,
            early_stopping=False,
            warm_start=True,
            random_state=self.seed,
        )

    def result(self, scores: dict[str, dict[str, float]], *, seconds: float) -> TrainingResult:
        """Return the result, given the scores of all parts of the split."""
        times = self.history.seconds
        return TrainingResult(
            scores=scores,
            best_epoch=max(self.n_best - 1, 0),
            n_epochs=len(times),
            stopped=self.stopped,
            seconds=seconds,
            milliseconds_per_epoch=1e3 * float(np.median(times)) if times else 0.0,
            peak_memory=peak_memory(),
            history=self.history,
            seed=self.seed,
            device="cpu",
        )
