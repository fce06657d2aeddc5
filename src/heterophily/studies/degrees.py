"""Accuracy by degree: five groups of test nodes, lowest degree first (paper, Tables 4 and 11).

Test nodes are ordered by their degree in the symmetrized graph, ties by node number, and cut into consecutive
groups of equal size.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from heterophily.core.chart import Axis, Chart, Table
from heterophily.core.graph import Graph, Split
from heterophily.runs.job import Job
from heterophily.runs.measures import FinalMeasure, Trained
from heterophily.runs.record import Record
from heterophily.studies.study import ACCURACY, MODELS, Models, Study, StudyJob, TrainingOptions, model_jobs
from heterophily.studies.tidy import (
    Row,
    Rows,
    Tables,
    describe_splits,
    filter_rows,
    group_rows,
    mean_of,
    paired_marks,
    pivot_table,
    published_comparison,
)
from heterophily.training.scoring import accuracy

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


@dataclass(frozen=True, kw_only=True)
class DegreeOptions(TrainingOptions):
    models: Annotated[Models, MODELS] = METHODS


def jobs(options: DegreeOptions, graph: Graph) -> list[StudyJob]:
    return model_jobs(options, graph, options.models, table=NAME, measure=f"{__name__}:degree_rows")


def degree_rows(job: Job, graph: Graph, split: Split) -> FinalMeasure:
    """Measure the accuracy in each group of test nodes, in percent."""

    def measure(trained: Trained) -> Rows:
        nodes = split.test[graph.labels[split.test] >= 0]
        groups = degree_groups(graph.degrees, nodes)
        return [_group_row(name, group, trained) for name, group in zip(group_names(), groups, strict=True)]

    return FinalMeasure(measure)


def _group_row(name: str, nodes: Tensor, trained: Trained) -> Row:
    degrees = trained.graph.degrees[nodes]
    return {
        "group": name,
        "n_nodes": len(nodes),
        "lowest_degree": int(degrees.min()) if len(nodes) else None,
        "highest_degree": int(degrees.max()) if len(nodes) else None,
        "test_accuracy": 100 * accuracy(trained.logits, trained.graph.labels, nodes),
    }


def rows(job: StudyJob, record: Record) -> Tables:
    return {"": record.rows("degree_rows")}


def in_paper(row: Row) -> float | None:
    """The accuracy that the paper prints for the model, dataset and group of a row, if any."""
    from heterophily.data import published as paper

    printed = paper.degree_accuracy(row["model"], row["dataset"])
    return None if printed is None else printed[group_names().index(row["group"])]


def charts(tables: Tables) -> list[Chart]:
    """Return a chart per dataset with a line per method. The paper's lines are dashed."""
    return [_chart(group) for group in group_rows(tables.get(NAME, []), "dataset").values()]


def _chart(rows: Rows) -> Chart:
    groups, dataset = group_names(), rows[0]["dataset"]
    marks = [
        mark
        for (model,), group in group_rows(rows, "model").items()
        for mark in paired_marks("line", group, "group", groups, name=model, method=model)
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


def tables(data: Tables) -> list[Table]:
    return [
        pivot_table(
            group,
            "model",
            "group",
            published_comparison,
            corner="nodes by degree, %",
            columns=group_names(),
            caption=f"{dataset}, ours / the paper's, {describe_splits(group)}:",
        )
        for (dataset,), group in group_rows(data.get(NAME, []), "dataset").items()
    ]


def findings(data: Tables) -> list[str]:
    """Return which method is best among the nodes of lowest degree, here and in the paper."""
    every = filter_rows(data.get(NAME, []), group=group_names()[0])
    known = group_rows((row for row in every if row["paper"] is not None), "dataset")
    best = [
        f"{name}: {_best(group, 'test_accuracy')} (paper: {_best(group, 'paper')})" for (name,), group in known.items()
    ]
    return [f"Best on the fifth of lowest degree: {'; '.join(best)}."] if best else []


def _best(rows: Rows, column: str) -> str:
    means = {model: mean_of(group, column) or 0.0 for (model,), group in group_rows(rows, "model").items()}
    return max(means, key=means.__getitem__)


STUDY = Study(
    name=NAME,
    title="Accuracy by degree",
    description="Measure the accuracy in five groups of test nodes by degree.",
    details="""
The lowest degree comes first (Tables 4 and 11 of the paper). Nodes of equal degree are ordered by node
number; the paper does not state how it orders them.
""",
    usage="GRAPH... --models NAME,NAME",
    topic=ACCURACY,
    options=DegreeOptions,
    jobs=jobs,
    rows=rows,
    paper=in_paper,
    charts=charts,
    tables=tables,
    findings=findings,
    files=(NAME,),
)
