"""What the report shows, as plain data: records, studies and measured graphs brought together."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from heterophily.analysis.diagnosis import Diagnosis, diagnose
from heterophily.bench.table import Entry, Table, build_table, one_per_run
from heterophily.core.errors import HeterophilyError
from heterophily.data.catalog import CATALOG
from heterophily.data.loading import load
from heterophily.data.store import is_present
from heterophily.data.synthetic import EMBEDDED
from heterophily.runs.record import Record, latest, read_records
from heterophily.studies.matrices import MATRICES, matrix_of
from heterophily.studies.tidy import Rows, filter_rows, read_rows, unique_values
from heterophily.training.metrics import DEFAULT_METRIC
from heterophily.views.page.chart import Series
from heterophily.views.page.curves import Learned

VAL_SCORES = f"val_{DEFAULT_METRIC.name}"  # key of the learning curves in records
STUDIES = (
    "ablation",
    "compatibility",
    "degrees",
    "desired",
    "overlap",
    "runtime",
    "scaling",
    "sweep",
    "synthetic",
)
Matrix = list[list[float]]


@dataclass(frozen=True)
class Results:
    """Everything behind a report over several datasets."""

    table: Table
    cells: Mapping[tuple[str, str], Sequence[Record]]  # model, dataset: one record per run
    studies: Mapping[str, Rows] = field(default_factory=dict)  # by the name of the file
    graphs: Mapping[str, Diagnosis] = field(default_factory=dict)  # those that are here

    @property
    def series(self) -> Series:
        """The methods in their order, those of studies alone behind."""
        extra = dict.fromkeys(
            str(row["model"]) for rows in self.studies.values() for row in rows if row.get("model")
        )
        return Series(tuple(dict.fromkeys((*self.table.models, *extra))))

    @property
    def runs(self) -> list[Record]:
        """The runs of all cells."""
        return [run for cell in self.cells.values() for run in cell]

    def study(self, name: str, dataset: str) -> Rows:
        """The rows of a dataset in a table of a study."""
        return filter_rows(self.studies.get(name, []), dataset=dataset)


def gather(
    source: Path | str, *, studies: Path | str | None = None, measure: bool = True
) -> Results:
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
            raise HeterophilyError(
                f"no folder of studies at {studies}; `heterophily study` makes one"
            )
        return Path(studies)
    beside = (source if source.is_dir() else source.parent) / "studies"
    return beside if beside.is_dir() else None


def read_studies(folder: Path | None) -> dict[str, Rows]:
    """The tables of all studies in a folder, by the name of their file; empty ones are left out."""
    found = {}
    for path in sorted(folder.glob("*.json")) if folder else ():
        if path.stem.split("-")[0] in STUDIES and (rows := read_rows(path)):
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


def curves_of(results: Results, dataset: str) -> tuple[dict[str, Learned], str]:
    """The learning curve of each method on the first split that it has one of, and a sentence."""
    found: dict[str, Learned] = {}
    splits = set()
    for model in results.table.models:
        runs = [r for r in results.cells.get((model, dataset), ()) if r.done and r.run.get("curve")]
        runs = [r for r in runs if r.run["curve"].get("val_accuracy")]
        if runs:
            first = min(runs, key=lambda r: (r.split.zfill(9), r.seed))
            curve = first.run["curve"]
            best = int(first.run.get("best_epoch", -1))
            found[model] = Learned(curve.get("loss", []), curve["val_accuracy"], best)
            splits.add(first.split)
    said = f"Split {splits.pop()}." if len(splits) == 1 else "First split of each method."
    return found, said if found else ""


def times_of(results: Results, dataset: str) -> tuple[dict[str, tuple[float, float]], str]:
    """Milliseconds per epoch and accuracy of each method, and where the times come from.

    A study of run time measures one process alone; times of the runs themselves stand in where there is none.
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
        times = [
            float(r.run["milliseconds_per_epoch"])
            for r in runs
            if r.run.get("milliseconds_per_epoch")
        ]
        if times:
            points[model] = (fmean(times), score)
    return points, "Times are those of the runs, which may have shared the machine with others."


@dataclass(frozen=True)
class LabeledMatrix:
    """A compatibility matrix with its story."""

    kind: str  # observed, estimated or desired
    matrix: Matrix
    names: Sequence[str]
    method: str = ""


def matrices_of(results: Results, dataset: str) -> list[LabeledMatrix]:
    """The observed, estimated and desired compatibility matrices that are known of a dataset."""
    graph = results.graphs.get(dataset)
    found: list[LabeledMatrix] = []
    if graph is not None:
        found.append(LabeledMatrix("observed", graph.compatibility.tolist(), graph.class_names))
    for study in ("compatibility", "desired"):
        rows = results.study(f"{study}-{MATRICES}", dataset)
        for model in unique_values(rows, "model"):
            for kind in unique_values(filter_rows(rows, model=model), "kind"):
                seen = any(b.kind == "observed" for b in found)
                if kind != "observed" or not seen:
                    matrix, names = matrix_of(filter_rows(rows, model=model, kind=kind))
                    method = "" if kind == "observed" else str(model)
                    found.append(LabeledMatrix(str(kind), matrix.tolist(), names, method))
    found += _from_records(
        results, dataset, {b.method for b in found if b.kind == "estimated"}, found
    )
    order = ("observed", "estimated", "desired")
    return sorted(found, key=lambda b: order.index(b.kind) if b.kind in order else len(order))


def _from_records(
    results: Results, dataset: str, known: set[str], others: Sequence[LabeledMatrix]
) -> list[LabeledMatrix]:
    """Estimates that the runs themselves kept, averaged over splits."""
    found = []
    for model in results.table.models:
        runs = results.cells.get((model, dataset), ())
        kept = [r.details["compatibility"] for r in runs if r.done and "compatibility" in r.details]
        if kept and model not in known:
            k = len(kept[0])
            mean = [[fmean(m[i][j] for m in kept) for j in range(k)] for i in range(k)]
            names = next((b.names for b in others if len(b.names) == k), [str(i) for i in range(k)])
            found.append(LabeledMatrix("estimated", mean, names, model))
    return found


def headline(results: Results) -> list[tuple[str, str]]:
    """The few numbers that stand first, each with its words."""
    table, done = results.table, [run for run in results.runs if run.done]
    hours = sum(float(run.run.get("seconds", 0)) for run in done) / 3600
    compared = [entry for entry in table if entry.verdict is not None]
    facts = [
        (f"{len(done):,}", _plural("finished run", len(done))),
        (f"{hours:,.1f}", "hours of computing")
        if hours >= 1
        else (f"{60 * hours:.1f}", "minutes of computing"),
    ]
    failed = len(results.runs) - len(done)
    if failed:
        facts.append((str(failed), _plural("failed run", failed)))
    if compared:
        kept = sum(bool(entry.verdict) for entry in compared)
        facts.append((f"{kept} / {len(compared)}", "published means reproduced"))
    return facts


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


def plain(value: Any) -> Any:
    """The value for JSON: numbers with few digits, nothing that JSON does not know."""
    if isinstance(value, bool) or value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value]
