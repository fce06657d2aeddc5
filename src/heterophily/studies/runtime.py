"""Run time: milliseconds per epoch, peak memory and number of weights (paper, Table 13), and how they grow.

Each run has its own process, so that its peak memory can be measured. An epoch is forward, backward,
step and evaluation, as in every run here; the first epochs are not counted. The scaling law is y = c Eᵇ,
fitted to logarithms over synthetic graphs with E stored edges.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from heterophily.core.chart import Axis, Chart, Mark, Table, number_text
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph, Split
from heterophily.core.types import Settings
from heterophily.data.splits import random_splits
from heterophily.data.synthetic import draw_edges, preference_pattern, target_matrix
from heterophily.htmp.network import Network
from heterophily.models import find_method
from heterophily.models.settings import merge_settings
from heterophily.runs.job import Job, make_job
from heterophily.runs.measures import Trained
from heterophily.runs.record import Record
from heterophily.studies.study import COST, MODELS, GraphOptions, Graphs, Models, Option, Study, StudyJob, open_graphs
from heterophily.studies.tidy import Row, Rows, Tables, filter_rows, group_rows, means_by, pivot_table, unique_values
from heterophily.training.trainer import train

NAME, SCALING = "runtime", "scaling"
SCALING_SUFFIX = " nodes"  # of the names of the graphs of the scaling law
WARM_UP = 3  # epochs that are not counted
MEASURED = ("milliseconds", "median_milliseconds", "peak_mb", "training_mb", "parameters")
METHODS = ("mlp", "gcn", "gcnii", "acm-gcn", "cmgnn")
DEGREE, N_FEATURES, N_CLASSES = 10, 64, 5  # of the graphs of the scaling law


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions(GraphOptions):
    graphs: Annotated[Graphs, Option("Names of datasets, `digits`, or files and folders with graphs.", "graphs")] = ()
    models: Annotated[Models, MODELS] = METHODS
    sizes: Annotated[
        tuple[float, ...],
        Option("Comma-separated numbers of nodes for the scaling law, such as `1000,10000`.", "numbers"),
    ] = ()
    epochs: Annotated[int, Option("Number of timed epochs.", min=1)] = 20
    threads: Annotated[int, Option("Number of PyTorch threads; 0 for the PyTorch default.", min=0)] = 0
    settings: Annotated[Settings, Option("Setting such as `width=128`; can be repeated.", "settings")] = field(
        default_factory=dict
    )


def graphs(options: RuntimeOptions) -> Iterator[Graph]:
    """Return the graphs, followed by those of the scaling law."""
    if not options.graphs and not options.sizes:
        raise HeterophilyError("expected a graph to measure, or --sizes 1000,10000 for the scaling law, got neither")
    yield from open_graphs(options)
    for size in options.sizes:
        yield scaling_graph(int(size))


def jobs(options: RuntimeOptions, graph: Graph) -> list[StudyJob]:
    """Return one run per method on the first split of a graph, with few epochs."""
    n_epochs = options.epochs + WARM_UP
    usable = graph.splits or random_splits(graph, count=1)
    measured = graph.replace(splits=dict(list(usable.items())[:1]))
    jobs = []
    for model in options.models:
        name = find_method(model).name
        values, origin = merge_settings(name, graph.name, overrides=options.settings)
        job = make_job(
            model,
            measured,
            next(iter(measured.splits)),
            seed=0,
            settings={**values, "max_epochs": n_epochs, "patience": n_epochs},
            origin=origin,
            measures=(f"{__name__}:RuntimeMeasure",),
        )
        table = SCALING if graph.name.endswith(SCALING_SUFFIX) else NAME
        sizes = {"n_nodes": graph.n_nodes, "n_edges": graph.symmetric.n_entries}
        jobs.append(StudyJob(job, table, {"dataset": graph.name, "model": name, **sizes}))
    return jobs


class RuntimeMeasure:
    """Time per epoch and memory of a run in its own process."""

    def __init__(self, job: Job, graph: Graph, split: Split) -> None:
        small = scaling_graph(100)
        # This run loads modules that are loaded on first use.
        train("mlp", small, split=small.split("0"), progress=False, max_epochs=1, patience=1)
        self.before = memory("VmRSS")

    def on_improvement(self, epoch: int, network: Network, logits: Tensor) -> None:
        """Ignore epochs."""

    def rows(self, trained: Trained) -> Rows:
        """Return one row."""
        seconds = trained.run.history.seconds
        times, peak = seconds[WARM_UP:], memory("VmHWM")
        return [
            {
                "milliseconds": 1e3 * sum(times) / len(times),
                "median_milliseconds": 1e3 * median(times),
                "n_epochs": len(times),
                "setup_seconds": trained.run.seconds - sum(seconds),
                "peak_mb": peak,
                "training_mb": peak - self.before,
                "threads": torch.get_num_threads(),
                "device": trained.run.device,
            }
        ]


def rows(job: StudyJob, record: Record) -> Tables:
    """Return one row, which contains the reason if the run failed."""
    printed = in_paper(str(job.columns["model"]), str(job.columns["dataset"]))
    paper = {"paper": printed} if job.table == NAME else {}
    if record.done:
        (row,) = record.rows("RuntimeMeasure")
        return {"": [{**row, "parameters": record.parameters, "failure": None, **paper}]}
    reason = (record.reason.strip().splitlines() or [""])[-1][:200] or record.status
    return {"": [{**dict.fromkeys(MEASURED), "failure": reason, **paper}]}


def scaling_graph(n_nodes: int, *, seed: int = 0) -> Graph:
    """A random graph of five equal classes on a ring, mean degree 10, with 64 noisy features."""
    if n_nodes < 100:
        raise HeterophilyError(f"the scaling law starts at 100 nodes, got {n_nodes}")
    rng = np.random.default_rng(seed)
    labels = np.arange(n_nodes) % N_CLASSES
    sizes = np.bincount(labels)
    matrix = target_matrix(sizes, 0.2, pattern=preference_pattern("easy", N_CLASSES))
    edges = draw_edges(labels, matrix, degree=DEGREE, seed=seed)
    features = rng.standard_normal((n_nodes, N_FEATURES), dtype=np.float32)
    features[np.arange(n_nodes), labels] += 1
    graph = Graph.from_edges(edges, features, labels=labels, name=f"{n_nodes:,}{SCALING_SUFFIX}")
    return graph.replace(splits=random_splits(graph, count=1))


def memory(field: str) -> float:
    """MB of this process: `VmRSS` now, `VmHWM` at its peak.

    Linux counts the peak of a parent into a child's resource usage, so that cannot be taken.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        import psutil

        return psutil.Process().memory_info().rss / 2**20
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def in_paper(model: str, dataset: str) -> float | None:
    """Milliseconds per epoch that the paper prints, on its GPU."""
    from heterophily.data import published as paper

    return paper.run_time(model, dataset)


def exponents(rows: Rows) -> Rows:
    """Per method the exponents b of time and memory in y = c Eᵇ, by least squares on logarithms."""
    results: Rows = []
    for (model,), cells in group_rows(rows, "model").items():
        group = [row for row in cells if row["milliseconds"]]
        row: Row = {"model": model, "n_sizes": len(group)}
        for name, column in (("time", "median_milliseconds"), ("memory", "training_mb")):
            row[name] = exponent([r["n_edges"] for r in group], [r[column] for r in group])
        results.append(row)
    return results


def exponent(x: Sequence[float], y: Sequence[float]) -> float | None:
    """The exponent b of y = c xᵇ; None below two sizes.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    if len({a for a, _ in pairs}) < 2:
        return None
    logs = np.log(np.array(pairs))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def charts(tables: Tables) -> list[Chart]:
    """Return time per epoch and peak memory of methods × datasets, and how they scale with edges."""
    rows = tables.get(NAME, [])
    columns = (("Milliseconds per epoch", "milliseconds"), ("Peak memory, MB", "peak_mb"))
    candidates = (_map(title, rows, column) for title, column in columns)
    maps = [chart for chart in candidates if chart is not None]
    return maps + _scaling_charts(tables.get(SCALING, []))


def _map(title: str, rows: Rows, column: str) -> Chart | None:
    datasets, models = unique_values(rows, "dataset"), unique_values(rows, "model")
    cells = [means_by(filter_rows(rows, model=model), "dataset", datasets, column) for model in models]
    known = [value for row in cells for value in row if value]
    if not known:
        return None
    limits = (min(known), max(known))
    heat = Mark("heat map", datasets, models, values=cells, limits=limits, log=True)
    across, down = Axis("", datasets), Axis("", models, reverse=True)
    return Chart(title, [heat], across, down, file=NAME, digits=0)


def _scaling_charts(rows: Rows) -> list[Chart]:
    """Time and memory against edges on logarithmic axes, with the fitted exponents."""
    laws = exponents(rows)
    columns = (
        ("Scaling of time", "milliseconds per epoch", "median_milliseconds", "time"),
        ("Scaling of memory", "memory of training, MB", "training_mb", "memory"),
    )
    charts = []
    for title, name, column, law in columns:
        marks = [mark for row in laws if (mark := _line(rows, row, column, law)) is not None]
        if marks:
            caption = "Synthetic graphs of growing size, with the exponent b of c Eᵇ."
            x, y = Axis("stored edges E", log=True), Axis(name, log=True)
            charts.append(Chart(title, marks, x, y, caption=caption, file=SCALING))
    return charts


def _line(rows: Rows, law: Row, column: str, name: str) -> Mark | None:
    model, exponent = law["model"], law[name]
    group = sorted(filter_rows(rows, model=model), key=lambda row: row["n_edges"])
    points = [(row["n_edges"], row[column]) for row in group if row[column]]
    if not points:
        return None
    x, y = zip(*points, strict=True)
    title = model if exponent is None else f"{model} (b = {exponent:.2f})"
    return Mark("line", x, y, name=title, method=model)


def tables(data: Tables) -> list[Table]:
    """Return the times of all methods and datasets, and the exponents of the scaling law."""
    every, shown = data.get(NAME, []), []
    if every:
        device = " and ".join(str(name) for name in unique_values(every, "device") if name)
        threads = " or ".join(str(count) for count in unique_values(every, "threads") if count)
        ours = f"ours on {device} (threads: {threads})"
        caption = f"Milliseconds per epoch, {ours} / the paper's, and peak memory:"
        shown.append(pivot_table(every, "model", "dataset", _cell, corner="method", caption=caption))
    laws = [
        [row["model"], str(row["n_sizes"]), number_text(row["time"]), number_text(row["memory"])]
        for row in exponents(data.get(SCALING, []))
    ]
    caption = "Exponents b of time and memory ~ Eᵇ over E stored edges of random graphs:"
    return [*shown, Table(["method", "sizes", "time", "memory"], laws, caption)] if laws else shown


def _cell(rows: Rows) -> str:
    if not rows:
        return "–"
    row = rows[0]
    if row["milliseconds"] is None:
        return str(row["failure"])
    times = f"{number_text(row['milliseconds'], 1)} / {number_text(row['paper'], 1)}"
    return f"{times}, {number_text(row['peak_mb'], 0)} MB"


def summary(data: Tables) -> list[str]:
    lines = []
    for row in exponents(data.get(SCALING, [])):
        laws = [f"{key} ~ E^{row[key]:.2f}" for key in ("time", "memory") if row[key] is not None]
        lines.append(f"{row['model']}: {', '.join(laws) or 'too few sizes to fit an exponent'}")
    return lines


STUDY = Study(
    name=NAME,
    title="Run time",
    description="Measure time per epoch, peak memory, and number of weights, and how they grow with edges.",
    details="""
This is Table 13 of the paper. The peak memory is that of the entire process. The paper's times are
those of an RTX 3090 and of other implementations, so only orders of magnitude are comparable.
""",
    usage="GRAPH... --models NAME,NAME [--sizes 1000,10000]",
    topic=COST,
    options=RuntimeOptions,
    graphs=graphs,
    jobs=jobs,
    rows=rows,
    charts=charts,
    tables=tables,
    summary=summary,
    files=(NAME, SCALING),
    separate_processes=True,
)
