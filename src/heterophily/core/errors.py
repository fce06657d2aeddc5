"""What goes wrong for reasons that the user can mend."""

from collections.abc import Iterable
from difflib import get_close_matches


class HeterophilyError(ValueError):
    """A problem of the input; its one sentence says what was wanted, what came and what to do."""


class HeterophilyWarning(UserWarning):
    """What the user should know although the work goes on."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> HeterophilyError:
    """Build the error for a misspelt name: `no dataset "cora2"; did you mean "cora"?`."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(names) or 'none'}"
    return HeterophilyError(f'no {kind} "{name}"; {hint}')
