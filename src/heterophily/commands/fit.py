"""Fit a model to one graph and write everything that a practitioner wants into a folder.

The folder has the model, `predictions.csv` in the user's own ids and class names, `metrics.json` and
figures: compatibility observed and estimated, learning curve, confusion matrix.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heterophily.core.compatibility import observed_compatibility
from heterophily.core.errors import HeterophilyError
from heterophily.core.files import write_atomically
from heterophily.core.graph import Graph
from heterophily.models.settings import Tables, tuned
from heterophily.training.estimator import NodeClassifier

# Few, different and cheap: features alone, plain, deep, ego apart, mixed channels, and ours.
CANDIDATES = ("mlp", "gcn", "gcnii", "h2gcn", "acm-gcn", "cmgnn")


def fit_model(
    graph: Graph,
    model: str,
    *,
    split: str | None = None,
    own: Tables | None = None,
    **options: Any,
) -> NodeClassifier:
    """Fit a model with the settings of the dataset, if there are any, then the given ones.

    `auto` fits a handful of methods and keeps the one with the best validation accuracy.
    """
    if model != "auto":
        chosen = {**tuned(model, graph.name, own), **options}
        return NodeClassifier(model, **chosen).fit(graph, split=split)
    if own:
        raise HeterophilyError("settings of a file are for one method; name it, auto tries several")
    found = [fit_model(graph, name, split=split, **options) for name in CANDIDATES]
    return max(found, key=lambda fitted: fitted.run_.score("val"))


def write_results(fitted: NodeClassifier, graph: Graph, folder: Path) -> dict[str, Path]:
    """Write model, predictions, metrics and figures; the paths by what they are."""
    from heterophily.views.figures import save_confusion, save_curve, save_pair

    fitted.save(folder / "model")
    paths = {"predictions": folder / "predictions.csv", "metrics": folder / "metrics.json"}
    write_predictions(fitted, graph, paths["predictions"])
    text = json.dumps(metrics_of(fitted, graph), indent=2)
    write_atomically(paths["metrics"], lambda p: p.write_text(text))
    names = fitted.class_names_
    observed = observed_compatibility(graph.symmetric, graph.labels, graph.n_classes).numpy()
    paths["compatibility"] = save_pair(
        observed, fitted.compatibility_, names, folder / "compatibility.png", title=graph.name
    )
    paths["curve"] = save_curve(fitted.run_.history, fitted.run_.best_epoch, folder / "curve.png")
    counts = confusion(fitted.predict(), graph, held_out(fitted, graph))
    paths["confusion"] = save_confusion(counts, names, folder / "confusion.png")
    return paths


def write_predictions(fitted: NodeClassifier, graph: Graph, path: Path) -> None:
    """One row per node: id, predicted class, and the probability of every class."""
    names = fitted.class_names_
    ids: Sequence[Any] = graph.node_ids or range(graph.n_nodes)
    own = graph is fitted.graph_
    probabilities = fitted.predict_proba(None if own else graph)

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "predicted", *names])
            for node, row in zip(ids, probabilities, strict=True):
                shown = (f"{value:.6f}" for value in row)
                writer.writerow([node, names[int(row.argmax())], *shown])

    write_atomically(path, write)


def metrics_of(fitted: NodeClassifier, graph: Graph) -> dict[str, Any]:
    """Scores, sizes and circumstances of a fit as plain data."""
    run, split = fitted.run_, fitted.split_
    return {
        "model": fitted.recipe.name,
        "graph": graph.name,
        "scores": run.scores,
        "split": {"origin": split.origin, **{part: len(n) for part, n in split.parts.items()}},
        "best_epoch": run.best_epoch,
        "n_epochs": run.n_epochs,
        "stopped": run.stopped,
        "seconds": run.seconds,
        "milliseconds_per_epoch": run.milliseconds_per_epoch,
        "peak_memory_mb": run.peak_memory,
        "seed": run.seed,
        "settings": fitted.network_.recipe.settings,
        "compatibility": fitted.compatibility_.tolist(),
    }


def held_out(fitted: NodeClassifier, graph: Graph) -> Any:
    """The labelled test nodes, or the validation nodes where there are none."""
    test = fitted.split_.test
    known = test[graph.labels[test] >= 0]
    return (known if len(known) else fitted.split_.val).numpy()


def confusion(predicted: Any, graph: Graph, nodes: Any) -> Any:
    """How often class i (row) was predicted as class j (column), (K, K)."""
    k = graph.n_classes
    codes = graph.labels.numpy()[nodes] * k + predicted[nodes]
    return np.bincount(codes, minlength=k * k).reshape(k, k)
