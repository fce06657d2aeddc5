"""Synthetic graphs: accuracy against homophily, discriminability and degree (paper, Appendix C).

The twelve graphs of the paper keep the nodes, features and labels of a base graph and differ in edges alone.
The sweep fills the space between them: preferences Π of classes for each other are 1 on a ring and ρ
elsewhere, from ρ = 0.02, our easy kind, to ρ = 1, our hard kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heterophily.core.chart import Axis, Chart, Mark, file_name
from heterophily.core.compatibility import discriminability, observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.homophily import measure_homophily
from heterophily.core.sparse import Pattern
from heterophily.data.splits import N_SPLITS
from heterophily.data.synthetic import (
    DEGREES,
    HOMOPHILY,
    draw_edges,
    preference_pattern,
    synthetic_benchmark,
    target_matrix,
)
from heterophily.models import Model, find_method
from heterophily.models.settings import tuned
from heterophily.studies.study import ACCURACY, Study
from heterophily.studies.tidy import (
    Row,
    Rows,
    StudyData,
    Tables,
    filter_rows,
    means_by,
    paired_marks,
    unique_values,
)
from heterophily.studies.trials import Trial, run_trials, splits_of, trials_of

NAME, SWEEP = "synthetic", "sweep"
METHODS = ("gcn", "mlp")  # those of the paper
# Without committed settings for the base, as for Cora, whose words are counts of very different sums.
SETTINGS = {"feature_norm": "l1"}
HOMOPHILIES = (0.0, 0.2, 0.4, 0.6, 0.8)
RESTS = (0.02, 0.1, 0.3, 1.0)  # ρ


def study_synthetic(
    base: Graph,
    models: Sequence[Model] = METHODS,
    *,
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> StudyData:
    """Accuracy of methods on the twelve graphs over the nodes of `base`, per split, in percent.

    Options are those of `trials_of`; edges are drawn once, from its seed.
    """
    fixed = with_splits(base, int(options.get("n_splits", N_SPLITS)))
    graphs = {
        (HOMOPHILY[level], kind, DEGREES[degree]): graph
        for (level, kind, degree), graph in synthetic_benchmark(
            fixed, seed=int(options.get("seed", 0))
        )
    }
    study = StudyData.opened(NAME, out)
    trials = _trials(fixed, graphs, models, column="pattern", settings=settings, **options)
    run_trials(trials, measure, study, workers=workers, paper=in_paper)
    return study


def study_sweep(
    base: Graph,
    models: Sequence[Model] = METHODS,
    *,
    homophilies: Sequence[float] = HOMOPHILIES,
    rests: Sequence[float] = RESTS,
    degrees: Sequence[float] = tuple(DEGREES.values()),
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> StudyData:
    """Accuracy over a grid of homophily × preference ρ × degree; each row has its discriminability.

    Options are those of `trials_of`.
    """
    fixed = with_splits(base, int(options.get("n_splits", N_SPLITS)))
    drawn = int(options.get("seed", 0))
    graphs = {
        (h, rest, d): swept_graph(fixed, homophily=h, rest=rest, degree=d, seed=drawn)
        for h in homophilies
        for rest in rests
        for d in degrees
    }
    study = StudyData.opened(SWEEP, out)
    trials = _trials(fixed, graphs, models, column="rest", settings=settings, **options)
    run_trials(trials, measure, study, workers=workers)
    return study


def with_splits(base: Graph, count: int) -> Graph:
    """The base with splits, so that all graphs drawn over its nodes share them."""
    return base.replace(splits=splits_of(base, count))


def swept_graph(
    base: Graph, *, homophily: float, rest: float, degree: float, seed: int = 0
) -> Graph:
    """The nodes of `base` with edges whose classes prefer their two neighbors on a ring, others by ρ."""
    if not bool(base.labeled.all()):
        raise HeterophilyError(f"{base.name} has nodes without a label; edges need all classes")
    ring = preference_pattern("easy", base.n_classes) == 1
    preferences = np.where(ring, 1.0, rest)
    np.fill_diagonal(preferences, 0.0)
    sizes = torch.bincount(base.labels, minlength=base.n_classes).numpy()
    matrix = target_matrix(sizes, homophily, pattern=preferences)
    edges = draw_edges(base.labels.numpy(), matrix, degree=degree, seed=seed)
    n = base.n_nodes
    return base.replace(adjacency=Pattern.from_edges(*edges.T, shape=(n, n)))


def _trials(
    base: Graph,
    graphs: Mapping[Any, Graph],
    models: Sequence[Model],
    *,
    column: str,
    settings: Mapping[str, Any] | None,
    **options: Any,
) -> list[Trial]:
    found: list[Trial] = []
    for (homophily, kind, degree), graph in graphs.items():
        facts = {"homophily": homophily, column: kind, "degree": degree, **_measured(graph)}
        for model in models:
            committed = find_method(model).name, base.name
            usual = {} if tuned(*committed) else SETTINGS
            found += trials_of(
                graph,
                model,
                settings={**usual, **(settings or {})},
                tuned_as=committed,
                dataset=base.name,
                variant=f"homophily {homophily}, {column} {kind}, degree {degree}",
                **facts,
                **options,
            )
    return found


def _measured(graph: Graph) -> Row:
    adjacency, labels, k = graph.symmetric, graph.labels, graph.n_classes
    return {
        "edge_homophily": measure_homophily(adjacency, labels, k).edge,
        "discriminability": discriminability(observed_compatibility(adjacency, labels, k)),
    }


def measure(trial: Trial) -> Tables:
    """Accuracy of one run."""
    trained = trial.train()
    return {"": [{"test_accuracy": trained.test_accuracy, "best_epoch": trained.run.best_epoch}]}


def in_paper(row: Row) -> float | None:
    """The mean accuracy that the paper prints for GCN or MLP on the graphs over Cora."""
    from heterophily.data import published as paper

    if row["dataset"] != "cora" or row["model"] not in METHODS:
        return None
    if row["model"] == "mlp":
        return paper.synthetic_mlp().mean
    return paper.synthetic_gcn(row["homophily"], row["pattern"], degree=row["degree"]).mean


def charts(tables: Tables) -> list[Chart]:
    """Return a chart per base and degree, with a line per method and kind over homophily."""
    rows = tables.get(NAME, [])
    found = [
        _chart(rows, dataset, degree)
        for dataset in unique_values(rows, "dataset")
        for degree in sorted(
            unique_values(filter_rows(rows, dataset=dataset), "degree"), reverse=True
        )
    ]
    return found + _sweep_charts(tables.get(SWEEP, []))


def _chart(every: Rows, dataset: str, degree: float) -> Chart:
    rows = filter_rows(every, dataset=dataset)
    levels = sorted(unique_values(rows, "homophily"))
    marks = []
    for model, kind in _lines(rows):
        line = [r for r in filter_rows(rows, degree=degree, model=model) if _is(r, kind)]
        look: Any = {
            "name": f"{model}, {kind}" if kind else model,
            "method": model,
            "style": "dashed" if kind == "hard" else "solid",
        }
        ours, *theirs = paired_marks("line", line, "homophily", levels, **look)
        marks += [ours, *(replace(mark, kind="point") for mark in theirs)]
    return Chart(
        f"{dataset}, degree {degree:g}",
        marks,
        Axis("homophily", ticks={level: f"{level:g}" for level in levels}),
        Axis("accuracy, %", limits=(None, 101)),
        caption="Solid: classes prefer two others (easy). Dashed: all other classes alike (hard).",
        panel=f"degree {degree:g}",
        file=f"{NAME}-{file_name(dataset)}",
    )


def _lines(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Methods with each kind of pattern, or without it if the edges make no difference."""
    found = []
    for model in unique_values(rows, "model"):
        own = filter_rows(rows, model=model)
        blind = len(unique_values(own, "run")) == len(unique_values(own, "split"))
        found += [(model, kind) for kind in ([""] if blind else unique_values(own, "pattern"))]
    return found


def _is(row: Row, kind: str) -> bool:
    return not kind or row["pattern"] == kind


def _sweep_charts(rows: Rows) -> list[Chart]:
    """Heat maps of accuracy per method and degree, and accuracy against discriminability."""
    return [
        chart
        for dataset in unique_values(rows, "dataset")
        for model in unique_values(filter_rows(rows, dataset=dataset), "model")
        for chart in _sweep(filter_rows(rows, dataset=dataset), model)
    ]


def _sweep(rows: Rows, model: str) -> list[Chart]:
    """The charts of one method; all charts of a base have the same limits."""
    scores = [row["test_accuracy"] for row in rows]
    limits = (min(scores), max(scores))
    own = filter_rows(rows, model=model)
    maps = [
        _map(filter_rows(own, degree=degree), limits)
        for degree in sorted(unique_values(own, "degree"))
    ]
    return [*maps, _scatter(own, limits)]


def _map(rows: Rows, limits: tuple[float, float]) -> Chart:
    first = rows[0]
    levels, rests = sorted(unique_values(rows, "homophily")), sorted(unique_values(rows, "rest"))
    cells = [
        means_by(filter_rows(rows, rest=rest), "homophily", levels, "test_accuracy")
        for rest in rests
    ]
    across, down = [f"{level:g}" for level in levels], [f"{rest:g}" for rest in rests]
    heat = Mark(
        "heat map", across, down, values=cells, limits=limits, method=first["model"],
        scale="accuracy, %",
    )  # fmt: skip
    return Chart(
        f"{first['model']} on {first['dataset']}, degree {first['degree']:g}",
        [heat],
        Axis("homophily", across),
        Axis("preference ρ for the rest", down, reverse=True),
        caption="Test accuracy in percent.",
        panel=f"{first['model']}, degree {first['degree']:g}",
        file=f"{SWEEP}-{file_name(first['dataset'])}",
        digits=0,
    )


def _scatter(rows: Rows, limits: tuple[float, float]) -> Chart:
    marks = []
    for number, degree in enumerate(sorted(unique_values(rows, "degree"))):
        own = filter_rows(rows, degree=degree)
        variants = unique_values(own, "variant")
        x, y = (
            means_by(own, "variant", variants, c) for c in ("discriminability", "test_accuracy")
        )
        marks.append(Mark("point", x, y, name=f"degree {degree:g}", color=number))
    model, dataset = rows[0]["model"], rows[0]["dataset"]
    return Chart(
        f"{model} on {dataset}: accuracy against discriminability",
        marks,
        Axis("discriminability of M"),
        Axis("accuracy, %", limits=(limits[0] - 2, limits[1] + 2)),
        panel=model,
        file=f"{SWEEP}-{file_name(dataset)}",
    )


STUDY = Study(
    NAME,
    "Synthetic graphs",
    "The nodes of one graph with random edges, so that homophily, preferences, and degree are known.",
    topic=ACCURACY,
    charts=charts,
    files=(NAME, SWEEP),
)
