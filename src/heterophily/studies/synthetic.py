"""Synthetic graphs: accuracy against homophily, discriminability and degree (paper, Appendix C).

The twelve graphs of the paper keep the nodes, features and labels of a base graph and differ in edges alone.
The sweep fills the space between them: preferences Π of classes for each other are 1 on a ring and ρ
elsewhere, from ρ = 0.02, our easy kind, to ρ = 1, our hard kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch

from heterophily.core.chart import Axis, Chart, Mark, Table, file_name
from heterophily.core.compatibility import discriminability, observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.homophily import measure_homophily
from heterophily.core.sparse import Pattern
from heterophily.data.synthetic import (
    DEGREES,
    HOMOPHILY,
    draw_edges,
    preference_pattern,
    synthetic_benchmark,
    target_matrix,
)
from heterophily.htmp.method import Method, make_method
from heterophily.htmp.neighborhoods import Ego
from heterophily.models import Model, find_method
from heterophily.models.settings import tuned
from heterophily.runs.record import Record
from heterophily.studies.study import (
    ACCURACY,
    MODELS,
    Graphs,
    Models,
    Option,
    Study,
    StudyJob,
    TrainingOptions,
    make_jobs,
    with_splits,
)
from heterophily.studies.tidy import (
    Row,
    Rows,
    Tables,
    comparison_with_spread,
    describe_splits,
    filter_rows,
    group_rows,
    mean_of,
    means_by,
    paired_marks,
    pivot_table,
    unique_values,
)

NAME, SWEEP = "synthetic", "sweep"
METHODS = ("gcn", "mlp")  # those of the paper
# Without committed settings for the base, as for Cora, whose words are counts of very different sums.
SETTINGS = {"feature_norm": "l1"}
HOMOPHILIES = (0.0, 0.2, 0.4, 0.6, 0.8)
OFF_RING_PREFERENCES = (0.02, 0.1, 0.3, 1.0)  # ρ
Kind = tuple[float, str | float, float]  # homophily, pattern or preference ρ, degree


@dataclass(frozen=True, kw_only=True)
class SyntheticOptions(TrainingOptions):
    graphs: Annotated[Graphs, Option("Graphs that provide nodes, features, and labels.", "graphs")] = ("cora",)
    models: Annotated[Models, MODELS] = METHODS
    sweep: Annotated[bool, Option("Use a grid of homophily × preferences × degree instead of the twelve graphs.")] = (
        False
    )
    homophilies: Annotated[
        tuple[float, ...], Option("Comma-separated values of homophily for the sweep.", "numbers")
    ] = HOMOPHILIES
    off_ring_preferences: Annotated[
        tuple[float, ...],
        Option("Comma-separated preferences for non-adjacent classes for the sweep; 1 is `hard`.", "numbers"),
    ] = OFF_RING_PREFERENCES
    degrees: Annotated[tuple[float, ...], Option("Comma-separated mean degrees for the sweep.", "numbers")] = tuple(
        DEGREES.values()
    )


def jobs(options: SyntheticOptions, graph: Graph) -> list[StudyJob]:
    """Return the runs of all methods on graphs with the nodes of one graph."""
    base = with_splits(graph, options.splits)
    if options.sweep:
        return make_graph_jobs(base, _swept_graphs(base, options), options, column="rest")
    graphs: dict[Kind, Graph] = {
        (HOMOPHILY[level], kind, DEGREES[degree]): made
        for (level, kind, degree), made in synthetic_benchmark(base, seed=options.seed)
    }
    return make_graph_jobs(base, graphs, options, column="pattern")


def _swept_graphs(base: Graph, options: SyntheticOptions) -> dict[Kind, Graph]:
    return {
        (h, rest, d): swept_graph(base, homophily=h, rest=rest, degree=d, seed=options.seed)
        for h in options.homophilies
        for rest in options.off_ring_preferences
        for d in options.degrees
    }


def swept_graph(base: Graph, *, homophily: float, rest: float, degree: float, seed: int = 0) -> Graph:
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


def make_graph_jobs(
    base: Graph, graphs: Mapping[Kind, Graph], options: SyntheticOptions, *, column: str
) -> list[StudyJob]:
    """Return the runs on synthetic graphs. Methods that use no edges have the same run on all graphs."""
    jobs: list[StudyJob] = []
    for (homophily, kind, degree), graph in graphs.items():
        facts = {"homophily": homophily, column: kind, "degree": degree, **_measured(graph)}
        for model in options.models:
            tuned_as = find_method(model).name, base.name
            jobs += make_jobs(
                graph if uses_edges(model, base.name) else without_edges(graph, base),
                model,
                options,
                table=SWEEP if options.sweep else NAME,
                settings={} if tuned(*tuned_as) else SETTINGS,
                tuned_as=tuned_as,
                columns={
                    "dataset": base.name,
                    "variant": f"homophily {homophily}, {column} {kind}, degree {degree}",
                    **facts,
                },
            )
    return jobs


def uses_edges(model: Model, dataset: str) -> bool:
    """Return whether a method uses the edges of a graph."""
    base = find_method(model)
    values = {} if isinstance(base, Method) else tuned(base.name, dataset)
    used = make_method(base, values).architecture()
    ego = all(isinstance(channel.neighborhood, Ego) for channel in used.channels)
    return not ego or used.encoder.uses_structure or bool(used.states)


def without_edges(graph: Graph, base: Graph) -> Graph:
    """Return the graph without edges and with the name of its base."""
    n = graph.n_nodes
    return graph.replace(adjacency=Pattern.from_edges([], [], shape=(n, n)), name=base.name)


def _measured(graph: Graph) -> Row:
    adjacency, labels, k = graph.symmetric, graph.labels, graph.n_classes
    return {
        "edge_homophily": measure_homophily(adjacency, labels, k).edge,
        "discriminability": discriminability(observed_compatibility(adjacency, labels, k)),
    }


def rows(job: StudyJob, record: Record) -> Tables:
    row: Row = {"test_accuracy": 100 * record.score(), "best_epoch": record.run["best_epoch"]}
    return {"": [row]}


def in_paper(row: Row) -> float | None:
    """The mean accuracy that the paper prints for GCN or MLP on the graphs over Cora."""
    from heterophily.data import published as paper

    if row["dataset"] != "cora" or row["model"] not in METHODS or "pattern" not in row:
        return None
    if row["model"] == "mlp":
        return paper.synthetic_mlp().mean
    return paper.synthetic_gcn(row["homophily"], row["pattern"], degree=row["degree"]).mean


def charts(tables: Tables) -> list[Chart]:
    """Return a chart per base and degree, with a line per method and kind over homophily."""
    charts = [
        _chart(group, dataset, degree)
        for (dataset,), group in group_rows(tables.get(NAME, []), "dataset").items()
        for degree in sorted(unique_values(group, "degree"), reverse=True)
    ]
    return charts + _sweep_charts(tables.get(SWEEP, []))


def _chart(rows: Rows, dataset: str, degree: float) -> Chart:
    levels = sorted(unique_values(rows, "homophily"))
    marks = []
    for model, kind in _lines(rows):
        line = filter_rows(rows, degree=degree, model=model, **({"pattern": kind} if kind else {}))
        name = f"{model}, {kind}" if kind else model
        ours, *theirs = paired_marks("line", line, "homophily", levels, name=name, method=model)
        marks.append(replace(ours, style="dashed" if kind == "hard" else "solid"))
        marks += [replace(mark, kind="point") for mark in theirs]
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
    pairs = []
    for (model,), group in group_rows(rows, "model").items():
        blind = len(unique_values(group, "run")) == len(unique_values(group, "split"))
        pairs += [(model, kind) for kind in ([""] if blind else unique_values(group, "pattern"))]
    return pairs


def _sweep_charts(rows: Rows) -> list[Chart]:
    """Heat maps of accuracy per method and degree, and accuracy against discriminability."""
    return [
        chart
        for group in group_rows(rows, "dataset").values()
        for model in unique_values(group, "model")
        for chart in _sweep(group, model)
    ]


def _sweep(rows: Rows, model: str) -> list[Chart]:
    """The charts of one method; all charts of a base have the same limits."""
    scores = [row["test_accuracy"] for row in rows]
    limits = (min(scores), max(scores))
    group = filter_rows(rows, model=model)
    maps = [_map(filter_rows(group, degree=degree), limits) for degree in sorted(unique_values(group, "degree"))]
    return [*maps, _scatter(group, limits)]


def _map(rows: Rows, limits: tuple[float, float]) -> Chart:
    first = rows[0]
    levels, rests = sorted(unique_values(rows, "homophily")), sorted(unique_values(rows, "rest"))
    cells = [means_by(filter_rows(rows, rest=rest), "homophily", levels, "test_accuracy") for rest in rests]
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
        group = filter_rows(rows, degree=degree)
        variants = unique_values(group, "variant")
        x, y = (means_by(group, "variant", variants, c) for c in ("discriminability", "test_accuracy"))
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


def tables(data: Tables) -> list[Table]:
    return [
        pivot_table(
            group,
            "variant",
            "model",
            comparison_with_spread,
            corner="graph",
            caption=f"Nodes of {dataset}, ours / the paper's, {describe_splits(group)}:",
        )
        for (dataset,), group in group_rows(data.get(NAME, []), "dataset").items()
    ]


def findings(data: Tables) -> list[str]:
    """Return on how many graphs GCN is worse than MLP, here and in the paper."""
    datasets = group_rows(data.get(NAME, []), "dataset").values()
    return [_comparison(group) for group in datasets if set(METHODS) <= set(unique_values(group, "model"))]


def _comparison(rows: Rows) -> str:
    counts = []
    for column in ("test_accuracy", "paper"):
        graphs = group_rows(rows, "variant").values()
        pairs = [[mean_of(filter_rows(g, model=m), column) for m in METHODS] for g in graphs]
        counts.append(sum(a < b for a, b in pairs if a is not None and b is not None))
    printed = f", in the paper on {counts[1]}" if mean_of(rows, "paper") is not None else ""
    return f"GCN falls below MLP on {counts[0]} graphs{printed}."


STUDY = Study(
    name=NAME,
    title="Synthetic graphs",
    description="Measure the accuracy on synthetic graphs with known homophily, preferences, and degree.",
    details="""
Twelve graphs have the same nodes and different edges. A sweep covers the space between them, which the
paper does not do. The paper does not print its matrices: ours have the same homophily and degree, but
not the same entries off the diagonal, so only trends are comparable.
""",
    usage="cora [--sweep]",
    topic=ACCURACY,
    options=SyntheticOptions,
    jobs=jobs,
    rows=rows,
    paper=in_paper,
    charts=charts,
    tables=tables,
    findings=findings,
    files=(NAME, SWEEP),
)
