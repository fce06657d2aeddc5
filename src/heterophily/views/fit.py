"""A fitted model: its predictions and metrics as files, and its charts."""

import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from heterophily.core.chart import Axis, Chart, Mark, Table, matrix_chart
from heterophily.core.compatibility import observed_compatibility
from heterophily.core.errors import HeterophilyWarning
from heterophily.core.extras import MissingExtraError, require
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph
from heterophily.core.types import FloatArray, IntArray, JsonObject
from heterophily.htmp.method import settings_of
from heterophily.studies.compatibility import estimated_chart, observed_chart
from heterophily.studies.degrees import degree_groups
from heterophily.training.decision import RULES, positive_counts
from heterophily.training.estimator import NodeClassifier
from heterophily.training.objective import explain_choice
from heterophily.training.parameters import AUTO
from heterophily.views.charts import LearningCurve, curve_charts
from heterophily.views.columns import column_report
from heterophily.views.matplotlib import save_charts
from heterophily.views.predictions import write_predictions

MIN_BIN = 10  # nodes of a point of the reliability plot from which it is connected with the others
LEAST_POINT, LARGEST_POINT = 4.0, 13.0  # sizes of its points
CONFIDENCE = [f"{10 * i}–{10 * i + 10}" for i in range(10)]  # percent


def write_results(fitted: NodeClassifier, graph: Graph, folder: Path) -> dict[str, Path]:
    """Write model, predictions, metrics, and figures. Return the paths by their contents."""
    fitted.save(folder / "model")
    paths = {"predictions": folder / "predictions.csv", "metrics": folder / "metrics.json"}
    write_predictions(fitted, graph, paths["predictions"])
    text = json.dumps(metrics_of(fitted, graph), indent=2)
    write_atomically(paths["metrics"], lambda p: p.write_text(text))
    return paths | _write_figures(fitted, graph, folder)


def _write_figures(fitted: NodeClassifier, graph: Graph, folder: Path) -> dict[str, Path]:
    """Write the figures, or warn that they were skipped because the extra for plotting is missing."""
    try:
        require("plotting", "matplotlib")
    except MissingExtraError as error:
        warnings.warn(f"no figures were written: {error}", HeterophilyWarning, stacklevel=3)
        return {}
    figures = {
        "compatibility": compatibility_charts(fitted, graph),
        "curve": learning_curves(fitted),
        "confusion": [confusion_chart(fitted, graph)],
        "reliability": reliability_charts(fitted),
    }
    return {name: save_charts(charts, folder / f"{name}.png") for name, charts in figures.items() if charts}


def metrics_of(fitted: NodeClassifier, graph: Graph) -> JsonObject:
    """Return alarms, scores, sizes, and settings of a fit as plain data."""
    run, split, board = fitted.run_, fitted.split_, fitted.leaderboard_
    return {
        "model": AUTO if board else fitted.method.name,
        "graph": graph.name,
        "alarms": [alarm.to_dict() for alarm in fitted.alarms_],
        "scoring": {
            "name": fitted.scoring_.name,
            "positive": positive_class(fitted),
            "reason": explain_choice(fitted.scoring, graph, split),
        },
        "scores": run.scores,
        "threshold": threshold_facts(fitted, graph),
        "calibration": None if fitted.calibration_ is None else fitted.calibration_.to_dict(),
        "leaderboard": None if board is None else board.to_dict(),
        "split": {"origin": split.origin, **{part: len(n) for part, n in split.parts.items()}},
        "best_epoch": run.best_epoch,
        "n_epochs": run.n_epochs,
        "stopped": run.stopped,
        "seconds": run.seconds,
        "milliseconds_per_epoch": run.milliseconds_per_epoch,
        "peak_memory_mb": run.peak_memory,
        "seed": run.seed,
        "settings": settings_of(fitted.method),
        "compatibility": fitted.compatibility_.tolist(),
        **column_report(graph),
    }


def positive_class(fitted: NodeClassifier) -> str | None:
    """Return the name of the positive one of two classes."""
    positive = fitted.scoring_.positive
    return None if positive is None else fitted.class_names_[positive]


def threshold_facts(fitted: NodeClassifier, graph: Graph) -> JsonObject | None:
    """Return the threshold with its rule, and precision and recall by part, or None without one."""
    if fitted.threshold_ is None:
        return None
    predicted, labels = fitted.decide(fitted.predict_proba()), graph.labels.numpy()
    parts = {part: nodes[graph.labels[nodes] >= 0].numpy() for part, nodes in fitted.split_.parts.items()}
    positive = fitted.decision_.positive
    return {
        "value": fitted.threshold_,
        "rule": fitted.threshold if fitted.threshold in RULES else "as requested",
        "positive": fitted.class_names_[positive],
        **{part: positive_counts(predicted[n], labels[n], positive) for part, n in parts.items() if len(n)},
    }


def scored_nodes(fitted: NodeClassifier, graph: Graph) -> IntArray:
    """Return the labeled test nodes, or the validation nodes if there are none."""
    test = fitted.split_.test
    known = test[graph.labels[test] >= 0]
    nodes: IntArray = (known if len(known) else fitted.split_.val).numpy()
    return nodes


def confusion(predicted: IntArray, graph: Graph, nodes: IntArray) -> IntArray:
    """Return how often class i (row) was predicted as class j (column), (K, K)."""
    k = graph.n_classes
    codes = graph.labels.numpy()[nodes] * k + predicted[nodes]
    return np.bincount(codes, minlength=k * k).reshape(k, k)


def compatibility_charts(fitted: NodeClassifier, graph: Graph) -> list[Chart]:
    """Return the observed and the estimated compatibility matrix with the same colors."""
    names, estimated = fitted.class_names_, fitted.compatibility_
    observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes).numpy()
    peak = float(max(observed.max(), estimated.max()))
    panel = f"{graph.name}: observed"
    return [
        observed_chart(observed, names, peak=peak, panel=panel),
        estimated_chart(estimated, names, fitted.method.name, peak=peak, panel="estimated"),
    ]


def learning_curves(fitted: NodeClassifier) -> list[Chart]:
    """Return validation score and training loss by epoch; for `auto`, of the candidate with the largest weight."""
    run, board = fitted.run_, fitted.leaderboard_
    curve = LearningCurve(run.history.loss, run.history.val_scores, run.best_epoch)
    caption = f"Candidate {board.members[0].name}." if board and board.members else ""
    charts = curve_charts({fitted.method.name: curve}, scoring=run.history.scoring, caption=caption)
    return charts if curve.scores else []


def reliability_charts(fitted: NodeClassifier) -> list[Chart]:
    """Return the accuracy by the probability of the predicted class, before and after calibration."""
    calibration = fitted.calibration_
    if calibration is None:
        return []
    shown = {"": calibration.before}
    if calibration.after is not None:
        shown = {"before calibration": calibration.before, "after calibration": calibration.after}
    colors: tuple[int | Literal["accent"], ...] = (1, "accent") if len(shown) > 1 else ("accent",)
    low = min(min(b.confidence, b.accuracy) for each in shown.values() for b in each.bins)
    limits = (max(0.0, min(75.0, 100 * low - 5)), 102)
    ends = [limits[0], 100]
    marks = [Mark("line", ends, ends, color="quiet", style="dashed", points=False)]
    rows = []
    for (name, each), color in zip(shown.items(), colors, strict=True):
        x, y = ([100 * getattr(b, key) for b in each.bins] for key in ("confidence", "accuracy"))
        sizes = [b.n_nodes for b in each.bins]
        marks += _reliability_marks(x, y, sizes, name, color)
        row = name or "probabilities"
        rows += [[row, f"{a:.1f}", f"{b:.1f}", f"{n:,}"] for a, b, n in zip(x, y, sizes, strict=True)]
    errors = " and ".join(f"{100 * each.error:.1f}% {name}".rstrip() for name, each in shown.items())
    return [
        Chart(
            "Reliability",
            marks,
            Axis("probability of the predicted class, %", limits=limits),
            Axis("correct predictions, %", limits=limits),
            caption=f"{calibration.n_nodes:,} {calibration.part} nodes. On the dashed line, probabilities agree with "
            "frequencies. The area of a point grows with its number of nodes. Small points are uncertain. "
            f"The expected calibration error is {errors}.",
            numbers=Table(["", "probability, %", "correct, %", "nodes"], rows),
        )
    ]


def _reliability_marks(
    x: Sequence[float], y: Sequence[float], sizes: Sequence[int], name: str, color: int | Literal["accent"]
) -> Iterator[Mark]:
    """Return points whose area grows with their number of nodes, and a line through those with enough nodes."""
    enough = [i for i, size in enumerate(sizes) if size >= MIN_BIN]
    yield Mark("line", [x[i] for i in enough], [y[i] for i in enough], name=name, color=color, points=False)
    for a, b, size in zip(x, y, sizes, strict=True):
        tip = f"{b:.1f}% of {size:,} nodes with a mean probability of {a:.1f}%"
        side = LEAST_POINT + (LARGEST_POINT - LEAST_POINT) * (size / max(sizes)) ** 0.5
        yield Mark("point", [a], [b], color=color, size=side, tips=[tip], symbol="circle")


def scored_charts(fitted: NodeClassifier, graph: Graph) -> list[Chart]:
    """Return confusion matrix and accuracy by degree on the test or validation nodes, if any."""
    nodes = scored_nodes(fitted, graph)
    return [confusion_chart(fitted, graph), degree_chart(fitted, graph)] if len(nodes) else []


def part_of(fitted: NodeClassifier, nodes: IntArray) -> str:
    """Return whether nodes are test or validation nodes."""
    inside = len(nodes) and set(nodes.tolist()) <= set(fitted.split_.test.tolist())
    return "test" if inside else "validation"


def confusion_chart(fitted: NodeClassifier, graph: Graph) -> Chart:
    """Return the shares of the predicted classes of each true class."""
    nodes = scored_nodes(fitted, graph)
    counts = confusion(fitted.decide(fitted.predict_proba()), graph, nodes)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(min=1)
    return matrix_chart(
        shares.tolist(),
        fitted.class_names_,
        "Confusion matrix",
        peak=1.0,
        caption=f"Shares of each true class of {len(nodes):,} {part_of(fitted, nodes)} nodes.",
        x="predicted class",
        y="true class",
        scale="share of the true class",
    )


def degree_chart(fitted: NodeClassifier, graph: Graph) -> Chart:
    """Return the accuracy in fifths of the nodes by degree."""
    nodes, predicted = scored_nodes(fitted, graph), fitted.decide(fitted.predict_proba())
    bars: dict[str, float] = {}
    for group in degree_groups(graph.degrees, torch.from_numpy(np.asarray(nodes))):
        if len(group):
            low, high = int(graph.degrees[group].min()), int(graph.degrees[group].max())
            right = predicted[group.numpy()] == graph.labels[group].numpy()
            name = f"{low}–{high}" if high > low else str(low)
            while name in bars:  # two fifths can have the same degrees
                name += " "
            bars[name] = 100 * float(right.mean())
    caption = f"Fifths of the {part_of(fitted, nodes)} nodes, lowest degree first."
    return _bar_chart("Accuracy by degree", bars, x="degree", y="accuracy, %", caption=caption)


def confidence_chart(fitted: NodeClassifier) -> Chart:
    """Return how many nodes have which probability of their most probable class."""
    highest: FloatArray = fitted.predict_proba().max(axis=1)
    counts, _ = np.histogram(highest, bins=10, range=(0, 1))
    shares = {n: 100 * float(c) / len(highest) for n, c in zip(CONFIDENCE, counts, strict=True)}
    least = 10 // len(fitted.class_names_)  # the highest of K probabilities is at least 1 / K
    first = min(least, next(i for i, share in enumerate(shares.values()) if share))
    return _bar_chart(
        "Confidence",
        dict(list(shares.items())[first:]),
        x="probability of the predicted class, %",
        y="nodes, %",
        caption=f"All {len(highest):,} nodes; the mean is {100 * float(highest.mean()):.0f}%.",
    )


def _bar_chart(title: str, bars: dict[str, float], *, x: str, y: str, caption: str) -> Chart:
    names, values = list(bars), list(bars.values())
    return Chart(title, [Mark("bar", names, values)], Axis(x, names), Axis(y), caption=caption)
