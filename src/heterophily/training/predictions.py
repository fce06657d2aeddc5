"""What a fitted classifier computes: predictions, probabilities, scores, and representations."""

from dataclasses import replace
from typing import cast

import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.compatibility import observed_compatibility
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.types import Array, FloatArray, IntArray
from heterophily.core.validation import node_numbers
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.method import Method
from heterophily.htmp.network import Network
from heterophily.htmp.weighted_compatibility import predicted_compatibilities
from heterophily.models.ensemble import Ensemble
from heterophily.training.auto.portfolio import LARGE
from heterophily.training.decision import OF_CLASSES, Decision
from heterophily.training.finite import check_embeddings, check_logits
from heterophily.training.inputs import GraphInput, align_features, align_labels, as_graph
from heterophily.training.parameters import MethodParameters, is_auto
from heterophily.training.scoring import Scoring, ScoringLike, find_scoring


def checked_nodes(nodes: ArrayLike, graph: Graph) -> Tensor:
    """Return nodes to score: numbers or a mask of nodes with labels, at least one."""
    numbers = node_numbers(nodes)
    if not len(numbers):
        raise HeterophilyError("nodes must contain at least one node to score, got none")
    if int(numbers.min()) < 0 or int(numbers.max()) >= graph.n_nodes:
        raise HeterophilyError(f"nodes must be from 0 to {graph.n_nodes - 1}, got {numbers.min()} to {numbers.max()}")
    return numbers


class NotFittedClassifierError(HeterophilyError, NotFittedError):  # type: ignore[misc]
    """A method of a classifier was called before `fit`."""


class Predictions(ClassifierMixin, MethodParameters):  # type: ignore[misc]
    """The part of a classifier that is available after `fit`."""

    batch_size: int | None
    scoring: ScoringLike | None
    predictor_: nn.Module
    graph_: Graph | None
    encoder_: FeatureEncoder | None
    n_features_in_: int
    split_: Split
    classes_: Array
    scoring_: Scoring
    decision_: Decision

    def predict(self, graph: GraphInput | None = None) -> Array:
        """Predict the classes of all nodes, as in `classes_`, (N,)."""
        numbers = self.decide(self._probabilities(graph))
        return self.classes_[numbers]

    def predict_proba(self, graph: GraphInput | None = None) -> FloatArray:
        """Predict the class probabilities of all nodes, (N, K)."""
        return self._probabilities(graph)

    def _probabilities(self, graph: GraphInput | None) -> FloatArray:
        return self._logits(self._graph(graph)).softmax(dim=1).cpu().numpy()

    def decide(self, probabilities: FloatArray) -> IntArray:
        """Return the class numbers (n,) that follow from probabilities (n, K), with the threshold if there is one."""
        self._fitted()
        return self.decision_.predict(probabilities)

    @property
    def threshold_(self) -> float | None:
        """The probability from which the positive class is predicted, or None."""
        self._fitted()
        return self.decision_.threshold

    def score(
        self, graph: GraphInput | None = None, *, nodes: ArrayLike | None = None, scoring: ScoringLike | None = None
    ) -> float:
        """Return the score on the given nodes, on the test nodes of the split, or on all labeled nodes.

        `scoring` is by default the scoring of the classifier. The positive class of the classifier applies.
        """
        scored = self._graph(graph)
        use_split = graph is None and len(self.split_.test) > 0
        default = self.split_.test if use_split else scored.labeled.nonzero().squeeze(1)
        chosen = default if nodes is None else checked_nodes(nodes, scored)
        if not len(chosen):
            raise HeterophilyError(f"{scored.name} has no labeled nodes to score; pass a graph with labels")
        given = self.scoring if scoring is None else scoring
        found = self.scoring_ if given is None else find_scoring(given)
        logits = self._logits(scored).cpu()
        if found.name in OF_CLASSES:
            logits = self.decision_.shift(logits)
        found = replace(found, positive=self.scoring_.positive)
        return found(logits, scored.labels.cpu(), chosen)

    def embed(self, graph: GraphInput | None = None) -> FloatArray:
        """Return the representations of all nodes before the classifier, (N, d)."""
        network, data = self._single(self._graph(graph))
        if not isinstance(network, Network):
            raise HeterophilyError("only a single network has embeddings, not trees and ensembles; fit one method")
        if self.batch_size is not None:
            return check_embeddings(evaluate(network, data, head=False), data, network).numpy()
        with torch.no_grad():
            return check_embeddings(network.embed(self._on_device(data)), data, network).cpu().numpy()

    @property
    @override
    def method(self) -> Method:
        """The method with its settings; for `auto`, that of the candidate with the largest weight."""
        if is_auto(self.model) and hasattr(self, "predictor_"):
            return cast("Method", self.predictor_.method)
        return super().method

    @property
    def class_names_(self) -> tuple[str, ...]:
        """The names or numbers of the classes, as text."""
        return tuple(map(str, self.classes_.tolist()))

    @property
    def compatibility_(self) -> FloatArray:
        """The compatibility matrix that the method estimates, or else that of its predictions, (K, K)."""
        graph = self._graph(None)
        predictor, _ = self._single(graph)
        if isinstance(predictor, Network) and (estimate := predictor.state_summary().get("compatibility")) is not None:
            return estimate.cpu().numpy()
        labels = torch.from_numpy(self.decide(self.predict_proba()))
        return observed_compatibility(graph.symmetric, labels, len(self.classes_)).numpy()

    @property
    def weighted_compatibility_(self) -> dict[str, FloatArray]:
        """The weights of the classes in the messages of each channel and layer, (K, K); they may be negative."""
        matrices = predicted_compatibilities(*self._single(self._on_device(self._graph(None))))
        return {name: matrix.cpu().numpy() for name, matrix in matrices.items()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _fitted(self) -> nn.Module:
        if not hasattr(self, "predictor_"):
            raise NotFittedClassifierError("this classifier is not fitted yet; call fit(graph) first")
        return self.predictor_.eval()

    def _single(self, graph: Graph) -> tuple[nn.Module, Graph]:
        """Return the only member of an ensemble and the graph that it receives, or else predictor and graph."""
        predictor = self._fitted()
        if not isinstance(predictor, Ensemble) or len(predictor.members) > 1:
            return predictor, graph
        return predictor.members[0], predictor.scale_features(self._on_device(graph))

    def _graph(self, data: GraphInput | None) -> Graph:
        """Return the given graph with the classes of the classifier, or the graph of `fit`."""
        self._fitted()
        if data is None and self.graph_ is None:
            raise HeterophilyError("a loaded classifier has no graph; pass one")
        return cast("Graph", self.graph_) if data is None else self.align(data)

    def align(self, data: GraphInput) -> Graph:
        """Return a graph with the features and classes of the graph of `fit`, or raise an error."""
        graph = align_features(
            as_graph(data, encoder=self.encoder_),
            encoder=self.encoder_,
            names=getattr(self, "feature_names_in_", None),
            n_features=self.n_features_in_,
        )
        return align_labels(graph, self.class_names_)

    def _on_device(self, graph: Graph) -> Graph:
        place = next(iter(self.predictor_.state_dict().values())).device
        return graph if graph.labels.device == place else graph.to(place)

    def _logits(self, graph: Graph) -> Tensor:
        predictor = self._fitted()
        in_blocks = self.batch_size is not None or (is_auto(self.model) and graph.n_nodes >= LARGE)
        if in_blocks and isinstance(predictor, Network):
            return check_logits(evaluate(predictor, graph), graph, predictor)
        if in_blocks and isinstance(predictor, Ensemble):
            return check_logits(predictor.evaluate(graph), graph, predictor)
        with torch.no_grad():
            return check_logits(cast("Tensor", predictor(self._on_device(graph))), graph, predictor)
