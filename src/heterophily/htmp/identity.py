"""Everything that determines the result of a method, as text and as a digest.

The text contains only what differs from the defaults of parts and common settings, so new fields with a
default do not change it. A default itself must not change, unless `RESULTS_VERSION` does.
"""

import dataclasses
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from heterophily.core.errors import HeterophilyError
from heterophily.core.spaces import Choice, setting_infos
from heterophily.htmp.channel import Channel
from heterophily.htmp.method import Method, complete_architecture

LIBRARIES = {"heterophily", "torch", *sys.stdlib_module_names}  # versions identify their code
Imports = dict[str, set[str]]


def digest(facts: object) -> str:
    """Return the SHA-256 digest of plain data, in hexadecimal."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def identity_of(method: Method) -> str:
    """Return a digest of everything in a method that determines its results.

    Examples
    --------
    >>> from heterophily.models.gcn import GCN
    >>> identity_of(GCN()) == identity_of(GCN(width=64)) != identity_of(GCN(width=32))
    True
    """
    return digest([identity_text(method), *user_code(method)])


def identity_text(method: Method) -> str:
    """Return the name, the changed common settings, and the complete architecture as text.

    A method that is not a network has its changed settings only.
    """
    if not method.is_network:
        infos = setting_infos(type(method)).values()
        return expression([method.name, {i.name: v for i in infos if (v := getattr(method, i.name)) != i.default}])
    common = {
        name: value
        for name, info in setting_infos(Method).items()
        if name != "feature_norm" and (value := getattr(method, name)) != info.default
    }
    try:
        return expression([method.name, common, complete_architecture(method)])
    except TypeError as error:
        raise HeterophilyError(
            f"{method.name} has a part that cannot be identified: {error}; make it a frozen dataclass"
        ) from error


def user_code(method: Method) -> list[str]:
    """Return the source files of parts that are not in this library, because names do not identify them."""
    parts = _parts(complete_architecture(method) if method.is_network else method)
    classes = {each for part in parts for each in type(part).__mro__ if _is_user_code(each)}
    values = [value for each in classes for value in vars(each).values()]
    functions = [function for value in values for function in _functions(value)]
    files = {Path(f.__code__.co_filename) for f in functions if _is_user_code(f)}
    return sorted(file.read_text(encoding="utf-8") for file in files if file.is_file())


def _functions(value: object) -> list[Callable[..., object]]:
    """Return the functions behind an attribute of a class: methods, properties, and wrapped functions."""
    behind = (value.fget, value.fset) if isinstance(value, property) else (value,)
    plain = [inspect.unwrap(getattr(each, "func", each)) for each in behind]  # type: ignore[arg-type]
    return [function for function in plain if inspect.isfunction(function)]


def _is_user_code(thing: type | Callable[..., object]) -> bool:
    return thing.__module__.partition(".")[0] not in LIBRARIES


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for item in value:
            yield from _parts(item)
    elif dataclasses.is_dataclass(value):
        yield value
        for each in dataclasses.fields(value):
            yield from _parts(getattr(value, each.name))


def expression(value: object, imports: Imports | None = None) -> str:
    """Return a Python expression for a part, with only the arguments that differ from defaults.

    The names that it uses are added to `imports`, by module.
    """
    imports = {} if imports is None else imports
    if isinstance(value, Channel):
        return _channel(value, imports)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _call(value, imports)
    if isinstance(value, tuple | list):
        items = [expression(item, imports) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, Mapping):
        pairs = [f"{literal(k)}: {expression(v, imports)}" for k, v in value.items()]
        return f"{{{', '.join(pairs)}}}"
    return literal(value)


def changed_fields(part: object) -> dict[str, object]:
    """Return the fields of a part that differ from their defaults."""
    values = {}
    for each in dataclasses.fields(part):  # type: ignore[arg-type]
        value, default = getattr(part, each.name), each.default
        if each.default_factory is not dataclasses.MISSING:
            default = each.default_factory()
        if default is dataclasses.MISSING or value != default:
            values[each.name] = value
    return values


def _channel(channel: Channel, imports: Imports) -> str:
    """Return A * B with its input, or the full call if the channel has an activation."""
    if channel.activation is not None:
        return _call(channel, imports)
    parts = (channel.neighborhood, channel.guidance)
    product = " * ".join(expression(part, imports) for part in parts)
    return product if channel.input == "previous" else f'({product}).with_input("{channel.input}")'


def _call(part: object, imports: Imports) -> str:
    kind, fields = type(part), changed_fields(part)
    imports.setdefault(kind.__module__, set()).add(kind.__name__)
    if isinstance(part, Choice):
        return f"Choice({', '.join(map(literal, part.values))})"
    first = dataclasses.fields(part)[0].name if fields else ""  # type: ignore[arg-type]
    arguments = [f"{'' if name == first else f'{name}='}{expression(value, imports)}" for name, value in fields.items()]
    return f"{kind.__name__}({', '.join(arguments)})"


def literal(value: object) -> str:
    """Return a plain value as Python source, strings in double quotes."""
    if not isinstance(value, bool | int | float | str | None):
        raise TypeError(f"no text for {value!r}")
    text = repr(value)
    plain = isinstance(value, str) and '"' not in text and "\\" not in text
    return f'"{value}"' if plain else text
