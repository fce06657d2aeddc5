"""The benchmark's table as LaTeX and as a page of HTML."""

from html import escape

from heterophily.benchmark.table import Entry, Table
from heterophily.training.scoring import title_of
from heterophily.views.tables import MINUS, NOT_WORSE_MARK, notes, number, one_line, published_comparison, rank_text

SPECIAL = {
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    MINUS: "$-$",
    "±": r"$\pm$",
    NOT_WORSE_MARK: r"$^\dagger$",
    "<": "$<$",
    ">": "$>$",
}

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { font-weight: 600; padding: .5rem 0; text-align: left; }
th, td { padding: .35rem .8rem; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; }
thead th { border-bottom: 2px solid; vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
small { display: block; }
abbr { text-decoration: none; }
.apart { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; }
"""


def to_latex(table: Table) -> str:
    """A `tabular` for a paper; needs the package booktabs and nothing else."""
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{l" + "r" * (len(table.datasets) + 1) + "}",
        r"\toprule",
        " & ".join(["Method", *map(escape_latex, table.datasets), "Rank"]) + r" \\",
        r"\midrule",
    ]
    for model in table.models:
        cells = [_latex(entry) for entry in table.row(model)]
        lines.append(" & ".join([escape_latex(model), *cells, escape_latex(rank_text(table, model))]) + r" \\")
    said = ["Bold: best; underlined: second of the dataset.", *notes(table)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {one_line(s)}" for s in said), ""])


def escape_latex(text: str) -> str:
    """Plain text with everything escaped that LaTeX would take for a command."""
    return "".join(SPECIAL.get(c, c) for c in one_line(text))


def _latex(entry: Entry) -> str:
    text = escape_latex(number(entry))
    command = {1: r"\textbf{%s}", 2: r"\underline{%s}"}.get(entry.position, "%s")
    text = command % text + (escape_latex(NOT_WORSE_MARK) if entry.not_significantly_worse else "")
    return (
        f"{text} {{\\scriptsize ({escape_latex(published_comparison(entry))})}}"
        if published_comparison(entry)
        else text
    )


def to_html(table: Table) -> str:
    """Return a self-contained page with a table that screen readers can navigate."""
    scoring = escape(title_of(table.scoring))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in (*table.datasets, "average rank"))
    rows = "\n".join(_html_row(table, model) for model in table.models)
    said = ["Bold: best; underlined: second of the dataset.", *notes(table)]
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in said)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Test {scoring} of {len(table.models)} methods on {len(table.datasets)} datasets</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<div class="scroll" role="region" aria-label="results" tabindex="0">
<table>
<caption>Test {scoring} in percent</caption>
<thead>
<tr><th scope="col">method</th>{head}</tr>
</thead>
<tbody>
{rows}
</tbody>
</table>
</div>
<ul>
{items}
</ul>
</main>
</body>
</html>
"""


def _html_row(table: Table, model: str) -> str:
    cells = "".join(f"<td>{_html(entry)}</td>" for entry in table.row(model))
    return f'<tr><th scope="row">{escape(model)}</th>{cells}<td>{escape(rank_text(table, model))}</td></tr>'


def _html(entry: Entry) -> str:
    text = escape(number(entry))
    places = {
        1: f'<strong>{text}</strong><span class="apart">, best</span>',
        2: f'<u>{text}</u><span class="apart">, second</span>',
    }
    text = places.get(entry.position, text)
    if not entry.n and entry.failure_label == "–":
        text = '<span aria-label="missing">–</span>'
    if entry.not_significantly_worse:
        text += f'<abbr title="not significantly worse than the best">{NOT_WORSE_MARK}</abbr>'
    said = escape(published_comparison(entry))
    return f'{text}<small><span class="apart">; paper </span>{said}</small>' if said else text
