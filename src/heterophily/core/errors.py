"""Errors and warnings for problems that the user can fix."""

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches

MAX_NAMES = 100  # that an error lists; all methods and datasets, but not all nodes of a graph


class HeterophilyError(ValueError):
    """A problem that the user can fix, such as invalid input.

    The message states what was expected, what was received, and what to do next.

    Examples
    --------
    >>> from heterophily import Graph, HeterophilyError
    >>> try:
    ...     Graph.from_edges([(0, 1)], labels=[0, -2])
    ... except HeterophilyError as error:
    ...     print(error)
    labels must be 0, 1, ... or -1 for unknown, got -2 at node 1; number the classes from 0
    """


class HeterophilyWarning(UserWarning):
    """Warning about a problem that does not stop the computation."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> HeterophilyError:
    """Create the error for an unknown name: `unknown dataset "cora2"; did you mean "cora"?`."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1) if isinstance(name, str) else []
    text = f'"{name[:200]}"' if isinstance(name, str) else " ".join(reprlib.repr(name).split())
    more = f", and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    options = ", ".join(names[:MAX_NAMES]) + more
    hint = f'did you mean "{close[0]}"?' if close else f"available: {options or 'none'}"
    return HeterophilyError(f"unknown {kind} {text}; {hint}")


def check_option(name: str, value: str, options: Iterable[str]) -> None:
    """Raise an error unless a value is one of the options."""
    known = tuple(options)
    if value not in known:
        raise HeterophilyError(f"{name} must be one of {', '.join(known)}, got {value!r}")
