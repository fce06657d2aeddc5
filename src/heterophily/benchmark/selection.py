"""The methods and datasets of a table, in its order."""

from collections.abc import Iterable, Sequence

from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.data import published as paper
from heterophily.runs.record import Record


def select_cells(
    records: Iterable[Record], models: Sequence[str] | None, datasets: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the methods and datasets of a table."""
    cells = {(record.model, record.dataset) for record in records}
    if not cells:
        raise HeterophilyError("there are no records; create them with `heterophily bench`")
    rows = _select("model", models, {model for model, _ in cells}, paper.methods())
    return rows, _select("dataset", datasets, {name for _, name in cells}, paper.datasets())


def _select(kind: str, names: Sequence[str] | None, known: set[str], order: Iterable[str]) -> tuple[str, ...]:
    """Return the given names, or all: the paper's in its order, then the others in alphabetical order."""
    if names is None:
        first = [name for name in order if name in known]
        return (*first, *sorted(known - set(first)))
    if not names:
        raise HeterophilyError(f"expected at least one {kind}; name one, or omit the option for all")
    for name in names:
        if name not in known:
            raise unknown_name(f"{kind} in these results", name, known)
    return tuple(dict.fromkeys(names))
