"""The benchmark's table for people and programs: as text, Markdown, CSV and JSON.

Only the spelling is decided here; every number comes from `heterophily.benchmark.table`.
"""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from heterophily.benchmark.significance import PairedTest
from heterophily.benchmark.table import DIGITS, MISSING, Entry, Table
from heterophily.core.csv_files import write_csv
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.files import write_atomically
from heterophily.core.types import JsonObject
from heterophily.training.scoring import title_of

NOT_WORSE_MARK = "†"
PLACES = {1: "¹", 2: "²"}  # in addition to bold and underlined, which files do not show
STYLES = {1: "bold", 2: "underline"}
MINUS = "−"
KINDS = {
    "default": "the default settings of the method",
    "bundled": "the settings that the library contains",
    "given": "settings of a user",
    "tuned": "the settings with the best mean validation score",
}
WIDTH = 140  # columns of a text that is not for a terminal


def number(entry: Entry) -> str:
    """Mean ± standard deviation, with the number of runs if some are missing, or OOM, time, error, or –."""
    return str(entry)


def published_comparison(entry: Entry) -> str:
    """The published mean and the difference to it, or nothing where the paper has no cell."""
    if entry.published is None:
        return ""
    if entry.published.mean is None:
        return "OOM"
    printed = f"{entry.published.mean:.{DIGITS}f}"
    return printed if entry.difference is None else f"{printed}, {signed(entry.difference)}"


def published_text(entry: Entry | None) -> str:
    """The published mean ± standard deviation, OOM, or – where the paper has no cell."""
    if entry is None or entry.published is None:
        return MISSING
    if entry.published.mean is None:
        return "OOM"
    return f"{entry.published.mean:.{DIGITS}f} ± {entry.published.std:.{DIGITS}f}"


def signed(value: float, *, digits: int = DIGITS) -> str:
    """A difference with its sign, a real minus, and none for what rounds to zero."""
    text = f"{abs(value):.{digits}f}"
    return ("" if not float(text) else "+" if value > 0 else MINUS) + text


def rank_text(table: Table, model: str) -> str:
    """The average rank with one decimal, or – where no dataset has all methods."""
    return f"{table.average_ranks[model]:.1f}" if table.average_ranks else "–"


def notes(
    table: Table, *, over_datasets: bool = True, worse: str = f"{NOT_WORSE_MARK} not significantly worse"
) -> list[str]:
    """Return sentences that explain the table, where `worse` is the mark of the tests.

    Sentences about ranks and tests over datasets are optional.
    """
    scoring = title_of(table.scoring)
    found = [f"Mean ± sample standard deviation (n − 1) of the test {scoring} in percent."]
    if any(entry.partial for entry in table):
        found.append(
            "(8/10): 8 of 10 runs are finished, the mean is over those; best and second are chosen among the "
            "methods with the most runs."
        )
    if table.n_excluded:
        found.append(
            f"{table.n_excluded} records of other settings, graphs, or versions are excluded: only the "
            "newest settings of each method are shown."
        )
    if table.budget:
        found.append(_columns_note(table))
    if table.against:
        found.append("Next to each result: the mean in the paper, and the difference from it.")
    if over_datasets:
        found.append(_rank_note(table))
    if table.comparisons:
        found.append(
            f"{worse} than the best of the dataset: corrected resampled "
            "t-test of Nadeau and Bengio on paired splits, Holm's correction, level "
            f"{table.alpha:g}.{_untested(table)}"
        )
    return [*found, _ranking_note(table)] if over_datasets else found


def _columns_note(table: Table) -> str:
    kinds = {entry.settings for entry in table}
    meanings = "; ".join(f"{kind}: {text}" for kind, text in KINDS.items() if kind in kinds)
    return (
        f"{meanings} of {table.budget} per method and dataset, the first of which has the defaults. Methods are "
        "compared within a column; ranks are those of the tuned columns."
    )


def _untested(table: Table) -> str:
    names = [f"{model} on {name}" for name, models in table.untested.items() for model in models]
    return f" Not tested for want of shared splits: {', '.join(names)}." if names else ""


def _rank_note(table: Table) -> str:
    n, k = len(table.ranked), len(table.models)
    total = len({entry.dataset for entry in table})
    if not n:
        return "No average rank: no dataset has a run that all methods share."
    return f"Average rank: over the {n} of {total} datasets on which all {k} methods share runs, by the means of those."


def _ranking_note(table: Table) -> str:
    ranking = table.ranking
    if ranking is None:
        return f"No test over datasets: {table.unranked}."
    return (
        f"Over {len(ranking.datasets)} datasets, Friedman: χ² = {ranking.chi_square:.2f}, "
        f"p = {p_text(ranking.p)}; critical difference of average ranks (Nemenyi, level "
        f"{ranking.alpha:g}): {ranking.critical_difference:.2f}."
    )


def p_text(p: float) -> str:
    """A probability, not more exact than it is."""
    return f"{p:.1e}" if 0 < p < 1e-3 else f"{p:.3f}"


def text_view(table: Table, *, width: int = WIDTH) -> RenderableType:
    """The table for a terminal, in as many blocks of datasets as its width asks for."""
    blocks = _blocks(table, width)
    grids = [_grid(table, names, last=names is blocks[-1]) for names in blocks]
    legend = f"{PLACES[1]} best (bold), {PLACES[2]} second (underlined) of the dataset."
    return Group(*grids, *(Text(sentence, style="dim") for sentence in (legend, *notes(table))))


def _grid(table: Table, datasets: Sequence[str], *, last: bool) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("method", no_wrap=True)
    for name in datasets:
        grid.add_column(Text(name), justify="right", no_wrap=True)
    if last:
        grid.add_column("rank", justify="right", no_wrap=True)
    for model in table.models:
        cells = [_cell(table.entries[model, name]) for name in datasets]
        grid.add_row(Text(model), *cells, *([rank_text(table, model)] if last else []))
    return grid


def _cell(entry: Entry) -> Text:
    style = STYLES.get(entry.position, "" if entry.n else "dim")
    # Marks are in front, so that the digits of a column are aligned.
    marks = (NOT_WORSE_MARK if entry.not_significantly_worse else "") + PLACES.get(entry.position, "")
    text = Text(marks)
    text.append(number(entry), style=style)
    if entry.published is not None:
        text.append(f"\n{published_comparison(entry)}", style="dim")
    return text


def _blocks(table: Table, width: int) -> list[list[str]]:
    """Datasets side by side as far as they fit."""
    room = width - max(map(len, ("method", *table.models))) - len("  rank  ")
    blocks: list[list[str]] = [[]]
    used = 0
    for name in table.datasets:
        cells = (line for entry in table.column(name) for line in _cell(entry).plain.split("\n"))
        need = max(map(len, (name, *cells))) + 2
        if blocks[-1] and used + need > room:
            blocks.append([])
            used = 0
        blocks[-1].append(name)
        used += need
    return blocks


def to_markdown(table: Table, *, over_datasets: bool = True) -> str:
    """The table as Markdown: best bold, second underlined."""
    rows = [[_escaped(model), *map(_markdown, table.row(model)), rank_text(table, model)] for model in table.models]
    said = ["**Best** and <u>second</u> of each dataset.", *notes(table, over_datasets=over_datasets)]
    grid = markdown_grid(["method", *map(_escaped, table.datasets), "average rank"], rows)
    return "\n".join([*grid, "", *(f"* {sentence}" for sentence in said), ""])


def markdown_grid(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> list[str]:
    """The lines of a Markdown table: the first columns are words, the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def _markdown(entry: Entry) -> str:
    text = number(entry)
    text = {1: f"**{text}**", 2: f"<u>{text}</u>"}.get(entry.position, text)
    text += NOT_WORSE_MARK if entry.not_significantly_worse else ""
    return f"{text}<br><sub>{published_comparison(entry)}</sub>" if published_comparison(entry) else text


def one_line(text: str) -> str:
    r"""Return text on one line: a line break in a name must not end a comment or a row.

    >>> one_line("a\nb\u2028c")
    'a b c'
    """
    return "".join(" " if not c.isprintable() else c for c in text)


def _escaped(name: str) -> str:
    return "".join(f"\\{c}" if c in "\\|*_<>`[]" else c for c in one_line(name))


def to_csv(table: Table) -> str:
    """One row per cell; failures as `memory:2`, an empty field where there is nothing."""
    rows = []
    for entry in table:
        facts = entry.to_dict()
        failed = " ".join(f"{kind}:{count}" for kind, count in (entry.failed or {}).items())
        rows.append({**facts, "failed": failed, "average_rank": table.average_ranks.get(entry.model)})
    return _csv_text(list(dict.fromkeys(name for row in rows for name in row)), rows)


def to_json(table: Table) -> str:
    """A list with one object per cell."""
    cells = [{**entry.to_dict(), "average_rank": table.average_ranks.get(entry.model)} for entry in table]
    return json.dumps(cells, indent=1, ensure_ascii=False) + "\n"


def pair_rows(table: Table) -> list[JsonObject]:
    """Return one row per pair of methods and dataset: the difference and its test."""
    return [{"dataset": name, **vars(test)} for name in table.datasets for test in table.pairs.get(name, ())]


def pairs_to_csv(table: Table) -> str:
    """Return the tests of all pairs of methods, one row per pair and dataset."""
    return _csv_text(["dataset", *(field.name for field in fields(PairedTest))], pair_rows(table))


def _csv_text(names: Sequence[str], rows: Iterable[JsonObject]) -> str:
    out = io.StringIO()
    write_csv(out, [names, *([row.get(name, "") for name in names] for row in rows)], end="\n")
    return out.getvalue()


def pairs_to_json(table: Table) -> str:
    """Return the tests of all pairs of methods, and those over datasets."""
    ranking = None if table.ranking is None else {**vars(table.ranking), "cliques": table.ranking.cliques}
    content = {"pairs": pair_rows(table), "over_datasets": ranking, "alpha": table.alpha}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def render_pairs(table: Table, kind: str) -> str:
    """Return the tests of all pairs of methods as a string in a format."""
    if kind not in PAIR_FORMATS:
        raise HeterophilyError(f"pairwise tests are written as {' or '.join(PAIR_FORMATS)}, not {kind}; choose one")
    return PAIR_FORMATS[kind](table)


PAIR_FORMATS: dict[str, Callable[[Table], str]] = {"csv": pairs_to_csv, "json": pairs_to_json}


def write_text(text: str, path: Path) -> Path:
    """Write a text atomically."""
    write_atomically(path, lambda p: p.write_text(text, encoding="utf-8"))
    return path


def render_table(table: Table, kind: str) -> str:
    """The table as a string in a format."""
    from heterophily.views.latex import to_html, to_latex

    formats: dict[str, Callable[[Table], str]] = {
        "text": to_text,
        "md": to_markdown,
        "latex": to_latex,
        "csv": to_csv,
        "json": to_json,
        "html": to_html,
    }
    if kind not in formats:
        raise unknown_name("format of a table", kind, formats)
    return formats[kind](table)


def format_of(path: Path) -> str:
    """Return the format for a file extension, or text if it is unknown."""
    known = {f".{kind}": kind for kind in ("md", "csv", "json", "html")}
    return {**known, ".tex": "latex"}.get(path.suffix.lower(), "text")


def to_text(table: Table) -> str:
    """Return the table as on a terminal, without colors."""
    page = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    with page.capture() as capture:
        page.print(text_view(table, width=WIDTH))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
