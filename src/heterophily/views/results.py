"""The results page: what the committed runs gave, beside what the paper printed.

`python -m heterophily.views.results docs/results/runs.jsonl > docs/results.md` prints it and draws ranks.png
beside the runs. Sentences on single cells stand in remarks.toml beside them: a table per model, a key per
dataset.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from heterophily.bench.diagram import rank_chart
from heterophily.bench.table import Entry, Table, build_table, one_per_run
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.data import published as paper
from heterophily.runs.record import Record, latest, read_records
from heterophily.views.matplotlib import save_charts
from heterophily.views.tables import markdown_grid, number, p_text, rank_text, signed, to_markdown

Remarks = Mapping[str, Mapping[str, str]]  # model, dataset: a sentence
OURS = "cmgnn"
YES_NO = {True: "yes", False: "**no**", None: "–"}


def page(records: Sequence[Record], *, remarks: Remarks | None = None, diagram: str = "") -> str:
    """The whole page as Markdown; `diagram` is the link to the critical-difference diagram."""
    table = build_table(records, against=True)
    cells = latest(records)
    runs = [run for cell in cells.values() for run in one_per_run(cell)]
    sections = (
        _head(table, runs),
        _own(table, cells),
        _main(table),
        _ranks(table),
        _tests(table, diagram),
        _short(table, remarks or {}),
        _first_numbers(table, remarks or {}),
        _unfinished(table, cells),
        _settings(table, runs),
        _environments(runs),
        _reproduce(table, runs),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _head(table: Table, runs: Sequence[Record]) -> list[str]:
    compared = [entry for entry in table if entry.verdict is not None]
    kept = sum(bool(entry.verdict) for entry in compared)
    done = [run for run in runs if run.done]
    hours = sum(float(run.run.get("seconds", 0)) for run in done) / 3600
    return [
        "# Results",
        "",
        f"{len(table.models)} methods on {len(table.datasets)} datasets, {len(done)} finished runs, "
        f"{hours:.1f} hours of computing. The published numbers are those of {paper.title()}. Of "
        f"{len(compared)} cells that the paper has too, {kept} are reproduced: their mean is not below the "
        "published one by more than max(0.3, a quarter of the published standard deviation). This page is "
        "printed from the records of the runs by `python -m heterophily.views.results`.",
    ]


def _own(table: Table, cells: Mapping[tuple[str, str], Sequence[Record]]) -> list[str]:
    if OURS not in table.models:
        return []
    head = ["dataset", "accuracy", "paper", "difference", "reproduced", "error of M̂", "runs"]
    rows = []
    for entry in table.row(OURS):
        rows.append(
            [
                entry.dataset,
                number(entry),
                _printed(entry),
                "–" if entry.difference is None else signed(entry.difference),
                YES_NO[entry.verdict],
                _matrix_error(cells.get((OURS, entry.dataset), ())),
                str(entry.n),
            ]
        )
    return [
        "## CMGNN",
        "",
        *markdown_grid(head, rows),
        "",
        "Error of M̂: mean absolute difference between the entries of the estimated and the observed "
        "compatibility matrix, over all runs.",
    ]


def _matrix_error(records: Iterable[Record]) -> str:
    runs = [run for run in one_per_run(records) if run.done]
    known = [
        run.details["compatibility_error"] for run in runs if "compatibility_error" in run.details
    ]
    return f"{fmean(known):.3f}" if known else "–"


def _main(table: Table) -> list[str]:
    return ["## All methods", "", to_markdown(table, over_datasets=False).rstrip()]


def _ranks(table: Table) -> list[str]:
    if not table.average_ranks:
        return []
    rows = []
    for model in sorted(table.models, key=lambda name: table.average_ranks[name]):
        printed = paper.average_rank(model)
        rows.append([model, rank_text(table, model), "–" if printed is None else f"{printed:.1f}"])
    return [
        "## Average ranks",
        "",
        *markdown_grid(["method", "here", "paper"], rows),
        "",
        f"Here: over {_listed(table.ranked)}, on the runs that all methods share. Paper: as printed, "
        "over those of its ten datasets that a method finished.",
    ]


def _tests(table: Table, diagram: str) -> list[str]:
    lines = ["## Significance", ""]
    if table.comparisons:
        rows = []
        for name, found in table.comparisons.items():
            level = [c.other for c in found if not c.significant(table.alpha)]
            level += [f"{model} (not tested)" for model in table.untested[name]]
            rows.append([name, found[0].best, ", ".join(level) or "none"])
        lines += [*markdown_grid(["dataset", "best", "not significantly worse"], rows, words=3), ""]
        lines.append(_how_tested(table))
    ranking = table.ranking
    if ranking is None:
        return [*lines, f"There is no test over datasets: {table.unranked}."]
    lines += [
        "",
        f"Over {_listed(ranking.datasets)}, on the runs that all methods share, Friedman's test gives "
        f"χ² = {ranking.chi_square:.2f}, p = {p_text(ranking.p)}. By Nemenyi's test two methods "
        f"differ if their average ranks lie {ranking.critical_difference:.2f} or more apart. "
        "Not told apart are the methods of each group:",
        "",
        *(f"* {', '.join(clique)}" for clique in ranking.cliques),
    ]
    return [*lines, "", f"![Critical-difference diagram]({diagram})"] if diagram else lines


def _how_tested(table: Table) -> str:
    ratios = sorted({round(ratio, 2) for ratio in table.test_to_train.values()})
    shown = " to ".join(f"{ratio:.2f}" for ratio in dict.fromkeys((ratios[0], ratios[-1])))
    return (
        "Corrected resampled t-test of Nadeau and Bengio on paired splits, two-sided, against the best of "
        f"the dataset, with Holm's correction at level {table.alpha:g}; "
        f"test nodes per training node: {shown}."
    )


def _short(table: Table, remarks: Remarks) -> list[str]:
    _check(remarks, table)
    short = [entry for entry in table if entry.verdict is False]
    if not short:
        return ["## Below the published mean", "", "None."]
    return ["## Below the published mean", "", *(_short_line(e, remarks) for e in short)]


def _short_line(entry: Entry, remarks: Remarks) -> str:
    # Three decimals: a cell that falls short by little must not look as if it did not.
    difference = signed(entry.difference or 0.0, digits=3)
    return (
        f"* **{entry.model} on {entry.dataset}**: {number(entry)}, published {_printed(entry)} "
        f"({difference}, tolerance {entry.tolerance:.3f}). {_remark(entry, remarks, 'Not explained yet.')}"
    )


def _printed(entry: Entry) -> str:
    if entry.published is None or entry.published.mean is None:
        return "–"
    return f"{entry.published.mean:.2f} ± {entry.published.std:.2f}"


def _remark(entry: Entry, remarks: Remarks, otherwise: str = "") -> str:
    return remarks.get(entry.model, {}).get(entry.dataset, otherwise)


def _first_numbers(table: Table, remarks: Remarks) -> list[str]:
    blank = [e for e in table if e.published is not None and e.published.out_of_memory]
    lines = [
        f"* {e.model} on {e.dataset}: {number(e)}. {_remark(e, remarks)}".rstrip() for e in blank
    ]
    return ["## Out of memory in the paper", "", *lines] if blank else []


def _unfinished(table: Table, cells: Mapping[tuple[str, str], Sequence[Record]]) -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in table:
        if entry.n < entry.planned:
            state = _state(entry, cells.get((entry.model, entry.dataset), ()))
            groups.setdefault((entry.model, state), []).append(entry.dataset)
    lines = [f"* {model} on {_listed(names)}: {state}" for (model, state), names in groups.items()]
    return ["## Not finished", "", *lines] if lines else []


def _state(entry: Entry, records: Iterable[Record]) -> str:
    reasons = sorted({_last_line(r.reason) for r in records if not r.done and r.reason.strip()})
    kinds = ", ".join(f"{count} × {kind}" for kind, count in (entry.failed or {}).items())
    failed = f"failed: {kinds}" if kinds else "the others were not run"
    told = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{entry.n} of {entry.planned} runs, {failed}{told}"


def _last_line(reason: str) -> str:
    return reason.strip().splitlines()[-1][:120]


def _settings(table: Table, runs: Sequence[Record]) -> list[str]:
    origin = {(run.model, run.dataset): (run.source, run.preset) for run in runs}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for model in table.models:
        here = [name for name in table.datasets if (model, name) in origin]
        for source, preset in dict.fromkeys(origin[model, name] for name in here):
            names = [name for name in here if origin[model, name] == (source, preset)]
            shown = "all" if len(names) == len(table.datasets) else ", ".join(names)
            groups.setdefault((source, preset, shown), []).append(model)
    rows = [[", ".join(models), *group] for group, models in groups.items()]
    return [
        "## Settings",
        "",
        *markdown_grid(["methods", "source", "preset", "datasets"], rows, words=4),
        "",
        "The source `reference` is the tuned table of the program behind the published numbers, `search` is "
        "ours, found on validation accuracy by `heterophily search` or by hand, mostly where a mean "
        "fell short of the published one, so that some cells had more tuning than others; the preset "
        "`reference` sets that program's quirks, see [fidelity](fidelity.md). `heterophily show` prints what "
        "can be set.",
    ]


def _environments(runs: Sequence[Record]) -> list[str]:
    counts = Counter(_described(run.environment) for run in runs if run.environment)
    lines = [f"* {n} run{'s' * (n > 1)}: {text}" for text, n in counts.most_common()]
    return ["## Environment", "", *lines] if lines else []


def _described(environment: Mapping[str, Any]) -> str:
    plain = ("processor", "gpu", "system")
    first = [str(environment[name]) for name in plain if environment.get(name)]
    rest = [f"{name} {value}" for name, value in environment.items() if name not in plain]
    return ", ".join([*first, *rest])


def _reproduce(table: Table, runs: Sequence[Record]) -> list[str]:
    whole = table.models == tuple(paper.methods())
    models = "all" if whole else ",".join(table.models)
    return [
        "## Reproduce",
        "",
        "```sh",
        f"heterophily bench --models {models} --datasets {','.join(table.datasets)} "
        f"--splits {_splits(runs)} --out results/",
        "heterophily table results/ --against paper",
        "heterophily pack results/ docs/results/runs.jsonl",
        "python -m heterophily.views.results docs/results/runs.jsonl > docs/results.md",
        "```",
    ]


def _splits(runs: Iterable[Record]) -> str:
    names = {run.split for run in runs}
    if not all(name.isdigit() for name in names):
        return "all"
    numbers = sorted(map(int, names))
    whole = numbers == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 1
    return f"{numbers[0]}-{numbers[-1]}" if whole else ",".join(map(str, numbers))


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def read_remarks(path: Path) -> Remarks:
    """The remarks of a TOML file, none if it does not exist."""
    if not path.exists():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise HeterophilyError(f"{path} is not TOML: {error}") from error
    for model, sentences in found.items():
        if not isinstance(sentences, dict) or not all(
            isinstance(sentence, str) for sentence in sentences.values()
        ):
            raise HeterophilyError(
                f'{path}: [{model}] must have a line dataset = "sentence" per remark'
            )
    return found


def _check(remarks: Remarks, table: Table) -> None:
    """Stop at a remark on a cell that cannot be: a misspelt one would be lost."""
    for model, sentences in remarks.items():
        if model not in table.models:
            raise unknown_name("model of a remark in these results", model, table.models)
        for dataset in sentences:
            if dataset not in table.datasets:
                raise unknown_name("dataset of a remark in these results", dataset, table.datasets)


def write_page(runs: Path) -> str:
    """Draw the diagram beside the runs, if there is one to draw, and return the page."""
    records = read_records(runs)
    ranking = build_table(records).ranking
    target = runs.parent / "ranks.png"
    link = ""
    if ranking is not None:
        link = f"{runs.parent.name}/{save_charts([rank_chart(ranking)], target).name}"
    return page(records, remarks=read_remarks(runs.parent / "remarks.toml"), diagram=link)


def main(arguments: Sequence[str]) -> None:
    """Print the page of a file of runs."""
    if len(arguments) != 1:
        sys.exit("usage: python -m heterophily.views.results RUNS.jsonl")
    try:
        print(write_page(Path(arguments[0])), end="")
    except HeterophilyError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
