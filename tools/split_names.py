"""Extension of Griffe: `a, b` in the parameters of a docstring becomes two entries, each with its own type."""

import re

from griffe import Extension, Object

GROUP = re.compile(r"^(\w+(?:, \w+)+)\n((?:    .*\n?)+)", re.MULTILINE)


class SplitNames(Extension):
    """Split groups of names, because the parser uses the type of the first name for all of them."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Change the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = GROUP.sub(_split, obj.docstring.value)


def _split(match: re.Match[str]) -> str:
    text = match[2] if match[2].endswith("\n") else match[2] + "\n"
    return "".join(f"{name}\n{text}" for name in match[1].split(", ")).removesuffix("\n" * (text != match[2]))
