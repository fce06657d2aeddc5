"""Templates of the pages that are generated from results."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from heterophily.core.chart import Table


@cache
def _environment() -> Environment:
    environment = Environment(  # Markdown is not escaped
        loader=PackageLoader("heterophily.views", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
    )
    environment.filters |= {"markdown": markdown_table, "listed": list_names}
    return environment


def render_markdown(template: str, **values: object) -> str:
    """Fill a Markdown template."""
    return _environment().get_template(template).render(values)


def read_text(name: str) -> str:
    """Return the text of a file in this folder, which does not have to exist."""
    path = files("heterophily.views.templates") / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def markdown_table(table: Table, n_text: int = 1) -> str:
    """Return a table in Markdown. The first `n_text` columns are text, the others numbers.

    Examples
    --------
    >>> print(markdown_table(Table(["a", "b"], [["x", "1"]])))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    rule = ["---"] * n_text + ["---:"] * (len(table.head) - n_text)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (table.head, rule, *table.rows))


def list_names(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> list_names(["a", "b", "c"]), list_names(["a", "b"])
    ('a, b, and c', 'a and b')
    """
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"
