"""Overlap: how far the semantic neighborhoods of two classes are the same (paper, Figure 1d).

C_nb (N, K) has the class shares among a node's neighbors. Two classes a, b are compared on the line through
their means, t = (C_nb - M_b)·(M_a - M_b) / ‖M_a - M_b‖², where the mean of b lies at 0 and that of a at 1.
Nodes of few neighbors show but a part of M, so the overlap is also measured in five groups by degree, where a
group has at least ten nodes of both classes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heterophily.core.compatibility import (
    neighborhood_overlap,
    observed_compatibility,
    semantic_neighborhoods,
)
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph
from heterophily.studies.degrees import degree_groups, group_names
from heterophily.studies.matrices import class_names
from heterophily.studies.tidy import Row, Rows, Study, filter_rows, mean_of, unique_values

NAME = "overlap"
ALL = "all"
DISTRIBUTION, HISTOGRAM = "distribution", "histogram"
QUANTILES = {
    "lowest_5": 0.05,
    "quarter": 0.25,
    "median": 0.5,
    "three_quarters": 0.75,
    "highest_5": 0.95,
}
N_BINS = 24
LEAST = 10  # nodes of each class; fewer overlap or not by chance


def study_overlap(
    graph: Graph, pair: tuple[str, str] | None = None, *, out: Path | str | None = None
) -> Study:
    """Overlap of each two classes, all nodes and by degree, and the distributions behind it.

    The histogram is that of `pair`, by default the two largest classes.
    """
    hoods = semantic_neighborhoods(graph.symmetric, graph.labels, graph.n_classes)
    if not bool((hoods.sum(dim=1) > 0).any()):
        raise HeterophilyError(f"{graph.name} has no edges to labelled nodes; label more nodes")
    chosen = _pair_of(graph, pair)
    study = Study.opened(NAME, out)
    tables: dict[str, Rows] = {"": [], DISTRIBUTION: [], HISTOGRAM: []}
    for name, nodes in _groups(graph, hoods).items():
        facts = {"dataset": graph.name, "group": name}
        tables[""] += [{**facts, **row} for row in _pairs(graph, nodes)]
        tables[DISTRIBUTION] += [{**facts, **row} for row in _distributions(graph, hoods, nodes)]
        tables[HISTOGRAM] += [{**facts, **row} for row in _histogram(graph, hoods, nodes, chosen)]
    for table, rows in tables.items():
        study.replace_rows(table, rows, same=("dataset",))
    study.write()
    return study


def _pair_of(graph: Graph, pair: tuple[str, str] | None) -> tuple[int, int]:
    names = class_names(graph)
    if pair is None:
        sizes = torch.bincount(graph.labels[graph.labeled], minlength=graph.n_classes)
        first, second = sorted(sizes.argsort(descending=True, stable=True)[:2].tolist())
        return first, second
    for name in pair:
        if name not in names:
            raise unknown_name(f"class of {graph.name}", name, names)
    return names.index(pair[0]), names.index(pair[1])


def _groups(graph: Graph, hoods: Tensor) -> dict[str, Tensor]:
    """All labelled nodes with a labelled neighbor, and fifths of them by degree."""
    nodes = (graph.labeled & (hoods.sum(dim=1) > 0)).nonzero().squeeze(1)
    fifths = degree_groups(graph.degrees, nodes)
    return {ALL: nodes, **dict(zip(group_names(), fifths, strict=True))}


def _pairs(graph: Graph, nodes: Tensor) -> Rows:
    among = torch.zeros(graph.n_nodes, dtype=torch.bool)
    among[nodes] = True
    k, names = graph.n_classes, class_names(graph)
    matrix = neighborhood_overlap(graph.symmetric, graph.labels, k, among=among)
    sizes = torch.bincount(graph.labels[nodes], minlength=k).tolist()
    degrees = graph.degrees[nodes]
    return [
        {
            "class_a": names[a],
            "class_b": names[b],
            "overlap": float(matrix[a, b]) if min(sizes[a], sizes[b]) >= LEAST else None,
            "n_a": sizes[a],
            "n_b": sizes[b],
            "lowest_degree": int(degrees.min()) if len(nodes) else None,
            "highest_degree": int(degrees.max()) if len(nodes) else None,
        }
        for a in range(k)
        for b in range(a + 1, k)
    ]


def _distributions(graph: Graph, hoods: Tensor, nodes: Tensor) -> Rows:
    """Mean and quantiles of the share of each class among the neighbors of each class."""
    names, rows = class_names(graph), []
    for a, name in enumerate(names):
        members = hoods[nodes[graph.labels[nodes] == a]].numpy()
        if not len(members):
            continue
        marks = np.quantile(members, list(QUANTILES.values()), axis=0)
        for b, other in enumerate(names):
            row: Row = {"node_class": name, "neighbor_class": other, "n_nodes": len(members)}
            row["mean"] = members[:, b].mean()
            rows.append({**row, **dict(zip(QUANTILES, marks[:, b], strict=True))})
    return rows


def _histogram(graph: Graph, hoods: Tensor, nodes: Tensor, pair: tuple[int, int]) -> Rows:
    """Shares of the nodes of two classes along the line between their means."""
    names = class_names(graph)
    places = {k: positions(graph, hoods, pair)[graph.labels == k] for k in pair}
    low, high = np.quantile(np.concatenate(list(places.values())), [0.005, 0.995])
    edges = np.linspace(low, high + 1e-9, N_BINS + 1)
    rows: Rows = []
    for k in pair:
        own = positions(graph, hoods, pair)[nodes[graph.labels[nodes] == k]].clip(low, high)
        counts, _ = np.histogram(own, edges)
        shares = counts / max(1, counts.sum())
        rows += [
            {"node_class": names[k], "low": edges[i], "high": edges[i + 1], "share": shares[i]}
            for i in range(N_BINS)
        ]
    return rows


def positions(graph: Graph, hoods: Tensor, pair: tuple[int, int]) -> Any:
    """Every node on the line: t = (C_nb - M_b)·(M_a - M_b) / ‖M_a - M_b‖², (N,)."""
    means = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
    a, b = (means[k] for k in pair)
    line = a - b
    return ((hoods - b) @ line / line.square().sum().clamp_min(1e-12)).numpy()


def draw(study: Study, folder: Path, *, ending: str = "png") -> list[Path]:
    """Per dataset: two classes at low and at high degree, and the overlap of all pairs by degree."""
    from heterophily.views.drawing import GREY, color, panels, plain, slug
    from heterophily.views.figures import save_figure

    paths = []
    names = group_names()
    for dataset in unique_values(study.rows, "dataset"):
        figure, (left, middle, right) = panels(3, width=3.5, height=2.9)
        bars = filter_rows(study.tables[HISTOGRAM], dataset=dataset)
        peak = max(row["share"] for row in bars if row["group"] in (names[0], names[-1]))
        for axes, group in ((left, names[0]), (middle, names[-1])):
            for i, kind in enumerate(unique_values(bars, "node_class")):
                own = filter_rows(bars, group=group, node_class=kind)
                edges = [row["low"] for row in own] + [own[-1]["high"]]
                shares = [100 * row["share"] for row in own]
                axes.stairs(
                    shares, edges, fill=True, alpha=0.45, color=color(i), label=f"class {kind}"
                )
                axes.stairs(shares, edges, color=color(i), linewidth=1.0)
            facts = filter_rows(study.rows, dataset=dataset, group=group)[0]
            low, high = facts["lowest_degree"], facts["highest_degree"]
            reach = f"degree {low}" if low == high else f"degree {low} to {high}"
            a, b = unique_values(bars, "node_class")
            plain(axes, title=f"{dataset}, {reach}", x=f"mean of class {b} at 0, of {a} at 1")
            axes.set_ylim(0, 105 * peak)
        left.set_ylabel("nodes of the class, %", fontsize=10)
        left.legend(fontsize=8, frameon=False)
        _draw_by_degree(right, filter_rows(study.rows, dataset=dataset), names, (GREY, color(0)))
        plain(right, title="overlap of two classes", x="nodes by degree, %")
        right.set_ylim(0, 1.02)
        paths.append(save_figure(figure, folder / f"{NAME}-{slug(dataset)}.{ending}"))
    return paths


def _draw_by_degree(axes: Any, rows: Rows, names: list[str], colors: tuple[str, str]) -> None:
    for a in unique_values(rows, "class_a"):
        for b in unique_values(filter_rows(rows, class_a=a), "class_b"):
            line = [
                mean_of(filter_rows(rows, class_a=a, class_b=b, group=n), "overlap") for n in names
            ]
            axes.plot(names, line, color=colors[0], linewidth=0.6, alpha=0.4)
    means = [mean_of(filter_rows(rows, group=name), "overlap") for name in names]
    axes.plot(
        names, means, "o-", color=colors[1], linewidth=1.8, markersize=5, label="mean of all pairs"
    )
    axes.plot([], [], color=colors[0], linewidth=0.6, label="one pair")
    axes.legend(fontsize=8, framealpha=0.85, edgecolor="none", loc="upper right")
