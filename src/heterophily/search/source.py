"""A recipe as a Python file: only what differs from the defaults, so that it reads like one of ours."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heterophily.core.files import write_atomically
from heterophily.htmp.channel import Channel
from heterophily.htmp.identity import user_code
from heterophily.htmp.recipe import Recipe

SPACES = "heterophily.core.spaces"


def write_recipe(recipe: Recipe, path: Path, *, words: str) -> Path:
    """Write a recipe as a file that everything that takes a model takes; `words` say where it is from."""
    text = recipe_source(recipe, words=words)
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def recipe_source(recipe: Recipe, *, words: str) -> str:
    """The text of the file."""
    homes: dict[str, set[str]] = {}
    fields = _changed(recipe)
    lines = [
        f"    {name}={_expression(value, homes, deep=True)}," for name, value in fields.items()
    ]
    homes.setdefault(Recipe.__module__, set()).add("Recipe")
    spaces = homes.pop(SPACES, None)
    imports = [f"from {home} import {', '.join(sorted(names))}" for home, names in homes.items()]
    # Two parts are called Uniform; the spaces go by the name of their module.
    imports += ["from heterophily.core import spaces as space"] if spaces else []
    head = f'"""{words}"""\n\n' + "\n".join(sorted(imports))
    return f"{head}\n\nRECIPE = Recipe(\n" + "\n".join(lines) + "\n)\n"


def identity_of(part: Any) -> str:
    """A text that is the same as long as the part is; new fields that parts may get do not change it."""
    return _expression(part, {})


def whole_identity(recipe: Recipe) -> str:
    """The identity of a recipe without the words around it, with the code of parts that are not ours."""
    silent = dataclasses.replace(recipe, title="", paper="", equation="", deviations=())
    return "\n".join([identity_of(silent), *user_code(recipe)])


def _changed(part: Any) -> dict[str, Any]:
    """The fields of a part that are not at their default."""
    found = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        usual = field.default
        if field.default_factory is not dataclasses.MISSING:
            usual = field.default_factory()
        if usual is dataclasses.MISSING or value != usual:
            found[field.name] = value
    return found


def _expression(value: Any, homes: dict[str, set[str]], *, deep: bool = False) -> str:
    if isinstance(value, Channel):
        return _channel(value, homes)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _call(value, homes)
    start, end = ("\n        ", "\n    ") if deep else ("", "")
    between = f",{start}" if deep else ", "
    if isinstance(value, tuple):
        items = [_expression(item, homes) for item in value]
        comma = "," if deep or len(items) == 1 else ""
        return f"({start}{between.join(items)}{comma}{end})" if items else "()"
    if isinstance(value, Mapping):
        pairs = [f"{_quoted(k)}: {_expression(v, homes)}" for k, v in value.items()]
        return f"{{{start}{between.join(pairs)}{',' if deep else ''}{end}}}" if pairs else "{}"
    return _quoted(value)


def _channel(channel: Channel, homes: dict[str, set[str]]) -> str:
    """A * B, with what it hears; in full where a product cannot say it."""
    if channel.when is not True or channel.activation is not None:
        return _call(channel, homes)
    parts = (channel.neighborhood, channel.guidance)
    product = " * ".join(_expression(part, homes) for part in parts)
    return (
        product
        if channel.input == "previous"
        else f"({product}).with_input({_quoted(channel.input)})"
    )


def _call(part: Any, homes: dict[str, set[str]]) -> str:
    kind = type(part)
    homes.setdefault(kind.__module__, set()).add(kind.__name__)
    fields = _changed(part)
    first = dataclasses.fields(part)[0].name if fields else ""
    if kind.__module__ == SPACES and "values" in fields:
        inside = ", ".join(_quoted(value) for value in fields["values"])
    else:
        inside = ", ".join(
            f"{'' if name == first else f'{name}='}{_expression(v, homes)}"
            for name, v in fields.items()
        )
    name = f"space.{kind.__name__}" if kind.__module__ == SPACES else kind.__name__
    return f"{name}({inside})"


def _quoted(value: Any) -> str:
    text = repr(value)
    plain = isinstance(value, str) and '"' not in text and "\\" not in text
    return f'"{value}"' if plain else text
