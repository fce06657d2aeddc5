"""NodeClassifier: any method on any graph, with the scikit-learn API."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from heterophily.core.compatibility import observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph, Split
from heterophily.htmp.execution.blockwise import evaluate
from heterophily.htmp.execution.blockwise import predict as predict_in_blocks
from heterophily.htmp.execution.sampling import NEIGHBORS, Neighbors
from heterophily.htmp.identity import identity_of
from heterophily.htmp.method import MethodLike, make_method
from heterophily.htmp.network import Network
from heterophily.models import REGISTRY, Model, find_method
from heterophily.models.building import build
from heterophily.training.metrics import DEFAULT_METRIC, Metric, find_metric
from heterophily.training.result import TrainingResult
from heterophily.training.splits import resolve_split, with_validation
from heterophily.training.trainer import train

FORMAT = "heterophily-model-1"
HINT = "pass its method as `model`, or with --model FILE"


class NodeClassifier:
    """A model with its settings; `fit` trains it on a graph, with a `batch_size` in batches of nodes.

    >>> from heterophily import load
    >>> model = NodeClassifier("mlp", max_epochs=5, width=8).fit(load("digits"), split="0")
    >>> model.predict().shape
    (1797,)
    """

    def __init__(
        self,
        model: Model = "cmgnn",
        *,
        preset: str = "published",
        seed: int = 0,
        device: str = "auto",
        class_weights: bool = False,
        batch_size: int | None = None,
        neighbors: Neighbors = NEIGHBORS,
        metric: str | Metric = DEFAULT_METRIC.name,
        **settings: Any,
    ) -> None:
        self.method = make_method(find_method(model), settings, preset=preset)
        self.preset, self.seed, self.device = preset, seed, device
        self.batch_size, self.neighbors = batch_size, neighbors
        self.class_weights, self.metric, self.settings = class_weights, metric, settings

    def fit(
        self,
        graph: Graph,
        *,
        split: str | Split | None = None,
        checkpoint: Path | None = None,
        progress: bool = True,
    ) -> "NodeClassifier":
        """Train on a split of the graph, by name or given; without one, on all labelled nodes.

        Where there are no validation nodes, a quarter of the training nodes is held out for them.
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
            class_weights=self.class_weights,
            batch_size=self.batch_size,
            neighbors=self.neighbors,
            metric=self.metric,
        )
        self.graph_: Graph | None = graph
        self.class_names_ = graph.class_names or tuple(map(str, range(graph.n_classes)))
        return self

    def predict(self, graph: Graph | None = None) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """Class numbers of all nodes, of the fitted graph or of another one."""
        return self._logits(graph).argmax(dim=1).cpu().numpy()

    def predict_proba(self, graph: Graph | None = None) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """Class probabilities of all nodes, (N, K)."""
        return self._logits(graph).softmax(dim=1).cpu().numpy()

    def score(self, graph: Graph | None = None, *, nodes: Any = None) -> float:
        """Accuracy on the given nodes, on the test nodes of the split, or on all labelled ones."""
        scored = self._graph(graph)
        if nodes is None:
            own = graph is None and len(self.split_.test) > 0
            nodes = self.split_.test if own else scored.labeled.nonzero().squeeze(1)
        metric = find_metric(self.metric)
        return metric(self._logits(graph).cpu(), scored.labels.cpu(), torch.as_tensor(nodes))

    def embed(self, graph: Graph | None = None) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """The representations before the classifier, (N, d)."""
        if self.batch_size is not None:
            return evaluate(self._fitted(), self._graph(graph), head=False).numpy()
        with torch.no_grad():
            return self._fitted().embed(self._on_device(graph)).cpu().numpy()

    @property
    def compatibility_(self) -> "np.ndarray[Any, np.dtype[Any]]":
        """The estimated compatibility matrix, (K, K): the model's own, or that of its predictions."""
        network, graph = self._fitted(), self._graph(None)
        if network.mind is not None:
            return network.mind.compatibility.cpu().numpy()
        labels = torch.from_numpy(self.predict())
        return observed_compatibility(graph.symmetric, labels, graph.n_classes).numpy()

    def _fitted(self) -> Network:
        if not hasattr(self, "network_"):
            raise HeterophilyError("this classifier is not fitted yet; call fit(graph) first")
        return self.network_

    def _graph(self, graph: Graph | None) -> Graph:
        self._fitted()
        if graph is None and self.graph_ is None:
            raise HeterophilyError("a loaded classifier has no graph of its own; pass one")
        chosen = graph or self.graph_
        assert chosen is not None
        return chosen

    def _on_device(self, graph: Graph | None) -> Graph:
        chosen = self._graph(graph)
        place = next(self._fitted().parameters()).device
        return chosen if chosen.labels.device == place else chosen.to(place)

    def _logits(self, graph: Graph | None) -> Tensor:
        network = self._fitted().eval()
        if self.batch_size is not None:
            return predict_in_blocks(network, self._graph(graph))
        with torch.no_grad():
            return network.predict(self._on_device(graph))

    def save(self, folder: Path | str) -> Path:
        """Write weights (safetensors) and facts (JSON) into a folder, without pickle."""
        network, target = self._fitted(), Path(folder)
        facts = {
            "format": FORMAT,
            "model": self.method.name,
            "recipe": identity_of(self.method),
            "preset": self.preset,
            "seed": self.seed,
            "settings": self.settings,
            "batch_size": self.batch_size,
            "neighbors": self.neighbors,
            "n_nodes": network.n_nodes,
            "n_features": network.n_features,
            "n_classes": network.n_classes,
            "class_names": list(self.class_names_),
            "split": {part: nodes.tolist() for part, nodes in self.split_.parts.items()},
            "run": self.run_.to_dict(),
        }
        state = {k: v.detach().cpu().contiguous() for k, v in network.state_dict().items()}
        write_atomically(target / "weights.safetensors", lambda p: save_file(state, p))
        write_atomically(target / "model.json", lambda p: p.write_text(json.dumps(facts)))
        return target

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        graph: Graph | None = None,
        model: Model | None = None,
    ) -> "NodeClassifier":
        """Read a saved classifier; `graph`, the one that it was fitted on, is only needed to size it.

        A folder contains no code: pass a method that is not part of the library as `model`.
        """
        source = Path(folder)
        try:
            facts = json.loads((source / "model.json").read_text())
            state = load_file(source / "weights.safetensors")
        except (OSError, ValueError, SafetensorError) as error:
            raise HeterophilyError(f"{source} is not a saved classifier: {error}") from error
        if facts.get("format") != FORMAT:
            raise HeterophilyError(f"{source} is not a saved classifier of format {FORMAT}")
        batches = {key: facts[key] for key in ("batch_size", "neighbors") if key in facts}
        options = {"preset": facts["preset"], "seed": facts["seed"], **batches, **facts["settings"]}
        fitted = cls(_load_method(facts, model, source), **options)
        if facts.get("recipe") not in (None, identity_of(fitted.method)):
            raise HeterophilyError(
                f'{source} was fitted with another version of "{facts["model"]}"; {HINT}'
            )
        fitted.network_ = build(fitted.method, graph or _empty_graph(facts))
        fitted.network_.load_state_dict(state)
        fitted.network_.eval()
        fitted.graph_, fitted.class_names_ = graph, tuple(facts["class_names"])
        fitted.split_ = Split.from_nodes(**facts["split"])
        fitted.run_ = TrainingResult.from_dict(facts["run"])
        return fitted


def _load_method(facts: dict[str, Any], model: Model | None, source: Path) -> MethodLike:
    """Return the method that a saved classifier was fitted with."""
    name = facts["model"]
    if model is None and name not in REGISTRY:
        raise HeterophilyError(
            f'{source} was fitted with "{name}", which is not part of the library; {HINT}'
        )
    return find_method(name if model is None else model)


def _empty_graph(facts: dict[str, Any]) -> Graph:
    n, f, k = (facts[key] for key in ("n_nodes", "n_features", "n_classes"))
    return Graph.from_edges([], torch.zeros(n, f), n_nodes=n, n_classes=k)
