"""Compatibility matrices as tidy rows, one per pair of classes, and back."""

from collections.abc import Iterable, Sequence
from typing import Unpack

import numpy as np
from torch import Tensor

from heterophily.core.chart import Chart, MatrixOptions, matrix_chart
from heterophily.core.graph import Graph
from heterophily.core.types import FloatArray
from heterophily.studies.tidy import Row, Rows, Tables, filter_rows, unique_values

MATRICES = "matrices"  # the table that holds them


def class_names(graph: Graph) -> tuple[str, ...]:
    """The names of the classes, or their numbers."""
    return graph.class_names or tuple(map(str, range(graph.n_classes)))


def matrix_rows(matrix: Tensor | FloatArray, names: Sequence[str], *, kind: str) -> Rows:
    """A row per entry: class of the node, class of the neighbor, share."""
    return [
        {"kind": kind, "node_class": a, "neighbor_class": b, "share": float(matrix[i, j])}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]


def matrix_of(rows: Iterable[Row]) -> tuple[FloatArray, list[str]]:
    """The matrix (K, K) of such rows, and the names of its classes."""
    entries = list(rows)
    names = unique_values(entries, "node_class")
    matrix = np.array([[_share(entries, a, b) for b in names] for a in names])
    return matrix, names


def _share(rows: Rows, a: str, b: str) -> float:
    return float(filter_rows(rows, node_class=a, neighbor_class=b)[0]["share"])


def observed_chart(
    matrix: FloatArray, names: Sequence[str], *, panel: str = "", **options: Unpack[MatrixOptions]
) -> Chart:
    """Return the heat map of an observed compatibility matrix."""
    return matrix_chart(matrix.tolist(), names, "Observed", caption="From all labels.", panel=panel, **options)


def estimated_chart(
    matrix: FloatArray, names: Sequence[str], method: str, *, panel: str = "", **options: Unpack[MatrixOptions]
) -> Chart:
    """Return the heat map of the matrix that a method estimates."""
    return matrix_chart(
        matrix.tolist(),
        names,
        f"Estimated by {method}",
        caption="The method's estimate after training.",
        method=method,
        panel=panel,
        **options,
    )


def split_tables(rows: Iterable[Row], *, matrices: bool) -> Tables:
    """Return the rows of a measure by their column `table`, with or without the table of matrices."""
    tables: Tables = {}
    for row in rows:
        columns = dict(row)
        table = columns.pop("table")
        if matrices or table != MATRICES:
            tables.setdefault(table, []).append(columns)
    return tables
