"""What the templates are filled with: the leaderboard, a panel per dataset, and the facts of a graph."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from heterophily.analysis.diagnosis import Diagnosis
from heterophily.benchmark.table import Entry, Table
from heterophily.core.chart import Chart
from heterophily.data import published as paper
from heterophily.data.catalog import CATALOG
from heterophily.runs.record import Record
from heterophily.studies.study import CLASSES, COST
from heterophily.views import charts
from heterophily.views.finding import board_order
from heterophily.views.page import data
from heterophily.views.page.commands import bench_command, bench_note
from heterophily.views.page.data import Results
from heterophily.views.tables import number, rank_text, signed

TOPICS = {
    CLASSES: "Each row of a compatibility matrix shows how the neighbors of the nodes of one class are "
    "distributed over classes. If the rows differ, a node's neighbors predict its class."
}


@dataclass(frozen=True)
class Section:
    """Charts under one heading."""

    title: str
    charts: list[Chart]
    text: str = ""


@dataclass(frozen=True)
class Gauge:
    """A measure with its meaning; `share` of its bar, none where a bar would mislead."""

    name: str
    value: str
    meaning: str = ""
    share: float | None = None


def leaderboard(table: Table) -> list[dict[str, object]]:
    """The rows of the leaderboard."""
    return [
        {
            "model": model,
            "title": paper.methods().get(model, model),
            "cells": [_cell(entry) for entry in table.row(model)],
            "rank": rank_text(table, model),
            "rank_value": table.average_ranks.get(model),
            "paper_rank": paper.average_rank(model),
        }
        for model in board_order(table)
    ]


def _cell(entry: Entry) -> dict[str, object]:
    published = entry.published
    spread = "" if entry.std is None else f"± {entry.std:.2f}"
    return {
        "dataset": entry.dataset,
        "value": entry.mean,
        "mean": entry.failure_label if entry.mean is None else f"{entry.mean:.2f}",
        "spread": spread,
        "runs": f"{entry.n}/{entry.planned}" if entry.partial else "",
        "place": entry.position,
        "worse": entry.not_significantly_worse is False,
        "exists": bool(entry.n or entry.failed),
        "paper": "" if published is None else "OOM" if published.mean is None else f"{published.mean:.2f}",
        "difference": "" if entry.difference is None else signed(entry.difference),
        "verdict": entry.verdict,
    }


def panel(results: Results, dataset: str, shown: Sequence[Section]) -> dict[str, object]:
    """Everything that is known of a dataset."""
    graph = results.graphs.get(dataset)
    return {
        "name": dataset,
        "title": paper.datasets().get(dataset, dataset),
        "facts": graph_facts(graph) if graph else declared_facts(dataset),
        "meters": meters(graph) if graph else [],
        "diagnosis": graph,
        "audit": graph.audit.findings if graph else (),
        "citation": CATALOG[dataset].citation if dataset in CATALOG else "",
        "sections": shown,
        "methods": [method_row(results, e) for e in _ordered(results.table.column(dataset))],
    }


def _ordered(column: Sequence[Entry]) -> list[Entry]:
    return sorted(column, key=lambda e: -1.0 if e.mean is None else e.mean, reverse=True)


def sections(results: Results, dataset: str) -> list[Section]:
    """Return the charts of a dataset under their headings."""
    curves, caption = data.curves_of(results, dataset)
    points, source = data.times_of(results, dataset)
    costs = (charts.accuracy_chart(results.table.column(dataset)), charts.cost_chart(points, source=source))
    found = {
        COST: [chart for chart in costs if chart is not None],
        CLASSES: data.matrix_charts(results, dataset),
        "How training went": charts.curve_charts(curves, caption=caption),
    }
    for study, chart in results.study_charts:
        if chart.dataset == dataset and not data.is_matrix_of(chart, dataset):
            found.setdefault(study.topic, []).append(chart)
    return [Section(name, shown, TOPICS.get(name, "")) for name, shown in found.items() if shown]


def study_sections(results: Results) -> list[Section]:
    """Return the charts of studies over several datasets."""
    found: dict[str, Section] = {}
    for study, chart in results.study_charts:
        if not chart.dataset:
            section = found.setdefault(study.name, Section(study.title, [], study.description))
            section.charts.append(chart)
    return list(found.values())


def method_row(results: Results, entry: Entry) -> dict[str, object]:
    """A method on a dataset: its scores, cost, settings, runs and command."""
    runs = sorted(results.cells.get((entry.model, entry.dataset), ()), key=lambda r: (r.split.zfill(9), r.seed))
    done = [run for run in runs if run.done]
    first = (done or runs)[0] if runs else None
    return {
        "model": entry.model,
        "text": number(entry),
        "place": entry.position,
        "paper": _printed(entry),
        "difference": "–" if entry.difference is None else signed(entry.difference),
        "verdict": data.verdict_text(entry),
        "ms": _mean((r.run.get("milliseconds_per_epoch") for r in done), ".1f"),
        "memory": _mean((r.run.get("peak_memory") for r in done), ",.0f"),
        "parameters": f"{first.parameters:,}" if first and first.parameters else "–",
        "settings": {} if first is None else {k: _value(v) for k, v in first.settings.items()},
        "origin": "" if first is None else f"source {first.source}, preset {first.preset}",
        "runs": [_run(run) for run in runs],
        "command": bench_command(runs) if runs else "",
        "note": bench_note(first) if first else "",
    }


def _printed(entry: Entry) -> str:
    published = entry.published
    if published is None:
        return "–"
    return "OOM" if published.mean is None else f"{published.mean:.2f} ± {published.std:.2f}"


def _mean(values: Iterable[float | None], form: str) -> str:
    known = [value for value in values if value]
    return format(fmean(known), form) if known else "–"


def _value(value: object) -> str:
    return value if isinstance(value, str) else "none" if value is None else str(value)


def _run(run: Record) -> dict[str, str]:
    if not run.done:
        lines = run.reason.strip().splitlines()
        return {
            "split": run.split,
            "seed": str(run.seed),
            "failed": f"{run.status}: {lines[-1][:200] if lines else ''}",
        }
    parts = [part for part in ("val", "test") if part in run.run["scores"]]
    shown = {part: f"{100 * run.score(part):.2f}" for part in parts}
    return {
        "split": run.split,
        "seed": str(run.seed),
        "failed": "",
        "val": shown.get("val", "–"),
        "test": shown.get("test", "–"),
        "epochs": str(run.run.get("n_epochs", "–")),
        "best": str(run.run.get("best_epoch", "–")),
        "seconds": f"{float(run.run['seconds']):.1f}" if "seconds" in run.run else "–",
    }


def graph_facts(graph: Diagnosis) -> dict[str, str]:
    """Sizes of a measured graph."""
    labeled = "" if graph.n_labeled == graph.n_nodes else f" ({graph.n_labeled:,} labeled)"
    return {
        "nodes": f"{graph.n_nodes:,}{labeled}",
        "edges": f"{graph.n_edges_symmetric // 2:,}",
        "features": f"{graph.n_features:,}",
        "classes": str(graph.n_classes),
        "mean degree": f"{graph.degrees['mean']:.1f}",
        "median degree": f"{graph.degrees['median']:.0f}",
    }


def declared_facts(dataset: str) -> dict[str, str]:
    """Sizes that the catalog declares, for a graph whose files are not here."""
    row = CATALOG.get(dataset)
    if row is None:
        return {}
    return {
        "nodes": f"{row.n_nodes:,}",
        "edges": f"{row.n_symmetric // 2:,}",
        "features": f"{row.n_features:,}",
        "classes": str(row.n_classes),
        "edge homophily": f"{row.edge_homophily:.2f}",
    }


def meters(graph: Diagnosis) -> list[Gauge]:
    """Return measures of homophily and of neighborhoods with their meanings."""
    h = graph.homophily_symmetric
    found: Mapping[str, tuple[float | None, str]] = {
        "Edge homophily": (h.edge, "share of edges within a class"),
        "Node homophily": (h.node, "mean share of neighbors of the same class"),
        "Class-insensitive": (h.class_insensitive, "edge homophily of each class above chance"),
        "Adjusted": (h.adjusted, "0 for random edges, 1 for perfect homophily"),
        "Label informativeness": (h.label_informativeness, "information of one neighbor about a label"),
        "Discriminability": (graph.discriminability, "0 if all classes have the same neighbors"),
        "CMD": (graph.cmd, "mean difference of two rows of the compatibility matrix, 0 to 2"),
        "Overlap": (graph.mean_overlap, "similarity of the neighborhoods of two classes"),
        "Accuracy from neighbors": (graph.neighborhood_accuracy, "a classifier of the neighbors' classes"),
        "Accuracy from features": (graph.feature_accuracy, "a linear classifier of the features"),
        "Accuracy of guessing": (graph.largest_class, "always the largest class"),
    }
    return [
        Gauge(
            name, f"{value:.3f}".replace("-", "−"), meaning, max(0.0, min(1.0, value / 2 if name == "CMD" else value))
        )
        for name, (value, meaning) in found.items()
        if value is not None and math.isfinite(value)
    ]
