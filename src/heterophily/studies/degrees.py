"""Accuracy by degree: five groups of test nodes, lowest degree first (paper, Tables 4 and 11).

Test nodes are ordered by their degree in the symmetrised graph, ties by node number, and cut into consecutive
groups of equal size.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heterophily.core.chart import Axis, Chart
from heterophily.core.graph import Graph
from heterophily.models import Model
from heterophily.studies.study import ACCURACY, Study
from heterophily.studies.tidy import (
    Row,
    Rows,
    StudyData,
    Tables,
    filter_rows,
    paired_marks,
    unique_values,
)
from heterophily.studies.trials import Trial, run_trials, trials_of
from heterophily.training.metrics import accuracy

NAME = "degrees"
N_GROUPS = 5
METHODS = ("cmgnn", "acm-gcn", "ordered-gnn", "gcnii")  # those of the paper


def degree_groups(degrees: Tensor, nodes: Tensor, *, count: int = N_GROUPS) -> list[Tensor]:
    """Cut nodes into groups of equal size by degree; sizes differ by at most one, larger ones first.

    >>> degrees = torch.tensor([5, 1, 3, 1, 9])
    >>> [group.tolist() for group in degree_groups(degrees, torch.arange(5), count=2)]
    [[1, 3, 2], [0, 4]]
    """
    ordered = nodes.sort().values
    ordered = ordered[degrees[ordered].sort(stable=True).indices]
    return [torch.from_numpy(part) for part in np.array_split(ordered.numpy(), count)]


def group_names(count: int = N_GROUPS) -> list[str]:
    """`0-20`, `20-40`, .. percent of the nodes."""
    cuts = [round(100 * i / count) for i in range(count + 1)]
    return [f"{low}-{high}" for low, high in pairwise(cuts)]


def study_degrees(
    graph: Graph,
    models: Sequence[Model] = METHODS,
    *,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> StudyData:
    """Accuracy of several methods in five groups of test nodes by degree, per split, in percent.

    Options are those of `trials_of`.
    """
    trials = [trial for model in models for trial in trials_of(graph, model, **options)]
    study = StudyData.opened(NAME, out)
    run_trials(trials, measure, study, workers=workers, paper=in_paper)
    return study


def measure(trial: Trial) -> Tables:
    """One row per group."""
    trained, graph = trial.train(), trial.graph
    test = trial.split_nodes.test
    groups = degree_groups(graph.degrees, test[graph.labels[test] >= 0])
    rows: list[Row] = []
    for name, nodes in zip(group_names(), groups, strict=True):
        degrees = graph.degrees[nodes]
        rows.append(
            {
                "group": name,
                "n_nodes": len(nodes),
                "lowest_degree": int(degrees.min()) if len(nodes) else None,
                "highest_degree": int(degrees.max()) if len(nodes) else None,
                "test_accuracy": 100 * accuracy(trained.logits, graph.labels, nodes),
            }
        )
    return {"": rows}


def in_paper(row: Row) -> float | None:
    """The accuracy that the paper prints for the model, dataset and group of a row, if any."""
    from heterophily.data import published as paper

    printed = paper.degree_accuracy(row["model"], row["dataset"])
    return None if printed is None else printed[group_names().index(row["group"])]


def charts(tables: Tables) -> list[Chart]:
    """Return a chart per dataset with a line per method. The paper's lines are dashed."""
    rows = tables.get(NAME, [])
    return [_chart(filter_rows(rows, dataset=name)) for name in unique_values(rows, "dataset")]


def _chart(rows: Rows) -> Chart:
    groups, dataset = group_names(), rows[0]["dataset"]
    marks = [
        mark
        for model in unique_values(rows, "model")
        for mark in paired_marks(
            "line", filter_rows(rows, model=model), "group", groups, name=model, method=model
        )
    ]
    return Chart(
        "Accuracy by degree",
        marks,
        Axis("nodes by degree, %", groups),
        Axis("accuracy, %"),
        caption=_degree_ranges(rows),
        panel=dataset,
        file=NAME,
        dataset=dataset,
    )


def _degree_ranges(rows: Rows) -> str:
    ranges = []
    for group in group_names():
        known = [r for r in filter_rows(rows, group=group) if r.get("lowest_degree") is not None]
        if known:
            low = min(r["lowest_degree"] for r in known)
            high = max(r["highest_degree"] for r in known)
            ranges.append(f"{low}–{high}" if high > low else str(low))
    return f"Fifths of the test nodes, with degrees {', '.join(ranges)}." if ranges else ""


STUDY = Study(
    NAME,
    "Accuracy by degree",
    "Accuracy in five groups of test nodes, lowest degree first (Tables 4 and 11 of the paper).",
    topic=ACCURACY,
    charts=charts,
    files=(NAME,),
)
