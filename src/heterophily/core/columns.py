"""Columns of tables: their values as numbers, dates, and text, and the type that a column appears to have.

A column gives the same values however it is stored: "1,5" and 1.5, "yes" and True, and "2024-03-01" and a date
are equal. Missing values are empty cells, NaN, infinity, and the words in `MISSING`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.extras import require
from heterophily.core.types import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa
    from narwhals.typing import IntoDataFrame

Frame: TypeAlias = "IntoDataFrame | Mapping[str, Sequence[object]]"

INFINITE = ("inf", "-inf", "+inf", "infinity", "-infinity")
NO_DATE = ("0000-00-00", "0000-00-00 00:00:00")
MISSING = ("", "na", "n/a", "nan", "null", "<na>", "#n/a", "nat", "?", "-", *INFINITE, *NO_DATE)
TRUE, FALSE = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")
NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
DECORATION = r"[\s$€£¥%']|^\+"  # is removed from numbers
THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"
SEVERAL_GROUPS = r",\d{3}[,.]"
EUROPEAN = r"\d\.\d{3},\d"
ISO = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
ZONED = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$"
DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
FORMATS = ("iso", *(day + time for day in DAYS for time in ("", " %H:%M", " %H:%M:%S")))

READABLE = 0.95  # share of the cells that must be numbers or dates; the others are treated as missing
MIN_ROWS = 20  # shorter columns are never treated as identifiers or free text
SAMPLE = 1000  # number of values that decide whether reading all of them as numbers or dates can succeed
UNIQUE = 0.9  # share of distinct values from which a text column is treated as an identifier
TEXT_WORDS = 3  # mean number of words from which a column is free text
TEXT_DISTINCT = 0.1  # share of distinct values from which a column of several words is free text
ID_NAME = re.compile(r"(?i:(^|[_\s.-])(id|uuid|guid|key|index|nr|no|number)$|^unnamed|^$)|[a-z]I[Dd]$")


def as_arrow(frame: Frame) -> "pa.Table":
    """Convert a pandas, polars, or pyarrow table, or a mapping of columns, to a pyarrow table."""
    require("reading tables", "pyarrow", "narwhals")
    import narwhals as nw
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, Mapping):
        return pa.table({str(name): _array(_listed(name, values)) for name, values in frame.items()})
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        received = type(frame).__name__
        raise HeterophilyError(f"expected a pandas, polars, or pyarrow table, got {received}") from error
    except nw.exceptions.DuplicateError as error:
        repeated = next(name for name, count in Counter(frame.columns).items() if count > 1)
        raise HeterophilyError(f"the table has column {repeated!r} twice; remove one of them") from error
    return pa.table({str(name): _series(table[name]) for name in table.columns})


def _listed(name: str, values: Iterable[object]) -> list[object]:
    try:
        return list(values)
    except TypeError as error:
        raise HeterophilyError(f"column {name!r} must be a list of values, got {short_text(values)}") from error


def _series(series: "nw.Series[object]") -> "pa.Array":  # type: ignore[name-defined]  # noqa: F821
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return _array(series.to_list())


def _array(values: Sequence[object]) -> "pa.Array":
    """Convert a list. Values of different types become text."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if v is None or v != v else str(v) for v in values], pa.string())  # noqa: PLR0124


def as_text(column: "pa.ChunkedArray", missing: Sequence[str] = MISSING) -> "pa.Array":
    """Return the values as text without surrounding whitespace, with null for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(_plain(column).cast(pa.string()))
    absent = pc.is_in(pc.utf8_lower(text), value_set=pa.array(missing))
    return pc.if_else(absent, pa.scalar(None, pa.string()), text)


def _plain(column: "pa.ChunkedArray") -> "pa.Array":
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_duration(array.type) or pa.types.is_time(array.type):
        return array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def is_text(column: "pa.ChunkedArray") -> bool:
    """Return whether a column is stored as text."""
    import pyarrow as pa

    kind = _plain(column[:0]).type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def as_numbers(column: "pa.ChunkedArray", comma: str = "") -> FloatArray:
    """Return the values as numbers, (N,), with NaN for missing values and for text that is not a number.

    A comma in text has the more likely meaning, or the given one if both meanings are possible.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _parse_numbers(as_text(column), comma) if is_text(column) else _plain(column)
    numbers = np.array(pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def _parse_numbers(text: "pa.Array", comma: str) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    meaning = comma_meaning(text, comma)
    text = pc.replace_substring_regex(text, DECORATION, "")
    if meaning == "decimal":
        both = pc.match_substring_regex(text, r",")
        text = pc.if_else(both, pc.replace_substring(text, ".", ""), text)
    text = pc.replace_substring(text, ",", "." if meaning == "decimal" else "")
    return pc.if_else(pc.match_substring_regex(text, NUMBER), text, pa.scalar(None, pa.string()))


def comma_meaning(text: "pa.Array", preferred: str = "") -> str:
    """Return the meaning of commas in numbers: `decimal` point, `thousands` separator, or "" without commas.

    If all numbers are like 1,234, the meaning is the preferred one, and `thousands` by default.
    """
    import pyarrow.compute as pc

    with_comma = text.filter(pc.fill_null(pc.match_substring(text, ","), False))
    with_comma = pc.replace_substring_regex(with_comma, DECORATION, "")
    if not len(with_comma):
        return ""
    if pc.any(pc.match_substring_regex(with_comma, EUROPEAN)).as_py():
        return "decimal"
    if not pc.all(pc.match_substring_regex(with_comma, THOUSANDS)).as_py():
        return "decimal"
    is_clear = pc.any(pc.match_substring_regex(with_comma, SEVERAL_GROUPS)).as_py()
    return "thousands" if is_clear else preferred or "thousands"


def as_seconds(column: "pa.ChunkedArray", preferred: str = "iso") -> tuple[FloatArray, str]:
    """Return dates as seconds since 1970 (UTC), (N,), with NaN for missing values, and their format."""
    import pyarrow as pa

    array = _plain(column)
    if not is_text(column):
        if pa.types.is_date(array.type):
            array = array.cast(pa.timestamp("s"))
        if not pa.types.is_timestamp(array.type):
            return np.full(len(array), np.nan), preferred
        return _seconds(array), preferred
    text = as_text(column, (*MISSING, "none"))
    best, best_format, sample = np.full(len(array), np.nan), preferred, _sample(text)
    for form in dict.fromkeys((preferred, *FORMATS)):
        if _share(_parse_dates(sample, form)) < READABLE / 2:
            continue
        seconds = _parse_dates(text, form)
        if np.isfinite(seconds).sum() > np.isfinite(best).sum():
            best, best_format = seconds, form
        if _is_readable(best, text):
            break
    return best, best_format


def _sample(text: "pa.Array") -> "pa.Array":
    """Return at most `SAMPLE` of the values that are not missing, evenly spaced."""
    present = text.drop_null()
    return present.take(np.unique(np.linspace(0, len(present) - 1, SAMPLE).astype(int))) if len(present) else present


def _share(values: FloatArray) -> float:
    return float(np.isfinite(values).mean()) if len(values) else 0.0


def _seconds(array: "pa.Array") -> FloatArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    micro = array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.int64())
    return np.array(pc.cast(micro, pa.float64(), safe=False).to_numpy(zero_copy_only=False)) / 1e6


def _parse_iso(text: "pa.Array") -> FloatArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    none, result = pa.scalar(None, pa.string()), np.full(len(text), np.nan)
    for pattern, kind in ((ISO, pa.timestamp("us")), (ZONED, pa.timestamp("us", "UTC"))):
        matches = pc.if_else(pc.match_substring_regex(text, pattern), text, none)
        try:
            parsed = _seconds(matches.cast(kind))
        except pa.ArrowInvalid:  # a day that does not exist, such as February 30
            continue
        result = np.where(np.isfinite(parsed), parsed, result)
    return result


def _parse_dates(text: "pa.Array", form: str) -> FloatArray:
    import pyarrow.compute as pc

    if form == "iso":
        return _parse_iso(text)
    return _seconds(pc.strptime(text, format=form, unit="us", error_is_null=True))


def _is_readable(values: FloatArray, text: "pa.Array") -> bool:
    present = len(text) - text.null_count
    return bool(np.isfinite(values).sum() >= READABLE * present) and present > 0


def as_booleans(column: "pa.ChunkedArray") -> FloatArray:
    """Return 1 for true, 0 for false, and NaN for missing or other values, (N,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_lower(as_text(column))
    true, false = (pc.is_in(text, value_set=pa.array(values)) for values in (TRUE, FALSE))
    true, false = (np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool) for mask in (true, false))
    return np.where(true, 1.0, np.where(false, 0.0, np.nan))


def infer_type(name: str, column: "pa.ChunkedArray") -> str:
    """Return `numeric`, `boolean`, `category`, `date`, `text`, `id`, `constant`, or `nested`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = _plain(column[:0]).type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "nested"
    text = as_text(column)
    distinct = pc.count_distinct(text).as_py()
    if distinct <= 1:
        return "category" if distinct and text.null_count else "constant"
    if _is_boolean(text):
        return "boolean"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    if not is_text(column):
        return "id" if _is_number_id(name, as_numbers(column)) else "numeric"
    return _infer_text_type(name, column, text, distinct)


def _infer_text_type(name: str, column: "pa.ChunkedArray", text: "pa.Array", distinct: int) -> str:
    import pyarrow.compute as pc

    # Codes such as postal codes have leading zeros, which numbers would lose.
    if not pc.any(pc.match_substring_regex(text, r"^0\d+$")).as_py():
        readable = as_text(column, (*MISSING, "none"))
        likely = _share(as_numbers(_sample(readable))) >= READABLE / 2
        if likely and _is_readable(numbers := as_numbers(column), readable):
            return "id" if _is_number_id(name, numbers) else "numeric"
    if _is_readable(as_seconds(column)[0], text):
        return "date"
    present = len(text) - text.null_count
    words = pc.mean(pc.count_substring_regex(text, r"\S+")).as_py()
    if present < MIN_ROWS:
        return "category"
    if words >= TEXT_WORDS and distinct > max(MIN_ROWS, TEXT_DISTINCT * present):
        return "text"
    return "id" if distinct > UNIQUE * present else "category"


def _is_boolean(text: "pa.Array") -> bool:
    import pyarrow.compute as pc

    words = set(pc.unique(pc.utf8_lower(text.drop_null()))[:3].to_pylist())
    return any(words == pair for pair in map(set, zip(TRUE, FALSE, strict=True)))


def _is_number_id(name: str, numbers: FloatArray) -> bool:
    """Return whether integers are all different, and either consecutive or in a column named like an id."""
    present = numbers[np.isfinite(numbers)]
    if len(present) < MIN_ROWS or (present != np.round(present)).any() or len(np.unique(present)) < len(present):
        return False
    return bool(ID_NAME.search(name)) or present.max() - present.min() + 1 == len(present)
