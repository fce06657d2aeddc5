"""Compatibility, observed and estimated: how near M̂ comes to M, and how it moves while a method learns.

CMGNN estimates M̂ itself; for any other method it is the matrix of its predicted labels. The
distance is the mean of |M̂_ij - M_ij|. The trace has a row for the start, where only training labels are
known, and one for each improvement of the validation accuracy, after which CMGNN estimates M̂ again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Unpack

import numpy as np
import torch
from torch import Tensor

from heterophily.core.chart import Axis, Chart, Mark, MatrixOptions, Table, file_name, matrix_chart, number_text
from heterophily.core.compatibility import discriminability, observed_compatibility
from heterophily.core.graph import Graph, Split
from heterophily.core.sparse import Pattern
from heterophily.core.types import FloatArray
from heterophily.htmp.network import Network
from heterophily.runs.job import Job
from heterophily.runs.measures import Trained
from heterophily.runs.record import Record
from heterophily.studies.study import CLASSES, MODELS, Models, Study, StudyJob, TrainingOptions, model_jobs
from heterophily.studies.tidy import Row, Rows, Tables, filter_rows, group_rows, mean_of, unique_values
from heterophily.training.scoring import accuracy

MATRICES = "matrices"  # the table that holds them


def class_names(graph: Graph) -> tuple[str, ...]:
    """The names of the classes, or their numbers."""
    return graph.class_names or tuple(map(str, range(graph.n_classes)))


def matrix_rows(matrix: Tensor | FloatArray, names: Sequence[str], *, kind: str) -> Rows:
    """A row per entry: class of the node, class of the neighbor, share."""
    return [
        {"kind": kind, "node_class": a, "neighbor_class": b, "share": float(matrix[i, j])}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]


def matrix_of(rows: Iterable[Row]) -> tuple[FloatArray, list[str]]:
    """The matrix (K, K) of such rows, and the names of its classes."""
    entries = list(rows)
    names = unique_values(entries, "node_class")
    matrix = np.array([[_share(entries, a, b) for b in names] for a in names])
    return matrix, names


def _share(rows: Rows, a: str, b: str) -> float:
    return float(filter_rows(rows, node_class=a, neighbor_class=b)[0]["share"])


def observed_chart(
    matrix: FloatArray, names: Sequence[str], *, panel: str = "", **options: Unpack[MatrixOptions]
) -> Chart:
    """Return the heat map of an observed compatibility matrix."""
    return matrix_chart(matrix.tolist(), names, "Observed", caption="From all labels.", panel=panel, **options)


def estimated_chart(
    matrix: FloatArray, names: Sequence[str], method: str, *, panel: str = "", **options: Unpack[MatrixOptions]
) -> Chart:
    """Return the heat map of the matrix that a method estimates."""
    return matrix_chart(
        matrix.tolist(),
        names,
        f"Estimated by {method}",
        caption="The method's estimate after training.",
        method=method,
        panel=panel,
        **options,
    )


def split_tables(rows: Iterable[Row], *, matrices: bool) -> Tables:
    """Return the rows of a measure by their column `table`, with or without the table of matrices."""
    tables: Tables = {}
    for row in rows:
        columns = dict(row)
        table = columns.pop("table")
        if matrices or table != MATRICES:
            tables.setdefault(table, []).append(columns)
    return tables


NAME = "compatibility"
TRACE = "trace"
START = -1  # the epoch of the estimate before training


@dataclass(frozen=True, kw_only=True)
class CompatibilityOptions(TrainingOptions):
    models: Annotated[Models, MODELS] = ("cmgnn",)


def jobs(options: CompatibilityOptions, graph: Graph) -> list[StudyJob]:
    return model_jobs(options, graph, options.models, table=NAME, measure=f"{__name__}:CompatibilityMeasure")


def distance(estimated: Tensor, observed: Tensor) -> float:
    """The mean of |M̂_ij - M_ij|."""
    return float((estimated.cpu().double() - observed).abs().mean())


def estimate(network: Network, graph: Graph, logits: Tensor) -> Tensor:
    """M̂: the method's own, or the matrix of its predicted labels, (K, K)."""
    estimated = network.state_summary().get("compatibility")
    if estimated is not None:
        return estimated.cpu().double()
    predicted = logits.argmax(dim=1).cpu()
    return observed_compatibility(graph.symmetric, predicted, graph.n_classes)


class CompatibilityMeasure:
    """Distance, trace, and matrices of one run."""

    def __init__(self, job: Job, graph: Graph, split: Split) -> None:
        self.graph, self.split = graph, split
        self.observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
        self.trace: Rows = []

    def on_improvement(self, epoch: int, network: Network, logits: Tensor) -> None:
        """Add the current distance to the trace."""
        moved = distance(estimate(network, self.graph, logits), self.observed)
        reached = 100 * accuracy(logits.cpu(), self.graph.labels, self.split.val)
        self.trace.append({"epoch": epoch, "distance": moved, "val_accuracy": reached})

    def rows(self, trained: Trained) -> Rows:
        """Return the rows of all tables. The column `table` is the name of the table."""
        final, names = (estimate(trained.network, self.graph, trained.logits), class_names(self.graph))
        main: Row = {
            "distance": distance(final, self.observed),
            "discriminability_observed": discriminability(self.observed),
            "discriminability_estimated": discriminability(final),
            "test_accuracy": trained.test_accuracy,
            "best_epoch": trained.run.best_epoch,
        }
        start = {"epoch": START, "distance": distance(_at_start(trained), self.observed)}
        matrices = matrix_rows(self.observed, names, kind="observed")
        matrices += matrix_rows(final, names, kind="estimated")
        return [
            {"table": "", **main},
            *({"table": TRACE, **row} for row in [start, *self.trace]),
            *({"table": MATRICES, **row} for row in matrices),
        ]


def rows(job: StudyJob, record: Record) -> Tables:
    return split_tables(record.rows("CompatibilityMeasure"), matrices=job.first)


def _at_start(trained: Trained) -> Tensor:
    """The estimate from training labels alone. The network must not be used after this."""
    graph, nodes, network = trained.graph, trained.split.train, trained.network
    if "compatibility" not in network.state_summary():
        return observed_compatibility(*_training_labels(trained))
    place = next(network.parameters()).device
    shown = graph.with_labels_only(torch.cat([nodes, trained.split.val])).to(place)
    network.initialize_states(shown, nodes.to(place))
    return network.state_summary()["compatibility"].cpu().double()


def _training_labels(trained: Trained) -> tuple[Pattern, Tensor, int]:
    shown = trained.graph.with_labels_only(trained.split.train)
    return shown.symmetric, shown.labels, shown.n_classes


def charts(tables: Tables) -> list[Chart]:
    """Return a pair of matrices per dataset and method, and the traces of all datasets."""
    rows = tables.get(f"{NAME}-{MATRICES}", [])
    matrices = [chart for group in group_rows(rows, "dataset", "model").values() for chart in _matrix_charts(group)]
    return matrices + [
        _trace_chart(group) for group in group_rows(tables.get(f"{NAME}-{TRACE}", []), "dataset").values()
    ]


def _matrix_charts(rows: Rows) -> list[Chart]:
    dataset, model = rows[0]["dataset"], rows[0]["model"]
    observed, names = matrix_of(filter_rows(rows, kind="observed"))
    estimated, _ = matrix_of(filter_rows(rows, kind="estimated"))
    shared: MatrixOptions = {
        "peak": float(max(observed.max(), estimated.max())),
        "file": f"{NAME}-{file_name(dataset)}-{file_name(model)}",
        "dataset": dataset,
    }
    return [
        observed_chart(observed, names, **shared, panel=f"{dataset}: observed"),
        estimated_chart(estimated, names, model, **shared, panel=f"estimated by {model}"),
    ]


def _trace_chart(rows: Rows) -> Chart:
    dataset, marks = rows[0]["dataset"], []
    for (model, _), line in group_rows(rows, "model", "split").items():
        epochs = [row["epoch"] + 2 for row in line]  # a logarithmic axis needs a start above 0
        distances = [row["distance"] for row in line]
        line_mark = Mark("line", epochs, distances, name=model, method=model, width=1.1)
        marks.append(replace(line_mark, points=False, steps=True))
    last = max(row["epoch"] for row in rows) + 2
    ends = [n for n in (1, 10, 100, 1000) if n <= last]
    return Chart(
        "How the estimate moves",
        marks,
        Axis("epoch", log=True, ticks={1: "start", **{n + 1: str(n) for n in ends}}),
        Axis("mean |M̂ − M|", limits=(0, None)),
        caption="Distance between the estimated and the observed matrix, one line per split.",
        panel=dataset,
        file=f"{NAME}-{TRACE}",
        dataset=dataset,
        digits=3,
    )


def distances(data: Tables) -> Rows:
    """Return the mean distance at the start and at the end for each dataset and method."""
    shown: Rows = []
    trace = filter_rows(data.get(f"{NAME}-{TRACE}", []), epoch=START)
    for (dataset, model), group in group_rows(data.get(NAME, []), "dataset", "model").items():
        start = mean_of(filter_rows(trace, dataset=dataset, model=model), "distance")
        row = {
            "dataset": dataset,
            "model": model,
            "n_splits": len(group),
            "start": start,
            "end": mean_of(group, "distance"),
        }
        kinds = ("discriminability_observed", "discriminability_estimated")
        shown.append(row | {kind: mean_of(group, kind) for kind in kinds})
    return shown


def tables(data: Tables) -> list[Table]:
    columns = ("start", "end", "discriminability_observed", "discriminability_estimated")
    cells = [
        [row["dataset"], row["model"], str(row["n_splits"]), *(number_text(row[name], 3) for name in columns)]
        for row in distances(data)
    ]
    head = ["dataset", "method", "splits", "distance at the start", "at the end"]
    return [Table([*head, "discriminability of M", "of M̂"], cells)] if cells else []


def summary(data: Tables) -> list[str]:
    return [
        f"{row['dataset']}, {row['model']}: mean |M̂ − M| goes from {row['start']:.3f} before training "
        f"to {row['end']:.3f}"
        for row in distances(data)
    ]


STUDY = Study(
    name=NAME,
    title="Compatibility",
    description="Compare observed and estimated compatibility, and follow the estimate during training.",
    details="""
The distance between the estimated matrix M̂ and the observed matrix M is the mean of |M̂ − M|. The
start is the estimate from training labels alone, and the end is the retained state. The paper shows
heat maps and prints no numbers.
""",
    usage="GRAPH...",
    topic=CLASSES,
    options=CompatibilityOptions,
    jobs=jobs,
    rows=rows,
    charts=charts,
    tables=tables,
    summary=summary,
    files=(NAME,),
)
