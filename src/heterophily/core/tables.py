"""Graphs from two tables, CSV or Parquet: edges (source, target) and nodes (id, label, features).

Columns are found by name, in any order: `source`/`target`, `id`, `label`, `split`. Every other column of the
node table is a feature. Ids and labels are text: "007" stays "007". A missing label is unknown. Rows of the
edge table are directed edges.
"""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import PARTS, Graph, Split
from heterophily.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

SOURCES = ("source", "src", "from", "u")
TARGETS = ("target", "dst", "to", "v")
IDS = ("id", "node_id", "node")
LABELS = ("label", "class", "y")
SPLITS = ("split",)
MISSING = {"", "na", "n/a", "nan", "null", "none"}
PART_NAMES = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
SUFFIXES = (".csv", ".tsv", ".parquet")


def read_tables(edges: Path, nodes: Path | None = None) -> Graph:
    """Create a graph from an edge table and an optional node table."""
    edge_table = _read(edges, text=(SOURCES, TARGETS))
    ends = [_ids(edge_table, _require(edge_table, names, edges), edges) for names in (SOURCES, TARGETS)]
    if nodes is None:
        ids = sorted(set(ends[0]) | set(ends[1]))
        return Graph.from_edges(_pairs(ends, ids, edges), n_nodes=len(ids), node_ids=ids)
    table = _read(nodes, text=(IDS, LABELS, SPLITS))
    id_column = _require(table, IDS, nodes)
    ids = _ids(table, id_column, nodes)
    _check_unique(ids, "node", nodes)
    label, split = (_find(table.column_names, names) for names in (LABELS, SPLITS))
    labels, classes = encode_classes(_texts(table, label) if label else [None] * len(ids))
    return Graph.from_edges(
        _pairs(ends, ids, edges),
        _feature_columns(table, {id_column, label, split}, ids, nodes),
        labels=labels,
        n_nodes=len(ids),
        n_classes=len(classes),
        splits=None if split is None else {"given": _split(_texts(table, split), nodes)},
        name=nodes.parent.name if nodes.stem == "nodes" else nodes.stem,
        node_ids=ids,
        class_names=classes,
    )


def encode_classes(names: Sequence[str | None]) -> tuple[IntArray, list[str]]:
    """Number the class names, numbers in numeric order. A missing name becomes -1."""
    cleaned = [None if n is None or n.strip().lower() in MISSING else n.strip() for n in names]
    classes = sorted({n for n in cleaned if n is not None}, key=_natural)
    number = {name: k for k, name in enumerate(classes)}
    return np.array([-1 if n is None else number[n] for n in cleaned], dtype=np.int64), classes


def _natural(name: str) -> tuple[bool, float, str]:
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def _read(path: Path, *, text: Sequence[Sequence[str]]) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        raise HeterophilyError(f"there is no table at {path}; pass the path of a CSV or Parquet file")
    try:
        table = parquet.read_table(path) if path.suffix == ".parquet" else _read_csv(path, text)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise HeterophilyError(f"{path} is not a readable table: {error}") from error
    _check_unique(table.column_names, "column", path)
    return table


def _read_csv(path: Path, text: Sequence[Sequence[str]]) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open(newline="", encoding="utf-8-sig") as file:
        header = next(csv.reader(file, delimiter=delimiter), [])
    as_text = {column for names in text if (column := _find(header, names))}
    return arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in as_text}, null_values=[""], strings_can_be_null=True
        ),
    )


def _find(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the column with the first of the names that exists: `y` is a feature if there is a `label`."""
    spelling = {column.lower(): column for column in columns}
    return next((spelling[name] for name in names if name in spelling), None)


def _require(table: "pa.Table", names: Sequence[str], path: Path) -> str:
    column = _find(table.column_names, names)
    if column is None:
        raise HeterophilyError(
            f"{path} must have a column {' or '.join(map(repr, names))}, got "
            f"{', '.join(map(repr, table.column_names[:8]))}; rename one of them"
        )
    return column


def _texts(table: "pa.Table", column: str) -> list[str | None]:
    import pyarrow as pa

    return table[column].cast(pa.string()).to_pylist()


def _ids(table: "pa.Table", column: str, path: Path) -> list[str]:
    ids = [text for text in _texts(table, column) if text is not None]
    if empty := table.num_rows - len(ids):
        raise HeterophilyError(f"{path}: column {column!r} has {empty} empty ids; fill them in")
    return ids


def _check_unique(names: Sequence[str], kind: str, path: Path) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise HeterophilyError(f"{path} has {kind} {repeated[0]!r} twice; remove one of them")


def _pairs(ends: Sequence[Sequence[str]], ids: Sequence[str], path: Path) -> IntArray:
    number = {node: i for i, node in enumerate(ids)}
    unknown = sorted({end for side in ends for end in side if end not in number})
    if unknown:
        raise HeterophilyError(
            f"{path} has {len(unknown)} nodes that are not in the node table, for example "
            f"{', '.join(map(repr, unknown[:3]))}; add them to it or remove their edges"
        )
    return np.array([[number[end] for end in side] for side in ends], dtype=np.int64).T


def _feature_columns(table: "pa.Table", taken: set[str | None], ids: Sequence[str], path: Path) -> FloatArray | None:
    names = [name for name in table.column_names if name not in taken]
    if not names:
        return None
    return np.stack([_numbers(table, name, ids, path) for name in names], axis=1)


def _numbers(table: "pa.Table", name: str, ids: Sequence[str], path: Path) -> FloatArray:
    import pyarrow as pa

    column = table[name]
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise HeterophilyError(f"{path}: column {name!r} must contain numbers, got {kind}; encode it or remove it")
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise HeterophilyError(
            f"{path}: column {name!r} is empty for node {ids[row]!r} ({column.null_count} such "
            "cells); fill them in or remove the column"
        )
    return column.to_numpy().astype(np.float32)


def _split(parts: Sequence[str | None], path: Path) -> Split:
    cleaned = [(part or "").strip().lower() for part in parts]
    known = {**PART_NAMES, **dict.fromkeys(MISSING, "")}
    wrong = sorted({part for part in cleaned if part not in known})
    if wrong:
        raise HeterophilyError(f"{path}: split must be train, val, test, or empty, got {wrong[0]!r}")
    names = np.array([known[part] for part in cleaned])
    return Split.from_nodes(*(names == part for part in PARTS))
