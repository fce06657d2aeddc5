"""The graphs of `benchmarks/diagnosis.py`: random ones with known properties, and real ones.

Only some nodes of a graph are labeled, as in practice. The diagnosis sees these labels, the networks train on them,
and the labels of all other nodes test the networks. A graph has a key: the seed of a random graph, or the name of a
real one, followed by `@200` if only 200 nodes are labeled, or by `~` if its edges are replaced by as many random ones.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import cKDTree

from heterophily import Graph, load
from heterophily.core.types import FloatArray, IntArray

SHARES = {  # of the random graphs, by what their edges depend on
    "homophily": 0.2,  # connect the same class
    "ring": 0.15,  # connect each class to the previous and the next one
    "others": 0.1,  # connect different classes
    "blocks": 0.1,  # connect each of several parts of a class to two random parts of any class
    "degrees": 0.1,  # nodes of some classes have more edges, which do not depend on the class at the other end
    "random": 0.25,  # depend on nothing
    "features": 0.1,  # connect similar features, regardless of the classes
}
REAL = (  # the smallest first
    *("wisconsin", "chameleon-f", "chameleon", "squirrel-f", "cora", "cora-ml", "citeseer", "actor", "photo"),
    *("tolokers", "pubmed", "blogcatalog", "computers", "flickr"),
)
FEW = 200  # labels
BLOCKS, WORDS, WORD_THRESHOLD = 3, 8, 1.2  # blocks per class, words per column


@dataclass(frozen=True)
class Recipe:
    """Properties of a random graph."""

    seed: int
    n_nodes: int
    n_classes: int
    ratio: float  # of the sizes of consecutive classes
    pattern: str  # what edges depend on
    purity: float  # fraction of the edges that follow the pattern; the others are random
    degree: float
    spread: float  # deviation of the logarithm of expected degrees
    n_columns: int  # that depend on the class
    n_noise: int  # columns that do not
    strength: float  # distance of the classes in deviations of the features
    is_nonlinear: bool  # whether each class has two opposite centers
    is_words: bool  # whether the features are 0 and 1, more and mostly 0
    label_share: float


def draw_recipe(seed: int) -> Recipe:
    """Draw the properties of a random graph."""
    rng = np.random.default_rng([seed, 18])
    n_classes = int(rng.choice([2, 2, 3, 5, 8]))
    return Recipe(
        seed=seed,
        n_nodes=int(math.exp(rng.uniform(math.log(300), math.log(1600)))),
        n_classes=n_classes,
        ratio=float(rng.choice([1.0, 0.25, 0.06] if n_classes == 2 else [1.0, 0.8, 0.6])),
        pattern=str(rng.choice(list(SHARES), p=list(SHARES.values()))),
        purity=float(rng.choice([0.3, 0.6, 0.9])),
        degree=float(rng.choice([2, 4, 8, 16, 32])),
        spread=float(rng.choice([0.0, 1.0])),
        n_columns=int(rng.choice([1, 4, 16])),
        n_noise=int(rng.choice([0, 8, 32])),
        strength=float(rng.choice([0.0, 0.5, 1.0, 2.0, 4.0], p=[0.12, 0.22, 0.22, 0.22, 0.22])),
        is_nonlinear=bool(rng.random() < 0.2),
        is_words=bool(rng.random() < 0.25),
        label_share=float(rng.choice([0.05, 0.1, 0.25, 0.5, 0.8])),
    )


def build(recipe: Recipe) -> tuple[Graph, IntArray]:
    """Return a graph of which only some nodes are labeled, and the classes of all nodes."""
    rng = np.random.default_rng([recipe.seed, 19])
    sizes = recipe.ratio ** np.arange(recipe.n_classes)
    classes = rng.choice(recipe.n_classes, size=recipe.n_nodes, p=sizes / sizes.sum())
    features = _features(recipe, classes, rng)
    edges = _similar(features, recipe, rng) if recipe.pattern == "features" else _edges(recipe, classes, rng)
    edges = edges[edges[:, 0] != edges[:, 1]]
    graph = Graph.from_edges(
        np.concatenate([edges, edges[:, ::-1]]),
        features.astype(np.float32),
        labels=_visible(classes, round(recipe.label_share * recipe.n_nodes), rng),
        n_classes=recipe.n_classes,
        name=f"random {recipe.seed}",
    )
    return graph, classes


def open_graph(key: str) -> tuple[Graph, IntArray]:
    """Return the graph of a key, of which only some nodes are labeled, and the classes of all nodes."""
    if key.isdigit():
        return build(draw_recipe(int(key)))
    name = key.rstrip("~").split("@")[0]
    graph = load(name)
    classes = graph.labels.numpy()
    rng = np.random.default_rng([len(name), 21])
    visible = np.where(graph.split("0").mask("test", graph.n_nodes).numpy(), -1, classes)
    if "@" in key:
        visible = _visible(classes, FEW, rng)
    if key.endswith("~"):
        ends = rng.integers(graph.n_nodes, size=(graph.symmetric.n_entries // 2, 2))
        return Graph.from_edges(ends[ends[:, 0] != ends[:, 1]], graph.features, labels=visible, name=key), classes
    # Settings that were tuned for a dataset are bundled under its name, so another name selects the defaults.
    return graph.replace(labels=torch.as_tensor(visible), splits={}, name=f"part of {key}"), classes


def _visible(classes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return the classes of some random nodes, at least four of each class, and -1 for the others."""
    labeled = np.zeros(len(classes), dtype=bool)
    labeled[rng.permutation(len(classes))[:count]] = True
    for k in np.unique(classes[classes >= 0]):
        labeled[rng.permutation(np.flatnonzero(classes == k))[:4]] = True
    return np.where(labeled, classes, -1)


def _features(recipe: Recipe, classes: IntArray, rng: np.random.Generator) -> FloatArray:
    n_columns, n_noise = (n * (WORDS if recipe.is_words else 1) for n in (recipe.n_columns, recipe.n_noise))
    centers = rng.standard_normal((recipe.n_classes, n_columns))
    centers *= recipe.strength / np.sqrt(2 * n_columns)
    signs = rng.choice([-1, 1], size=len(classes)) if recipe.is_nonlinear else np.ones(len(classes))
    noise = rng.standard_normal((len(classes), n_columns + n_noise))
    noise[:, :n_columns] += centers[classes] * signs[:, None]
    return (noise > WORD_THRESHOLD).astype(np.float64) if recipe.is_words else noise


def _edges(recipe: Recipe, classes: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw one end of each edge, the group of the other end from a row of M, and then the other end."""
    weights = np.exp(recipe.spread * rng.standard_normal(len(classes)))
    groups = classes
    if recipe.pattern == "blocks":
        groups = classes * BLOCKS + rng.integers(BLOCKS, size=len(classes))
    if recipe.pattern == "degrees":
        weights = weights * np.exp(2 * recipe.purity * classes / (recipe.n_classes - 1))
    prior = np.bincount(groups) / len(groups)
    matrix = recipe.purity * _pattern(recipe.pattern, prior, rng) + (1 - recipe.purity) * prior
    n_edges = round(recipe.n_nodes * recipe.degree / 2)
    start = rng.choice(len(groups), size=n_edges, p=weights / weights.sum())
    end = np.zeros(n_edges, dtype=np.int64)
    wanted = (rng.random(n_edges)[:, None] > matrix.cumsum(axis=1)[groups[start]][:, :-1]).sum(axis=1)
    for a in np.unique(wanted):
        members, chosen = np.flatnonzero(groups == a), np.flatnonzero(wanted == a)
        end[chosen] = rng.choice(members, size=len(chosen), p=weights[members] / weights[members].sum())
    return np.stack([start, end], axis=1)


def _pattern(name: str, prior: FloatArray, rng: np.random.Generator) -> FloatArray:
    k = len(prior)
    if name in ("random", "degrees"):
        return np.tile(prior, (k, 1))
    if name == "homophily":
        return np.eye(k)
    if name == "blocks":
        order = rng.permutation(k)
        cycle = np.zeros((k, k))
        cycle[order, np.roll(order, 1)] = 0.5
        return cycle + cycle.T
    others = np.tile(prior, (k, 1)) if name == "others" else np.roll(np.eye(k), 1, 1) + np.roll(np.eye(k), -1, 1)
    others[np.arange(k), np.arange(k)] = 0.0
    return others / others.sum(axis=1, keepdims=True)


def _similar(features: FloatArray, recipe: Recipe, rng: np.random.Generator) -> IntArray:
    """Connect nodes with similar features, regardless of their classes, and some others."""
    n_neighbors = max(1, round(recipe.degree / 2))
    near = np.asarray(cKDTree(features).query(features, k=n_neighbors + 1)[1])
    edges = np.stack([np.repeat(np.arange(len(features)), n_neighbors), near[:, 1:].ravel()], axis=1)
    swapped = rng.random(len(edges)) > recipe.purity
    edges[swapped, 1] = rng.integers(len(features), size=int(swapped.sum()))
    return edges


def division(labels: torch.Tensor, *, seed: int) -> tuple[IntArray, IntArray]:
    """Divide the labeled nodes into training and validation nodes, stratified."""
    rng = np.random.default_rng([seed, 20])
    known = np.flatnonzero(labels.numpy() >= 0)
    shuffled = rng.permutation(known)
    by_class = shuffled[np.argsort(labels.numpy()[shuffled], kind="stable")]
    is_val = np.arange(len(by_class)) % 4 == 3
    return np.sort(by_class[~is_val]), np.sort(by_class[is_val])
