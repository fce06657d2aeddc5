"""From views to one file: templates filled, styles, scripts, figures and plotly.js put inside."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heterophily import __version__
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.data import published as paper
from heterophily.views.page import overview, views
from heterophily.views.page.chart import N_COLORS, Chart, Section
from heterophily.views.page.commands import own_note, whole_command
from heterophily.views.page.data import Results, environments, gather, headline, plain
from heterophily.views.tables import notes

MOST_BYTES = 10_000_000


def write_report(
    source: Path | str, out: Path | str, *, studies: Path | str | None = None, measure: bool = True
) -> Path:
    """Write the report of a folder or file of records; its path."""
    check_name(out)
    return write_page(report_page(gather(source, studies=studies, measure=measure)), out)


def report_page(results: Results) -> str:
    """The page of several methods on several datasets."""
    table = results.table
    panels = [views.panel(results, dataset) for dataset in table.datasets]
    ranks = [overview.rank_chart(table.ranking)] if table.ranking else []
    has_paper = any(entry.published is not None for entry in table)
    more = [section for section in study_sections(results) if section.charts]
    figures = Figures()
    for chart in ranks:
        figures.add(chart)
    for section in [*(s for panel in panels for s in panel["sections"]), *more]:
        figures.add(*section.charts)
    context = {
        "title": f"{_listed(len(table.models), 'method')} on {_listed(len(table.datasets), 'dataset')}",
        "facts": headline(results),
        "paper": paper.title(),
        "methods": results.series.methods,
        "datasets": table.datasets,
        "board": views.board(table),
        "index": {model: i for i, model in enumerate(table.models)},
        "has_paper": has_paper,
        "notes": notes(replace(table, against=has_paper)),
        "ranks": ranks,
        "panels": panels,
        "more": more,
        "environments": environments(results.runs),
        "command": whole_command(results.runs, table.models, table.datasets),
        "note": own_note(table.models, table.datasets),
    }
    return render("report.html", figures, context)


def study_sections(results: Results) -> list[Section]:
    """The studies that do not belong to one dataset."""
    tables, series = results.studies, results.series
    return [
        Section(
            "Synthetic graphs",
            overview.synthetic_charts(tables.get("synthetic", []), series),
            text="The nodes of one graph with edges drawn anew, so that homophily, preferences and degree "
            "are known.",
        ),
        Section("Between easy and hard", overview.sweep_charts(tables.get("sweep", []))),
        Section("Scaling", overview.scaling_charts(tables.get("scaling", []), series)),
    ]


class Figures:
    """The figures of a page under short keys, in the order in which they were added."""

    def __init__(self, charts: Iterable[Chart] = ()) -> None:
        self.charts: list[Chart] = []
        self.add(*charts)

    def add(self, *charts: Chart) -> None:
        """Add charts."""
        self.charts += charts

    def key(self, chart: Chart) -> str:
        """The key of a chart that was added."""
        return f"f{next(i for i, each in enumerate(self.charts) if each is chart)}"

    def data(self) -> dict[str, Any]:
        """All figures as plain data."""
        return {self.key(chart): plain(chart.figure) for chart in self.charts}


def render(template: str, figures: Figures, context: Mapping[str, Any]) -> str:
    """Fill a template; every string in it is escaped."""
    methods: Sequence[str] = context.get("methods", ())
    return (
        _environment()
        .get_template(template)
        .render(
            {
                "methods": (),
                "datasets": (),
                "version": __version__,
                "key": figures.key,
                "color_of": lambda m: _place(methods, m) % N_COLORS + 1,
                "kind_of": lambda m: _place(methods, m) // N_COLORS % 3,
                "style": Markup(_part("page.css")),  # noqa: S704, our own files
                "script": Markup(_part("page.js")),  # noqa: S704
                "plotly": Markup(plotly_script() if figures.charts else ""),  # noqa: S704
                "figures": Markup(json_in_html(figures.data())),  # noqa: S704, `<` is escaped there
                **context,
            }
        )
    )


def _place(methods: Sequence[str], method: str) -> int:
    return methods.index(method) if method in methods else len(methods)


def json_in_html(content: Any) -> str:
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
    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _part(name: str) -> str:
    path = files("heterophily.views.page") / "templates" / name
    return path.read_text(encoding="utf-8")


def check_name(path: Path | str) -> None:
    """Refuse a name that a browser would not open as a page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise HeterophilyError(
            f"a report ends in .html, got {Path(path).name!r}; change the ending"
        )


def write_page(text: str, path: Path | str) -> Path:
    """Write a page atomically; one that is too large to send is an error."""
    check_name(path)
    size = len(text.encode())
    if size > MOST_BYTES:
        raise HeterophilyError(
            f"the report would have {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f}; pack the records "
            "without their curves, or report fewer methods or datasets"
        )
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return Path(path)


def _listed(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
