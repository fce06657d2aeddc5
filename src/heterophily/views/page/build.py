"""From views to one file: templates filled, styles, scripts, figures and plotly.js put inside."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heterophily import __version__
from heterophily.core.chart import Chart, Mark
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.types import Json
from heterophily.data import published as paper
from heterophily.views.charts import rank_chart
from heterophily.views.page import panels
from heterophily.views.page.commands import custom_note, full_command
from heterophily.views.page.data import Results, environments, key_numbers, load_results, to_json_value
from heterophily.views.plotly import draw_chart
from heterophily.views.tables import notes

MAX_BYTES = 10_000_000
N_COLORS = 8  # of the palette in page.css; further methods get other dashes and symbols
LINE_HEIGHT = 26  # pixels of a row


def write_report(
    source: Path | str, out: Path | str, *, studies: Path | str | None = None, measure: bool = True
) -> Path:
    """Write the report of a folder or file of records; its path."""
    check_name(out)
    return write_page(report_page(load_results(source, studies=studies, measure=measure)), out)


def report_page(results: Results) -> str:
    """The page of several methods on several datasets."""
    table = results.table
    sections = {name: panels.sections(results, name) for name in table.datasets}
    views = [panels.panel(results, name, sections[name]) for name in table.datasets]
    ranks = [rank_chart(table.ranking)] if table.ranking else []
    has_paper = any(entry.published is not None for entry in table)
    more = panels.study_sections(results)
    figures = Figures(results.methods)
    for chart in ranks:
        figures.add(chart)
    shown = [s for dataset in table.datasets for s in sections[dataset]]
    for section in [*shown, *more]:
        figures.add(*section.charts)
    context = {
        "title": f"{_listed(len(table.models), 'method')} on {_listed(len(table.datasets), 'dataset')}",
        "facts": key_numbers(results),
        "paper": paper.title(),
        "methods": results.methods,
        "datasets": table.datasets,
        "board": panels.leaderboard(table),
        "index": {model: i for i, model in enumerate(table.models)},
        "has_paper": has_paper,
        "notes": notes(replace(table, against=has_paper)),
        "ranks": ranks,
        "panels": views,
        "more": more,
        "environments": environments(results.runs),
        "command": full_command(results.runs, table.models, table.datasets),
        "note": custom_note(table.models, table.datasets),
    }
    return render("report.html", figures, context)


class Figures:
    """The figures of a page, in the order in which they were added."""

    def __init__(self, methods: Sequence[str], charts: Iterable[Chart] = ()) -> None:
        self.methods = methods
        self.charts: list[Chart] = []
        self.add(*charts)

    def add(self, *charts: Chart) -> None:
        """Add charts."""
        self.charts += charts

    def key(self, chart: Chart) -> str:
        """Return the key of a chart."""
        return f"f{next(i for i, each in enumerate(self.charts) if each is chart)}"

    def data(self) -> dict[str, Json]:
        """Return all figures as plain data."""
        return {self.key(c): to_json_value(draw_chart(c, self.methods)) for c in self.charts}


def render(template: str, figures: Figures, context: Mapping[str, object]) -> str:
    """Fill a template. Every string in it is escaped."""
    methods = figures.methods
    values = {
        "methods": (),
        "datasets": (),
        "version": __version__,
        "key": figures.key,
        "color_of": lambda mark: _color(mark, methods),
        "method_color": lambda method: _place(methods, method) % N_COLORS + 1,
        "kind_of": lambda method: _place(methods, method) // N_COLORS % 3,
        "height_of": _height,
        "is_square": lambda chart: chart.x.categories == chart.y.categories != (),
        "style": Markup(_part("page.css")),  # noqa: S704, our own files
        "script": Markup(_part("page.js")),  # noqa: S704
        "plotly": Markup(plotly_script() if figures.charts else ""),  # noqa: S704
        "figures": Markup(json_in_html(figures.data())),  # noqa: S704, `<` is escaped there
    }
    return _environment().get_template(template).render({**values, **context})


def _color(mark: Mark, methods: Sequence[str]) -> str:
    """The name of the color of a mark in page.css."""
    if not mark.method and isinstance(mark.color, str):
        return mark.color
    number = _place(methods, mark.method) if mark.method else int(mark.color)
    return f"series-{number % N_COLORS + 1}"


def _height(chart: Chart) -> int:
    """The height of a chart in pixels."""
    if chart.height is not None:
        return round(105 * chart.height) + 30
    rows = len(chart.y.categories)
    return LINE_HEIGHT * rows + 80 if rows else 340


def _place(methods: Sequence[str], method: str) -> int:
    return methods.index(method) if method in methods else len(methods)


def json_in_html(content: Json) -> str:
    r"""JSON that cannot end the script element around it.

    >>> json_in_html({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def plotly_script() -> str:
    """The source of plotly.js, which must not end the script element around it."""
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    return source.replace("</script", "<\\/script").replace("<!--", "<\\!--")


@cache
def _environment() -> Environment:
    loader = PackageLoader("heterophily.views.page", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _part(name: str) -> str:
    path = files("heterophily.views.page") / "templates" / name
    return path.read_text(encoding="utf-8")


def check_name(path: Path | str) -> None:
    """Refuse a name that a browser would not open as a page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise HeterophilyError(f"a report ends in .html, got {Path(path).name!r}; change the ending")


def write_page(text: str, path: Path | str) -> Path:
    """Write a page atomically; one that is too large to send is an error."""
    check_name(path)
    size = len(text.encode())
    if size > MAX_BYTES:
        raise HeterophilyError(
            f"the report would have {size / 1e6:.1f} MB, more than {MAX_BYTES / 1e6:.0f}; pack the records "
            "without their curves, or report fewer methods or datasets"
        )
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return Path(path)


def _listed(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
