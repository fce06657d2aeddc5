"""From views to one file: templates are filled, and styles, scripts, and charts are put inside."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heterophily import __version__
from heterophily.core.arguments import PATH, check_argument
from heterophily.core.chart import Chart, Mark
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.data import published as paper
from heterophily.views.charts import rank_chart
from heterophily.views.finding import find
from heterophily.views.heat_maps import cell_text
from heterophily.views.page import panels
from heterophily.views.page.commands import custom_note, full_command
from heterophily.views.page.data import Results, environments, key_numbers, load_results
from heterophily.views.svg import draw_chart, draw_key
from heterophily.views.tables import notes

MAX_BYTES = 10_000_000


def write_report(
    source: Path | str, out: Path | str, *, studies: Path | str | None = None, measure: bool = True
) -> Path:
    """Write the report of a folder or file of records; its path."""
    check_name(out)
    return write_page(report_page(load_results(source, studies=studies, measure=measure)), out)


def report(results: Path | str, out: Path | str, *, studies: Path | str | None = None, diagnose: bool = True) -> Path:
    """Write a single HTML file that summarizes benchmark results and studies.

    Parameters
    ----------
    results
        Folder or file with records.
    out
        HTML file for the report, which needs no network.
    studies
        Folder written by `study`; by default the folder `studies` next to the records.
    diagnose
        Whether to diagnose the graphs that are available.

    Returns
    -------
    The path of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from heterophily import bench, report
    >>> folder = Path(mkdtemp())
    >>> fast = {"max_epochs": 3}
    >>> _ = bench("gcn", "digits", splits="0", out=folder, settings=fast, engine="inline")
    >>> report(folder, folder / "report.html", diagnose=False).name
    'report.html'
    """
    check_argument("results", results, PATH)
    check_argument("out", out, PATH)
    check_argument("studies", studies, PATH, optional=True)
    return write_report(results, out, studies=studies, measure=diagnose)


def report_page(results: Results) -> str:
    """The page of several methods on several datasets."""
    table = results.table
    sections = {name: panels.sections(results, name) for name in table.datasets}
    views = [panels.panel(results, name, sections[name]) for name in table.datasets]
    ranks = [rank_chart(table.ranking)] if table.ranking else []
    has_paper = any(entry.published is not None for entry in table)
    more, finding, several = panels.study_sections(results), find(table), len(table.datasets) > 1
    against = replace(table, against=has_paper)
    context = {
        "kicker": f"{_listed(len(table.models), 'method')} on {_listed(len(table.datasets), 'dataset')}",
        "title": finding.headline,
        "finding": finding,
        "facts": key_numbers(results),
        "paper": paper.title(),
        "methods": results.methods,
        "datasets": table.datasets,
        "board": panels.leaderboard(table),
        "index": {model: i for i, model in enumerate(table.models)},
        "has_paper": has_paper,
        "notes": notes(against, over_datasets=several, worse="Gray numbers are significantly worse"),
        "ranked": bool(table.average_ranks),
        "grays": bool(table.comparisons),
        "ranks": ranks,
        "panels": views,
        "more": more,
        "environments": environments(results.runs),
        "command": full_command(results.runs, table.models, table.datasets),
        "note": custom_note(table.models, table.datasets),
    }
    return render("report.html", results.methods, context)


def render(template: str, methods: Sequence[str], context: Mapping[str, object]) -> str:
    """Fill a template. Every string in it is escaped, and charts are drawn as SVG."""
    values = {
        "methods": (),
        "datasets": (),
        "kicker": "",
        "version": __version__,
        "drawing": lambda chart: Markup(draw_chart(chart, methods)),  # noqa: S704, `draw_chart` escapes text
        "key_of": lambda mark: Markup(draw_key(mark, methods)),  # noqa: S704
        "paper_key": lambda chart: Markup(_paper_key(chart)),  # noqa: S704
        "method_key": lambda name: Markup(draw_key(Mark("point", method=name), methods)),  # noqa: S704
        "methods_of": _methods_of,
        "color_scale": _color_scale,
        "style": Markup(_part("page.css")),  # noqa: S704, our own files
        "script": Markup(_part("page.js")),  # noqa: S704
    }
    return _environment().get_template(template).render({**values, **context})


def _paper_key(chart: Chart) -> str:
    mark = next(mark for mark in chart.marks if mark.paper)
    return draw_key(replace(mark, method="", color="ink"))


def _methods_of(chart: Chart) -> list[str]:
    """The methods without which a chart is empty."""
    names = list(dict.fromkeys(mark.method for mark in chart.marks))
    return names if all(names) else []


def _color_scale(chart: Chart) -> dict[str, str] | None:
    """The ends of the color scale of a heat map."""
    mark = chart.marks[0] if chart.marks else None
    if mark is None or mark.kind != "heat map":
        return None
    low, high = (cell_text(float(value), chart.digits) or "0" for value in mark.limits)
    kind = "signed" if mark.limits[0] < 0 else "plain"
    title = ", ".join(filter(None, (mark.scale, "logarithmic" if mark.log else "")))
    return {"low": low, "high": high, "kind": kind, "title": title}


@cache
def _environment() -> Environment:
    loader = PackageLoader("heterophily.views.page", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"unbroken": unbroken, "word_columns": word_columns}
    return environment


def unbroken(text: str) -> Markup:
    """Return text whose words with a hyphen, such as the names of methods, are not divided between lines."""
    words = [Markup('<span class="word">{}</span>').format(word) if "-" in word else word for word in text.split()]
    return Markup(" ").join(words)


def word_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return which columns of a table contain words, which are aligned to the left.

    Examples
    --------
    >>> word_columns([["a", "0.5", "done"], ["b", "+1 to +2", ""]])
    [True, False, True]
    """
    columns = zip(*rows, strict=True)
    return [i == 0 or any(re.search("[^\\W\\d_]{3}", cell) for cell in column) for i, column in enumerate(columns)]


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
