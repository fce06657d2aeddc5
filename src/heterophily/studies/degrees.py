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

from heterophily.core.graph import Graph
from heterophily.htmp.recipe import Recipe
from heterophily.studies.tidy import Row, Study, filter_rows, mean_of, unique_values
from heterophily.studies.trials import Tables, Trial, run_trials, trials_of
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
    models: Sequence[str | Recipe] = METHODS,
    *,
    workers: int = 1,
    out: Path | str | None = None,
    **options: Any,
) -> Study:
    """Accuracy of several methods in five groups of test nodes by degree, per split, in percent.

    Options are those of `trials_of`.
    """
    trials = [trial for model in models for trial in trials_of(graph, model, **options)]
    study = Study.opened(NAME, out)
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


def draw(study: Study, folder: Path, *, ending: str = "png") -> list[Path]:
    """A panel per dataset, a line per method, the paper's dashed."""
    from heterophily.views.drawing import color, leftmost, legend_below, mark, panels, plain
    from heterophily.views.figures import save_figure

    datasets, models = unique_values(study.rows, "dataset"), unique_values(study.rows, "model")
    if not datasets:
        return []
    figure, grid = panels(len(datasets))
    names = group_names()
    for axes, dataset in zip(grid, datasets, strict=True):
        for i, model in enumerate(models):
            rows = filter_rows(study.rows, dataset=dataset, model=model)
            if not rows:
                continue
            by_group = [filter_rows(rows, group=name) for name in names]
            means: Any = [mean_of(group, "test_accuracy") for group in by_group]
            printed: Any = [mean_of(group, "paper") for group in by_group]
            look: Any = {"color": color(i), "marker": mark(i), "markersize": 4.5}
            axes.plot(names, means, linewidth=1.5, label=model, **look)
            if printed[0] is not None:
                faint: Any = {"linestyle": (0, (3, 2)), "linewidth": 0.9, "alpha": 0.75}
                axes.plot(names, printed, color=color(i), **faint)
        first = axes in leftmost(grid)
        plain(axes, title=dataset, x="nodes by degree, %", y="accuracy, %" if first else "")
    axes = max(grid, key=lambda a: len(a.get_legend_handles_labels()[0]))
    if mean_of(study.rows, "paper") is not None:
        axes.plot([], [], color="#666666", linestyle=(0, (3, 2)), linewidth=0.9, label="paper")
    legend_below(figure, axes)
    return [save_figure(figure, folder / f"{NAME}.{ending}")]
