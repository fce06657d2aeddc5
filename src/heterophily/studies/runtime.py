"""Run time: milliseconds per epoch, peak memory and number of weights (paper, Table 13), and how they grow.

Each cell trains in a process of its own, so that its peak memory is its own. An epoch is forward, backward,
step and evaluation, as in every run here; the first epochs are not counted. The scaling law is y = c Eᵇ,
fitted to logarithms over synthetic graphs with E stored edges.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from heterophily.core.chart import Axis, Chart, Mark
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.machine import prepare_process
from heterophily.core.progress import track
from heterophily.data.splits import random_splits
from heterophily.data.synthetic import draw_edges, preference_pattern, target_matrix
from heterophily.htmp.identity import digest, identity_of
from heterophily.htmp.method import make_method
from heterophily.models import find_method
from heterophily.models.settings import tuned
from heterophily.runs.record import RESULTS_VERSION
from heterophily.studies.study import COST, Study
from heterophily.studies.tidy import (
    Row,
    Rows,
    StudyData,
    Tables,
    filter_rows,
    means_by,
    unique_values,
)

NAME, SCALING = "runtime", "scaling"
WARM_UP = 3  # epochs that are not counted
METHODS = ("mlp", "gcn", "gcnii", "acm-gcn", "cmgnn")
SIZES = (1_000, 3_000, 10_000, 30_000)
DEGREE, N_FEATURES, N_CLASSES = 10, 64, 5  # of the graphs of the scaling law


def study_runtime(
    graph: Graph,
    models: Sequence[str] = METHODS,
    *,
    n_epochs: int = 20,
    threads: int = 0,
    settings: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
) -> StudyData:
    """Time, memory and weights of methods on a graph, with its committed settings.

    What the folder `out` has is not measured again: take another one for another machine or faster code.
    Methods go by name or file, since another process must find them. `threads` 0 leaves them to PyTorch.
    """
    study = StudyData.opened(NAME, out)
    _fill(study, graph, models, n_epochs=n_epochs, threads=threads, settings=settings)
    return study


def study_scaling(
    sizes: Sequence[int] = SIZES,
    models: Sequence[str] = METHODS,
    *,
    n_epochs: int = 5,
    threads: int = 0,
    settings: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
) -> StudyData:
    """Time and memory of methods on synthetic graphs of growing size, with their default settings."""
    study = StudyData.opened(SCALING, out)
    for size in sizes:
        graph = scaling_graph(size)
        _fill(study, graph, models, n_epochs=n_epochs, threads=threads, settings=settings)
    return study


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
    graph = Graph.from_edges(edges, features, labels=labels, name=f"{n_nodes:,} nodes")
    return graph.replace(splits=random_splits(graph, count=1))


def _fill(
    study: StudyData,
    graph: Graph,
    models: Sequence[str],
    *,
    n_epochs: int,
    threads: int,
    settings: Mapping[str, Any] | None,
) -> None:
    """Measure the methods that have no numbers yet under the same settings, threads and epochs."""
    jobs = [_job(graph, model, n_epochs, threads, settings or {}) for model in models]
    own = filter_rows(study.rows, dataset=graph.name)
    held = {row.get("run") for row in own if row["milliseconds"] is not None}
    lacking = [job for job in jobs if job["run"] not in held]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.safetensors"
        if lacking:
            graph.replace(splits=graph.splits or random_splits(graph, count=1)).save(path)
        for job in track(lacking, f"{study.name}, {graph.name}"):
            name = job["name"]
            found = in_own_process({**job, "graph": str(path)})
            beside = {"paper": in_paper(name, graph.name)} if study.name == NAME else {}
            row = {"dataset": graph.name, "model": name, **_sizes(graph), **found, **beside}
            study.replace_rows("", [{**row, "run": job["run"]}], same=("dataset", "model"))
            study.write()


def _job(
    graph: Graph, model: str, n_epochs: int, threads: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What another process must know, with the method's name and a digest of what its row is about."""
    cls = find_method(model)
    values = {**tuned(cls.name, graph.name), **settings}
    asked = {"n_epochs": n_epochs, "threads": threads}
    about = [identity_of(make_method(cls, values)), graph.checksum, asked, RESULTS_VERSION]
    facts = {"name": cls.name, "run": digest(about)[:8]}
    return {"model": model, "settings": values, **asked, **facts}


def _sizes(graph: Graph) -> Row:
    return {"n_nodes": graph.n_nodes, "n_edges": graph.symmetric.n_entries}


def in_own_process(job: Mapping[str, Any]) -> Row:
    """Measure in a fresh process; a process that fails gives a row without numbers and the reason."""
    command = [sys.executable, "-m", "heterophily.studies.runtime"]
    text = json.dumps(job)
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603
    if run.returncode == 0:
        return {**json.loads(run.stdout.splitlines()[-1]), "failure": None}
    said = run.stderr.strip().splitlines()
    empty = dict.fromkeys(
        ("milliseconds", "median_milliseconds", "peak_mb", "training_mb", "parameters")
    )
    return {**empty, "failure": said[-1][:200] if run.returncode > 0 and said else "killed"}


def measure_here(job: Mapping[str, Any]) -> Row:
    """Train for a few epochs in this process: time per epoch, memory and number of weights."""
    import torch

    from heterophily.training.splits import with_validation
    from heterophily.training.trainer import train

    prepare_process(int(job["threads"]))
    small = scaling_graph(100)
    train("mlp", small, split=small.split("0"), **_ended(1))  # loads what is loaded on first use
    graph = Graph.load(job["graph"])
    split = with_validation(graph, next(iter(graph.splits.values())), seed=0)
    before, count = memory("VmRSS"), int(job["n_epochs"]) + WARM_UP
    chosen = {**job["settings"], **_ended(count)}
    network, run = train(job["model"], graph, split=split, **chosen)
    times = run.history.seconds[WARM_UP:]
    return {
        "milliseconds": 1e3 * sum(times) / len(times),
        "median_milliseconds": 1e3 * median(times),
        "n_epochs": len(times),
        "setup_seconds": run.seconds - sum(run.history.seconds),
        "peak_mb": memory("VmHWM"),
        "training_mb": memory("VmHWM") - before,
        "parameters": sum(p.numel() for p in network.parameters()),
        "threads": torch.get_num_threads(),
        "device": run.device,
    }


def _ended(count: int) -> dict[str, Any]:
    return {"max_epochs": count, "patience": count, "progress": False}


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
    found: Rows = []
    for model in unique_values(rows, "model"):
        own = [row for row in filter_rows(rows, model=model) if row["milliseconds"]]
        row: Row = {"model": model, "n_sizes": len(own)}
        for name, column in (("time", "median_milliseconds"), ("memory", "training_mb")):
            row[name] = exponent([r["n_edges"] for r in own], [r[column] for r in own])
        found.append(row)
    return found


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
    found = (_map(title, rows, column) for title, column in columns)
    maps = [chart for chart in found if chart is not None]
    return maps + _scaling_charts(tables.get(SCALING, []))


def _map(title: str, rows: Rows, column: str) -> Chart | None:
    datasets, models = unique_values(rows, "dataset"), unique_values(rows, "model")
    cells = [
        means_by(filter_rows(rows, model=model), "dataset", datasets, column) for model in models
    ]
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
    found = []
    for title, name, column, law in columns:
        marks = [mark for row in laws if (mark := _line(rows, row, column, law)) is not None]
        if marks:
            caption = "Synthetic graphs of growing size, with the exponent b of c Eᵇ."
            x, y = Axis("stored edges E", log=True), Axis(name, log=True)
            found.append(Chart(title, marks, x, y, caption=caption, file=SCALING))
    return found


def _line(rows: Rows, law: Row, column: str, name: str) -> Mark | None:
    model, exponent = law["model"], law[name]
    own = sorted(filter_rows(rows, model=model), key=lambda row: row["n_edges"])
    points = [(row["n_edges"], row[column]) for row in own if row[column]]
    if not points:
        return None
    x, y = zip(*points, strict=True)
    title = model if exponent is None else f"{model} (b = {exponent:.2f})"
    return Mark("line", x, y, name=title, method=model)


STUDY = Study(
    NAME,
    "Run time",
    "Time per epoch and peak memory, and how they grow with the number of edges (Table 13 of the paper).",
    topic=COST,
    charts=charts,
    files=(NAME, SCALING),
)


if __name__ == "__main__":
    print(json.dumps(measure_here(json.load(sys.stdin))))
