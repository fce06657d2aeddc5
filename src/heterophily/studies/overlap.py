"""Overlap: how far the semantic neighborhoods of two classes are the same (paper, Figure 1d).

C_nb (N, K) has the class shares among a node's neighbors. Two classes a, b are compared on the line through
their means, t = (C_nb - M_b)·(M_a - M_b) / ‖M_a - M_b‖², where the mean of b lies at 0 and that of a at 1.
Nodes of few neighbors show but a part of M, so the overlap is also measured in five groups by degree, where a
group has at least ten nodes of both classes.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from heterophily.core.chart import Axis, Chart, Mark, Table, file_name, number_text
from heterophily.core.compatibility import neighborhood_overlap, observed_compatibility, semantic_neighborhoods
from heterophily.core.errors import HeterophilyError, unknown_name
from heterophily.core.graph import Graph
from heterophily.core.types import FloatArray
from heterophily.studies.compatibility import class_names
from heterophily.studies.degrees import degree_groups, group_names
from heterophily.studies.study import CLASSES, GraphOptions, Option, Study
from heterophily.studies.tidy import (
    Row,
    Rows,
    Tables,
    filter_rows,
    group_rows,
    mean_of,
    means_by,
    pivot_table,
    unique_values,
)

NAME = "overlap"
ALL = "all"
DISTRIBUTION, HISTOGRAM = "distribution", "histogram"
QUANTILES = {"lowest_5": 0.05, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "highest_5": 0.95}
N_BINS = 24
MIN_NODES = 10  # nodes of each class; fewer overlap or not by chance


@dataclass(frozen=True, kw_only=True)
class OverlapOptions(GraphOptions):
    classes: Annotated[
        tuple[str, ...], Option("Comma-separated pair of classes to plot; the two largest by default.", "names")
    ] = ()


def measure(options: OverlapOptions, graph: Graph) -> Tables:
    """Measure the overlap of all pairs of classes, for all nodes and by degree.

    The histogram is that of two classes.
    """
    hoods = semantic_neighborhoods(graph.symmetric, graph.labels, graph.n_classes)
    if not bool((hoods.sum(dim=1) > 0).any()):
        raise HeterophilyError(f"{graph.name} has no edges to labeled nodes; label more nodes")
    pair = _pair_of(graph, options.classes)
    tables: Tables = {"": [], DISTRIBUTION: [], HISTOGRAM: []}
    for name, nodes in _groups(graph, hoods).items():
        facts = {"dataset": graph.name, "group": name}
        tables[""] += [{**facts, **row} for row in _pairs(graph, nodes)]
        tables[DISTRIBUTION] += [{**facts, **row} for row in _distributions(graph, hoods, nodes)]
        tables[HISTOGRAM] += [{**facts, **row} for row in _histogram(graph, hoods, nodes, pair)]
    return tables


def _pair_of(graph: Graph, pair: tuple[str, ...]) -> tuple[int, int]:
    names = class_names(graph)
    if not pair:
        sizes = torch.bincount(graph.labels[graph.labeled], minlength=graph.n_classes)
        first, second = sorted(sizes.argsort(descending=True, stable=True)[:2].tolist())
        return first, second
    if len(pair) != 2:
        raise HeterophilyError(f"expected two classes separated by a comma, got {','.join(pair)!r}")
    for name in pair:
        if name not in names:
            raise unknown_name(f"class of {graph.name}", name, names)
    return names.index(pair[0]), names.index(pair[1])


def _groups(graph: Graph, hoods: Tensor) -> dict[str, Tensor]:
    """All labeled nodes with a labeled neighbor, and fifths of them by degree."""
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
            "overlap": float(matrix[a, b]) if min(sizes[a], sizes[b]) >= MIN_NODES else None,
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
        group = positions(graph, hoods, pair)[nodes[graph.labels[nodes] == k]].clip(low, high)
        counts, _ = np.histogram(group, edges)
        shares = counts / max(1, counts.sum())
        rows += [
            {"node_class": names[k], "low": edges[i], "high": edges[i + 1], "share": shares[i]} for i in range(N_BINS)
        ]
    return rows


def positions(graph: Graph, hoods: Tensor, pair: tuple[int, int]) -> FloatArray:
    """Every node on the line: t = (C_nb - M_b)·(M_a - M_b) / ‖M_a - M_b‖², (N,)."""
    means = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
    a, b = (means[k] for k in pair)
    line = a - b
    places: FloatArray = ((hoods - b) @ line / line.square().sum().clamp_min(1e-12)).numpy()
    return places


def charts(tables: Tables) -> list[Chart]:
    """Return per dataset two classes at low and at high degree, and the overlap of all pairs by degree."""
    charts, bars = [], tables.get(f"{NAME}-{HISTOGRAM}", [])
    for (dataset,), group in group_rows(tables.get(NAME, []), "dataset").items():
        charts += [*_histogram_charts(group, filter_rows(bars, dataset=dataset)), _overlap_chart(group)]
    return charts


def _histogram_charts(rows: Rows, bars: Rows) -> list[Chart]:
    ends = (group_names()[0], group_names()[-1])
    peak = max((row["share"] for row in bars if row["group"] in ends), default=0.0)
    return [
        _histogram_chart(filter_rows(rows, group=g)[0], filter_rows(bars, group=g), peak)
        for g in ends
        if filter_rows(bars, group=g)
    ]


def _histogram_chart(facts: Row, bars: Rows, peak: float) -> Chart:
    low, high, dataset = facts["lowest_degree"], facts["highest_degree"], facts["dataset"]
    degrees = f"degree {low}" if low == high else f"degree {low} to {high}"
    classes, marks = unique_values(bars, "node_class"), []
    for number, name in enumerate(classes):
        group = filter_rows(bars, node_class=name)
        edges = [*(row["low"] for row in group), group[-1]["high"]]
        shares = [100 * row["share"] for row in group]
        line = Mark("line", edges, [*shares, 0.0], name=f"class {name}", color=number, width=1.0)
        marks.append(replace(line, steps=True, fill=True, points=False))
    return Chart(
        f"Neighborhoods at {degrees}",
        marks,
        Axis(f"0: mean of class {classes[1]}, 1: mean of class {classes[0]}"),
        Axis("nodes of the class, %", limits=(0, 105 * peak)),
        caption="Position of the nodes of two classes on the line between the means of the classes.",
        panel=f"{dataset}, {degrees}",
        file=f"{NAME}-{file_name(dataset)}",
        dataset=dataset,
    )


def _overlap_chart(rows: Rows) -> Chart:
    groups = [name for name in group_names() if filter_rows(rows, group=name)]
    marks = [
        Mark(
            "line",
            groups,
            means_by(group, "group", groups, "overlap"),
            name="one pair",
            color="quiet",
            points=False,
            width=0.6,
        )
        for group in group_rows(rows, "class_a", "class_b").values()
    ]
    means = means_by(rows, "group", groups, "overlap")
    marks.append(Mark("line", groups, means, name="mean of all pairs", width=1.8))
    dataset = rows[0]["dataset"]
    return Chart(
        "Overlap of neighborhoods",
        marks,
        Axis("nodes by degree, %", groups),
        Axis("overlap of two classes", limits=(0, 1.02)),
        caption="For each pair of classes, from 0 to 1 for identical neighborhoods.",
        panel="overlap of two classes",
        file=f"{NAME}-{file_name(dataset)}",
        dataset=dataset,
        digits=3,
    )


def tables(data: Tables) -> list[Table]:
    every = data.get(NAME, [])
    return [pivot_table(every, "dataset", "group", _mean_text, corner="dataset")] if every else []


def _mean_text(rows: Rows) -> str:
    return number_text(mean_of(rows, "overlap"), 2)


def summary(data: Tables) -> list[str]:
    return [
        f"{dataset}: mean overlap {first}; by degree, lowest first: {', '.join(others)}"
        for table in tables(data)
        for dataset, first, *others in table.rows
    ]


STUDY = Study(
    name=NAME,
    title="Overlap of neighborhoods",
    description="Measure how similar the neighborhoods of two classes are, by degree.",
    details="""
The overlap is 1 if the semantic neighborhoods of two classes are indistinguishable. The table shows the
mean over pairs of classes for all nodes and for fifths of the nodes by degree, lowest first; the paper
plots it in Figure 1d. Compare fifths with each other, not with all nodes: fewer nodes look more
different by chance alone, so pairs with fewer than ten nodes of a class are omitted.
""",
    usage="GRAPH...",
    topic=CLASSES,
    options=OverlapOptions,
    measure=measure,
    charts=charts,
    tables=tables,
    summary=summary,
    files=(NAME,),
)
