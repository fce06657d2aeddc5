"""Synthetic graphs: accuracy against homophily, discriminability and degree (paper, Appendix C).

The twelve graphs of the paper keep the nodes, features and labels of a base graph and differ in edges alone.
The sweep fills the space between them: preferences Π of classes for each other are 1 on a ring and ρ
elsewhere, from ρ = 0.02, our easy kind, to ρ = 1, our hard kind.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

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
from heterophily.htmp.recipe import Recipe
from heterophily.models import find_recipe
from heterophily.models.settings import tuned
from heterophily.studies.tidy import Row, Study, filter_rows, mean_of, unique_values
from heterophily.studies.trials import Tables, Trial, run_trials, splits_of, trials_of

NAME, SWEEP = "synthetic", "sweep"
METHODS = ("gcn", "mlp")  # those of the paper
# Without committed settings for the base, as for Cora, whose words are counts of very different sums.
SETTINGS = {"feature_norm": "l1"}
HOMOPHILIES = (0.0, 0.2, 0.4, 0.6, 0.8)
RESTS = (0.02, 0.1, 0.3, 1.0)  # ρ


def study_synthetic(
    base: Graph,
    models: Sequence[str | Recipe] = METHODS,
    *,
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> Study:
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
    study = Study.opened(NAME, out)
    trials = _trials(fixed, graphs, models, column="pattern", settings=settings, **options)
    run_trials(trials, measure, study, workers=workers, paper=in_paper)
    return study


def study_sweep(
    base: Graph,
    models: Sequence[str | Recipe] = METHODS,
    *,
    homophilies: Sequence[float] = HOMOPHILIES,
    rests: Sequence[float] = RESTS,
    degrees: Sequence[float] = tuple(DEGREES.values()),
    settings: Mapping[str, Any] | None = None,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> Study:
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
    study = Study.opened(SWEEP, out)
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
    models: Sequence[str | Recipe],
    *,
    column: str,
    settings: Mapping[str, Any] | None,
    **options: Any,
) -> list[Trial]:
    found: list[Trial] = []
    for (homophily, kind, degree), graph in graphs.items():
        facts = {"homophily": homophily, column: kind, "degree": degree, **_measured(graph)}
        for model in models:
            committed = find_recipe(model).name, base.name
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


def draw(study: Study, folder: Path, *, ending: str = "png") -> list[Path]:
    """A panel per degree; a line per method and kind over homophily, the paper's numbers as crosses."""
    from heterophily.views.drawing import color, legend_below, mark, panels, plain, slug
    from heterophily.views.figures import save_figure

    paths = []
    for dataset in unique_values(study.rows, "dataset"):
        rows = filter_rows(study.rows, dataset=dataset)
        degrees = sorted(unique_values(rows, "degree"), reverse=True)
        figure, grid = panels(len(degrees), width=3.8, height=3.0)
        for axes, degree in zip(grid, degrees, strict=True):
            for i, (model, kind) in enumerate(_lines(rows)):
                line = [r for r in filter_rows(rows, degree=degree, model=model) if _is(r, kind)]
                at = sorted(unique_values(line, "homophily"))
                cells = [filter_rows(line, homophily=h) for h in at]
                means: Any = [mean_of(cell, "test_accuracy") for cell in cells]
                printed: Any = [mean_of(cell, "paper") for cell in cells]
                label = f"{model}, {kind}" if kind else model
                dashed = "--" if kind == "hard" else "-"
                look: Any = {"color": color(i), "marker": mark(i), "markersize": 5}
                axes.plot(at, means, dashed, linewidth=1.5, label=label, **look)
                if printed and printed[0] is not None:
                    cross: Any = {"marker": "x", "linestyle": "none", "markeredgewidth": 1.6}
                    axes.plot(at, printed, color=color(i), markersize=7, zorder=3, **cross)
            first = axes is grid[0]
            plain(axes, title=f"degree {degree:g}", x="homophily", y="accuracy, %" if first else "")
            axes.set_xticks(sorted(unique_values(rows, "homophily")))
            axes.set_ylim(top=101)
        if mean_of(rows, "paper") is not None:
            style: Any = {"marker": "x", "linestyle": "none", "color": "#444444"}
            grid[0].plot([], [], label="paper", **style)
        legend_below(figure, grid[0])
        paths.append(save_figure(figure, folder / f"{NAME}-{slug(dataset)}.{ending}"))
    return paths


def _lines(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Methods with each kind of pattern, or without where the edges make no difference."""
    found = []
    for model in unique_values(rows, "model"):
        own = filter_rows(rows, model=model)
        blind = len(unique_values(own, "run")) == len(unique_values(own, "split"))
        found += [(model, kind) for kind in ([""] if blind else unique_values(own, "pattern"))]
    return found


def _is(row: Row, kind: str) -> bool:
    return not kind or row["pattern"] == kind


def draw_sweep(study: Study, folder: Path, *, ending: str = "png") -> list[Path]:
    """Heat maps of accuracy per method and degree, and accuracy against discriminability beside them."""
    from heterophily.views.drawing import numbered_map, panels, plain, slug
    from heterophily.views.figures import save_figure

    paths = []
    for dataset in unique_values(study.rows, "dataset"):
        rows = filter_rows(study.rows, dataset=dataset)
        models, degrees = unique_values(rows, "model"), sorted(unique_values(rows, "degree"))
        across = len(degrees) + 1
        figure, grid = panels(len(models) * across, width=3.3, height=2.7, columns=across)
        marks = [r["test_accuracy"] for r in rows]
        limits = (min(marks), max(marks))
        for i, model in enumerate(models):
            for j, degree in enumerate(degrees):
                axes = grid[i * across + j]
                own = filter_rows(rows, model=model, degree=degree)
                image = _map(axes, own, limits, numbered_map)
                axes.set_title(f"{model}, degree {degree:g}", fontsize=10)
                axes.set_xlabel("homophily", fontsize=10)
                axes.set_ylabel("preference ρ for the rest" if j == 0 else "", fontsize=10)
            beside = grid[i * across + across - 1]
            _scatter(beside, filter_rows(rows, model=model), degrees, legend=i == 0)
            plain(beside, title=model, x="discriminability of M", y="accuracy, %")
            beside.set_ylim(limits[0] - 2, limits[1] + 2)
        bar = figure.colorbar(image, ax=grid, shrink=0.6, aspect=30, pad=0.01)
        bar.set_label("accuracy, %", fontsize=10)
        bar.outline.set_visible(False)
        paths.append(save_figure(figure, folder / f"{SWEEP}-{slug(dataset)}.{ending}"))
    return paths


def _map(axes: Any, rows: Sequence[Row], limits: tuple[float, float], draw_map: Any) -> Any:
    homophilies, rests = (
        sorted(unique_values(rows, "homophily")),
        sorted(unique_values(rows, "rest")),
    )
    cells = [
        [mean_of(filter_rows(rows, homophily=h, rest=rest), "test_accuracy") for h in homophilies]
        for rest in rests
    ]
    names: dict[str, Any] = {
        "rows": [f"{rest:g}" for rest in rests],
        "columns": [f"{h:g}" for h in homophilies],
    }
    return draw_map(axes, cells, limits=limits, **names)


def _scatter(axes: Any, rows: Sequence[Row], degrees: Sequence[float], *, legend: bool) -> None:
    from heterophily.views.drawing import color, mark

    for i, degree in enumerate(degrees):
        own = filter_rows(rows, degree=degree)
        points = [filter_rows(own, variant=variant) for variant in unique_values(own, "variant")]
        x = [mean_of(point, "discriminability") for point in points]
        y = [mean_of(point, "test_accuracy") for point in points]
        axes.scatter(
            x, y, s=18, color=color(i), marker=mark(i), alpha=0.8, label=f"degree {degree:g}"
        )
    if legend:
        axes.legend(fontsize=8, frameon=False)
