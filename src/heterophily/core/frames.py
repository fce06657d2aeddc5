"""Graphs from two tables in memory: edges (source, target) and nodes (id, label, split, and features).

Columns are found by name, in any order. Every column of the node table without another role is a feature, which a
`FeatureEncoder` encodes. Ids are compared as text, so 7 and "7" are equal, but "007" and "7" are not. If ids of edges
are not in the node table, 7.0 is compared as 7. A missing label is unknown. Rows of the edge table are directed edges.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heterophily.core.arguments import INTEGER, TEXT, check_argument, check_names
from heterophily.core.columns import Frame, as_arrow, as_numbers, as_text
from heterophily.core.encoder import FeatureEncoder
from heterophily.core.errors import HeterophilyError, HeterophilyWarning, unknown_name
from heterophily.core.extras import require
from heterophily.core.graph import PARTS, Graph, Split
from heterophily.core.labels import MISSING, Labels, bin_edges, read_labels
from heterophily.core.structure import encode_structure
from heterophily.core.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa
    import scipy.sparse as sp

SOURCES = ("source", "src", "from", "u")
TARGETS = ("target", "dst", "to", "v")
WEIGHTS = ("weight", "weights", "edge_weight")
IDS = ("id", "node_id", "node")
LABELS = ("label", "class", "y")
SPLITS = ("split",)
PART_NAMES = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The columns with a role, and the treatment of the other columns of the node table.

    A role that is None is filled by the first column with a usual name, such as `source` or `src`.
    """

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None
    split: str | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    label_bins: int | None = None

    def check(self) -> None:
        """Raise an error for a role of the wrong type."""
        for name in ("source", "target", "weight", "id", "label", "split"):
            check_argument(name, getattr(self, name), TEXT, optional=True)
        for name in ("ignore", "categorical", "numeric"):
            check_names(name, getattr(self, name))
        check_argument("label_bins", self.label_bins, INTEGER, optional=True)


@dataclass(frozen=True)
class Table:
    """A table and the name that error messages use for it."""

    data: "pa.Table"
    name: str
    saved: Mapping[str, str]  # the roles in the table on which an encoder was fitted
    ignored: Sequence[str] = ()  # columns that have no role unless they are named

    def find(self, role: str, given: str | None, names: Sequence[str]) -> str | None:
        """Return the given column, or else the saved one, or else the first of the usual names, or else None."""
        columns: list[str] = self.data.column_names
        if given is not None and given not in columns:
            raise unknown_name(f"column of {self.name}", given, columns)
        if given is not None or self.saved.get(role) in columns:
            return given or self.saved[role]
        spelling = {column.lower(): column for column in columns if column not in self.ignored}
        return next((spelling[name] for name in names if name in spelling), None)

    def require(self, role: str, given: str | None, names: Sequence[str]) -> str:
        """Return a column as `find` does, or raise an error."""
        column = self.find(role, given, names)
        if column is None:
            columns = ", ".join(map(repr, self.data.column_names[:8]))
            raise HeterophilyError(
                f"{self.name} must have a column {' or '.join(map(repr, names))}, got {columns}; "
                f"name the column with {role}=... in Python or --{role} on the command line"
            )
        return column

    def ids(self, column: str) -> "pa.Array":
        """Return a column of ids as text, and raise an error if one is empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            ids = as_text(self.data[column], ("",))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise HeterophilyError(
                f"{self.name}: column {column!r} must contain ids as text or numbers, got {self.data[column].type}; "
                "convert the column"
            ) from error
        if ids.null_count:
            row = pc.index(ids.is_null(), True).as_py() + 1
            raise HeterophilyError(
                f"{self.name}: column {column!r} has {ids.null_count} empty ids, the first one in row {row}; fill them "
                "in or remove these rows"
            )
        return ids


def graph_from_frames(
    nodes: "Frame | None",
    edges: Frame,
    roles: Roles,
    *,
    encoder: FeatureEncoder | None = None,
    name: str = "graph",
    table_names: tuple[str, str] = ("the node table", "the edge table"),
) -> Graph:
    """Create a graph from a node table and an edge table; see `Graph.from_frames`."""
    require("reading tables", "pyarrow", "narwhals")
    import pyarrow as pa

    roles.check()
    saved = {} if encoder is None else encoder.roles_
    edge_table = Table(as_arrow(edges), table_names[1], saved)
    ends = _find_ends(edge_table, roles)
    weight = _find_weight(edge_table, roles.weight, encoder)
    _report_unused(edge_table, [*ends.values(), weight])
    weights = None if weight is None else _weights(edge_table, weight)
    end_ids = [edge_table.ids(column) for column in ends.values()]
    if nodes is None:
        ids = pa.chunked_array(end_ids).unique().sort()
        nodes = pa.table({roles.id or saved.get("id", IDS[0]): ids})
    attributes, used = _read_nodes(Table(as_arrow(nodes), table_names[0], saved, roles.ignore), roles, encoder)
    if attributes.encoder is not None and encoder is None:
        attributes.encoder.roles_ = ends | used | ({} if weight is None else {"weight": weight})
    pairs = _pairs(end_ids, attributes.node_ids or (), edge_table.name)
    bare = Graph.from_edges(pairs, weights=weights, n_nodes=attributes.n_nodes)
    graph = attributes.replace(adjacency=bare.adjacency, weights=bare.weights, name=name)
    return graph if encoder is None or encoder.structure_ is None else encode_structure(graph, encoder)


def _find_ends(edges: Table, roles: Roles) -> dict[str, str]:
    """Return the columns of both ends of an edge."""
    candidates = {
        "source": edges.find("source", roles.source, SOURCES),
        "target": edges.find("target", roles.target, TARGETS),
    }
    ends = {role: column for role, column in candidates.items() if column is not None}
    if not ends:
        columns = ", ".join(map(repr, edges.data.column_names[:8]))
        raise HeterophilyError(
            f"{edges.name} must have the columns 'source' and 'target' or similar names in its first row, got "
            f"{columns}; name them with source=... and target=... in Python or with --source and --target"
        )
    for role, names in (("source", SOURCES), ("target", TARGETS)):
        edges.require(role, ends.get(role), names)
    _check_distinct(ends)
    return ends


def _check_distinct(roles: Mapping[str, str]) -> None:
    """Raise an error if a column has two roles."""
    owners: dict[str, str] = {}
    for role, column in roles.items():
        if owners.setdefault(column, role) != role:
            raise HeterophilyError(f"column {column!r} cannot be both {owners[column]} and {role}; name another column")


def _find_weight(edges: Table, given: str | None, encoder: FeatureEncoder | None) -> str | None:
    """Return the column of weights. A model that was fitted with weights requires them, and one without has none."""
    if encoder is None:
        return edges.find("weight", given, WEIGHTS)
    if given is not None or "weight" not in encoder.roles_:
        return edges.find("weight", given, ())
    return edges.require("weight", None, (encoder.roles_["weight"],))


def _read_nodes(table: Table, roles: Roles, encoder: FeatureEncoder | None) -> tuple[Graph, dict[str, str]]:
    """Return a graph without edges, and the columns of the table that have a role."""
    columns = {
        "id": table.require("id", roles.id, IDS),
        "label": (table.find if roles.label_bins is None else table.require)("label", roles.label, LABELS),
        "split": table.find("split", roles.split, SPLITS),
    }
    used = {role: column for role, column in columns.items() if column is not None}
    _check_distinct(used)
    ids = _unique(table.ids(used["id"]), table.name)
    if not ids:
        raise HeterophilyError(f"{table.name} has no rows; add one row per node")
    parts = _parts(table, columns["split"])
    features, fitted = _features(table, set(used.values()), roles, encoder)
    labels = Labels(np.full(len(ids), -1))
    if columns["label"] is not None:
        values, where = table.data[columns["label"]], f"{table.name}: column {columns['label']!r}"
        if encoder is None and roles.label_bins is not None:
            fitted.label_edges_ = bin_edges(values, where, roles.label_bins, None if parts is None else parts[0])
        labels = read_labels(values, where, edges=fitted.label_edges_, allow_fractions=encoder is not None)
    if parts is not None:
        parts = _only_labeled(parts, labels.codes >= 0, table.name)
    graph = Graph.from_edges(
        [],
        features,
        labels=labels.codes,
        n_nodes=len(ids),
        n_classes=len(labels.names),
        splits={} if parts is None else {roles.split or "given": Split.from_nodes(*parts)},
        node_ids=ids,
        class_names=labels.names,
    )
    # An encoder without features has the roles of the columns.
    names_of_features = fitted.feature_names if graph.n_features else ()
    return graph.replace(class_values=labels.values, encoder=fitted, feature_names=names_of_features), used


def _features(
    table: Table, taken: set[str], roles: Roles, encoder: FeatureEncoder | None
) -> "tuple[FloatArray | sp.csr_array, FeatureEncoder]":
    others = table.data.select([column for column in table.data.column_names if column not in taken])
    if encoder is None:
        encoder = FeatureEncoder(ignore=roles.ignore, categorical=roles.categorical, numeric=roles.numeric)
        features = encoder.fit_transform(others)
        _report_dropped(encoder)
    else:
        structural = encoder.structure_ is not None
        features = np.zeros((others.num_rows, 0), dtype=np.float32) if structural else encoder.transform(others)
        _report_new(encoder, others.column_names)
    return features, encoder


def _weights(edges: Table, column: str) -> FloatArray:
    """Return a column of positive numbers, and raise an error that names the row of the first other cell."""
    numbers = as_numbers(edges.data[column])
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))
    if len(wrong):
        cell = edges.data[column][int(wrong[0])].as_py()
        raise HeterophilyError(
            f"{edges.name}: column {column!r} must contain positive finite weights, got {cell!r} in row {wrong[0] + 1} "
            f"({len(wrong)} such rows); correct them or remove these edges, or rename the column to ignore it"
        )
    return numbers


def _report_unused(edges: Table, used: Sequence[str | None]) -> None:
    unused = [column for column in edges.data.column_names if column not in used]
    if unused:
        columns = ", ".join(map(repr, unused))
        warnings.warn(
            f"{edges.name}: {columns} will not be used, because edges have no features except a weight",
            HeterophilyWarning,
            stacklevel=4,
        )


def _report_dropped(encoder: FeatureEncoder) -> None:
    dropped = [repr(column.name) for column in encoder.columns_ if column.type in ("id", "nested")]
    if dropped:
        names = ", ".join(dropped)
        message = f"{names} will not be used, like identifiers; name them in categorical to keep them, or in ignore"
        warnings.warn(message, HeterophilyWarning, stacklevel=5)


def _report_new(encoder: FeatureEncoder, columns: Sequence[str]) -> None:
    known = {column.name for column in encoder.columns_} | set(encoder.roles_.values())
    unknown = [repr(name) for name in columns if name not in known]
    if unknown:
        message = f"{', '.join(unknown)} will not be used: the encoder was fitted without these columns"
        warnings.warn(message, HeterophilyWarning, stacklevel=5)


def _unique(ids: "pa.Array", table: str) -> list[str]:
    import pyarrow.compute as pc

    counted = pc.value_counts(ids)
    repeated = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
    if len(repeated):
        raise HeterophilyError(f"{table} has node {repeated[0].as_py()!r} twice; remove one of them")
    return ids.to_pylist()


def _pairs(ends: "Sequence[pa.Array]", ids: Sequence[str], table: str) -> IntArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(ids, pa.string())
    numbers = [pc.index_in(end, value_set=known) for end in ends]
    if any(n.null_count for n in numbers):
        # Libraries write integers as 1.0 if another row of the column is empty.
        known, *ends_as_integers = (pc.replace_substring_regex(each, r"^(\d+)\.0$", r"\1") for each in (known, *ends))
        as_integers = [pc.index_in(end, value_set=known) for end in ends_as_integers]
        if pc.count_distinct(known).as_py() == len(known) and not any(n.null_count for n in as_integers):
            numbers = as_integers
    unknown = sorted(
        {name for end, n in zip(ends, numbers, strict=True) for name in end.filter(n.is_null()).to_pylist()}
    )
    if unknown:
        raise HeterophilyError(
            f"{table} has {len(unknown)} nodes that are not in the node table, for example "
            f"{', '.join(map(repr, unknown[:3]))}; add them to it or remove their edges"
        )
    return np.stack([n.to_numpy(zero_copy_only=False).astype(np.int64) for n in numbers], axis=1)


def _parts(table: Table, column: str | None) -> list[BoolArray] | None:
    """Return the masks of train, val, and test, or None if there is no column or it is empty."""
    import pyarrow.compute as pc

    if column is None:
        return None
    text = pc.utf8_lower(as_text(table.data[column], MISSING))
    wrong = sorted(set(pc.unique(text.drop_null()).to_pylist()) - PART_NAMES.keys())
    if wrong:
        raise HeterophilyError(
            f"{table.name}: column {column!r} must contain train, val, test, or nothing, got {wrong[0]!r}; correct it, "
            f"or ignore it with ignore=[{column!r}] or --ignore {column}"
        )
    if text.null_count == len(text):
        return None
    names = np.array([PART_NAMES.get(part, "") for part in text.to_pylist()])
    return [names == part for part in PARTS]


def _only_labeled(parts: Sequence[BoolArray], labeled: BoolArray, table: str) -> list[BoolArray]:
    """Return the parts, of which training and validation nodes have labels. A warning reports the other nodes."""
    removed = {part: int((mask & ~labeled).sum()) for part, mask in zip(PARTS[:2], parts, strict=False)}
    if any(removed.values()) and (parts[0] & labeled).any():
        counts = " and ".join(f"{count} {part}" for part, count in removed.items() if count)
        message = f"{table}: {counts} nodes without a label will not be used for training and validation"
        warnings.warn(message, HeterophilyWarning, stacklevel=5)
        return [*(mask & labeled for mask in parts[:2]), parts[2]]
    return list(parts)
