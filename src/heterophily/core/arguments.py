"""Types of arguments, checked before a wrong one fails inside another library."""

import os
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real

from heterophily.core.errors import HeterophilyError


@dataclass(frozen=True)
class Kind:
    """What an argument must be, as text, and its types. A boolean is not a number."""

    text: str
    types: tuple[type, ...]

    def accepts(self, value: object) -> bool:
        """Return whether a value is of this kind."""
        return isinstance(value, self.types) and (not isinstance(value, bool) or bool in self.types)


INTEGER = Kind("an integer", (Integral,))
NUMBER = Kind("a number", (Real,))
TEXT = Kind("text", (str,))
NAME = Kind("text or an integer", (str, Integral))
BOOLEAN = Kind("True or False", (bool,))
PATH = Kind("a path", (str, os.PathLike))
MAX_SEED = 2**32 - 1 - 2**20  # NumPy accepts seeds below 2^32, and split i uses the seed plus i


def check_argument(name: str, value: object, kind: Kind, *, optional: bool = False) -> None:
    """Raise an error unless an argument is of a kind, or None if it is `optional`.

    Examples
    --------
    >>> check_argument("path", 3, PATH)
    Traceback (most recent call last):
    ...
    heterophily.core.errors.HeterophilyError: path must be a path, got 3
    """
    if not (kind.accepts(value) or (optional and value is None)):
        raise HeterophilyError(f"{name} must be {kind.text}{' or None' * optional}, got {short_text(value)}")


def check_integer(name: str, value: object, *, low: int, high: int | None = None, optional: bool = False) -> None:
    """Raise an error unless an argument is an integer within limits, or None if it is `optional`."""
    check_argument(name, value, INTEGER, optional=optional)
    if isinstance(value, Integral) and not low <= int(value) <= (int(value) if high is None else high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise HeterophilyError(f"{name} must be {limits}, got {value}")


def check_names(name: str, values: object, *, optional: bool = False) -> None:
    """Raise an error unless an argument is a sequence of texts, not one text, or None if it is `optional`."""
    if optional and values is None:
        return
    if isinstance(values, str) or not all(isinstance(value, str) for value in check_sequence(name, values)):
        raise HeterophilyError(f"{name} must be a list of texts, got {short_text(values)}")


def check_sequence(name: str, values: object) -> Iterable[object]:
    """Return an argument, or raise an error if it is not a sequence of several values."""
    if not isinstance(values, Iterable) or not hasattr(values, "__len__"):
        raise HeterophilyError(f"{name} must be a list, got {short_text(values)}")
    try:
        return list(values)
    except TypeError as error:  # a sparse matrix of a format that has no rows
        raise HeterophilyError(f"{name} must be a list, got {short_text(values)}") from error


def short_text(value: object) -> str:
    """Return a value as text for an error message."""
    return " ".join(reprlib.repr(value).split())
