"""NodeClassifier: any method on any graph, with the scikit-learn API."""

import json
from pathlib import Path
from typing import TypedDict, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor
from typing_extensions import override

from heterophily.core.compatibility import observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph, Split
from heterophily.core.types import Array, FloatArray, JsonObject, PathLike, Value
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.htmp.identity import identity_of
from heterophily.htmp.method import Method, make_method
from heterophily.htmp.network import Network
from heterophily.models import REGISTRY, Model, find_method
from heterophily.models.building import build
from heterophily.training.class_weight import ClassWeight
from heterophily.training.result import TrainingResult
from heterophily.training.scoring import DEFAULT_SCORING, ScoringLike, find_scoring
from heterophily.training.splits import resolve_split, with_validation
from heterophily.training.trainer import train

FORMAT = "heterophily-model-1"
_HINT = "pass its method as `model`, or with --model FILE"


class _Saved(TypedDict):
    """The content of `model.json`, in addition to the parameters of the classifier."""

    format: str
    model: str
    recipe: str  # identity of the method
    settings: dict[str, Value]
    n_nodes: int
    n_features: int
    n_classes: int
    class_names: list[str] | list[int]
    split: dict[str, list[int]]
    run: JsonObject


class NotFittedClassifierError(HeterophilyError, NotFittedError):  # type: ignore[misc]
    """A method of a classifier was called before `fit`."""


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier for the nodes of a graph, with any method of the library.

    It follows the scikit-learn API, except that `fit` takes a graph and a split instead of X and y.
    `get_params`, `set_params`, and `sklearn.base.clone` include the settings of the method.

    Parameters
    ----------
    model
        Name of a method, method, or path of a Python file that defines one.
    preset
        `published`, or `reference` for the settings of the reference implementation.
    seed
        Seed of the weights, of dropout, and of validation nodes that are held out.
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
    **settings
        Settings of the method, such as `width` and `dropout`.

    Attributes
    ----------
    classes_
        Class names, or class numbers if the graph has no names, (K,).
    network_, run_, split_, graph_
        Trained network, result of training, split, and graph.

    Examples
    --------
    >>> from heterophily import NodeClassifier, load
    >>> model = NodeClassifier("mlp", max_epochs=50, width=64).fit(load("digits"), split="0")
    >>> model.predict().shape, model.predict_proba().shape
    ((1797,), (1797, 10))
    >>> model.score() > 0.9
    True
    >>> model.set_params(width=128).get_params()["width"]
    128
    """

    graph_: Graph | None

    def __init__(
        self,
        model: Model = "cmgnn",
        *,
        preset: str = "published",
        seed: int = 0,
        device: str = "auto",
        class_weight: ClassWeight = None,
        batch_size: int | None = None,
        neighbors: Neighbors = NEIGHBORS,
        scoring: ScoringLike = DEFAULT_SCORING.name,
        **settings: Value,
    ) -> None:
        make_method(find_method(model), settings, preset=preset)  # rejects invalid settings
        self.model, self.preset, self.seed, self.device = model, preset, seed, device
        self.class_weight, self.scoring = class_weight, scoring
        self.batch_size, self.neighbors = batch_size, neighbors
        self.__dict__.update(settings)

    @property
    def settings(self) -> dict[str, Value]:
        """The given settings of the method."""
        others = {*self._get_param_names(), *(name for name in vars(self) if name.endswith("_"))}
        return {name: value for name, value in vars(self).items() if name not in others}

    @property
    def method(self) -> Method:
        """The method with its preset and settings."""
        return make_method(find_method(self.model), self.settings, preset=self.preset)

    @override
    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {**super().get_params(deep=deep), **self.settings}

    @override
    def set_params(self, **params: object) -> "NodeClassifier":
        type(self)(**{**self.get_params(), **params})  # type: ignore[arg-type]  # rejects invalid values
        self.__dict__.update(params)
        return self

    def fit(
        self, graph: Graph, *, split: str | Split | None = None, checkpoint: Path | None = None, progress: bool = True
    ) -> "NodeClassifier":
        """Train on a graph.

        Parameters
        ----------
        graph
            Graph with features and labels.
        split
            Name of a split of the graph, or a split. None uses the only split of the graph, or else all
            labeled nodes. If there are no validation nodes, a quarter of the training nodes is held out.
        checkpoint
            File from which an interrupted run resumes.
        progress
            Whether to show a progress bar on a terminal.
        """
        self.split_ = with_validation(graph, resolve_split(graph, split), seed=self.seed)
        self.network_, self.run_ = train(
            self.method,
            graph,
            split=self.split_,
            seed=self.seed,
            device=self.device,
            checkpoint=checkpoint,
            progress=progress,
            class_weight=self.class_weight,
            batch_size=self.batch_size,
            neighbors=self.neighbors,
            scoring=self.scoring,
        )
        self.graph_ = graph
        self.classes_ = np.array(graph.class_names or range(graph.n_classes))
        return self

    def predict(self, graph: Graph | None = None) -> Array:
        """Predict the classes of all nodes, as in `classes_`, (N,)."""
        numbers = self._logits(graph).argmax(dim=1).cpu().numpy()
        return self.classes_[numbers]

    def predict_proba(self, graph: Graph | None = None) -> FloatArray:
        """Predict the class probabilities of all nodes, (N, K)."""
        return self._logits(graph).softmax(dim=1).cpu().numpy()

    def score(self, graph: Graph | None = None, *, nodes: ArrayLike | None = None) -> float:
        """Return the score on the given nodes, on the test nodes of the split, or on all labeled nodes."""
        scored = self._graph(graph)
        if nodes is None:
            use_split = graph is None and len(self.split_.test) > 0
            nodes = self.split_.test if use_split else scored.labeled.nonzero().squeeze(1)
        scoring = find_scoring(self.scoring)
        return scoring(self._logits(graph).cpu(), scored.labels.cpu(), torch.as_tensor(nodes))

    def embed(self, graph: Graph | None = None) -> FloatArray:
        """Return the representations of all nodes before the classifier, (N, d)."""
        if self.batch_size is not None:
            return evaluate(self._fitted(), self._graph(graph), head=False).numpy()
        with torch.no_grad():
            return self._fitted().embed(self._on_device(graph)).cpu().numpy()

    @property
    def class_names_(self) -> tuple[str, ...]:
        """The names or numbers of the classes, as text."""
        return tuple(map(str, self.classes_))

    @property
    def compatibility_(self) -> FloatArray:
        """The compatibility matrix that the method estimates, or else that of its predictions, (K, K)."""
        network, graph = self._fitted(), self._graph(None)
        estimate = network.state_summary().get("compatibility")
        if estimate is not None:
            return estimate.cpu().numpy()
        labels = self._logits(None).argmax(dim=1).cpu()
        return observed_compatibility(graph.symmetric, labels, graph.n_classes).numpy()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def _fitted(self) -> Network:
        if not self.__sklearn_is_fitted__():
            raise NotFittedClassifierError("this classifier is not fitted yet; call fit(graph) first")
        return self.network_

    def _graph(self, graph: Graph | None) -> Graph:
        self._fitted()
        if graph is None and self.graph_ is None:
            raise HeterophilyError("a loaded classifier has no graph; pass one")
        return cast("Graph", graph or self.graph_)

    def _on_device(self, graph: Graph | None) -> Graph:
        actual = self._graph(graph)
        place = next(self._fitted().parameters()).device
        return actual if actual.labels.device == place else actual.to(place)

    def _logits(self, graph: Graph | None) -> Tensor:
        network = self._fitted().eval()
        if self.batch_size is not None:
            return evaluate(network, self._graph(graph))
        with torch.no_grad():
            return network(self._on_device(graph))

    def save(self, folder: PathLike) -> Path:
        """Write weights (safetensors) and everything else (JSON) into a folder, without pickle."""
        network, target = self._fitted(), Path(folder)
        content = _Saved(
            format=FORMAT,
            model=self.method.name,
            recipe=identity_of(self.method),
            settings=self.settings,
            n_nodes=network.n_nodes,
            n_features=network.n_features,
            n_classes=network.n_classes,
            class_names=self.classes_.tolist(),
            split={part: nodes.tolist() for part, nodes in self.split_.parts.items()},
            run=self.run_.to_dict(),
        )
        parameters = {**super().get_params(), "scoring": find_scoring(self.scoring).name}
        text = json.dumps({**parameters, **content})
        state = {k: v.detach().cpu().contiguous() for k, v in network.state_dict().items()}
        write_atomically(target / "weights.safetensors", lambda p: save_file(state, p))
        write_atomically(target / "model.json", lambda p: p.write_text(text))
        return target

    @classmethod
    def load(cls, folder: PathLike, *, graph: Graph | None = None, model: Model | None = None) -> "NodeClassifier":
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
        content, state = _read(Path(folder))
        names = {*cls._get_param_names(), *content["settings"]} - {"model"}
        values = {**content, **content["settings"]}
        options = {name: value for name, value in values.items() if name in names}
        fitted = cls(_find_model(content, model, folder), **options)  # type: ignore[arg-type]
        if content["recipe"] != identity_of(fitted.method):
            raise HeterophilyError(f'{folder} was fitted with another version of "{content["model"]}"; {_HINT}')
        fitted.network_ = build(fitted.method, graph or _empty_graph(content))
        fitted.network_.load_state_dict(state)
        fitted.network_.eval()
        fitted.graph_, fitted.classes_ = graph, np.array(content["class_names"])
        fitted.split_ = Split.from_nodes(*(content["split"][part] for part in ("train", "val", "test")))
        fitted.run_ = TrainingResult.from_dict(content["run"])
        return fitted


def _read(folder: Path) -> tuple[_Saved, dict[str, Tensor]]:
    try:
        content = json.loads((folder / "model.json").read_text())
        state = load_file(folder / "weights.safetensors")
    except (OSError, ValueError, SafetensorError) as error:
        raise HeterophilyError(f"{folder} is not a saved classifier: {error}") from error
    if content.get("format") != FORMAT:
        raise HeterophilyError(f"{folder} is not a saved classifier of format {FORMAT}")
    return content, state


def _find_model(content: _Saved, model: Model | None, folder: PathLike) -> Model:
    name = content["model"]
    if model is None and name not in REGISTRY:
        raise HeterophilyError(f'{folder} was fitted with "{name}", which is not part of the library; {_HINT}')
    return name if model is None else model


def _empty_graph(content: _Saved) -> Graph:
    n, f, k = content["n_nodes"], content["n_features"], content["n_classes"]
    return Graph.from_edges([], torch.zeros(n, f), n_nodes=n, n_classes=k)
