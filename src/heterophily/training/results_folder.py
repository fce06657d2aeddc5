"""The folder that the command `fit` writes: a model, and the source of the graph on which it was fitted."""

import warnings
from pathlib import Path
from typing import cast, overload

from heterophily.core.arguments import PATH, check_argument
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.frames import Roles
from heterophily.core.graph import Graph
from heterophily.core.types import JsonObject
from heterophily.data.loading import as_graph, open_graph
from heterophily.data.source import GraphSource
from heterophily.models import Model
from heterophily.training.estimator import NodeClassifier
from heterophily.training.explanation import ModelExplanation, NodeExplanation
from heterophily.training.saved import read_content


def open_results(
    folder: Path,
    *,
    source: str | None = None,
    nodes: Path | None = None,
    roles: Roles | None = None,
    model: Model | None = None,
) -> tuple[NodeClassifier, Graph]:
    """Read the model of a folder, and a graph, which is by default that of `fit`.

    If the graph has the edges and features of the graph of `fit`, it is the graph of the classifier.
    """
    inner = folder / "model" if (folder / "model").is_dir() else folder
    saved = cast("JsonObject | None", read_content(inner)["encoder"])
    encoder = None if saved is None else FeatureEncoder.from_dict(saved)
    stored = GraphSource.read(folder) if source is None else _stored_source(folder)
    if source is None:
        assert stored is not None
        source, nodes = stored.source, None if stored.nodes is None else Path(stored.nodes)
    graph = open_graph(source, nodes=nodes, roles=roles, encoder=encoder)
    fitted = NodeClassifier.load(inner, graph=graph, model=model)
    aligned = cast("Graph", fitted.graph_)
    if stored is None or stored.checksum != aligned.structure_checksum:
        if stored is not None and stored.source == source:
            warnings.warn(
                f"{source} has changed since the model was fitted, so its nodes are treated as new ones",
                HeterophilyWarning,
                stacklevel=2,
            )
        fitted.graph_ = None
    return fitted, aligned


def _stored_source(folder: Path) -> GraphSource | None:
    try:
        return GraphSource.read(folder)
    except HeterophilyError:
        return None


@overload
def explain(
    model: NodeClassifier | Path | str,
    node: None = None,
    *,
    graph: Graph | str | None = ...,
    n_repeats: int = ...,
    max_items: int = ...,
) -> ModelExplanation: ...


@overload
def explain(
    model: NodeClassifier | Path | str,
    node: str | int,
    *,
    graph: Graph | str | None = ...,
    target: str | None = ...,
    max_items: int = ...,
) -> NodeExplanation: ...


def explain(
    model: NodeClassifier | Path | str,
    node: str | int | None = None,
    *,
    graph: Graph | str | None = None,
    target: str | None = None,
    n_repeats: int = 5,
    max_items: int = 100,
) -> NodeExplanation | ModelExplanation:
    """Explain why a model predicts a class for a node, or what the model depends on.

    Parameters
    ----------
    model
        Fitted classifier, or a folder that the command `fit` wrote.
    node
        Id of a node, or its number. Without it, the importance of all columns and of the edges is measured.
    graph
        Graph with the node; by default that on which the model was fitted. For a folder, a name or a path.
    target
        Class to explain for a node; the predicted one by default.
    n_repeats
        Number of random orders per column, to explain the model.
    max_items
        Number of neighbors, and of columns, up to which each one is measured.

    Returns
    -------
    A `NodeExplanation`, or a `ModelExplanation` without a node.

    Examples
    --------
    >>> from heterophily import explain, fit
    >>> explanation = explain(fit("digits", "gcn", max_epochs=3), 7)
    >>> explanation.node
    7
    """
    if not isinstance(model, NodeClassifier):
        check_argument("model", model, PATH)
    if isinstance(model, NodeClassifier):
        fitted, other = model, None if graph is None else as_graph(graph)
    elif isinstance(graph, Graph):
        fitted, other = open_results(Path(model))[0], graph
    else:
        fitted, opened = open_results(Path(model), source=graph)
        other = None if opened is fitted.graph_ else opened
    if node is not None:
        return fitted.explain(node, other, target=target, max_items=max_items)
    if target is not None:
        raise HeterophilyError("target requires a node; pass its id or number, or omit target")
    return fitted.explain_model(other, n_repeats=n_repeats, max_items=max_items)
