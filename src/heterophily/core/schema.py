"""Schemas: the JSON of a file is validated against types before any of it is used.

A schema is a `TypedDict` of `typing_extensions` whose annotations contain types and limits. Types are strict, so text
is never converted to a number. Damaged or deeply nested JSON is an error like any other.
"""

from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar, Union, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from heterophily.core.errors import HeterophilyError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

T = TypeVar("T")

MAX_SIZE = 2**40  # of numbers that count something
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SIZE)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**64)]
Text: TypeAlias = Annotated[str, Field(max_length=100_000)]
Scalar: TypeAlias = Union[bool, int, Finite, Text, None]  # noqa: UP007
SettingValue: TypeAlias = Scalar | list[Scalar | list[Scalar]]
IGNORE_OTHERS = ConfigDict(strict=True, extra="ignore")  # keys of later versions
RETAIN_OTHERS = ConfigDict(strict=True, extra="allow")

__all__ = ["TypedDict"]  # pydantic requires that of typing_extensions before Python 3.12


_ADAPTERS: dict[object, object] = {}  # creating an adapter takes milliseconds


def _adapter(schema: type[T]) -> "TypeAdapter[T]":
    if schema not in _ADAPTERS:
        _ADAPTERS[schema] = TypeAdapter(schema)
    return cast("TypeAdapter[T]", _ADAPTERS[schema])


def parse_json(schema: type[T], text: bytes | str) -> T:
    """Return JSON that follows a schema, or raise an error that names the first place where it does not.

    Examples
    --------
    >>> parse_json(dict[str, int], '{"width": 64}')
    {'width': 64}
    >>> parse_json(dict[str, int], '{"width": "64"}')
    Traceback (most recent call last):
    ...
    heterophily.core.errors.HeterophilyError: width: input should be a valid integer, got '64'
    """
    try:
        return _adapter(schema).validate_json(text, strict=True)
    except ValidationError as error:
        raise HeterophilyError(_describe(error.errors()[0])) from None


def check_json(schema: type[T], value: object) -> T:
    """Return plain data that follows a schema, or raise an error as `parse_json` does."""
    try:
        return _adapter(schema).validate_python(value, strict=True)
    except ValidationError as error:
        raise HeterophilyError(_describe(error.errors()[0])) from None


def _describe(error: "ErrorDetails") -> str:
    message = error["msg"][0].lower() + error["msg"][1:]
    if error["type"] == "json_invalid":
        return f"it is not valid JSON: {message.removeprefix('invalid JSON: ')}"
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"{place} is missing"
    return f"{place or 'the file'}: {message}, got {repr(error['input'])[:80]}"
