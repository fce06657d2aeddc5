"""Features from the edges alone, for graphs whose nodes have no features.

The features are the columns of a table, which a `FeatureEncoder` scales: the logarithm of the degree, its mean,
minimum, maximum, and standard deviation over the neighbors, and positions, which are spectral embeddings. Degrees of
different graphs can be compared. Positions cannot, so a model that uses them is only valid for the graph on which it
was fitted. A sketch of the positions, r·x_k with a fixed random vector r, identifies them.
"""

import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch

from heterophily.core.encoder import FeatureEncoder, Structure
from heterophily.core.errors import HeterophilyError, HeterophilyWarning
from heterophily.core.extras import require
from heterophily.core.neighborhood import degree_columns, spectral_positions

if TYPE_CHECKING:
    import pyarrow as pa

    from heterophily.core.graph import Graph

N_POSITIONS = 16
TOLERANCE = 1e-3  # of a sketch, for positions of mean square at most 1


def add_structural_features(graph: "Graph", *, positions: int = N_POSITIONS) -> "Graph":
    """Return a graph without features with features that describe the position of each node.

    Parameters
    ----------
    graph
        Graph without features.
    positions
        Number of spectral positions. A classifier that was fitted with positions predicts only on the same graph, and
        one without positions on any graph.

    Returns
    -------
    The graph with five features of the degrees of nodes and their neighbors, and one feature per position.

    Examples
    --------
    >>> from heterophily import Graph, add_structural_features
    >>> graph = add_structural_features(Graph.from_edges([(0, 1), (1, 2)], labels=[0, 1, 0]), positions=2)
    >>> graph.feature_names[:2], graph.n_features
    (('degree', 'max degree of neighbors'), 7)
    """
    if graph.n_features:
        raise HeterophilyError(
            f"structural features are for graphs without features, but {graph.name} has {graph.n_features}"
        )
    if positions < 0:
        raise HeterophilyError(f"positions must be at least 0, got {positions}")
    columns = _columns(graph, positions)
    encoder = FeatureEncoder(numeric=tuple(columns.column_names)).fit(columns)
    if graph.encoder is not None:  # it has the roles of columns, and dropped columns
        encoder.roles_, encoder.label_edges_ = graph.encoder.roles_, graph.encoder.label_edges_
        encoder.columns_ = tuple(sorted((*encoder.columns_, *graph.encoder.columns_), key=lambda c: c.name))
    encoder.structure_ = Structure(positions, _sketch(columns))
    return _encoded(graph, encoder, columns)


def encode_structure(graph: "Graph", encoder: FeatureEncoder) -> "Graph":
    """Return a graph with the structural features of the graph on which an encoder was fitted."""
    structure = encoder.structure_
    assert structure is not None
    columns = _columns(graph, structure.n_positions)
    if structure.n_positions and not np.allclose(_sketch(columns), structure.sketch, rtol=0, atol=TOLERANCE):
        raise HeterophilyError(
            f"the model uses positions in the graph on which it was fitted, but {graph.name} has other nodes or edges, "
            "or another order of nodes; fit with `fit --positions 0` or add_structural_features(graph, positions=0) "
            "to predict on other graphs"
        )
    return _encoded(graph, encoder, columns)


def with_features(graph: "Graph", *, positions: int = N_POSITIONS) -> "Graph":
    """Return a graph that has features: its own, or else structural ones, which a warning announces."""
    if graph.n_features:
        return graph
    return graph.cached(("structure", positions), lambda: _announced(graph, positions))


def _announced(graph: "Graph", positions: int) -> "Graph":
    used = f"degrees and {positions} positions in the graph are" if positions else "degrees are"
    message = f"{graph.name} has no usable features of nodes, so {used} used as features"
    warnings.warn(message, HeterophilyWarning, stacklevel=6)
    return add_structural_features(graph, positions=positions)


def _columns(graph: "Graph", positions: int) -> "pa.Table":
    """Return the structural columns by name."""
    require("a graph without features of nodes", "pyarrow")
    import pyarrow as pa

    columns = degree_columns(graph.symmetric)
    if positions:
        table = spectral_positions(graph.symmetric, width=positions)
        columns |= {f"position {k:0{len(str(positions))}}": column for k, column in enumerate(table.T, 1)}
    return pa.table({name: np.asarray(column, dtype=np.float64) for name, column in columns.items()})


def _sketch(columns: "pa.Table") -> tuple[float, ...]:
    """Return r·x_k for each position x_k."""
    r = np.random.default_rng(0).standard_normal(columns.num_rows) / np.sqrt(columns.num_rows)
    positions = [name for name in columns.column_names if name.startswith("position")]
    return tuple(round(float(r @ columns[name].to_numpy()), 6) for name in positions)


def _encoded(graph: "Graph", encoder: FeatureEncoder, columns: "pa.Table") -> "Graph":
    features = np.asarray(encoder.transform(columns), dtype=np.float32)
    return graph.replace(
        features=torch.from_numpy(features), encoder=encoder, feature_names=tuple(encoder.feature_names)
    )
