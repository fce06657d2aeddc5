"""Catalog of all parts, generated from their docstrings.

`python -m heterophily.views.parts > docs/reference/parts.md` prints the page. In the docstring of a part, the first
paragraph is the summary and the second one is the equation. The first method that uses a part shows how to
use it.
"""

import dataclasses
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heterophily.htmp.channel import Channel
from heterophily.htmp.combine import Combine
from heterophily.htmp.encoder import Encoder
from heterophily.htmp.fuse import Fuse
from heterophily.htmp.guidance import Guidance
from heterophily.htmp.identity import expression
from heterophily.htmp.losses import AuxiliaryLoss
from heterophily.htmp.method import Method, make_method
from heterophily.htmp.neighborhoods import Neighborhood
from heterophily.htmp.state import StatePart
from heterophily.htmp.transform import Transform
from heterophily.models import NETWORKS

HEAD = """# Parts

An architecture is assembled from parts. This page lists all parts of the library with their equations, an
example, and the methods that use them. [Write your own method](../tutorials/own-method.md) explains how to
combine parts and how to define your own. This page is generated from docstrings by `python -m heterophily.views.parts`.

Symbols: node i receives messages from node j. X are the features, A is the adjacency matrix of the
symmetrized graph without self-loops, and d_i is the degree of node i. Z is the state of a layer, U = Z W
are the messages, R is the number of channels, L is the number of layers, and K is the number of classes.
"""
COMMON = {field.name for field in dataclasses.fields(Method)}
SECTIONS = re.compile(r"\n(?:Parameters|Returns|Raises|Notes|Examples)\n-+\n")


@dataclass(frozen=True)
class Kind:
    """A kind of part, and how an architecture uses it."""

    title: str
    base: type
    usage: str  # how an architecture uses a part of this kind
    description: str


KINDS = (
    Kind(
        "Neighborhoods A_r",
        Neighborhood,
        "{}",
        "A neighborhood selects the nodes from which each node receives messages. Multiply it by a guidance\n"
        "to create a channel of the architecture.",
    ),
    Kind(
        "Guidance B_r",
        Guidance,
        "{}",
        "A guidance determines the weight of each neighbor. The messages of a channel are (A_r ⊙ B_r) Z W_r.",
    ),
    Kind("Transforms W_r", Transform, "transform={}", "A transform computes the messages U_r = Z W_r of a channel."),
    Kind("COMBINE", Combine, "combine={}", "COMBINE computes the state of a layer from the messages of all channels."),
    Kind("FUSE", Fuse, "fuse={}", "FUSE computes the final representation from the states of all layers."),
    Kind("Encoders", Encoder, "encoder={}", "An encoder computes the initial state Z⁰."),
    Kind("Losses", AuxiliaryLoss, "losses=({},)", "An auxiliary loss is added to the classification loss."),
    Kind("States", StatePart, "states=({},)", "A state contains values that training sets without gradients."),
)


def page() -> str:
    """Return the page as Markdown."""
    users = uses_by_part()
    return "\n".join([HEAD, *(_section(kind, users) for kind in KINDS)])


def uses_by_part() -> dict[type, dict[str, str]]:
    """Return the built-in methods that use each part, and the expression with which they do."""
    uses: dict[type, dict[str, str]] = defaultdict(dict)
    for cls in NETWORKS.values():
        for method in _variants(cls):
            for part, whole in _parts_in(method.architecture()):
                uses[type(part)].setdefault(cls.name, expression(whole))
    return uses


def _variants(cls: type[Method]) -> list[Method]:
    """Return the method in both presets, and with each of its own flags turned on."""
    flags = {field.name for field in dataclasses.fields(cls) if field.default is False} - COMMON
    presets = [make_method(cls, preset=preset) for preset in ("published", "reference")]
    return [*presets, *(make_method(cls, {flag: True}) for flag in sorted(flags))]


def describe(part: type) -> tuple[str, str]:
    """Return the summary and the equation in the docstring of a part."""
    text = SECTIONS.split("\n" + inspect.cleandoc(part.__doc__ or ""))[0]
    summary, equation = (*text.strip().split("\n\n"), "")[:2]
    return " ".join(summary.split()), equation


def _parts_in(value: object, channel: object = None) -> Iterator[tuple[object, object]]:
    """Yield all parts in an architecture, each with its channel or itself."""
    channel = value if isinstance(value, Channel) else channel
    if isinstance(value, tuple):
        for item in value:
            yield from _parts_in(item, channel)
    elif dataclasses.is_dataclass(value):
        yield value, channel or value
        for field in dataclasses.fields(value):
            yield from _parts_in(getattr(value, field.name), channel)


def _section(kind: Kind, uses: Mapping[type, dict[str, str]]) -> str:
    parts = sorted((part for part in uses if issubclass(part, kind.base)), key=_position)
    cards = [_card(part, kind.usage, uses[part]) for part in parts]
    return "\n".join([f"## {kind.title}\n\n{kind.description}\n", *cards])


def _position(part: type) -> tuple[bool, str, int]:
    """Return the sort key: shared parts first, then those of single methods, as in their files."""
    module = part.__module__
    return ".models." in module, module, inspect.getsourcelines(part)[1]


def _card(part: type, usage: str, uses: Mapping[str, str]) -> str:
    summary, equation = describe(part)
    path = part.__module__.replace(".", "/") + ".py"
    lines = [f"### {part.__name__}", "", summary, "", *_indented(equation)]
    # A part inside of another part is shown on its own, if a method uses it so.
    example = next((use for use in uses.values() if use.startswith(part.__name__)), next(iter(uses.values())))
    lines += [f"Use: `{usage.format(example)}`", ""]
    return "\n".join([*lines, f"Used by {', '.join(uses)}. Source: `{path}`", ""])


def _indented(equation: str) -> list[str]:
    return [*(f"    {line}" for line in equation.splitlines()), ""] if equation else []


if __name__ == "__main__":
    print(page(), end="")
