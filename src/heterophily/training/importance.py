"""What a fitted classifier depends on: permutation importance of the columns, and of the edges.

The importance of a column is the decrease of the score if its values are shuffled among all nodes. That of the edges
is the decrease without edges, and with random edges between nodes of almost the same degrees. A change of the score
that is not larger than its standard error means nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from heterophily.core.edits import remove_all_edges, replace_features, rewire_edges
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Features, Graph
from heterophily.core.sparse import Matrix
from heterophily.core.types import FloatArray, IntArray
from heterophily.training.columns import table_columns
from heterophily.training.explanation import Importance, ModelExplanation
from heterophily.training.gates import fixed_edges_note, mean_gates, recognize_copies, title_of
from heterophily.training.occlusion import rank_items

if TYPE_CHECKING:
    from heterophily.training.estimator import NodeClassifier


def explain_model(
    fitted: "NodeClassifier", graph: Graph, *, n_repeats: int = 5, max_items: int = 100, seed: int = 0
) -> ModelExplanation:
    """Explain what the predictions depend on; see `NodeClassifier.explain_model`."""
    if n_repeats < 2 or max_items < 20:
        raise HeterophilyError(
            f"n_repeats must be at least 2, and max_items at least 20, got {n_repeats} and {max_items}"
        )
    name, nodes = scored_nodes(fitted, graph)
    # What the model stores about the nodes would replace what the changed data no longer contain.
    with recognize_copies(fitted.predictor_, graph, "recomputed"):
        study = _ModelStudy(fitted, graph, nodes, n_repeats, seed)
        n_columns = len(table_columns(graph))
        columns = study.column_importances(max_items)
        return ModelExplanation(
            graph=graph.name,
            model=title_of(fitted),
            scoring=fitted.scoring_.name,
            score=study.base,
            nodes=name,
            n_nodes=len(nodes),
            edges=study.edge_importances(),
            columns=columns,
            gates=mean_gates(fitted.predictor_, graph, nodes),
            n_columns=n_columns,
            n_repeats=n_repeats,
            n_evaluations=study.n_evaluations,
            notes=(note,) if (note := fixed_edges_note(fitted.predictor_)) else (),
        )


def scored_nodes(fitted: "NodeClassifier", graph: Graph) -> tuple[str, Tensor]:
    """Return the labeled test nodes, or else validation nodes; all labeled nodes if the graph is not that of `fit`."""
    if graph is fitted.graph_:
        for part, name in (("test", "test"), ("val", "validation")):
            nodes = fitted.split_.parts[part]
            known = nodes[graph.labels[nodes] >= 0]
            if len(known):
                return name, known
    labeled = graph.labeled.nonzero().squeeze(1)
    if not len(labeled):
        raise HeterophilyError(f"{graph.name} has no labels, which are required to measure importance; explain a node")
    return "labeled", labeled


@dataclass
class _ModelStudy:
    """Scores of a classifier on changed copies of a graph."""

    fitted: "NodeClassifier"
    graph: Graph
    nodes: Tensor
    n_repeats: int
    seed: int
    n_evaluations: int = 0

    def __post_init__(self) -> None:
        self.base = self.score(self.graph)

    def score(self, graph: Graph) -> float:
        self.n_evaluations += 1
        return self.fitted.score(graph, nodes=self.nodes, scoring=self.fitted.scoring_)

    def decreases(self, change: Callable[[np.random.Generator], Graph]) -> FloatArray:
        """Return the decrease of the score for several random changes. The first has the same seed for all."""
        generators = [np.random.default_rng([self.seed, i]) for i in range(self.n_repeats)]
        return np.array([self.base - self.score(change(generator)) for generator in generators])

    def edge_importances(self) -> tuple[Importance, ...]:
        if not self.graph.symmetric.n_entries or fixed_edges_note(self.fitted.predictor_):
            return ()
        removed = self.base - self.score(remove_all_edges(self.graph))
        rewired = self.decreases(lambda generator: rewire_edges(self.graph, generator))
        return Importance("removed", removed, None), _importance("rewired at random", rewired)

    def column_importances(self, max_items: int) -> tuple[Importance, ...]:
        columns = table_columns(self.graph)
        measured: dict[int, FloatArray] = {}

        def effects(groups: Sequence[IntArray]) -> FloatArray:
            found = [self._shuffled(np.concatenate([columns[i].features for i in group])) for group in groups]
            measured.update({int(g[0]): each for g, each in zip(groups, found, strict=True) if len(g) == 1})
            return np.array([each.mean() for each in found])

        ranked = rank_items(len(columns), effects, max_items)
        return tuple(_importance(columns[i].name, measured[i]) for i in sorted(ranked, key=lambda i: -ranked[i]))

    def _shuffled(self, features: IntArray) -> FloatArray:
        return self.decreases(lambda generator: replace_features(self.graph, _shuffle(self.graph, features, generator)))


def _shuffle(graph: Graph, columns: IntArray, generator: np.random.Generator) -> Features:
    """Return X with some columns shuffled among the nodes, all in the same order."""
    order, x = generator.permutation(graph.n_nodes), graph.features
    if isinstance(x, Matrix):
        rows = x.to_scipy()
        kept = np.ones(x.shape[1], dtype=np.float32)
        kept[columns] = 0
        return Matrix.from_scipy(rows.multiply(kept).tocsr() + rows[order].multiply(1 - kept).tocsr())
    changed = x.clone()
    changed[:, torch.from_numpy(columns)] = x[torch.from_numpy(order)][:, torch.from_numpy(columns)]
    return changed


def _importance(name: str, decreases: FloatArray) -> Importance:
    error = float(decreases.std(ddof=1)) / len(decreases) ** 0.5
    return Importance(name, float(decreases.mean()), error)
