"""The results page: results of the stored runs, compared with those of the paper.

`python -m heterophily.views.results docs/results/{runs,trio,further}.jsonl > docs/evidence/results.md` generates it and
plots ranks.png next to the first file. Two more files next to it are optional. remarks.toml contains sentences about
single cells, a table per model with a key per dataset. program.toml contains the results of the published program.
"""

import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from heterophily.benchmark.table import Entry, Table, build_table, one_per_run
from heterophily.core import chart
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.data import published as paper
from heterophily.runs.record import Record, latest, read_records
from heterophily.views.charts import rank_chart
from heterophily.views.claims import check_claims, claims_table
from heterophily.views.goals import measure_goals
from heterophily.views.matplotlib import save_charts
from heterophily.views.page.commands import splits_text
from heterophily.views.page.data import environments
from heterophily.views.reproduction import Program, compare_reproduction, read_program
from heterophily.views.results_summary import summarize
from heterophily.views.settings_kinds import by_kind_of_settings, dataset_table
from heterophily.views.tables import number, p_text, published_text, rank_text, signed, to_markdown
from heterophily.views.templates import render_markdown

Remarks = Mapping[str, Mapping[str, str]]  # model, dataset: a sentence
Cells = Mapping[tuple[str, str], Sequence[Record]]  # model, dataset: records


def page(
    records: Sequence[Record], *, remarks: Remarks | None = None, program: Program | None = None, diagram: str = ""
) -> str:
    """Return the page as Markdown. `diagram` is the link to the critical-difference diagram."""
    kinds = by_kind_of_settings(records)
    table, cells = kinds.tuned, latest(kinds.records)
    _check(remarks or {}, table)
    runs = [run for cell in cells.values() for run in one_per_run(cell)]
    compared = [entry for entry in table if entry.verdict is not None]
    ratios = sorted({round(ratio, 2) for ratio in table.test_to_train.values()})
    goals, claims = measure_goals(kinds, program or {}), check_claims(kinds.records)
    reproduction = compare_reproduction(table, cells, program or {})
    return render_markdown(
        "results.md.j2",
        table=table,
        untuned=kinds.untuned,
        default=kinds.default.models if kinds.default else (),
        findings=summarize(kinds, goals, reproduction, claims),
        paper=paper.title(),
        n_compared=len(compared),
        n_reproduced=sum(bool(entry.verdict) for entry in compared),
        reproduction=reproduction,
        goals=goals,
        claims=claims_table(claims) if claims else None,
        per_dataset={name: dataset_table(kinds, name) for name in table.datasets},
        main=to_markdown(build_table(kinds.records), over_datasets=False).rstrip(),
        ranks=_rank_table(table),
        tests=_test_table(table),
        ratios=" to ".join(f"{r:.2f}" for r in dict.fromkeys((*ratios[:1], *ratios[-1:]))),
        p_value=p_text(table.ranking.p) if table.ranking else "",
        diagram=diagram,
        below=[_entry(e, remarks, "Not explained yet.") for e in table if e.verdict is False],
        out_of_memory=[_entry(e, remarks) for e in table if e.published and e.published.out_of_memory],
        unfinished=_unfinished(table, cells),
        settings=_settings_table(table, runs),
        **_counts(records),
    )


def _counts(records: Iterable[Record]) -> dict[str, object]:
    """The number of finished runs of all kinds of settings, their time, and where they ran."""
    done = [record for record in records if record.done]
    return {
        "n_done": len(done),
        "n_methods": len({run.model for run in done}),
        "hours": sum(float(run.run.get("seconds", 0)) for run in done) / 3600,
        "environments": environments(done),
        "splits": _splits(done),
    }


def _entry(entry: Entry, remarks: Remarks | None, otherwise: str = "") -> dict[str, str]:
    """The texts of one table cell. Differences have three decimals, because small ones matter."""
    return {
        "name": f"{entry.model} on {entry.dataset}",
        "mean": number(entry),
        "published": published_text(entry),
        "difference": signed(entry.difference or 0.0, digits=3),
        "tolerance": f"{entry.tolerance or 0.0:.3f}",
        "remark": (remarks or {}).get(entry.model, {}).get(entry.dataset, otherwise),
    }


def _rank_table(table: Table) -> chart.Table | None:
    if not table.average_ranks:
        return None
    rows = []
    for model in sorted(table.models, key=lambda name: table.average_ranks[name]):
        printed = paper.average_rank(model)
        rows.append([model, rank_text(table, model), "–" if printed is None else f"{printed:.1f}"])
    return chart.Table(["method", "here", "paper"], rows)


def _test_table(table: Table) -> chart.Table:
    rows = []
    for name, comparisons in table.comparisons.items():
        equal = [c.other for c in comparisons if not c.significant(table.alpha)]
        equal += [f"{model} (not tested)" for model in table.untested[name]]
        rows.append([name, comparisons[0].best, ", ".join(equal) or "none"])
    return chart.Table(["dataset", "best", "not significantly worse"], rows)


def _unfinished(table: Table, cells: Cells) -> dict[tuple[str, str], list[str]]:
    """The datasets of each model and state."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in table:
        if entry.n < entry.planned:
            state = _state(entry, cells.get((entry.model, entry.dataset), ()))
            groups.setdefault((entry.model, state), []).append(entry.dataset)
    return groups


def _state(entry: Entry, records: Iterable[Record]) -> str:
    reasons = sorted({_last_line(r.reason) for r in records if not r.done and r.reason.strip()})
    kinds = ", ".join(f"{count} × {kind}" for kind, count in (entry.failed or {}).items())
    failed = f"failed: {kinds}" if kinds else "the others were not run"
    reason = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{entry.n} of {entry.planned} runs, {failed}{reason}"


def _last_line(reason: str) -> str:
    return reason.strip().splitlines()[-1][:120]


def _settings_table(table: Table, runs: Sequence[Record]) -> chart.Table:
    origin = {(run.model, run.dataset): (run.source, run.preset) for run in runs}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for model in table.models:
        here = [name for name in table.datasets if (model, name) in origin]
        for source, preset in dict.fromkeys(origin[model, name] for name in here):
            names = [name for name in here if origin[model, name] == (source, preset)]
            shown = "all" if len(names) == len(table.datasets) else ", ".join(names)
            groups.setdefault((source, preset, shown), []).append(model)
    rows = [[", ".join(models), *group] for group, models in groups.items()]
    return chart.Table(["methods", "source", "preset", "datasets"], rows)


def _splits(runs: Iterable[Record]) -> str:
    names = {run.split for run in runs}
    return splits_text(names) if all(name.isdigit() for name in names) else "all"


def read_remarks(path: Path) -> Remarks:
    """Return the remarks in a TOML file, which does not have to exist."""
    if not path.exists():
        return {}
    try:
        remarks: dict[str, dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise HeterophilyError(f"{path} is not TOML: {error}") from error
    for model, sentences in remarks.items():
        if not isinstance(sentences, dict) or not all(isinstance(sentence, str) for sentence in sentences.values()):
            raise HeterophilyError(f'{path}: [{model}] must have a line dataset = "sentence" per remark')
    return remarks


def _check(remarks: Remarks, table: Table) -> None:
    """Raise an error for a remark about an unknown cell: a misspelled one would be lost."""
    for model, sentences in remarks.items():
        if model not in table.models:
            raise unknown_name("model of a remark in these results", model, table.models)
        for dataset in sentences:
            if dataset not in table.datasets:
                raise unknown_name("dataset of a remark in these results", dataset, table.datasets)


def write_page(*files: Path) -> str:
    """Plot the diagram next to the first file of runs, if there is a ranking, and return the page."""
    records = [record for file in files for record in read_records(file)]
    ranking, folder = by_kind_of_settings(records).tuned.ranking, files[0].parent
    link = ""
    if ranking is not None:
        link = f"../{folder.name}/{save_charts([rank_chart(ranking)], folder / 'ranks.png').name}"
    program = read_program(folder / "program.toml")
    return page(records, remarks=read_remarks(folder / "remarks.toml"), program=program, diagram=link)


def main(arguments: Sequence[str]) -> None:
    """Print the page for files of runs."""
    if not arguments:
        sys.exit("usage: python -m heterophily.views.results RUNS.jsonl ...")
    try:
        print(write_page(*map(Path, arguments)), end="")
    except HeterophilyError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
