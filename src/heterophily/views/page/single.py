"""The report of one graph: its diagnosis, and what a model fitted to it gave."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heterophily.analysis.diagnosis import Diagnosis, diagnose
from heterophily.commands.fit import confusion, held_out
from heterophily.core.compatibility import observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.models.settings import tuned
from heterophily.studies.degrees import degree_groups
from heterophily.training.estimator import NodeClassifier
from heterophily.views.page import charts, views
from heterophily.views.page.build import Figures, render, write_page
from heterophily.views.page.chart import Chart, Section, Series
from heterophily.views.page.commands import settings_words
from heterophily.views.page.curves import Learned, curve_charts
from heterophily.views.page.data import LabeledMatrix

CONFIDENCE = [f"{10 * i}–{10 * i + 10}" for i in range(10)]  # percent


def write_diagnosis(
    diagnosis: Diagnosis, out: Path | str, *, source: str, nodes: Path | str | None = None
) -> Path:
    """Write the report of a diagnosis of the graph at `source`, with its table of `nodes`; its path."""
    matrix = LabeledMatrix("observed", diagnosis.compatibility.tolist(), diagnosis.class_names)
    sections = [Section(_CONNECT, [*views.compatibility_charts([matrix]), overlap_map(diagnosis)])]
    words = ["heterophily", "diagnose", source, *_table(nodes), "--report", "report.html"]
    return write_page(graph_page(diagnosis, diagnosis.name, sections, [shlex.join(words)]), out)


def _table(nodes: Path | str | None) -> list[str]:
    return [] if nodes is None else ["--nodes", str(nodes)]


_CONNECT = "How classes connect"


def overlap_map(diagnosis: Diagnosis) -> Chart:
    """How far the neighborhoods of each two classes are the same."""
    return charts.matrix_chart(
        diagnosis.overlap.tolist(),
        diagnosis.class_names,
        title="Overlap of neighborhoods",
        peak=1.0,
        caption="1: the classes of neighbors do not tell these two classes apart.",
        rows="class",
        columns="class",
    )


def write_fit(
    fitted: NodeClassifier,
    graph: Graph,
    out: Path | str,
    *,
    command: str,
) -> Path:
    """Write the report of a fit, with the command that gave it; its path."""
    try:
        diagnosis = diagnose(graph)
    except HeterophilyError:  # too few labels or edges for one
        diagnosis = None
    page = graph_page(
        diagnosis,
        f"{fitted.recipe.title or fitted.recipe.name} on {graph.name}",
        fit_sections(fitted, graph),
        [command],
        scores=score_rows(fitted),
        classes=class_rows(fitted, graph),
        settings={name: str(value) for name, value in fitted.network_.recipe.settings.items()},
        facts=_run_facts(fitted),
    )
    return write_page(page, out)


def graph_page(
    diagnosis: Diagnosis | None,
    title: str,
    sections: Sequence[Section],
    commands: Sequence[str],
    *,
    scores: Sequence[Sequence[str]] = (),
    classes: Sequence[Sequence[str]] = (),
    settings: Mapping[str, str] | None = None,
    facts: Mapping[str, str] | None = None,
) -> str:
    """The page of one graph."""
    kept = [section for section in sections if section.charts]
    figures = Figures(chart for section in kept for chart in section.charts)
    context = {
        "title": title,
        "diagnosis": diagnosis,
        "sizes": views.graph_facts(diagnosis) if diagnosis else {},
        "meters": views.meters(diagnosis) if diagnosis else [],
        "sections": kept,
        "commands": commands,
        "scores": scores,
        "classes": classes,
        "settings": settings or {},
        "facts": facts or {},
    }
    return render("graph.html", figures, context)


def fit_sections(fitted: NodeClassifier, graph: Graph) -> list[Section]:
    """Compatibility, learning curve, confusion, accuracy by degree and confidence."""
    names, run = fitted.class_names_, fitted.run_
    observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes)
    pair = [
        LabeledMatrix("observed", observed.tolist(), names),
        LabeledMatrix("estimated", fitted.compatibility_.tolist(), names, fitted.recipe.name),
    ]
    curve = Learned(run.history.loss, run.history.val_scores, run.best_epoch)
    series = Series((fitted.recipe.name,))
    curves = {fitted.recipe.name: curve} if curve.accuracy else {}
    nodes = held_out(fitted, graph)
    where = (
        "test" if len(nodes) and set(nodes) <= set(fitted.split_.test.tolist()) else "validation"
    )
    return [
        Section("Held-out nodes", _held_out(fitted, graph, nodes, where)),
        Section(_CONNECT, views.compatibility_charts(pair)),
        Section("How training went", curve_charts(curves, series, caption="")),
        Section("Predictions of all nodes", [confidence_chart(fitted)]),
    ]


def _held_out(fitted: NodeClassifier, graph: Graph, nodes: Any, part: str) -> list[Chart]:
    if not len(nodes):
        return []
    predicted, names = fitted.predict(), fitted.class_names_
    counts = confusion(predicted, graph, nodes)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(min=1)
    mistaken = charts.matrix_chart(
        shares.tolist(),
        names,
        title="Confusion matrix",
        peak=1.0,
        caption=f"Shares of each true class; {len(nodes):,} {part} nodes.",
        rows="true class",
        columns="predicted class",
    )
    return [mistaken, degree_bars(predicted, graph, nodes, part)]


def degree_bars(predicted: Any, graph: Graph, nodes: Any, part: str) -> Chart:
    """Accuracy in fifths of the nodes by degree."""
    import torch

    bars: dict[str, float | None] = {}
    for group in degree_groups(graph.degrees, torch.from_numpy(np.asarray(nodes))):
        if len(group):
            degrees = graph.degrees[group]
            low, high = int(degrees.min()), int(degrees.max())
            right = predicted[group.numpy()] == graph.labels[group].numpy()
            name = f"{low}–{high}" if high > low else str(low)
            while name in bars:  # two fifths may have the same degrees
                name += " "
            bars[name] = 100 * float(right.mean())
    return charts.bars_chart(
        bars,
        title="Accuracy by degree",
        x="degree",
        y="accuracy, %",
        caption=f"Fifths of the {part} nodes, lowest degree first.",
        height=360,
    )


def confidence_chart(fitted: NodeClassifier) -> Chart:
    """How sure the model is: nodes by the probability of their predicted class."""
    sure = fitted.predict_proba().max(axis=1)
    counts, _ = np.histogram(sure, bins=10, range=(0, 1))
    shares = {name: 100 * float(c) / len(sure) for name, c in zip(CONFIDENCE, counts, strict=True)}
    first = next(i for i, share in enumerate(shares.values()) if share)
    return charts.bars_chart(
        dict(list(shares.items())[first:]),
        title="How sure it is",
        x="probability of the predicted class, %",
        y="nodes, %",
        caption=f"All {len(sure):,} nodes; mean {100 * float(sure.mean()):.0f} %.",
    )


def score_rows(fitted: NodeClassifier) -> list[list[str]]:
    """Part, number of nodes and metrics in percent; the first row is the head."""
    scores = fitted.run_.scores
    metrics = list(dict.fromkeys(name for found in scores.values() for name in found or {}))
    rows = [["nodes", "count", *(name.replace("_", " ") for name in metrics)]]
    for part, nodes in fitted.split_.parts.items():
        found = scores.get(part) or {}
        shown = [f"{100 * found[name]:.2f}" if name in found else "–" for name in metrics]
        rows.append([part, f"{len(nodes):,}", *shown])
    return rows


def class_rows(fitted: NodeClassifier, graph: Graph) -> list[list[str]]:
    """Class, labelled and predicted nodes, and how sure the model is of them; the first row is the head."""
    predicted, sure = fitted.predict(), fitted.predict_proba().max(axis=1)
    labels = graph.labels.numpy()
    rows = [["class", "labelled", "predicted", "of them unlabelled", "mean probability"]]
    for k, name in enumerate(fitted.class_names_):
        own = predicted == k
        mean = f"{100 * float(sure[own].mean()):.1f} %" if own.any() else "–"
        counts = [(labels == k).sum(), own.sum(), (own & (labels < 0)).sum()]
        rows.append([name, *(f"{int(count):,}" for count in counts), mean])
    if (labels >= 0).all():
        return [[*row[:3], *row[4:]] for row in rows]
    return rows


def fit_command(
    fitted: NodeClassifier,
    *,
    source: str,
    model: str,
    split: str | None,
    folder: Path | str,
    nodes: Path | str | None = None,
) -> str:
    """The command that fits the same model again; `auto` becomes the model that was kept."""
    chosen = fitted.recipe.name if model == "auto" else model
    words = ["heterophily", "fit", source, *_table(nodes)]
    words += ["--model", chosen, "--seed", str(fitted.seed)]
    words += ["--split", split] if split else []
    words += ["--class-weights"] if fitted.class_weights else []
    words += _batches(fitted)
    words += settings_words(_said(fitted))
    return shlex.join([*words, "--out", str(folder)])


def _said(fitted: NodeClassifier) -> dict[str, Any]:
    """Preset and settings that the command must say, since the committed ones are others."""
    committed = tuned(fitted.recipe.name, fitted.graph_.name) if fitted.graph_ else {}
    usual = {"preset": "published", **committed}
    decided = {"preset": fitted.preset, **fitted.network_.recipe.settings}
    given = {**{name: decided[name] for name in usual}, **fitted.settings}
    return {name: v for name, v in given.items() if name not in usual or usual[name] != v}


def _batches(fitted: NodeClassifier) -> list[str]:
    if fitted.batch_size is None:
        return []
    drawn = (
        fitted.neighbors
        if isinstance(fitted.neighbors, str)
        else ",".join(map(str, fitted.neighbors))
    )
    return ["--batch-size", str(fitted.batch_size), "--neighbors", drawn]


def _run_facts(fitted: NodeClassifier) -> dict[str, str]:
    run = fitted.run_
    return {
        "split": fitted.split_.origin,
        "epochs": str(run.n_epochs),
        "kept epoch": str(run.best_epoch),
        "ms per epoch": f"{run.milliseconds_per_epoch:.1f}",
        "peak memory, MB": f"{run.peak_memory:,.0f}",
        "weights": f"{sum(p.numel() for p in fitted.network_.parameters()):,}",
    }
