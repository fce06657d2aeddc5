"""Valid values and search ranges of settings, for use in annotations.

`Annotated[float, Bounds(ge=0), Choice(0.1, 0.5)]` is a non-negative number for which a search tries two
values.
"""

import dataclasses
import math
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from heterophily.core.arguments import short_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.types import Value

TYPE_NAMES = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


@dataclass(frozen=True)
class Choice:
    """A finite set of values to try in a search.

    Examples
    --------
    >>> Choice(32, 64)
    Choice(32, 64)
    """

    values: tuple[Value, ...]

    def __init__(self, *values: Value) -> None:
        object.__setattr__(self, "values", values)
        if not values:
            raise HeterophilyError("a choice needs at least one value, got none")

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.values))})"


@dataclass(frozen=True)
class Range:
    """An interval of numbers to try in a search, on a linear or logarithmic scale.

    Examples
    --------
    >>> Range(1e-4, 1e-1, log=True)
    Range(low=0.0001, high=0.1, log=True)
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise HeterophilyError(f"a range needs low < high, got {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise HeterophilyError(f"a logarithmic range needs low > 0, got {self.low}")


Space = Choice | Range


@dataclass(frozen=True)
class Bounds:
    """Limits for the value of a numeric setting.

    Examples
    --------
    >>> Bounds(ge=0, lt=1).error(1.5)
    'at least 0 and below 1'
    >>> Bounds(ge=0, lt=1).error(0.5)
    ''
    """

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    def error(self, value: float) -> str:
        """Return the limits as text if a value violates them, otherwise an empty string."""
        limits = (
            ("above", self.gt, self.gt is None or value > self.gt),
            ("at least", self.ge, self.ge is None or value >= self.ge),
            ("below", self.lt, self.lt is None or value < self.lt),
            ("at most", self.le, self.le is None or value <= self.le),
        )
        if all(holds for _, _, holds in limits):
            return ""
        return " and ".join(f"{word} {limit}" for word, limit, _ in limits if limit is not None)


MAX_INT = 2**20  # of settings that count something, far above any useful value
PositiveInt = Annotated[int, Bounds(ge=1, le=MAX_INT)]
PositiveFloat = Annotated[float, Bounds(gt=0)]
NonNegativeInt = Annotated[int, Bounds(ge=0, le=MAX_INT)]
NonNegativeFloat = Annotated[float, Bounds(ge=0)]
DropoutRate = Annotated[float, Bounds(ge=0, lt=1)]


@dataclass(frozen=True)
class SettingInfo:
    """What the annotation of a setting declares."""

    name: str
    default: Value
    types: tuple[object, ...]
    bounds: tuple[Bounds, ...]
    space: Space | None
    help: str

    def validate(self, value: object) -> Value:
        """Return a valid value in its declared type, or raise an error that describes what is expected."""
        if isinstance(value, list):
            value = tuple(value)
        if not any(_accepts(each, value) for each in self.types):
            expected = " or ".join(_describe(each) for each in self.types)
            raise HeterophilyError(f"{self.name} must be {expected}, got {short_text(value)}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            for bounds in self.bounds:
                if error := bounds.error(value):
                    raise HeterophilyError(f"{self.name} must be {error}, got {value}")
            return float(value) if float in self.types else value
        return value  # type: ignore[return-value]


def _accepts(expected: object, value: object) -> bool:
    if get_origin(expected) is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(expected))
    if get_origin(expected) is tuple:
        item = get_args(expected)[0]
        return isinstance(value, tuple) and all(_accepts(item, each) for each in value)
    if expected is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value)  # type: ignore[arg-type]
    return type(value) is expected


def _describe(expected: object) -> str:
    if get_origin(expected) is Literal:
        return f"one of {', '.join(map(str, get_args(expected)))}"
    if get_origin(expected) is tuple:
        return "a list of numbers"
    return "empty" if expected is NoneType else TYPE_NAMES.get(expected, str(expected))  # type: ignore[call-overload]


def setting_infos(cls: type) -> dict[str, SettingInfo]:
    """Return what the annotations of a dataclass declare for its keyword-only fields, by name.

    The class attribute `unused_settings` names inherited fields that are not settings.
    """
    if cls not in _INFOS:
        hints, fields = get_type_hints(cls, include_extras=True), dataclasses.fields(cls)
        unused = getattr(cls, "unused_settings", ())
        settings = [f for f in fields if f.kw_only and f.metadata.get("setting", True) and f.name not in unused]
        infos = [_setting_info(each.name, each.default, hints[each.name]) for each in settings]
        _INFOS[cls] = {info.name: info for info in infos}
    return _INFOS[cls]


_INFOS: dict[type, dict[str, SettingInfo]] = {}  # annotations are read once per class


def _setting_info(name: str, default: object, hint: object) -> SettingInfo:
    types, metadata = _parse(hint)
    spaces = [each for each in metadata if isinstance(each, Choice | Range)]
    texts = [each for each in metadata if isinstance(each, str)]
    bounds = tuple(each for each in metadata if isinstance(each, Bounds))
    space = spaces[-1] if spaces else None
    return SettingInfo(name, default, types, bounds, space, " ".join(texts))  # type: ignore[arg-type]


def _parse(hint: object) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """Return the alternatives of an annotation, and its metadata."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        types, more = _parse(inner)
        return types, (*more, *metadata)
    if get_origin(hint) in (Union, UnionType):
        parts = [_parse(each) for each in get_args(hint)]
        return tuple(t for types, _ in parts for t in types), tuple(m for _, ms in parts for m in ms)
    return (hint,), ()
