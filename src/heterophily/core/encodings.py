"""Encodings of columns as numbers: one class per type of column, with all that it learned from a table.

An encoding is a scikit-learn transformer of a table with one column, and its fields are plain data that JSON can
store. Encodings never read labels. Changing the unit of a number, the order of the rows, or the names of categories
with different frequencies does not change the encoded values: they are rounded to six decimals for this reason.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from typing_extensions import override

from heterophily.core.columns import as_booleans, as_numbers, as_seconds, as_text, comma_meaning, is_text
from heterophily.core.types import BoolArray, FloatArray, IntArray, Json

if TYPE_CHECKING:
    import pyarrow as pa

MAX_LEVELS = 32  # number of categories with their own feature
MAX_COUNTED = 10_000  # number of categories whose frequency is stored
N_QUANTILES = 101
HEAVY_TAIL = 6.0  # ratio of the central 98 % to the central 50 %: 3.4 for a normal, 7.0 for a log-normal column
LIMIT = 10.0  # robust standard deviations at which numbers are clipped
NORMAL_RANGE = 1.349  # interquartile range of a standard normal distribution
N_HASHES = 256  # number of features of a text column
DAY = 86_400  # seconds
DECIMALS = 6


class Encoding(BaseEstimator):  # type: ignore[misc]
    """A fitted transformer of one column. `fit` returns it unchanged."""

    type: ClassVar[str]
    is_sparse: ClassVar[bool] = False

    @classmethod
    def learn(cls, column: "pa.ChunkedArray") -> Self:
        """Create the encoding from a column."""
        raise NotImplementedError

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What each feature adds to the name of the column."""
        raise NotImplementedError

    @property
    def treatment(self) -> str:
        """Description of the encoding."""
        raise NotImplementedError

    def fit(self, table: "pa.Table", y: object = None) -> Self:
        """Return the encoding, which is already fitted."""
        return self

    def transform(self, table: "pa.Table") -> "FloatArray | sp.csr_array":
        """Encode the only column of a table, (N, F)."""
        raise NotImplementedError

    def fit_transform(self, table: "pa.Table", y: object = None) -> "FloatArray | sp.csr_array":
        """Encode the only column of a table, (N, F)."""
        return self.transform(table)

    def read(self, column: "pa.ChunkedArray") -> FloatArray:
        """Return the values of a numeric, boolean, or date column before they are encoded, with NaN for missing."""
        raise NotImplementedError

    def __sklearn_clone__(self) -> Self:
        return self

    def to_dict(self) -> dict[str, Json]:
        """Return the fields as plain data."""
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True)
class Numeric(Encoding):
    """Numbers: (x − median) / IQR, or normal quantiles for heavy tails, and 1 for missing values."""

    center: float
    scale: float
    quantiles: tuple[float, ...] = ()
    comma: str = ""
    indicator: bool = False
    type: ClassVar[str] = "numeric"

    @override
    @classmethod
    def learn(cls, column: "pa.ChunkedArray") -> Self:
        comma = comma_meaning(as_text(column)) if is_text(column) else ""
        return cls._learn_numbers(as_numbers(column, comma), comma)

    @classmethod
    def _learn_numbers(cls, numbers: FloatArray, comma: str = "") -> Self:
        x = numbers[np.isfinite(numbers)]
        missing = len(x) < len(numbers)
        if not len(x):
            return cls(0.0, 1.0, comma=comma, indicator=missing)
        low, first, center, third, high = map(float, np.quantile(x, (0.01, 0.25, 0.5, 0.75, 0.99)))
        heavy = high - low > HEAVY_TAIL * (third - first)
        quantiles = np.quantile(x, np.linspace(0, 1, N_QUANTILES)).tolist() if heavy else ()
        scale = (third - first) / NORMAL_RANGE or float(x.std()) or 1.0
        return cls(center, scale, tuple(quantiles), comma, missing)

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return ("", ": missing") if self.indicator else ("",)

    @property
    @override
    def treatment(self) -> str:
        scaling = "quantile transform" if self.quantiles else "robust scaling"
        return f"{scaling}, median and indicator for missing values" if self.indicator else scaling

    @override
    def transform(self, table: "pa.Table") -> FloatArray:
        return self.encode(self.read(table.column(0)))

    @override
    def read(self, column: "pa.ChunkedArray") -> FloatArray:
        return as_numbers(column, self.comma)

    def encode(self, numbers: FloatArray) -> FloatArray:
        """Encode numbers, (N,), as (N, 1) or (N, 2)."""
        missing = ~np.isfinite(numbers)
        x = np.where(missing, self.center, numbers)
        z = self._quantile(x) if self.quantiles else (x - self.center) / self.scale
        z = np.round(z.clip(-LIMIT, LIMIT), DECIMALS)
        return _stack([z, missing] if self.indicator else [z])

    def _quantile(self, x: FloatArray) -> FloatArray:
        """Return the normal quantile of the mid-rank of x, at most about 3 from the median."""
        q = np.array(self.quantiles)
        p = np.linspace(0, 1, len(q))
        # The mean of both directions is the middle of the ranks that equal values share.
        rank = (np.interp(x, q, p) + 1 - np.interp(-x, -q[::-1], p)) / 2
        return ndtri(rank.clip(0.001, 0.999))


def _stack(columns: Sequence[FloatArray | BoolArray]) -> FloatArray:
    return np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)


@dataclass(frozen=True)
class Boolean(Encoding):
    """True is 1, false is 0, and a missing value is 1/2 with a 1 in a second feature."""

    indicator: bool = False
    type: ClassVar[str] = "boolean"

    @override
    @classmethod
    def learn(cls, column: "pa.ChunkedArray") -> Self:
        return cls(bool(np.isnan(as_booleans(column)).any()))

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return ("", ": missing") if self.indicator else ("",)

    @property
    @override
    def treatment(self) -> str:
        return "0 or 1, indicator for missing values" if self.indicator else "0 or 1"

    @override
    def transform(self, table: "pa.Table") -> FloatArray:
        values = self.read(table.column(0))
        missing = np.isnan(values)
        filled = np.where(missing, 0.5, values)
        return _stack([filled, missing] if self.indicator else [filled])

    @override
    def read(self, column: "pa.ChunkedArray") -> FloatArray:
        return as_booleans(column)


@dataclass(frozen=True)
class Category(Encoding):
    """One-hot features of the most frequent categories and, if there are more, the frequency of all."""

    levels: tuple[str, ...]  # most frequent first
    counts: tuple[int, ...] = ()  # empty if every level has a feature
    indicator: bool = False
    type: ClassVar[str] = "category"

    @override
    @classmethod
    def learn(cls, column: "pa.ChunkedArray") -> Self:
        text = as_text(column)
        counted = text.drop_null().value_counts()
        pairs = zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)
        ranked = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:MAX_COUNTED]
        counts = tuple(count for _, count in ranked) if len(ranked) > MAX_LEVELS else ()
        return cls(tuple(level for level, _ in ranked), counts, text.null_count > 0)

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        one_hot = tuple(f"={level}" for level in self.levels[:MAX_LEVELS])
        return (*one_hot, *[": frequency"] * bool(self.counts), *[": missing"] * self.indicator)

    @property
    @override
    def treatment(self) -> str:
        shown = min(len(self.levels), MAX_LEVELS)
        one_hot = f"one-hot of the {shown} most frequent, and frequency" if self.counts else f"one-hot of {shown}"
        return f"{one_hot}, indicator for missing values" if self.indicator else one_hot

    @override
    def transform(self, table: "pa.Table") -> FloatArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        text = as_text(table.column(0))
        codes = pc.index_in(text, value_set=pa.array(self.levels, pa.string()))
        code: IntArray = np.asarray(codes.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
        one_hot = np.zeros((len(code), min(len(self.levels), MAX_LEVELS)), dtype=np.float32)
        rows = ((code >= 0) & (code < MAX_LEVELS)).nonzero()[0]
        one_hot[rows, code[rows]] = 1
        missing = np.asarray(text.is_null().to_numpy(zero_copy_only=False), dtype=np.float32)
        frequency = [self._frequency(code)] if self.counts else []
        return np.column_stack([one_hot, *frequency, *[missing] * self.indicator]).astype(np.float32)

    def _frequency(self, code: IntArray) -> FloatArray:
        """Return log n_c / log n_1, the frequency of a category relative to the largest, and 0 if it is unknown."""
        share = np.log1p((*self.counts, 0)) / np.log1p(self.counts[0])
        return np.round(share, DECIMALS)[code]


@dataclass(frozen=True)
class Date(Encoding):
    """Dates: the elapsed time as a number, and the parts of the calendar that differ, as points on a circle."""

    elapsed: Numeric
    parts: tuple[str, ...]
    form: str = "iso"
    type: ClassVar[str] = "date"

    @override
    @classmethod
    def learn(cls, column: "pa.ChunkedArray") -> Self:
        seconds, form = as_seconds(column)
        present = seconds[np.isfinite(seconds)]
        differing = [name for name, turn in _calendar(present).items() if len(np.unique(turn)) > 1]
        return cls(Numeric._learn_numbers(seconds), tuple(differing), form)

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        parts = (f": {part} {function}" for part in self.parts for function in ("sin", "cos"))
        return (": elapsed", *parts, *self.elapsed.suffixes[1:])

    @property
    @override
    def treatment(self) -> str:
        return ", ".join(("elapsed time", *self.parts, *["indicator for missing values"] * self.elapsed.indicator))

    @override
    def transform(self, table: "pa.Table") -> FloatArray:
        seconds = self.read(table.column(0))
        elapsed = self.elapsed.encode(seconds)
        missing = np.isnan(seconds)
        turns = _calendar(np.where(missing, 0, seconds))
        circle = [f(2 * np.pi * turns[part]) for part in self.parts for f in (np.sin, np.cos)]
        parts = [np.where(missing, 0, np.round(values, DECIMALS)) for values in circle]
        return np.column_stack([elapsed[:, :1], *parts, elapsed[:, 1:]]).astype(np.float32)

    @override
    def read(self, column: "pa.ChunkedArray") -> FloatArray:
        return as_seconds(column, self.form)[0]


def _calendar(seconds: FloatArray) -> dict[str, FloatArray]:
    """Return the month, the day of the week, and the time of day as shares of their cycle."""
    days = np.floor(seconds / DAY)
    months = days.astype("int64").astype("datetime64[D]").astype("datetime64[M]").astype("int64")
    return {"month": months % 12 / 12, "weekday": (days + 3) % 7 / 7, "time of day": seconds / DAY - days}


@dataclass(frozen=True)
class Text(Encoding):
    """Free text: TF-IDF of hashed words, normalized per row, as a sparse matrix."""

    idf: tuple[float, ...]
    type: ClassVar[str] = "text"
    is_sparse: ClassVar[bool] = True

    @override
    @classmethod
    def learn(cls, column: "pa.ChunkedArray") -> Self:
        counts = _word_counts(column, N_HASHES)
        documents = np.bincount(counts.indices, minlength=N_HASHES)
        idf = np.log((1 + counts.shape[0]) / (1 + documents)) + 1
        return cls(tuple(idf.tolist()))

    @property
    @override
    def suffixes(self) -> tuple[str, ...]:
        return tuple(f": words {i}" for i in range(len(self.idf)))

    @property
    @override
    def treatment(self) -> str:
        return f"TF-IDF of words, hashed to {len(self.idf)}"

    @override
    def transform(self, table: "pa.Table") -> "sp.csr_array":
        from sklearn.preprocessing import normalize

        weighted = _word_counts(table.column(0), len(self.idf)) @ sp.diags_array(np.array(self.idf))
        return sp.csr_array(normalize(sp.csr_array(weighted)), dtype=np.float32)


def _word_counts(column: "pa.ChunkedArray", n_hashes: int) -> "sp.csr_array":
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(n_features=n_hashes, alternate_sign=False, norm=None)
    return sp.csr_array(hashing.transform(as_text(column).fill_null("").to_pylist()))


ENCODINGS: dict[str, type[Encoding]] = {each.type: each for each in (Numeric, Boolean, Category, Date, Text)}
