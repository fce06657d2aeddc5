"""What determines a result, as text and as a key."""

import dataclasses
import hashlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heterophily.core.errors import HeterophilyError
from heterophily.htmp.recipe import Recipe

WORDS = ("title", "paper", "equation", "deviations", "space", "reference")  # do not change results
LIBRARIES = {"heterophily", "torch", *sys.stdlib_module_names}  # a version tells what their code is


def digest(facts: Any) -> str:
    """SHA-256 of plain data, in hexadecimal."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def identity_of(recipe: Recipe) -> str:
    """A digest of everything in a decided recipe that changes results."""
    silent = {name: type(getattr(recipe, name))() for name in WORDS}
    text = repr(dataclasses.replace(recipe, **silent))
    if " at 0x" in text:
        raise HeterophilyError(
            f"{recipe.name} has a part that does not print what it is, so that no run could be told from "
            "another; make it a frozen dataclass"
        )
    code = user_code(recipe)
    return digest([text, code] if code else text)


def user_code(recipe: Recipe) -> list[str]:
    """The files of parts that are not of this library: their names do not tell what they do."""
    kinds = {kind for part in _parts(recipe) for kind in type(part).__mro__ if _is_own(kind)}
    functions = [f for kind in kinds for value in vars(kind).values() for f in _functions(value)]
    files = {Path(f.__code__.co_filename) for f in functions if _is_own(f)}
    return sorted(file.read_text(encoding="utf-8") for file in files if file.is_file())


def _functions(value: Any) -> list[Any]:
    """The functions behind what a class holds: methods, properties, and what decorators wrapped."""
    behind: tuple[Any, ...] = (value.fget, value.fset) if isinstance(value, property) else (value,)
    plain = [inspect.unwrap(getattr(each, "func", each)) for each in behind]
    return [function for function in plain if inspect.isfunction(function)]


def _is_own(thing: Any) -> bool:
    return thing.__module__.partition(".")[0] not in LIBRARIES


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _parts(item)
    elif dataclasses.is_dataclass(value):
        yield value
        for each in dataclasses.fields(value):
            yield from _parts(getattr(value, each.name))
