"""Compatibility, observed and estimated: how near M̂ comes to M, and how it moves while a method learns.

CMGNN keeps an estimate M̂ of its own; for any other method it is the matrix of its predicted labels. The
distance is the mean of |M̂_ij - M_ij|. The trace has a row for the start, where only training labels are
known, and one for each improvement of the validation accuracy, after which CMGNN estimates anew.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heterophily.core.chart import Axis, Chart, Mark, file_name
from heterophily.core.compatibility import discriminability, observed_compatibility
from heterophily.core.graph import Graph
from heterophily.htmp.network import Network
from heterophily.models import Model
from heterophily.studies.matrices import (
    MATRICES,
    class_names,
    estimated_chart,
    matrix_of,
    matrix_rows,
    observed_chart,
)
from heterophily.studies.study import CLASSES, Study
from heterophily.studies.tidy import (
    Row,
    Rows,
    StudyData,
    Tables,
    filter_rows,
    mean_of,
    unique_values,
)
from heterophily.studies.trials import Trained, Trial, run_trials, trials_of
from heterophily.training.metrics import accuracy

NAME = "compatibility"
TRACE = "trace"
START = -1  # the epoch of the estimate before training


def study_compatibility(
    graph: Graph,
    models: Sequence[Model] = ("cmgnn",),
    *,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> StudyData:
    """Observed and estimated matrices, their distance per split, and its trace over training.

    The matrices are those of the first split. Options are those of `trials_of`.
    """
    trials = [trial for model in models for trial in trials_of(graph, model, **options)]
    study = StudyData.opened(NAME, out)
    run_trials(trials, measure, study, workers=workers)
    return study


def distance(estimated: Tensor, observed: Tensor) -> float:
    """The mean of |M̂_ij - M_ij|."""
    return float((estimated.cpu().double() - observed).abs().mean())


def estimate(network: Network, graph: Graph, logits: Tensor) -> Tensor:
    """M̂: the method's own, or the matrix of its predicted labels, (K, K)."""
    if network.mind is not None:
        return network.mind.compatibility.cpu().double()
    predicted = logits.argmax(dim=1).cpu()
    return observed_compatibility(graph.symmetric, predicted, graph.n_classes)


def measure(trial: Trial) -> Tables:
    """Distance, trace and, on the first split, the matrices of one run."""
    graph, k = trial.graph, trial.graph.n_classes
    observed = observed_compatibility(graph.symmetric, graph.labels, k)
    trace: Rows = []

    def watch(epoch: int, network: Network, logits: Tensor) -> None:
        moved = distance(estimate(network, graph, logits), observed)
        reached = 100 * accuracy(logits.cpu(), graph.labels, trial.split_nodes.val)
        trace.append({"epoch": epoch, "distance": moved, "val_accuracy": reached})

    trained = trial.train(on_improvement=watch)
    final = estimate(trained.network, graph, trained.logits)
    row: Row = {
        "distance": distance(final, observed),
        "discriminability_observed": discriminability(observed),
        "discriminability_estimated": discriminability(final),
        "test_accuracy": trained.test_accuracy,
        "best_epoch": trained.run.best_epoch,
    }
    start = [{"epoch": START, "distance": distance(_at_start(trained), observed)}]
    tables: Tables = {"": [row], TRACE: [*start, *trace]}
    if trial.first:
        pair = {"observed": observed, "estimated": final}
        tables[MATRICES] = [
            entry
            for kind, matrix in pair.items()
            for entry in matrix_rows(matrix, class_names(graph), kind=kind)
        ]
    return tables


def _at_start(trained: Trained) -> Tensor:
    """What training labels alone tell; the network is not used any more after this."""
    graph, nodes, network = trained.graph, trained.split.train, trained.network
    if network.mind is None:
        return observed_compatibility(*_training_labels(trained))
    place = next(network.parameters()).device
    shown = graph.with_labels_only(torch.cat([nodes, trained.split.val])).to(place)
    network.mind.begin(shown, network.input(shown), nodes.to(place))
    return network.mind.compatibility.cpu().double()


def _training_labels(trained: Trained) -> tuple[Any, Tensor, int]:
    shown = trained.graph.with_labels_only(trained.split.train)
    return shown.symmetric, shown.labels, shown.n_classes


def charts(tables: Tables) -> list[Chart]:
    """Return a pair of matrices per dataset and method, and the traces of all datasets."""
    rows = tables.get(f"{NAME}-{MATRICES}", [])
    found = []
    for dataset in unique_values(rows, "dataset"):
        for model in unique_values(filter_rows(rows, dataset=dataset), "model"):
            found += _matrix_charts(filter_rows(rows, dataset=dataset, model=model))
    traces = tables.get(f"{NAME}-{TRACE}", [])
    return found + [
        _trace_chart(filter_rows(traces, dataset=dataset))
        for dataset in unique_values(traces, "dataset")
    ]


def _matrix_charts(rows: Rows) -> list[Chart]:
    dataset, model = rows[0]["dataset"], rows[0]["model"]
    observed, names = matrix_of(filter_rows(rows, kind="observed"))
    estimated, _ = matrix_of(filter_rows(rows, kind="estimated"))
    shared: Any = {
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
    for model in unique_values(rows, "model"):
        for split in unique_values(filter_rows(rows, model=model), "split"):
            line = filter_rows(rows, model=model, split=split)
            epochs = [row["epoch"] + 2 for row in line]  # a logarithmic axis needs a start above 0
            distances = [row["distance"] for row in line]
            look: Any = {"points": False, "steps": True, "width": 1.1}
            marks.append(Mark("line", epochs, distances, name=model, method=model, **look))
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


def summary(study: StudyData) -> Rows:
    """Mean distance at the start and at the end per dataset and method."""
    found: Rows = []
    for dataset in unique_values(study.rows, "dataset"):
        for model in unique_values(filter_rows(study.rows, dataset=dataset), "model"):
            rows = filter_rows(study.rows, dataset=dataset, model=model)
            traces = filter_rows(study.tables[TRACE], dataset=dataset, model=model, epoch=START)
            found.append(
                {
                    "dataset": dataset,
                    "model": model,
                    "n_splits": len(rows),
                    "start": mean_of(traces, "distance"),
                    "end": mean_of(rows, "distance"),
                    "discriminability_observed": mean_of(rows, "discriminability_observed"),
                    "discriminability_estimated": mean_of(rows, "discriminability_estimated"),
                }
            )
    return found


STUDY = Study(
    NAME,
    "Compatibility",
    "How close the estimated compatibility matrix M̂ comes to the observed matrix M.",
    topic=CLASSES,
    charts=charts,
    files=(NAME,),
)
