"""FeatureEncoder: the columns of a node table as features, with one report of what happened to each column."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from typing_extensions import override

from heterophily.core.arguments import check_names
from heterophily.core.columns import Frame, as_arrow, as_text, infer_type, is_text
from heterophily.core.encodings import ENCODINGS, Encoding, Numeric
from heterophily.core.errors import HeterophilyError
from heterophily.core.types import FloatArray, Json, JsonObject

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "heterophily-encoder-1"
DROPPED = {
    "constant": "dropped: at most one value",
    "id": "dropped: almost every value is different, as in an identifier",
    "nested": "dropped: cells are not single values",
    "ignored": "dropped: ignored on request",
}
MAX_UNREADABLE = 0.5  # share of cells that may be missing only because they cannot be read


class ColumnReport(TypedDict):
    """What the encoder does with one column."""

    name: str
    type: str
    treatment: str
    missing: float  # share of the rows
    n_features: int


@dataclass(frozen=True)
class Structure:
    """What identifies the structural features of a graph without other features."""

    n_positions: int
    sketch: tuple[float, ...] = ()  # of the positions, which are only valid for one graph


@dataclass(frozen=True)
class Column:
    """A column with its type, its share of missing values, and its encoding, which is None if it is dropped."""

    name: str
    type: str
    missing: float
    encoding: Encoding | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features of the column."""
        return () if self.encoding is None else tuple(f"{self.name}{suffix}" for suffix in self.encoding.suffixes)

    def report(self) -> ColumnReport:
        """Return the row of the report."""
        treatment = DROPPED[self.type] if self.encoding is None else self.encoding.treatment
        return ColumnReport(
            name=self.name,
            type=self.type,
            treatment=treatment,
            missing=self.missing,
            n_features=len(self.feature_names),
        )


class FeatureEncoder(BaseEstimator):  # type: ignore[misc]
    """Encoder of the columns of a table as features, with the scikit-learn API.

    The type of each column is inferred from its values, and determines its encoding:

    * numeric: robust scaling, or normal quantiles if the tails are heavy; median and indicator for missing values
    * boolean: 0 or 1
    * category: one-hot; of more than 32 categories, the most frequent ones, and the frequency of all
    * date: elapsed time, month, weekday, and time of day
    * text: TF-IDF of hashed words, as a sparse matrix
    * identifiers and columns with one value are dropped

    Columns are processed in the order of their names, so the order of the columns in the table has no effect. The
    encoder never reads labels.

    Parameters
    ----------
    ignore
        Names of columns to drop.
    categorical, numeric
        Names of columns whose type is not inferred.

    Attributes
    ----------
    columns_
        All columns in the order of their names.
    roles_
        The columns of the table with other roles, such as ``{"id": "account"}``, if a graph was read with the encoder.
    label_edges_
        The edges of the bins into which a numeric label was divided.
    structure_
        The structural features of a graph without other features, or None.

    Examples
    --------
    >>> from heterophily import FeatureEncoder
    >>> table = {"country": ["de", "us", None, "de"], "age": [31, 45, 27, None]}
    >>> encoder = FeatureEncoder().fit(table)
    >>> encoder.feature_names
    ('age', 'age: missing', 'country=de', 'country=us', 'country: missing')
    >>> encoder.transform({"age": ["31"], "country": ["fr"]}).tolist()
    [[0.0, 0.0, 0.0, 0.0, 0.0]]
    >>> [row["treatment"] for row in encoder.report()][1]
    'one-hot of 2, indicator for missing values'
    """

    columns_: tuple[Column, ...]
    roles_: Mapping[str, str]
    label_edges_: tuple[float, ...]
    structure_: Structure | None

    def __init__(
        self, *, ignore: Sequence[str] = (), categorical: Sequence[str] = (), numeric: Sequence[str] = ()
    ) -> None:
        self.ignore, self.categorical, self.numeric = ignore, categorical, numeric

    def fit(self, table: Frame, y: object = None) -> "FeatureEncoder":
        """Infer the types of all columns and learn their encodings. Labels `y` are not used."""
        for name in ("ignore", "categorical", "numeric"):
            check_names(name, getattr(self, name))
        arrow = as_arrow(table)
        types = {
            **dict.fromkeys(self.categorical, "category"),
            **dict.fromkeys(self.numeric, "numeric"),
            **dict.fromkeys(self.ignore, "ignored"),
        }
        _check_present(types, arrow.column_names, "an option names")
        self.columns_ = tuple(_learn(name, arrow[name], types.get(name)) for name in sorted(arrow.column_names))
        self.roles_, self.label_edges_, self.structure_ = {}, (), None
        return self

    def transform(self, table: Frame) -> "FloatArray | sp.csr_array":
        """Encode a table with the same columns, in any order, as a float32 matrix, (N, F).

        Categories that `fit` did not see are encoded as zeros. Columns that `fit` did not see are not used.
        """
        arrow, used = as_arrow(table), [column for column in self._fitted() if column.encoding is not None]
        _check_present([column.name for column in used], arrow.column_names, "the model requires")
        for column in used:
            _check_readable(column, arrow[column.name])
        if not used:
            return np.zeros((arrow.num_rows, 0), dtype=np.float32)
        parts = [(str(i), column.encoding, [column.name]) for i, column in enumerate(used)]
        sparse = any(column.encoding is not None and column.encoding.is_sparse for column in used)
        with config_context(transform_output="default"):
            result = ColumnTransformer(parts, sparse_threshold=float(sparse)).fit_transform(arrow)
        return sp.csr_array(result) if sparse else np.asarray(result, dtype=np.float32)

    def fit_transform(self, table: Frame, y: object = None) -> "FloatArray | sp.csr_array":
        """Fit the encoder and encode the same table."""
        arrow = as_arrow(table)
        return self.fit(arrow).transform(arrow)

    def report(self) -> list[ColumnReport]:
        """Return one row per column: name, type, treatment, share of missing values, and number of features."""
        return [column.report() for column in self._fitted()]

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, (F,)."""
        return tuple(name for column in self._fitted() for name in column.feature_names)

    @cached_property
    def source_columns(self) -> tuple[str, ...]:
        """The column from which each feature comes, (F,)."""
        return tuple(column.name for column in self._fitted() for _ in column.feature_names)

    def get_feature_names_out(self, input_features: object = None) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
        """Return the names of the features, as scikit-learn expects them."""
        return np.array(self.feature_names, dtype=object)

    def to_dict(self) -> JsonObject:
        """Return the fitted encoder as plain data, for JSON."""
        columns = [
            {
                "name": column.name,
                "type": column.type,
                "missing": column.missing,
                "encoding": None if column.encoding is None else column.encoding.to_dict(),
            }
            for column in self._fitted()
        ]
        return {
            "format": FORMAT,
            "columns": columns,
            "roles": dict(self.roles_),
            "label_edges": list(self.label_edges_),
            "structure": None if self.structure_ is None else asdict(self.structure_),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Json]) -> "FeatureEncoder":
        """Create a fitted encoder from the result of `to_dict`, which is validated."""
        columns, roles = content.get("columns"), content.get("roles")
        if content.get("format") != FORMAT or not isinstance(columns, Sequence) or not isinstance(roles, Mapping):
            raise HeterophilyError(
                f"expected an encoder of format {FORMAT}, got {content.get('format')!r}; fit the model again"
            )
        encoder = cls()
        encoder.columns_ = tuple(_column_from_dict(column) for column in columns)
        encoder.roles_ = {role: str(column) for role, column in roles.items()}
        encoder.label_edges_ = _numbers_from_dict("label_edges", content.get("label_edges", ()))
        encoder.structure_ = _structure_from_dict(content.get("structure"))
        return encoder

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureEncoder):
            return False
        return (self._fitted(), self.structure_) == (other._fitted(), other.structure_)

    @override
    def __hash__(self) -> int:
        return hash(self.feature_names)

    def _fitted(self) -> tuple[Column, ...]:
        if not hasattr(self, "columns_"):
            raise NotFittedError("this encoder is not fitted yet; call fit(table) first")
        return self.columns_


def _check_present(required: Sequence[str] | Mapping[str, str], available: Sequence[str], reason: str) -> None:
    missing = [name for name in required if name not in available]
    if missing:
        columns = f"column {missing[0]!r}" if len(missing) == 1 else f"columns {', '.join(map(repr, missing))}"
        raise HeterophilyError(
            f"{reason} {columns}, but the table has only {', '.join(map(repr, sorted(available)))}; "
            "add or rename columns of the table"
        )


def _learn(name: str, column: "pa.ChunkedArray", given: str | None) -> Column:
    kind = given or infer_type(name, column)
    missing = round(as_text(column).null_count / len(column), 6) if kind != "nested" and len(column) else 0.0
    encoding = ENCODINGS[kind].learn(column) if kind in ENCODINGS else None
    learned = Column(name, kind, missing, encoding)
    if given in ENCODINGS:
        _check_readable(learned, column)
    return learned


def _check_readable(column: Column, values: "pa.ChunkedArray") -> None:
    """Raise an error if most cells of a text column are not of the expected type."""
    if column.encoding is None or column.type in ("category", "text") or not is_text(values):
        return
    text = as_text(values)
    present = np.asarray(text.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    wrong = present & np.isnan(column.encoding.read(values))
    if wrong.sum() > MAX_UNREADABLE * present.sum():
        row = int(wrong.argmax())
        raise HeterophilyError(
            f"column {column.name!r} must contain {column.type} values, got {text[row].as_py()!r} in row {row + 1}; "
            "correct the column or encode it as a category"
        )


def _numbers_from_dict(name: str, content: Json) -> tuple[float, ...]:
    if not isinstance(content, list | tuple):
        raise HeterophilyError(f"{name} must be a list of numbers, got {content!r}; save the encoder again")
    return tuple(float(cast("float", _check_field(name, value, float))) for value in content)


def _structure_from_dict(content: Json) -> Structure | None:
    if content is None:
        return None
    if not isinstance(content, Mapping) or content.keys() != {"n_positions", "sketch"}:
        raise HeterophilyError("the structure of an encoder needs n_positions and sketch; save the encoder again")
    n_positions = cast("int", _check_field("n_positions", content["n_positions"], int))
    return Structure(n_positions, _numbers_from_dict("sketch", content["sketch"]))


def _column_from_dict(content: Json) -> Column:
    if not isinstance(content, Mapping) or content.keys() != {"name", "type", "missing", "encoding"}:
        raise HeterophilyError("an encoder needs the name, type, missing, and encoding of each column")
    name, kind, missing, encoding = (content[key] for key in ("name", "type", "missing", "encoding"))
    if not isinstance(name, str) or kind not in (*ENCODINGS, *DROPPED) or not isinstance(missing, int | float):
        raise HeterophilyError(f"invalid column {name!r} of an encoder: type {kind!r}, missing {missing!r}")
    if (kind in ENCODINGS) != isinstance(encoding, Mapping):
        raise HeterophilyError(f"column {name!r} of an encoder has type {kind!r}, but not the encoding of this type")
    return Column(name, str(kind), missing, _encoding_from_dict(encoding) if isinstance(encoding, Mapping) else None)


def _encoding_from_dict(content: Mapping[str, Json]) -> Encoding:
    """Create an encoding from the result of `to_dict`."""
    state = dict(content)
    kind = state.pop("type", None)
    cls = ENCODINGS.get(str(kind))
    if cls is None:
        raise HeterophilyError(f"unknown type of encoding {kind!r}; expected one of {', '.join(ENCODINGS)}")
    expected = {field.name: field.type for field in fields(cls)}
    if state.keys() - expected.keys():
        raise HeterophilyError(f"unknown field {sorted(state.keys() - expected.keys())[0]!r} of a {kind} encoding")
    for name, value in state.items():
        state[name] = _check_field(f"{kind}.{name}", value, expected[name])
    return cls(**state)


def _check_field(name: str, value: Json, expected: object) -> "Json | Encoding":
    if expected is Numeric and isinstance(value, Mapping):
        return _encoding_from_dict({"type": "numeric", **value})
    if getattr(expected, "__origin__", None) is tuple and isinstance(value, list | tuple):
        kind = expected.__args__[0]  # type: ignore[attr-defined]
        return tuple(_check_field(name, each, kind) for each in value)
    number = isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
    valid = number if expected is float else isinstance(value, expected)  # type: ignore[arg-type]
    if not valid or (isinstance(value, bool) and expected is int):
        raise HeterophilyError(f"{name} must be {expected}, got {value!r}; save the encoder again")
    return value
