"""The folder that the command `fit` writes: a model, and the source of the graph on which it was fitted."""

import warnings
from pathlib import Path
from typing import cast

from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.frames import Roles
from heterophily.core.graph import Graph
from heterophily.core.types import JsonObject
from heterophily.data.loading import open_graph
from heterophily.data.source import GraphSource
from heterophily.models import Model
from heterophily.training.estimator import NodeClassifier
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
