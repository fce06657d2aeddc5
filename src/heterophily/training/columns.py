"""The columns of a user's table behind the features of a graph, and the values of a node in them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from heterophily.core.encoder import Column as EncodedColumn
from heterophily.core.encodings import DAY, LIMIT, Boolean, Category, Date, Encoding, Numeric
from heterophily.core.graph import Graph
from heterophily.core.sparse import Matrix
from heterophily.core.types import FloatArray, IntArray

TENTHS = 0.05  # difference of a code from 0 or 1 that is not a category
EXTREME = 0.0011  # rank below which the encoding does not distinguish numbers


@dataclass(frozen=True)
class TableColumn:
    """A column of the user's table with its features: their numbers, (f,), and its encoding, if there is one."""

    name: str
    features: IntArray
    encoding: Encoding | None = None

    def value_text(self, values: FloatArray) -> str:
        """Return the value that these features encode, as in the table; empty if it cannot be restored."""
        if self.encoding is not None:
            return decode(self.encoding, values)
        return f"{values[0]:.4g}" if len(values) == 1 else ""


def table_columns(graph: Graph) -> list[TableColumn]:
    """Return the columns of the table from which a graph was read, or one column for each feature.

    Examples
    --------
    >>> graph = Graph.from_edges([(0, 1)], [[0.5, 1.0], [0.0, 2.0]])
    >>> [column.name for column in table_columns(graph)]
    ['feature 0', 'feature 1']
    """
    if graph.encoder is not None:
        return _encoded_columns(graph.encoder.columns_)
    names: Sequence[str] = graph.feature_names or [f"feature {i}" for i in range(graph.n_features)]
    return [TableColumn(name, np.array([i])) for i, name in enumerate(names)]


def _encoded_columns(columns: Sequence[EncodedColumn]) -> list[TableColumn]:
    used = [column for column in columns if column.encoding is not None]
    starts = np.cumsum([0, *(len(column.feature_names) for column in used)])
    spans = zip(used, starts[:-1], starts[1:], strict=True)
    return [TableColumn(column.name, np.arange(start, end), column.encoding) for column, start, end in spans]


def row_values(graph: Graph, node: int) -> FloatArray:
    """Return the features of one node as a dense array, (F,)."""
    x = graph.features
    if not isinstance(x, Matrix):
        values: FloatArray = x[node].cpu().numpy()
        return values
    start, end = (int(each) for each in x.pattern.indptr[node : node + 2])
    dense = np.zeros(x.shape[1], dtype=np.float32)
    dense[x.pattern.indices[start:end].cpu().numpy()] = x.values[start:end].cpu().numpy()
    return dense


def decode(encoding: Encoding, values: FloatArray) -> str:
    """Return the value of a column from its features. Rounded and clipped values are approximate.

    >>> decode(Category(("de", "us")), np.array([0.0, 1.0])), decode(Numeric(40.0, 5.0), np.array([-1.0]))
    ('us', '35')
    """
    if getattr(encoding, "indicator", False) and values[-1] > 1 - TENTHS:
        return "missing"
    if isinstance(encoding, Numeric):
        return _number_text(encoding, float(values[0]))
    if isinstance(encoding, Boolean):
        return "true" if values[0] > 0.5 else "false"
    if isinstance(encoding, Category):
        shown = min(len(encoding.levels), len(values))
        best = int(values[:shown].argmax())
        return encoding.levels[best] if values[best] > 1 - TENTHS else "another category"
    return _date_text(encoding, values) if isinstance(encoding, Date) else ""


def _original(encoding: Numeric, z: float) -> float:
    if not encoding.quantiles:
        return encoding.center + encoding.scale * z
    rank = float(ndtr(z))
    rank = 0.0 if rank < EXTREME else 1.0 if rank > 1 - EXTREME else rank
    ranks = np.linspace(0, 1, len(encoding.quantiles))
    return float(np.interp(rank, ranks, encoding.quantiles))


def _number_text(encoding: Numeric, z: float) -> str:
    bound = "≤ " if z <= -LIMIT else "≥ " if z >= LIMIT else ""
    value = _original(encoding, z)
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return bound + text.replace("-", "−")


def _date_text(encoding: Date, values: FloatArray) -> str:
    if encoding.elapsed.indicator and values[-1] > 1 - TENTHS:
        return "missing"
    days = round(_original(encoding.elapsed, float(values[0])) / DAY)
    return str(np.datetime64(days, "D"))
