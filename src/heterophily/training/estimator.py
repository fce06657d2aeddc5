"""NodeClassifier: any method on any graph, with the scikit-learn API."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_random_state
from torch import Tensor, nn
from typing_extensions import override

from heterophily.core.compatibility import observed_compatibility
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.types import Array, FloatArray, PathLike, Value
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.htmp.network import Network
from heterophily.htmp.weighted_compatibility import predicted_compatibilities
from heterophily.models import Model
from heterophily.training.class_weight import ClassWeight
from heterophily.training.explain import explain_node
from heterophily.training.explanation import ModelExplanation, NodeExplanation
from heterophily.training.finite import check_embeddings, check_logits
from heterophily.training.importance import explain_model
from heterophily.training.inputs import GraphInput, align_features, align_labels, as_graph, read_input
from heterophily.training.parameters import MethodParameters
from heterophily.training.persistence import load_classifier, save_classifier
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import DEFAULT_SCORING, ScoringLike, find_scoring
from heterophily.training.splits import resolve_split, with_validation
from heterophily.training.trainer import train


class NotFittedClassifierError(HeterophilyError, NotFittedError):  # type: ignore[misc]
    """A method of a classifier was called before `fit`."""


class NodeClassifier(ClassifierMixin, MethodParameters):  # type: ignore[misc]
    """Classifier for the nodes of a graph, with any method of the library.

    It follows the scikit-learn API, except that `fit` takes a graph instead of a matrix X. The constructor
    only stores its arguments, and `fit` validates them. Settings of the method are parameters like all others.

    Parameters
    ----------
    model
        Name of a method, method, or path of a Python file that defines one.
    preset
        `published`, or `reference` for the settings of the reference implementation.
    random_state
        Seed of the weights, of dropout, and of validation nodes that are held out: an integer, a `RandomState`,
        or None for a random seed.
    device
        Device of PyTorch, or `auto` for the GPU if there is one.
    class_weight
        Weights of the classes in the loss: None, `balanced` so that all classes count equally, or a dictionary
        of class names or numbers, as in scikit-learn.
    batch_size
        Number of training nodes per step. None trains on the full graph.
    neighbors
        Number of neighbors to sample per hop in a batch, or `all`.
    scoring
        Objective of early stopping and of `score`: a name of scikit-learn such as `roc_auc`, or a function
        (y_true, y_proba) -> float for which higher is better.
    verbose
        Whether to show a progress bar on a terminal.
    **settings
        Settings of the method, such as `width` and `dropout`.

    Attributes
    ----------
    classes_
        Classes as you wrote them, or class numbers if the graph has no names, (K,).
    n_features_in_, feature_names_in_, encoder_
        Number of features, and, if the graph was read from tables, their names and the encoder.
    predictor_
        Trained module. `predictor_(graph)` returns logits, (N, K).
    run_, split_, graph_
        Result of training, split, and graph.

    Examples
    --------
    >>> from heterophily import NodeClassifier, load
    >>> model = NodeClassifier("mlp", max_epochs=50, width=64).fit(load("digits"), split="0")
    >>> model.predict().shape, model.predict_proba().shape
    ((1797,), (1797, 10))
    >>> model.score() > 0.9
    True
    >>> model.set_params(width=128)
    NodeClassifier(max_epochs=50, model='mlp', width=128)
    """

    graph_: Graph | None
    predictor_: nn.Module

    def __init__(
        self,
        model: Model = "cmgnn",
        *,
        preset: str = "published",
        random_state: int | RandomState | None = 0,
        device: str = "auto",
        class_weight: ClassWeight = None,
        batch_size: int | None = None,
        neighbors: Neighbors = NEIGHBORS,
        scoring: ScoringLike = DEFAULT_SCORING.name,
        verbose: bool = False,
        **settings: Value,
    ) -> None:
        self.model = model
        self.preset = preset
        self.random_state = random_state
        self.device = device
        self.class_weight = class_weight
        self.batch_size = batch_size
        self.neighbors = neighbors
        self.scoring = scoring
        self.verbose = verbose
        self.__dict__.update(settings)

    @override
    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        tags.no_validation = True
        return tags

    def fit(
        self,
        graph: GraphInput,
        y: ArrayLike | None = None,
        *,
        split: str | Split | None = None,
        checkpoint: Path | None = None,
    ) -> "NodeClassifier":
        """Train on a graph.

        Parameters
        ----------
        graph
            A `Graph`, a pair of tables (nodes, edges) of pandas, polars, or pyarrow, a `Data` of PyTorch Geometric,
            or a NetworkX graph whose nodes have the attribute `label`. If the nodes have no features, their degrees
            and positions in the graph are used.
        y
            Labels of all nodes, (N,), text or numbers, instead of the labels of the graph. None, NaN, and -1
            mean unknown.
        split
            Name of a split of the graph, or a split. None uses the only split of the graph, or else all
            labeled nodes. If there are no validation nodes, a quarter of the training nodes is held out.
        checkpoint
            File from which an interrupted run resumes.
        """
        data, classes = read_input(graph, y)
        seed = self._draw_seed()
        self.split_ = with_validation(data, resolve_split(data, split), seed=seed)
        self.predictor_, self.run_ = self._train(data, seed, checkpoint)
        self.graph_, self.classes_ = data, classes
        self.set_features(data.n_nodes, data.n_features, data.feature_names, encoder=data.encoder)
        return self

    def set_features(
        self, n_nodes: int, n_features: int, names: Sequence[str] | None, *, encoder: FeatureEncoder | None
    ) -> None:
        """Set what scikit-learn expects of an estimator that has seen features, and the encoder of tables."""
        self.n_nodes_in_, self.n_features_in_, self.encoder_ = n_nodes, n_features, encoder
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_: Array = np.array(names, dtype=object)

    def _train(self, graph: Graph, seed: int, checkpoint: Path | None) -> tuple[nn.Module, TrainingResult]:
        return train(
            self.method,
            graph,
            split=self.split_,
            seed=seed,
            device=self.device,
            checkpoint=checkpoint,
            progress=self.verbose,
            class_weight=self.class_weight,
            batch_size=self.batch_size,
            neighbors=self.neighbors,
            scoring=self.scoring,
        )

    def _draw_seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def predict(self, graph: GraphInput | None = None) -> Array:
        """Predict the classes of all nodes, as in `classes_`, (N,)."""
        numbers = self._logits(self._graph(graph)).argmax(dim=1).cpu().numpy()
        return self.classes_[numbers]

    def predict_proba(self, graph: GraphInput | None = None) -> FloatArray:
        """Predict the class probabilities of all nodes, (N, K)."""
        return self._logits(self._graph(graph)).softmax(dim=1).cpu().numpy()

    def score(self, graph: GraphInput | None = None, *, nodes: ArrayLike | None = None) -> float:
        """Return the score on the given nodes, on the test nodes of the split, or on all labeled nodes."""
        scored = self._graph(graph)
        if nodes is None:
            use_split = graph is None and len(self.split_.test) > 0
            nodes = self.split_.test if use_split else scored.labeled.nonzero().squeeze(1)
        scoring = find_scoring(self.scoring)
        return scoring(self._logits(scored).cpu(), scored.labels.cpu(), torch.as_tensor(nodes))

    def embed(self, graph: GraphInput | None = None) -> FloatArray:
        """Return the representations of all nodes before the classifier, (N, d)."""
        network, data = self._fitted(), self._graph(graph)
        if not isinstance(network, Network):
            raise HeterophilyError("only a single network has embeddings, not trees and ensembles; fit one method")
        if self.batch_size is not None:
            return check_embeddings(evaluate(network, data, head=False), data, network).numpy()
        with torch.no_grad():
            return check_embeddings(network.embed(self._on_device(data)), data, network).cpu().numpy()

    @property
    def class_names_(self) -> tuple[str, ...]:
        """The names or numbers of the classes, as text."""
        return tuple(map(str, self.classes_.tolist()))

    @property
    def compatibility_(self) -> FloatArray:
        """The compatibility matrix that the method estimates, or else that of its predictions, (K, K)."""
        predictor, graph = self._fitted(), self._graph(None)
        if isinstance(predictor, Network) and (estimate := predictor.state_summary().get("compatibility")) is not None:
            return estimate.cpu().numpy()
        labels = self._logits(graph).argmax(dim=1).cpu()
        return observed_compatibility(graph.symmetric, labels, len(self.classes_)).numpy()

    @property
    def weighted_compatibility_(self) -> dict[str, FloatArray]:
        """The weights of the classes in the messages of each channel and layer, (K, K); they may be negative."""
        matrices = predicted_compatibilities(self._fitted(), self._on_device(self._graph(None)))
        return {name: matrix.cpu().numpy() for name, matrix in matrices.items()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _fitted(self) -> nn.Module:
        if not self.__sklearn_is_fitted__():
            raise NotFittedClassifierError("this classifier is not fitted yet; call fit(graph) first")
        return self.predictor_.eval()

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
        if self.batch_size is not None and isinstance(predictor, Network):
            return check_logits(evaluate(predictor, graph), graph, predictor)
        with torch.no_grad():
            return check_logits(cast("Tensor", predictor(self._on_device(graph))), graph, predictor)

    def save(self, folder: PathLike) -> Path:
        """Write weights (safetensors) and everything else (JSON) into a folder, without pickle."""
        self._fitted()
        return save_classifier(self, folder)

    def explain(
        self, node: str | int, graph: GraphInput | None = None, *, target: str | int | None = None, max_items: int = 100
    ) -> NodeExplanation:
        """Explain the prediction of one node: its neighbors, its columns, and the weights of messages.

        An effect is the difference of the log-odds of a class between the prediction and a prediction without an
        edge, or with the values of other nodes in a column. Labels are not used.

        Parameters
        ----------
        node
            Id of the node, or its number if the nodes have no ids.
        graph
            Graph of the node; by default, that of `fit`.
        target
            Class to explain; by default, the predicted one.
        max_items
            Number of neighbors, and of columns, up to which each one is measured. Of more, groups are measured, and
            those with the largest effects are divided.
        """
        data = self._graph(graph)
        return explain_node(self, data, node, target=target, max_items=max_items, seed=self.run_.seed)

    def explain_model(
        self, graph: GraphInput | None = None, *, n_repeats: int = 5, max_items: int = 100
    ) -> ModelExplanation:
        """Measure on which columns the predictions depend, and whether they depend on the edges.

        The importance of a column is the decrease of the score if its values are shuffled among the nodes. The test
        nodes are scored, the validation nodes if there are none, and all labeled nodes of a graph other than that of
        `fit`.

        Parameters
        ----------
        graph
            Graph with labels; by default, that of `fit`.
        n_repeats
            Number of random orders, from which the standard error follows.
        max_items
            Number of columns up to which each one is measured, as in `explain`.
        """
        data = self._graph(graph)
        return explain_model(self, data, n_repeats=n_repeats, max_items=max_items, seed=self.run_.seed)

    @classmethod
    def load(cls, folder: PathLike, *, graph: GraphInput | None = None, model: Model | None = None) -> "NodeClassifier":
        """Read a classifier that `save` wrote.

        Parameters
        ----------
        folder
            Folder with the classifier.
        graph
            Graph on which it was fitted. Required for calls without a graph, and by methods with one weight
            per pair of nodes.
        model
            Method, if it is not part of the library. A folder contains no code.
        """
        return load_classifier(cls, folder, graph=graph, model=model)
