"""A graph from two tables, CSV or Parquet: edges (source, target) and nodes (id, label, features).

Columns are found by name, whatever their order: `source`/`target`, `id`, `label`, `split`; every
other column of the node table is a feature. Ids and labels are text: "007" stays "007". A missing
label is unknown. Rows of the edge table are directed edges, as stored.
"""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split

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
    """Build a graph from an edge table and, if there is one, a node table."""
    edge_table = _read(edges, text=(SOURCES, TARGETS))
    source, target = (_find(edge_table, names, edges) for names in (SOURCES, TARGETS))
    ends = [_ids(edge_table, column, edges) for column in (source, target)]
    if nodes is None:
        ids = sorted(set(ends[0]) | set(ends[1]))
        return Graph.from_edges(_pairs(ends, ids, edges), n_nodes=len(ids), node_ids=ids)
    table = _read(nodes, text=(IDS, LABELS, SPLITS))
    id_column = _find(table, IDS, nodes)
    ids = _ids(table, id_column, nodes)
    _check_unique(ids, "node", nodes)
    label, split = (_find(table, names, nodes, required=False) for names in (LABELS, SPLITS))
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


def encode_classes(names: Sequence[str | None]) -> tuple[Any, list[str]]:
    """Number the class names in their natural order; a missing name becomes -1."""
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
        raise HeterophilyError(f"no table at {path}; give the path of a CSV or Parquet file")
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
    as_text = {found for names in text if (found := _first(header, names))}
    return arrow_csv.read_csv(
        path,
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in as_text},
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _first(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """The column with the earliest of the names: `y` is a feature where there is a `label`."""
    spelled = {column.lower(): column for column in columns}
    return next((spelled[name] for name in names if name in spelled), None)


def _find(table: "pa.Table", names: Sequence[str], path: Path, *, required: bool = True) -> Any:
    found = _first(table.column_names, names)
    if found is None and required:
        raise HeterophilyError(
            f"{path} needs a column {' or '.join(map(repr, names))}, has "
            f"{', '.join(map(repr, table.column_names[:8]))}; rename one"
        )
    return found


def _texts(table: "pa.Table", column: str) -> list[Any]:
    import pyarrow as pa

    return table[column].cast(pa.string()).to_pylist()


def _ids(table: "pa.Table", column: str, path: Path) -> list[str]:
    empty = table[column].null_count
    if empty:
        raise HeterophilyError(f"{path}: column {column!r} has {empty} empty ids; fill them")
    return _texts(table, column)


def _check_unique(names: Sequence[str], kind: str, path: Path) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise HeterophilyError(f"{path} has {kind} {repeated[0]!r} twice; keep one of them")


def _pairs(ends: Sequence[Sequence[str]], ids: Sequence[str], path: Path) -> Any:
    number = {node: i for i, node in enumerate(ids)}
    unknown = sorted({end for side in ends for end in side if end not in number})
    if unknown:
        raise HeterophilyError(
            f"{path} names {len(unknown)} nodes that the node table lacks, such as "
            f"{', '.join(map(repr, unknown[:3]))}; add them to it or drop their edges"
        )
    return np.array([[number[end] for end in side] for side in ends], dtype=np.int64).T


def _feature_columns(
    table: "pa.Table", taken: set[str | None], ids: Sequence[str], path: Path
) -> Any:
    names = [name for name in table.column_names if name not in taken]
    if not names:
        return None
    return np.stack([_numbers(table, name, ids, path) for name in names], axis=1)


def _numbers(table: "pa.Table", name: str, ids: Sequence[str], path: Path) -> Any:
    import pyarrow as pa

    column = table[name]
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise HeterophilyError(
            f"{path}: column {name!r} is {kind}, but features are numbers; encode it or drop it"
        )
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise HeterophilyError(
            f"{path}: column {name!r} is empty for node {ids[row]!r} ({column.null_count} such "
            "cells); fill or drop them"
        )
    return column.to_numpy().astype(np.float32)


def _split(parts: Sequence[str | None], path: Path) -> Split:
    cleaned = [
        "" if p is None or p.strip().lower() in MISSING else p.strip().lower() for p in parts
    ]
    wrong = sorted({p for p in cleaned if p and p not in PART_NAMES})
    if wrong:
        raise HeterophilyError(f"{path}: split must be train, val, test or empty, got {wrong[0]!r}")
    names = np.array([PART_NAMES[p] if p else "" for p in cleaned])
    return Split.from_nodes(*(names == part for part in ("train", "val", "test")))
