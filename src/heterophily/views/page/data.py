"""What the report shows, as plain data: records, studies and measured graphs brought together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from heterophily.analysis.diagnosis import Diagnosis, diagnose
from heterophily.benchmark.table import Entry, Table, build_table, one_per_run
from heterophily.core.chart import Chart
from heterophily.core.errors import HeterophilyError
from heterophily.data.catalog import CATALOG
from heterophily.data.loading import load
from heterophily.data.store import is_present
from heterophily.data.synthetic import EMBEDDED
from heterophily.runs.record import Record, latest, read_records
from heterophily.studies import STUDIES, AnyStudy
from heterophily.studies.compatibility import estimated_chart
from heterophily.studies.tidy import Rows, filter_rows, read_rows
from heterophily.training.scoring import DEFAULT_SCORING
from heterophily.views.charts import LearningCurve

VAL_SCORES = f"val_{DEFAULT_SCORING.name}"  # key of the learning curves in records
Matrix = list[list[float]]


@dataclass(frozen=True)
class Results:
    """Everything behind a report over several datasets."""

    table: Table
    cells: Mapping[tuple[str, str], Sequence[Record]]  # model, dataset: one record per run
    studies: Mapping[str, Rows] = field(default_factory=dict)  # by the name of the file
    graphs: Mapping[str, Diagnosis] = field(default_factory=dict)  # those that are here

    @property
    def methods(self) -> list[str]:
        """The methods of the table, followed by those that only studies have."""
        rows = (row for rows in self.studies.values() for row in rows)
        names = (str(row["model"]) for row in rows if row.get("model"))
        return list(dict.fromkeys((*self.table.models, *names)))

    @cached_property
    def study_charts(self) -> list[tuple[AnyStudy, Chart]]:
        """The charts of all studies."""
        tables = dict(self.studies)
        return [(study, chart) for study in STUDIES.values() for chart in study.charts(tables)]

    @property
    def runs(self) -> list[Record]:
        """The runs of all cells."""
        return [run for cell in self.cells.values() for run in cell]

    def study(self, name: str, dataset: str) -> Rows:
        """The rows of a dataset in a table of a study."""
        return filter_rows(self.studies.get(name, []), dataset=dataset)


def load_results(source: Path | str, *, studies: Path | str | None = None, measure: bool = True) -> Results:
    """Read records, tidy study data where there is any, and measure the graphs whose files are here."""
    records = read_records(source)
    table = build_table(records, against=True)
    cells = {cell: one_per_run(found) for cell, found in latest(records).items()}
    found = read_studies(_studies_folder(Path(source), studies))
    graphs = {}
    for dataset in table.datasets if measure else ():
        checksums = {r.checksum for (_, name), rs in cells.items() if name == dataset for r in rs}
        measured = measure_graph(dataset, checksums)
        if measured is not None:
            graphs[dataset] = measured
    return Results(table, cells, found, graphs)


def _studies_folder(source: Path, studies: Path | str | None) -> Path | None:
    if studies is not None:
        if not Path(studies).is_dir():
            raise HeterophilyError(f"no folder of studies at {studies}; `heterophily study` makes one")
        return Path(studies)
    default = (source if source.is_dir() else source.parent) / "studies"
    return default if default.is_dir() else None


def read_studies(folder: Path | None) -> dict[str, Rows]:
    """Return the tables of all studies in a folder by the name of their file, without empty ones."""
    found = {}
    names = {name for study in STUDIES.values() for name in study.files}
    for path in sorted(folder.glob("*.json")) if folder else ():
        if path.stem.split("-")[0] in names and (rows := read_rows(path)):
            found[path.stem] = rows
    return found


def measure_graph(dataset: str, checksums: Iterable[str]) -> Diagnosis | None:
    """The diagnosis of a graph, if its files are here and it is the one that was run."""
    if dataset != EMBEDDED and not (dataset in CATALOG and is_present(CATALOG[dataset])):
        return None
    try:
        graph = load(dataset)
        return diagnose(graph) if graph.checksum in set(checksums) else None
    except HeterophilyError:
        return None


def curves_of(results: Results, dataset: str) -> tuple[dict[str, LearningCurve], str]:
    """The learning curve of each method on the first split that it has one of, and a sentence."""
    found: dict[str, LearningCurve] = {}
    splits = set()
    for model in results.table.models:
        runs = [r for r in results.cells.get((model, dataset), ()) if r.done and r.run.get("curve")]
        runs = [r for r in runs if r.run["curve"].get("val_accuracy")]
        if runs:
            first = min(runs, key=lambda r: (r.split.zfill(9), r.seed))
            curve = first.run["curve"]
            best = int(first.run.get("best_epoch", -1))
            found[model] = LearningCurve(curve.get("loss", []), curve["val_accuracy"], best)
            splits.add(first.split)
    said = f"Split {splits.pop()}." if len(splits) == 1 else "First split of each method."
    return found, said if found else ""


def times_of(results: Results, dataset: str) -> tuple[dict[str, tuple[float, float]], str]:
    """Milliseconds per epoch and accuracy of each method, and where the times come from.

    A study of run time measures one process at a time. If there is none, the times of the runs are used.
    """
    scores = {e.model: e.mean for e in results.table.column(dataset) if e.mean is not None}
    alone = {
        str(row["model"]): float(row["milliseconds"])
        for row in results.study("runtime", dataset)
        if row.get("milliseconds") and row["model"] in scores
    }
    if len(alone) > 1:
        points = {m: (time, scores[m]) for m, time in alone.items()}
        return points, "Times are those of the study of run time."
    points = {}
    for model, score in scores.items():
        runs = [r for r in results.cells[model, dataset] if r.done]
        times = [float(r.run["milliseconds_per_epoch"]) for r in runs if r.run.get("milliseconds_per_epoch")]
        if times:
            points[model] = (fmean(times), score)
    return points, "Times are those of the runs, which may have shared the machine with others."


def matrix_charts(results: Results, dataset: str) -> list[Chart]:
    """Return the observed, estimated, and desired compatibility matrices of a dataset.

    The runs' own estimates are used if there is no study of the method.
    """
    graph = results.graphs.get(dataset)
    found = [] if graph is None else graph.charts[:1]
    found += [chart for _, chart in results.study_charts if is_matrix_of(chart, dataset)]
    names = next((chart.x.categories for chart in found), ())
    found += _record_estimates(results, dataset, names)
    first = {chart.title: chart for chart in reversed(found)}
    order = ("Observed", "Estimated", "Desired")
    ordered = sorted(dict.fromkeys(chart.title for chart in found), key=lambda title: order.index(title.split()[0]))
    return _same_colors([first[title] for title in ordered])


def is_matrix_of(chart: Chart, dataset: str) -> bool:
    """Return whether a chart is a compatibility matrix of a dataset."""
    return chart.dataset == dataset and chart.marks[0].kind == "heat map"


def _same_colors(charts: Sequence[Chart]) -> list[Chart]:
    """Give all matrices the same colors. Those with negative entries have a second hue for them."""
    peak = max((max(map(abs, chart.marks[0].limits)) for chart in charts), default=1.0)
    limits = {True: (-peak, peak), False: (0.0, peak)}
    found = []
    for chart in charts:
        heat = chart.marks[0]
        found.append(replace(chart, marks=[replace(heat, limits=limits[heat.limits[0] < 0])]))
    return found


def _record_estimates(results: Results, dataset: str, names: Sequence[str]) -> list[Chart]:
    """The estimates in the records of the runs, averaged over splits."""
    found = []
    for model in results.table.models:
        runs = results.cells.get((model, dataset), ())
        known = [r.details["compatibility"] for r in runs if r.done and "compatibility" in r.details]
        if known:
            mean = np.mean(known, axis=0)
            numbers = [str(i) for i in range(len(mean))]
            classes = names if len(names) == len(mean) else numbers
            found.append(estimated_chart(mean, classes, model, dataset=dataset))
    return found


def key_numbers(results: Results) -> list[tuple[str, str]]:
    """Return the key numbers of the report, each with its description."""
    table, done = results.table, [run for run in results.runs if run.done]
    seconds = sum(float(run.run.get("seconds", 0)) for run in done)
    compared = [entry for entry in table if entry.verdict is not None]
    facts = [(f"{len(done):,}", _plural("finished run", len(done))), _duration(seconds)]
    failed = len(results.runs) - len(done)
    if failed:
        facts.append((str(failed), _plural("failed run", failed)))
    if compared:
        kept = sum(bool(entry.verdict) for entry in compared)
        facts.append((f"{kept} / {len(compared)}", "published means reproduced"))
    return facts


def _duration(seconds: float) -> tuple[str, str]:
    units = {"hours": 3600, "minutes": 60, "seconds": 1}
    unit = next((name for name, length in units.items() if seconds >= 2 * length), "seconds")
    return f"{seconds / units[unit]:,.{0 if unit == 'seconds' else 1}f}", f"{unit} of computing"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def environments(runs: Iterable[Record]) -> list[str]:
    """Where the runs took place, most frequent first."""
    plain = ("processor", "gpu", "system")
    counts: Counter[str] = Counter()
    for run in runs:
        known = run.environment
        first = [str(known[name]) for name in plain if known.get(name)]
        rest = [f"{name} {value}" for name, value in known.items() if name not in plain]
        if known:
            counts[", ".join([*first, *rest])] += 1
    return [f"{n} {_plural('run', n)}: {text}" for text, n in counts.most_common()]


def verdict_text(entry: Entry) -> str:
    """Whether the published mean is reproduced, as a word."""
    return {True: "yes", False: "no", None: "–"}[entry.verdict]
