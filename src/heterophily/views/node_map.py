"""Map of nodes in two dimensions: what a model learned, colored by class, with crosses on wrong predictions."""

from collections.abc import Iterator
from typing import Literal, TypedDict, Unpack

import numpy as np

from heterophily.core.chart import Axis, Chart, Mark, Table
from heterophily.core.errors import HeterophilyError
from heterophily.core.graph import Graph
from heterophily.core.types import BoolArray, FloatArray, IntArray
from heterophily.training.estimator import NodeClassifier
from heterophily.training.explain import id_of
from heterophily.views.explain import percent
from heterophily.views.looks import PALETTE

MAX_POINTS = 600
MAX_LEGEND = 12  # classes
SIZE, CROSS = 6.0, 8.0  # points
SMALLEST = 1e-4  # probability, so that logarithms of tiny probabilities do not determine the map


class PointLook(TypedDict, total=False):
    """Options of points that have text."""

    name: str
    color: int
    size: float
    symbol: Literal["", "circle", "cross"]


def node_map(fitted: NodeClassifier, graph: Graph, nodes: IntArray) -> Chart:
    """Return the first two principal components of the representations of nodes, of at most 600 of them.

    Trees and ensembles have no representations; the logarithms of their probabilities replace them. With two classes,
    these have one dimension, and the second one is the degree.
    """
    sample = np.random.default_rng(0).permutation(nodes)[:MAX_POINTS]
    probabilities = fitted.predict_proba()
    found = _coordinates(fitted, probabilities)
    known = graph.labels.numpy()[sample]
    predicted = fitted.decide(probabilities)[sample]
    classes, wrong = np.where(known >= 0, known, predicted), (known >= 0) & (known != predicted)
    if found is None:
        positive = fitted.scoring_.positive or 0
        x, y = Axis(f"probability of {fitted.class_names_[positive]}, %"), Axis("neighbors + 1", log=True)
        at, text = (100 * probabilities[sample, positive], graph.degrees.numpy()[sample] + 1.0), ""
    else:
        x = y = Axis(visible=False)
        at, text = _principal(found[sample])
    tips = list(_tips(fitted, graph, sample, probabilities))
    hint = " Point at a node to see its class." if len(fitted.class_names_) > MAX_LEGEND else ""
    shown = "All" if len(sample) == len(nodes) else f"{len(sample):,} of"
    return Chart(
        "Map of nodes",
        list(_marks(fitted.class_names_, at, classes, wrong, tips)),
        x,
        y,
        caption=f"{shown} {len(nodes):,} held-out nodes.{text} Colors are classes, and crosses are wrong predictions."
        f"{hint}",
        height=3.0,
        numbers=_table(fitted.class_names_, classes, wrong),
    )


def _coordinates(fitted: NodeClassifier, probabilities: FloatArray) -> FloatArray | None:
    """Return representations (N, d), or logarithms of probabilities, or None if these have only one dimension."""
    try:
        return fitted.embed()
    except HeterophilyError:  # trees and ensembles
        return None if probabilities.shape[1] == 2 else np.log(probabilities.clip(SMALLEST))


def _principal(values: FloatArray) -> tuple[tuple[FloatArray, FloatArray], str]:
    """Return the first two principal components of rows, and a sentence with their share of the variance."""
    centered = (values - values.mean(axis=0)).astype(float)
    rows, scales, _ = np.linalg.svd(centered, full_matrices=False)
    first = np.zeros((len(values), 2))
    count = min(2, len(scales))
    first[:, :count] = rows[:, :count] * scales[:count]
    total = float((scales**2).sum())
    share = float((scales[:2] ** 2).sum()) / total if total else 0.0
    return (first[:, 0], first[:, 1]), f" Two principal components with {share:.0%} of the variance."


def _tips(fitted: NodeClassifier, graph: Graph, nodes: IntArray, probabilities: FloatArray) -> Iterator[str]:
    names, labels = fitted.class_names_, graph.labels.numpy()
    predicted = fitted.decide(probabilities)
    for node in nodes.tolist():
        label = f"{names[labels[node]]}, " if labels[node] >= 0 else ""
        name, share = names[predicted[node]], percent(float(probabilities[node, predicted[node]]))
        yield f"{id_of(node, graph)}: {label}predicted {name} ({share})"


def _marks(
    names: tuple[str, ...], at: tuple[FloatArray, FloatArray], classes: IntArray, wrong: BoolArray, tips: list[str]
) -> Iterator[Mark]:
    """Return one mark per class, and crosses for its wrong predictions."""
    symbol: Literal["", "circle"] = "circle" if len(names) <= len(PALETTE) else ""
    for number, name in enumerate(names):
        legend = name if len(names) <= MAX_LEGEND else ""
        right = np.flatnonzero((classes == number) & ~wrong)
        if (classes == number).any():
            yield _points(at, right, tips, name=legend, color=number, size=SIZE, symbol=symbol)
    for number in np.unique(classes[wrong]).tolist():
        chosen = np.flatnonzero((classes == number) & wrong)
        yield _points(at, chosen, tips, color=number, size=CROSS, symbol="cross")
    if wrong.any():
        yield Mark("point", [], [], name="wrong prediction", color="quiet", symbol="cross")


def _points(at: tuple[FloatArray, FloatArray], chosen: IntArray, tips: list[str], **look: Unpack["PointLook"]) -> Mark:
    x, y = (_list(values[chosen]) for values in at)
    return Mark("point", x, y, tips=[tips[i] for i in chosen], **look)


def _list(values: FloatArray) -> list[float]:
    return [float(value) for value in values]


def _table(names: tuple[str, ...], classes: IntArray, wrong: BoolArray) -> Table:
    rows = [[n, f"{(classes == i).sum():,}", f"{(wrong & (classes == i)).sum():,}"] for i, n in enumerate(names)]
    return Table(["class", "nodes", "wrong predictions"], rows)
