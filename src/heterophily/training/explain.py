"""Explanations of a fitted classifier: why it predicts a class for a node.

Effects are differences of the log-odds log(p / (1 - p)) of one class: those of the prediction minus those without an
edge, or with other values in a column. A positive effect supports the class.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch

from heterophily.core.arguments import NAME, check_argument, check_integer
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix
from heterophily.core.types import FloatArray, IntArray
from heterophily.htmp.state import State
from heterophily.training.columns import row_values, table_columns
from heterophily.training.explanation import ClassEffect, ColumnEffect, NeighborEffect, NodeExplanation, PartEffect
from heterophily.training.gates import fixed_edges_note, node_gates, notes_of, recognize_copies, title_of
from heterophily.training.occlusion import Occluder, Occlusion, log_odds, rank_items

if TYPE_CHECKING:
    from heterophily.training.estimator import NodeClassifier

MIN_DONORS, MAX_DONORS = 5, 20  # other nodes whose values replace those of the node


def explain_node(
    fitted: "NodeClassifier",
    graph: Graph,
    node: str | int,
    *,
    target: str | int | None = None,
    max_items: int = 100,
    seed: int = 0,
) -> NodeExplanation:
    """Explain the prediction of one node of a graph; see `NodeClassifier.explain`."""
    check_integer("max_items", max_items, low=20)
    check_argument("node", node, NAME)
    check_argument("target", target, NAME, optional=True)
    number = find_node(graph, node)
    names, predicted = fitted.class_names_, [str(each) for each in fitted.predict(graph).tolist()]
    chosen = find_class(names, predicted[number] if target is None else target)
    with recognize_copies(fitted.predictor_, graph, "fixed"):
        occluder = Occluder(fitted._logits, graph, number)
        study = _NodeStudy(fitted, graph, number, chosen, predicted, occluder, max_items, seed)
        probabilities = occluder.logits.double().softmax(dim=0).tolist()
        neighbors = study.neighbor_effects()
        columns = study.column_effects()
        return NodeExplanation(
            id=id_of(number, graph),
            node=number,
            graph=graph.name,
            model=title_of(fitted),
            target=names[chosen],
            probability=probabilities[chosen],
            predicted=predicted[number],
            label=study.label(number),
            probabilities=dict(zip(names, probabilities, strict=True)),
            gates=node_gates(fitted.predictor_, *occluder.part),
            parts=study.part_effects(),
            neighbor_classes=study.class_effects(),
            neighbors=neighbors,
            columns=columns,
            n_neighbors=len(study.neighbors),
            n_columns=len(study.columns),
            n_evaluations=occluder.n_evaluations,
            n_hops=occluder.n_hops,
            notes=notes_of(fitted.predictor_, graph),
        )


def find_node(graph: Graph, node: str | int) -> int:
    """Return the number of a node from its id, or from its number if the nodes of the graph have no ids."""
    text = str(node)
    if graph.node_ids is not None:
        if text not in graph.node_ids:
            raise unknown_name(f"node of {graph.name}", text, graph.node_ids[:1000])
        return graph.node_ids.index(text)
    if not text.isdecimal() or int(text) >= graph.n_nodes:
        raise HeterophilyError(f"node must be a number from 0 to {graph.n_nodes - 1}, got {text!r}")
    return int(text)


def find_class(names: Sequence[str], name: str | int) -> int:
    """Return the number of a class from its name."""
    if str(name) not in names:
        raise unknown_name("class", str(name), names)
    return list(names).index(str(name))


def id_of(node: int, graph: Graph) -> str:
    """Return the id of a node, or its number if the nodes of the graph have no ids."""
    return str(node) if graph.node_ids is None else graph.node_ids[node]


@dataclass(frozen=True)
class _NodeStudy:
    """The occlusions of one node."""

    fitted: "NodeClassifier"
    graph: Graph
    node: int
    target: int
    predictions: list[str]  # of all nodes
    occluder: Occluder
    max_items: int
    seed: int

    @property
    def can_remove_edges(self) -> bool:
        return not fixed_edges_note(self.fitted.predictor_)

    @property
    def neighbors(self) -> IntArray:
        start, end = (int(each) for each in self.graph.symmetric.indptr[self.node : self.node + 2])
        return self.graph.symmetric.indices[start:end].long().numpy()

    @property
    def columns(self) -> list[int]:
        """Numbers of the columns of the table; of sparse ones, only those with a value other than zero."""
        values, columns = row_values(self.graph, self.node), table_columns(self.graph)
        if not isinstance(self.graph.features, Matrix):
            return list(range(len(columns)))
        return [i for i, column in enumerate(columns) if values[column.features].any()]

    def label(self, node: int) -> str | None:
        known = int(self.graph.labels[node])
        return self.fitted.class_names_[known] if known >= 0 else None

    def measure(self, occlusions: Sequence[Occlusion]) -> tuple[FloatArray, FloatArray]:
        """Return the effects of occlusions, and the probabilities of the target class."""
        hidden = self.occluder(occlusions)
        base = log_odds(self.occluder.logits[None], self.target)
        return base - log_odds(hidden, self.target), hidden.double().softmax(dim=1)[:, self.target].numpy()

    def neighbor_effects(self) -> tuple[NeighborEffect, ...]:
        if not self.can_remove_edges:
            return ()
        neighbors, seen = self.neighbors, dict[int, float]()

        def effects(groups: Sequence[IntArray]) -> FloatArray:
            found, p = self.measure([Occlusion(tuple(neighbors[group].tolist())) for group in groups])
            seen.update({int(group[0]): float(each) for group, each in zip(groups, p, strict=True) if len(group) == 1})
            return found

        ranked = rank_items(len(neighbors), effects, self.max_items)
        return tuple(
            NeighborEffect(
                id=id_of(number, self.graph),
                node=number,
                effect=effect,
                probability=seen[i],
                label=self.label(number),
                predicted=self.predictions[number],
            )
            for i, effect in ranked.items()
            for number in [int(neighbors[i])]
        )

    def class_effects(self) -> tuple[ClassEffect, ...]:
        if not self.can_remove_edges:
            return ()
        members: dict[str, list[int]] = {}
        for neighbor in self.neighbors.tolist():
            members.setdefault(self.label(neighbor) or self.predictions[neighbor], []).append(neighbor)
        found, p = self.measure([Occlusion(tuple(nodes)) for nodes in members.values()])
        rows = zip(members.items(), found.tolist(), p.tolist(), strict=True)
        effects = [ClassEffect(name, len(nodes), effect, after) for (name, nodes), effect, after in rows]
        return tuple(sorted(effects, key=lambda each: -abs(each.effect)))

    def column_effects(self) -> tuple[ColumnEffect, ...]:
        columns, used, values = table_columns(self.graph), self.columns, row_values(self.graph, self.node)
        donors = self._donors(len(used))
        spread: dict[int, tuple[float | None, float]] = {}

        def effects(groups: Sequence[IntArray]) -> FloatArray:
            features = [np.concatenate([columns[used[i]].features for i in group]) for group in groups]
            found, p = self._replace(features, donors)
            errors = found.std(axis=1, ddof=1) / len(donors) ** 0.5 if len(donors) > 1 else [None] * len(groups)
            rows = zip(groups, errors, p.mean(axis=1).tolist(), strict=True)
            spread.update({int(g[0]): (None if e is None else float(e), after) for g, e, after in rows if len(g) == 1})
            return cast("FloatArray", found.mean(axis=1))

        ranked = rank_items(len(used), effects, self.max_items)
        return tuple(
            ColumnEffect(column.name, column.value_text(values[column.features]), effect, *spread[i])
            for i, effect in ranked.items()
            for column in [columns[used[i]]]
        )

    def _donors(self, n_columns: int) -> list[FloatArray | None]:
        """Return features of random other nodes, (F,) each. None replaces sparse features with zero."""
        if isinstance(self.graph.features, Matrix) or self.graph.n_nodes < 2:
            return [None]
        count = int(np.clip(2 * self.max_items // max(n_columns, 1), MIN_DONORS, MAX_DONORS))
        others = np.delete(np.arange(self.graph.n_nodes), self.node)
        chosen = np.random.default_rng(self.seed).choice(others, min(count, len(others)), replace=False)
        return [row_values(self.graph, int(node)) for node in chosen]

    def _replace(
        self, features: Sequence[IntArray], donors: Sequence[FloatArray | None]
    ) -> tuple[FloatArray, FloatArray]:
        """Return effects and probabilities if features receive the values of each donor, (n, donors)."""
        own = row_values(self.graph, self.node)
        occlusions: list[Occlusion] = []
        places: list[tuple[int, int]] = []
        for i, columns in enumerate(features):
            for j, donor in enumerate(donors):
                values = np.zeros(len(columns)) if donor is None else donor[columns]
                if not np.array_equal(values, own[columns]):
                    occlusions.append(Occlusion((), tuple(columns.tolist()), tuple(values.tolist())))
                    places.append((i, j))
        before = float(self.occluder.logits.double().softmax(dim=0)[self.target])
        effects, p = np.zeros((len(features), len(donors))), np.full((len(features), len(donors)), before)
        if occlusions:
            rows, columns_ = np.array(places).T
            effects[rows, columns_], p[rows, columns_] = self.measure(occlusions)
        return effects, p

    def part_effects(self) -> tuple[PartEffect, ...]:
        found: list[PartEffect] = []
        columns = table_columns(self.graph)
        if columns:
            features = np.concatenate([column.features for column in columns])
            effects, p = self._replace([features], self._donors(1))
            found.append(PartEffect("ego", float(effects.mean()), float(p.mean())))
        if len(self.neighbors) and self.can_remove_edges:
            effects, p = self.measure([Occlusion(tuple(self.neighbors.tolist()))])
            found.append(PartEffect("neighbors", float(effects[0]), float(p[0])))
        return (*found, *self._stored_effect())

    def _stored_effect(self) -> list[PartEffect]:
        """Return the effect of what the model stores about the node, if it stores anything."""
        states = [each for each in self.fitted.predictor_.modules() if isinstance(each, State) and each.n_virtual]
        if not states or any(state.recognition != "fixed" for state in states):
            return []
        with ExitStack() as stack:
            for state in states:
                stack.enter_context(state.forget(torch.tensor([self.node])))
            logits = self.fitted._logits(self.graph)[[self.node]].cpu()
        effect = log_odds(self.occluder.logits[None], self.target) - log_odds(logits, self.target)
        return [PartEffect("supplementary", float(effect[0]), float(logits.double().softmax(dim=1)[0, self.target]))]
