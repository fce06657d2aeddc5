"""Templates of the pages that are generated from results."""

from functools import cache

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
    environment.filters["markdown"] = markdown_table
    return environment


def render_markdown(template: str, **values: object) -> str:
    """Fill a Markdown template."""
    return _environment().get_template(template).render(values)


def markdown_table(table: Table) -> str:
    """Return a table in Markdown, with numbers aligned to the right.

    Examples
    --------
    >>> print(markdown_table(Table(["a", "b"], [["x", "1"]])))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    lines = [f"| {' | '.join(cells)} |" for cells in (table.head, *table.rows)]
    return "\n".join([lines[0], "|---" + "|---:" * (len(table.head) - 1) + "|", *lines[1:]])
