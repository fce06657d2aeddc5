"""Labels from a column of a table: class numbers, class names, and the values of the classes in the table.

A column of numbers can also be divided into classes of equal size. The edges of these bins are part of the encoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from heterophily.core.columns import as_numbers, as_text, is_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.extras import require
from heterophily.core.graph import ClassValues
from heterophily.core.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>", "#n/a")
MAX_FLOAT_CLASSES = 20  # a column with more fractions is a quantity, not a class


@dataclass(frozen=True)
class Labels:
    """Class numbers, (N,), with -1 for unknown labels, class names, and classes: text, integers, or booleans."""

    codes: IntArray
    names: Sequence[str] = ()
    values: ClassValues | None = None


def read_labels(
    values: "pa.ChunkedArray", where: str, *, edges: Sequence[float] = (), allow_fractions: bool = False
) -> Labels:
    """Read a column of classes, or of numbers with the edges of bins.

    `where` names the column in an error. A column of fractions is an error, or unknown labels if this is allowed.
    """
    import pyarrow as pa

    text = as_text(values, MISSING)
    if edges:
        return Labels(*_bin_labels(as_numbers(values), edges))
    if n_fractions := _count_fractions(values, text):
        if allow_fractions:
            return Labels(np.full(len(text), -1))
        raise HeterophilyError(
            f"{where} has {n_fractions} different fractions, but classes were expected; this is a regression problem, "
            "which label_bins=3 or --label-bins 3 turns into three classes of equal size; if another column contains "
            "the classes, name it with label=... or --label"
        )
    codes, names = _encode_text(text)
    if pa.types.is_boolean(values.type):
        return Labels(codes, [name.capitalize() for name in names], tuple(name == "true" for name in names))
    if is_text(values) or not all(float(name).is_integer() for name in names):
        return Labels(codes, names, tuple(names))
    integers = tuple(int(float(name)) for name in names)
    return Labels(codes, [str(number) for number in integers], integers)


def _count_fractions(values: "pa.ChunkedArray", text: "pa.Array") -> int:
    """Return the number of different values if they are too many fractions to be classes, and 0 otherwise."""
    numbers = as_numbers(values)
    present = np.unique(numbers[np.isfinite(numbers)])
    all_numbers = np.isfinite(numbers).sum() == len(text) - text.null_count
    is_quantity = all_numbers and len(present) > MAX_FLOAT_CLASSES and (present != np.round(present)).any()
    return len(present) if is_quantity else 0


def bin_edges(values: "pa.ChunkedArray", where: str, bins: int, train: BoolArray | None) -> tuple[float, ...]:
    """Return the edges of bins of equal size among the training nodes, or among all nodes without a split."""
    numbers = as_numbers(values)
    text = as_text(values, MISSING)
    wrong = np.isnan(numbers) & np.asarray(text.is_valid().to_numpy(zero_copy_only=False))
    if wrong.any():
        row = int(wrong.argmax())
        raise HeterophilyError(
            f"{where} must contain numbers, which label_bins divides into classes, got {text[row].as_py()!r} in row "
            f"{row + 1}; correct it, or omit label_bins or --label-bins"
        )
    visible = numbers if train is None else numbers[train]
    visible = visible[np.isfinite(visible)]
    if bins < 2 or len(visible) < bins:
        raise HeterophilyError(
            f"label_bins must be between 2 and the number of labeled training nodes ({len(visible)}), got {bins}"
        )
    return tuple(np.unique(np.quantile(visible, np.linspace(0, 1, bins + 1)[1:-1])).tolist())


def _bin_labels(numbers: FloatArray, edges: Sequence[float]) -> tuple[IntArray, list[str]]:
    """Return the bin of each number, and the names of all bins."""
    texts = [f"{edge:g}" for edge in edges]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    codes = np.where(np.isfinite(numbers), np.searchsorted(edges, numbers), -1)
    return codes.astype(np.int64), [f"up to {texts[0]}", *middle, f"above {texts[-1]}"]


def encode_classes(names: Sequence[str | None]) -> tuple[IntArray, list[str]]:
    """Number the class names, numbers in numeric order. A missing name becomes -1."""
    require("reading class names", "pyarrow")
    import pyarrow as pa

    return _encode_text(as_text(pa.chunked_array([pa.array(names, pa.string())]), MISSING))


def _encode_text(text: "pa.Array") -> tuple[IntArray, list[str]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    classes = sorted(pc.unique(text.drop_null()).to_pylist(), key=_natural)
    codes = pc.index_in(text, value_set=pa.array(classes, pa.string())).fill_null(-1)
    return codes.to_numpy(zero_copy_only=False).astype(np.int64), classes


def _natural(name: str) -> tuple[bool, float, str]:
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name
